//! One line on what to do.

use super::super::{VbInfo, VbStatus};
use super::collinear::{COLLINEAR, Collinearity};

/// No more columns than these are named.
const NAMED: usize = 8;

/// What every fit may need; nothing where all is well.
pub(super) fn general(info: &VbInfo, design: &Collinearity, rows: usize, columns: usize, ard: bool) -> Option<String> {
    match info.status {
        VbStatus::MaxIterations => Some(format!(
            "Stopped after {} iterations with parameters still moving by {:.0e}: allow more, or a larger tolerance.",
            info.iterations, info.last_change
        )),
        VbStatus::BoundChange | VbStatus::BoundFell => {
            Some("Stopped by the authors' rule, which can be nats short: use a tolerance on the parameters.".to_owned())
        }
        _ if !design.columns.is_empty() => {
            let named: Vec<String> = design.columns.iter().take(NAMED).map(ToString::to_string).collect();
            let more = if design.columns.len() > NAMED { ", …" } else { "" };
            Some(format!(
                "Columns {}{more} are collinear or nearly (condition {:.0e}): predictions hold, their single weights mean little.",
                named.join(", "),
                design.condition
            ))
        }
        _ if info.condition > COLLINEAR => Some(format!(
            "Columns are nearly collinear (condition {:.0e}): predictions hold, single weights mean little.",
            info.condition
        )),
        _ if columns > rows && !ard => {
            Some("More columns than rows: relevance determination (`ard`) may find the few that matter.".to_owned())
        }
        _ => None,
    }
}

//! One line on what to do.

use super::super::{VbInfo, VbStatus};
use super::collinear::{COLLINEAR, Collinearity};
use crate::online::is_near;

/// No more columns than these are named.
const NAMED: usize = 8;

/// Of a logistic fit that nobody has asked about.
pub(super) const UNDIAGNOSED: &str = "Converged: `diagnose` tells whether the posterior is Gaussian enough.";
const NEAR: &str = "Converged, and the posterior is near the true one.";
const FAR: &str = "Converged, but the posterior is not Gaussian: single weights may be far from what it says.";

/// The line for a diagnosed fit; one that tells of something worse stays.
pub(super) fn after_diagnosis(line: &mut String, share: f64, k_hat: f64) {
    if [UNDIAGNOSED, NEAR, FAR].contains(&line.as_str()) {
        *line = String::from(if is_near(share, k_hat) { NEAR } else { FAR });
    }
}

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

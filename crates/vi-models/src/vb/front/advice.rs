//! One line on what to do.

use super::super::{VbInfo, VbStatus};

/// A condition number at which half of the digits are gone.
const COLLINEAR: f64 = 1e8;

/// What every fit may need; nothing where all is well.
pub(super) fn general(info: &VbInfo, rows: usize, columns: usize, ard: bool) -> Option<String> {
    match info.status {
        VbStatus::MaxIterations => Some(format!(
            "Stopped after {} iterations with parameters still moving by {:.0e}: allow more, or a larger tolerance.",
            info.iterations, info.last_change
        )),
        VbStatus::BoundChange | VbStatus::BoundFell => {
            Some("Stopped by the authors' rule, which can be nats short: use a tolerance on the parameters.".to_owned())
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

//! The line of advice of a fit.

use super::super::VbInfo;
use super::collinear::{COLLINEAR, Collinearity};
use crate::online::is_near;
use vi_core::Stop;

/// The number of weights for each observation beyond which intervals of relevance determination are too narrow.
const MANY: f64 = 0.2;
/// The most columns that are named.
const NAMED: usize = 8;

/// The advice of a fit without problems.
pub(super) const NOTHING: &str = "Converged: nothing to do.";
/// The advice of a logistic fit that was not diagnosed.
pub(super) const UNDIAGNOSED: &str = "Converged: `diagnose` tells whether the posterior is Gaussian enough.";
const NEAR: &str = "Converged, and the posterior is near the true one.";
const FAR: &str = "Converged, but the posterior is not Gaussian: single weights may be far from what it says.";

/// Sets the advice of a diagnosed fit, unless it already reports something worse.
pub(super) fn after_diagnosis(line: &mut String, share: f64, k_hat: f64, weights: usize) {
    if [UNDIAGNOSED, NEAR, FAR].contains(&line.as_str()) {
        *line = String::from(if is_near(share, k_hat, weights) { NEAR } else { FAR });
    }
}

/// The advice of a fit with relevance determination that has used up many of its observations; `None` if it has not.
///
/// `determined` is the number of weights that the data, not the shrinkage, determine.
pub(super) fn relevance(determined: f64, observations: f64) -> Option<String> {
    (determined > MANY * observations).then(|| {
        format!(
            "Converged, but {determined:.0} weights are determined by {observations} observations: intervals are too short; \
             a horseshoe prior (`HorseshoeLinear`; in Python `ard=True`) has ones that hold."
        )
    })
}

/// The advice of a fit that was stopped early; `None` if it converged.
fn stopped(info: &VbInfo) -> Option<String> {
    match info.stop {
        Stop::Iterations => Some(format!(
            "Stopped after {} iterations with parameters still moving by {:.0e}: allow more, or a larger tolerance.",
            info.iterations, info.last_change
        )),
        _ if info.authors_rule => {
            Some("Stopped by the authors' rule, which can be nats short: use a tolerance on the parameters.".to_owned())
        }
        _ => None,
    }
}

/// The advice that any fit may need; `None` if all is well. `finder` names what to try if there are more columns than rows.
pub(super) fn general(
    info: &VbInfo,
    design: &Collinearity,
    rows: usize,
    columns: usize,
    ard: bool,
    finder: &str,
) -> Option<String> {
    stopped(info).or_else(|| match info {
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
            Some(format!("More columns than rows: {finder} may find the few that matter."))
        }
        _ => None,
    })
}

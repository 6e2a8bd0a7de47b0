//! What prototypes attained on a logistic posterior: information, not to be met to the digit.

use super::Shape;
use crate::CaseError;
use crate::json::Node;
use crate::report::Report;

pub(super) const SHAPE: Shape = Shape { about: "what prototypes of boosting attained", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let optimum = root.find("full_rank_gaussian_optimum_kl").or_else(|| root.find("mean_field_optimum_kl"));
    root.find("results").is_some() && optimum.is_some() && root.find("target").is_none()
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    for (name, _) in root.get("results")?.members()? {
        report.skip(name, "attained by a prototype, for information");
    }
    Ok(())
}

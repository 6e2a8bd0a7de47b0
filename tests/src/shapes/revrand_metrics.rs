//! Regression metrics; and the figures that the authors printed, which are information.

use vi_models::metrics::{lins_concordance, mll, msll, smse};

use super::Shape;
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "regression metrics", recognise, check };

/// Results printed with the settings of an experiment.
pub(super) const CLAIMS: Shape =
    Shape { about: "printed results of the authors", recognise: recognise_claims, check: check_claims };

fn recognise(root: &Node<'_>) -> bool {
    root.find("inputs").is_some_and(|inputs| inputs.find("y_true").is_some()) && root.find("expected").is_some()
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let inputs = root.get("inputs")?;
    let targets = inputs.get("y_true")?.vector()?;
    let vector = |key: &str| inputs.get(key).and_then(|values| values.vector());
    for (name, stored) in root.get("expected")?.members()? {
        let found = match name {
            "smse" => smse(&vector("y_pred")?, &targets)?,
            "mll" => mll(&vector("y_pred")?, &vector("y_var")?, &targets)?,
            "msll" => msll(&vector("y_pred")?, &vector("y_var")?, &targets, &vector("y_train")?)?,
            "lins_ccc" => lins_concordance(&vector("y_pred")?, &targets)?,
            _ => {
                report.skip(name, "a metric that is not known");
                continue;
            }
        };
        let stored = stored.number()?;
        // Averages of terms of size 1.
        report.compare(name, compare::scaled(found, stored, stored.abs().max(1.0)), tolerance::FEATURES);
    }
    Ok(())
}

fn recognise_claims(root: &Node<'_>) -> bool {
    let has_setting = |member: &Node<'_>| member.find("setting").is_some();
    let is_case = root.find_any(&["cases", "inputs", "expected", "x"]).is_some();
    !is_case && root.members().is_ok_and(|members| members.iter().any(|(_, member)| has_setting(member)))
}

fn check_claims(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    for (name, member) in root.members()? {
        if member.is_object() {
            report.skip(name, "printed results are information");
        }
    }
    Ok(())
}

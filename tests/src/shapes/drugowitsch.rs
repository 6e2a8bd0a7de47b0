//! Variational Bayesian linear and logistic regression (Drugowitsch's note).

mod inputs;
mod linear;
mod logistic;
mod posterior;
mod scripts;

use super::Shape;
use crate::CaseError;
use crate::json::Node;
use crate::report::Report;

use self::inputs::{Family, Inputs, Prior};

pub(super) const SHAPE: Shape = Shape { about: "variational Bayesian regression", recognise, check };

/// The blocks of a case.
const FITS: [&str; 3] = ["fit", "fit_ard", "fit_iter"];

fn has_fits(node: &Node<'_>) -> bool {
    FITS.iter().any(|key| node.find(key).is_some())
}

/// The cases of `expected`: itself, or its members with fits, each told by its name (`D=3`).
fn cases<'a>(expected: &Node<'a>) -> Vec<(&'a str, Node<'a>)> {
    if has_fits(expected) {
        return vec![("", expected.clone())];
    }
    let members = expected.members().unwrap_or_default();
    members.into_iter().filter(|(_, member)| has_fits(member)).collect()
}

fn recognise(root: &Node<'_>) -> bool {
    root.find("expected").is_some_and(|expected| !cases(&expected).is_empty()) || scripts::recognise(root)
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    if scripts::recognise(root) {
        return scripts::check(root, report);
    }
    let expected = root.get("expected")?;
    let cases = cases(&expected);
    let family = Family::of(root, &cases);
    let prior = Prior::read(root)?;
    for (name, case) in &cases {
        report.part(name, |report| {
            let inputs = Inputs::read(root, name, family)?;
            match family {
                Family::Linear => linear::check(case, &inputs, &prior, report),
                Family::Logistic => logistic::check(case, &inputs, &prior, report),
            }
            Ok(())
        });
    }
    if let Some(selection) = root.find("selection") {
        report.part("selection", |report| scripts::check_selection(root, &selection, family, &prior, report));
    }
    Ok(())
}

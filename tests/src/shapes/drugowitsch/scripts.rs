//! Model selection by ℒ: the published example scripts' data, and the `selection` of a file of designs.

use vi_models::vb::VbSettings;

use super::inputs::{Family, Inputs, Prior};
use super::{linear, logistic, posterior};
use crate::json::Node;
use crate::report::Report;
use crate::tolerance::vb::Run;
use crate::{CaseError, compare, tolerance};

/// The blocks of a file of scripts and their models.
const BLOCKS: [(&str, Family); 2] = [("linear", Family::Linear), ("logistic", Family::Logistic)];

pub(super) fn recognise(root: &Node<'_>) -> bool {
    BLOCKS.iter().any(|(key, _)| root.find(key).is_some_and(|block| block.find("L_authors_no_ard").is_some()))
}

pub(super) fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let prior = Prior::read(root)?;
    for (key, family) in BLOCKS {
        if let Some(block) = root.find(key) {
            report.part(key, |report| check_block(&block, family, &prior, report));
        }
    }
    if root.find("printed_metrics_of_example_runs").is_some() {
        report.skip("printed_metrics", "printed by other data: for orientation");
    }
    Ok(())
}

/// ℒ and the condition number of the design with `columns` powers.
fn bound(
    inputs: &Node<'_>,
    columns: usize,
    family: Family,
    ard: bool,
    prior: &Prior,
    settings: VbSettings,
) -> Result<(f64, Run), CaseError> {
    let made = Inputs::powers(inputs, columns)?;
    let x = made.x.as_ref();
    let (bound, info) = match family {
        Family::Linear => {
            let fit = linear::fit(ard, x, &made.y, prior.linear()?, settings)?;
            (fit.bound(), fit.info().clone())
        }
        Family::Logistic => {
            let labels: Vec<f64> = made.y.iter().map(|y| if *y == -1.0 { 0.0 } else { *y }).collect();
            let fit = logistic::fit(ard, x, &labels, prior.logit()?, settings)?;
            (fit.bound(), fit.info().clone())
        }
    };
    Ok((bound, Run { dim: columns, condition: info.condition, sensitivity: 0.0 }))
}

/// The position of the largest, as the stored selections count: from 1.
fn selected(bounds: &[f64]) -> usize {
    let best = bounds.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
    best.map_or(0, |(index, _)| index + 1)
}

fn check_block(block: &Node<'_>, family: Family, prior: &Prior, report: &mut Report) -> Result<(), CaseError> {
    let degrees = block.get("D")?.items()?.iter().map(Node::count).collect::<Result<Vec<_>, _>>()?;
    let stored = block.get("L_authors_no_ard")?.vector_of(degrees.len())?;
    let mut found = Vec::with_capacity(degrees.len());
    for (&degree, stored) in degrees.iter().zip(&stored) {
        let (value, run) = bound(block, degree, family, false, prior, VbSettings::authors())?;
        let error = compare::scaled(value, *stored, stored.abs().max(1.0));
        report.compare(&format!("D={degree}"), error, run.bound());
        let (converged, _) = bound(block, degree, family, false, prior, tolerance::vb::SETTINGS)?;
        let shortfall = posterior::shortfall(converged, *stored);
        report.compare(&format!("D={degree}/L_not_below"), shortfall, run.bound());
        found.push(value);
    }
    if let Some(choice) = block.find("selected_D") {
        let degree = selected(&found).checked_sub(1).and_then(|index| degrees.get(index)).copied().unwrap_or(0);
        report.compare("selected_D", degree.abs_diff(choice.count()?) as f64, 0.0);
    }
    Ok(())
}

/// The `selection` of a file whose cases are designs `D=1`, `D=2`, ….
pub(super) fn check_selection(
    root: &Node<'_>,
    selection: &Node<'_>,
    family: Family,
    prior: &Prior,
    report: &mut Report,
) -> Result<(), CaseError> {
    let inputs = root.get("inputs")?;
    for (key, ard) in [("fit", false), ("fit_ard", true)] {
        let Some(stored) = selection.find(key) else { continue };
        for (rule, settings) in [("authors", VbSettings::authors()), ("converged", tolerance::vb::SETTINGS)] {
            let Some((_, list)) =
                stored.members()?.into_iter().find(|(name, _)| name.starts_with(&format!("L_{rule}")))
            else {
                continue;
            };
            let list = list.vector()?;
            let mut found = Vec::with_capacity(list.len());
            for (index, stored) in list.iter().enumerate() {
                // A case tells its design by its name; the list is of the designs in turn.
                let (value, run) = bound(&inputs, index + 1, family, ard, prior, settings)?;
                let error = if rule == "authors" {
                    compare::scaled(value, *stored, stored.abs().max(1.0))
                } else {
                    posterior::shortfall(value, *stored)
                };
                report.compare(&format!("{key}/{rule}/D={}", index + 1), error, run.bound());
                found.push(value);
            }
            if let Some(choice) = stored.find(&format!("selected_D_{rule}")) {
                let error = selected(&found).abs_diff(choice.count()?) as f64;
                report.compare(&format!("{key}/{rule}/selected_D"), error, 0.0);
            }
        }
    }
    Ok(())
}

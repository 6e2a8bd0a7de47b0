//! Linear fits (note §1).

use vi_linalg::faer::{MatRef, Par};
use vi_models::vb::{self, LinearFit, LinearPrior, StudentPrediction, VbSettings};

use super::inputs::{Inputs, Prior};
use super::posterior::{
    FixedPoint, check_all, check_each, check_not_below, check_run, check_terms, check_weights, moved, sensitivity,
};
use crate::json::Node;
use crate::report::Report;
use crate::tolerance::vb::Run;
use crate::{CaseError, tolerance};

pub(super) fn fit(
    ard: bool,
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LinearPrior,
    settings: VbSettings,
) -> Result<LinearFit, CaseError> {
    let fit = if ard { vb::linear_ard } else { vb::linear };
    Ok(fit(x, y, prior, &settings, Par::Seq)?)
}

pub(super) fn check(case: &Node<'_>, inputs: &Inputs, prior: &Prior, report: &mut Report) {
    for (key, ard) in [("fit", false), ("fit_ard", true)] {
        if let Some(stored) = case.find(key) {
            report.part(key, |report| check_fit(&stored, ard, inputs, prior, report));
        }
    }
}

fn check_fit(
    stored: &Node<'_>,
    ard: bool,
    inputs: &Inputs,
    prior: &Prior,
    report: &mut Report,
) -> Result<(), CaseError> {
    let prior = prior.linear()?;
    let at = |settings| fit(ard, inputs.x.as_ref(), &inputs.y, prior, settings);
    let authors = at(VbSettings::authors())?;
    let info = authors.info();
    let near = fit(ard, moved(&inputs.x).as_ref(), &inputs.y, prior, VbSettings::authors())?;
    let (here, there) = (authors.expected_shrinkage(), near.expected_shrinkage());
    let sensitivity = sensitivity((&here, info), (&there, near.info()));
    let run = Run { dim: inputs.x.ncols(), condition: info.condition, sensitivity };
    if let Some(expected) = stored.find("authors") {
        report.part("authors", |report| {
            check_parameters(&expected, &authors, inputs, run.parameters(), report)?;
            report.number(&expected, "L", authors.bound(), 1.0, run.bound())
        });
    }
    check_run(stored, info, run, report)?;
    if let Some(terms) = stored.find("bound_terms_at_authors_stop") {
        report.part("bound_terms", |report| check_terms(&terms, &bound_terms(&authors), authors.bound(), run, report));
    }
    let Some(converged) = stored.find("converged") else {
        return check_not_below(stored, authors.bound(), at(VbSettings::default())?.bound(), run, report);
    };
    report.part("converged", |report| {
        let stored_point = FixedPoint::read(&converged)?;
        let fit = at(tolerance::vb::SETTINGS)?;
        check_not_below(stored, authors.bound(), fit.bound(), run, report)?;
        if stored_point.check(fit.info(), fit.bound(), run, report) {
            check_parameters(&converged, &fit, inputs, stored_point.tolerance(run), report)?;
        }
        Ok(())
    });
    Ok(())
}

fn check_parameters(
    stored: &Node<'_>,
    fit: &LinearFit,
    inputs: &Inputs,
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    check_weights(stored, fit.weights(), tolerance, report)?;
    let shapes: Vec<f64> = fit.shrinkage().iter().map(|alpha| alpha.shape).collect();
    let rates: Vec<f64> = fit.shrinkage().iter().map(|alpha| alpha.rate).collect();
    check_each(stored, "an", &[fit.noise().shape], tolerance, report)?;
    check_each(stored, "bn", &[fit.noise().rate], tolerance, report)?;
    check_each(stored, "cn", &shapes, tolerance, report)?;
    check_each(stored, "dn", &rates, tolerance, report)?;
    check_each(stored, "E_a", &fit.expected_shrinkage(), tolerance, report)?;
    let Some(test) = &inputs.test else { return Ok(()) };
    let predicted = fit.predict(test.as_ref())?;
    let all = |value: fn(&vb::StudentPrediction) -> f64| predicted.iter().map(value).collect::<Vec<_>>();
    check_all(stored, "pred_mean", &all(|p| p.mean), tolerance, report)?;
    check_all(stored, "pred_precision", &all(StudentPrediction::precision), tolerance, report)?;
    check_each(stored, "pred_dof", &[predicted.first().map_or(f64::NAN, |p| p.degrees)], tolerance, report)
}

fn bound_terms(fit: &LinearFit) -> [(&'static str, f64); 6] {
    let terms = fit.bound_terms();
    [
        ("eq17", terms.likelihood),
        ("eq18", terms.weights),
        ("eq19_corrected", terms.shrinkage),
        ("eq20", terms.weights_posterior),
        ("eq21", terms.shrinkage_posterior),
        ("total", terms.total()),
    ]
}

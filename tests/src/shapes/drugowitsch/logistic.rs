//! Logistic fits (note §2).

use vi_core::{Exact, Mixture8, Projection};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::predict::LogisticPrediction;
use vi_models::vb::{
    self, AuthorsStop, LogitBound, LogitFit, LogitPrior, VbSettings, authors_probabilities, bound_probability,
};

use super::inputs::{Inputs, Prior};
use super::posterior::{
    FixedPoint, check_all, check_each, check_matrix, check_not_below, check_run, check_terms, check_weights, moved,
    sensitivity,
};
use crate::json::Node;
use crate::report::Report;
use crate::tolerance::vb::Run;
use crate::{CaseError, compare, tolerance};
use vi_core::Belief;

pub(super) fn fit(
    ard: bool,
    x: MatRef<'_, f64>,
    y: &[f64],
    prior: LogitPrior,
    settings: VbSettings,
) -> Result<LogitFit, CaseError> {
    let fit = if ard { vb::logit_ard } else { vb::logit };
    Ok(fit(x, y, prior, LogitBound::JaakkolaJordan, &settings, Par::Seq)?)
}

pub(super) fn check(case: &Node<'_>, inputs: &Inputs, prior: &Prior, report: &mut Report) {
    for (key, ard) in [("fit", false), ("fit_ard", true)] {
        if let Some(stored) = case.find(key) {
            report.part(key, |report| check_fit(&stored, ard, inputs, prior, report));
        }
    }
    if let Some(stored) = case.find("fit_iter") {
        report.part("fit_iter", |report| check_incremental(&stored, inputs, report));
    }
}

fn check_fit(
    stored: &Node<'_>,
    ard: bool,
    inputs: &Inputs,
    prior: &Prior,
    report: &mut Report,
) -> Result<(), CaseError> {
    let prior = prior.logit()?;
    let at = |settings| fit(ard, inputs.x.as_ref(), &inputs.y, prior, settings);
    let authors = at(VbSettings::authors())?;
    let info = authors.info();
    let near = fit(ard, moved(&inputs.x).as_ref(), &inputs.y, prior, VbSettings::authors())?;
    let (here, there) = (authors.expected_shrinkage(), near.expected_shrinkage());
    let sensitivity = sensitivity((&here, info), (&there, near.info()));
    let run = Run { dim: inputs.x.ncols(), condition: info.condition, sensitivity };
    let seen = |fit: &LogitFit| inputs.test.as_ref().map(|test| fit.weights().project(test.as_ref())).transpose();
    if let Some(expected) = stored.find("authors") {
        report.part("authors", |report| {
            check_parameters(&expected, &authors, run.parameters(), report)?;
            report.number(&expected, "L", authors.bound(), 1.0, run.bound())?;
            match seen(&authors)? {
                Some(seen) => check_predictions(&expected, &seen, energy(&authors)?, run.parameters(), report),
                None => Ok(()),
            }
        });
    }
    check_run(stored, info, run, report)?;
    if let (Some(check), Some(seen)) = (stored.find("pred_check"), seen(&authors)?) {
        report.part("pred_check", |report| check_integrals(&check, &seen, run.parameters(), report));
    }
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
            let tolerance = stored_point.tolerance(run);
            check_parameters(&converged, &fit, tolerance, report)?;
            check_all(&converged, "xi", fit.xi(), tolerance, report)?;
            if let Some(seen) = seen(&fit)? {
                let bounds = seen.into_iter().map(bound_probability).collect::<Result<Vec<_>, _>>()?;
                check_logs(&converged, "pred_prob_bound", &bounds, tolerance, report)?;
            }
        }
        Ok(())
    });
    Ok(())
}

fn check_parameters(stored: &Node<'_>, fit: &LogitFit, tolerance: f64, report: &mut Report) -> Result<(), CaseError> {
    check_weights(stored, fit.weights(), tolerance, report)?;
    let shapes: Vec<f64> = fit.shrinkage().iter().map(|alpha| alpha.shape).collect();
    let rates: Vec<f64> = fit.shrinkage().iter().map(|alpha| alpha.rate).collect();
    check_each(stored, "an", &shapes, tolerance, report)?;
    check_each(stored, "bn", &rates, tolerance, report)?;
    check_each(stored, "E_a", &fit.expected_shrinkage(), tolerance, report)
}

/// `wᵀV⁻¹w`.
fn energy(fit: &LogitFit) -> Result<f64, CaseError> {
    let column = Mat::from_fn(fit.weights().dim(), 1, |j, _| fit.weights().mean()[j]);
    let product = fit.weights().precision()? * &column;
    Ok((column.transpose() * product)[(0, 0)])
}

/// The authors' predictive values: (65) as their rules leave it.
fn check_predictions(
    stored: &Node<'_>,
    seen: &[Projection],
    energy: f64,
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let mirrored: Vec<Projection> = seen.iter().map(|seen| Projection { mean: -seen.mean, ..*seen }).collect();
    let summed = authors_probabilities(seen, energy, AuthorsStop::SumOfRows);
    let each = authors_probabilities(seen, energy, AuthorsStop::EachRow);
    let minus = authors_probabilities(&mirrored, energy, AuthorsStop::SumOfRows);
    check_logs(stored, "pred_prob_batch", &summed, tolerance, report)?;
    check_logs(stored, "pred_prob_per_row", &each, tolerance, report)?;
    check_logs(stored, "pred_prob_batch_at_minus_x", &minus, tolerance, report)
}

/// Probabilities down to where they vanish: their logarithms, relative to themselves or to 1.
fn check_logs(
    stored: &Node<'_>,
    key: &str,
    found: &[f64],
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let Some(node) = stored.find(key) else { return Ok(()) };
    let values = node.vector_of(found.len())?;
    let error = |(i, (found, stored)): (usize, (&f64, &f64))| {
        let (found, stored) = (found.max(f64::MIN_POSITIVE).ln(), stored.max(f64::MIN_POSITIVE).ln());
        (format!("[{i}]"), compare::scaled(found, stored, stored.abs().max(1.0)))
    };
    report.compare_worst(key, found.iter().zip(&values).enumerate().map(error), tolerance);
    Ok(())
}

fn check_integrals(
    stored: &Node<'_>,
    seen: &[Projection],
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let bounds = seen.iter().map(|seen| bound_probability(*seen)).collect::<Result<Vec<_>, _>>()?;
    check_logs(stored, "bound_maximised_to_convergence", &bounds, tolerance, report)?;
    if let Some(node) = stored.find("xi_at_maximum") {
        // The stored ξ is where their search stopped.
        let values = node.vector_of(seen.len())?;
        let xi = |seen: &Projection| vi_core::QuadraticBound::Optimal.xi(seen.mean, seen.variance, 1.0);
        let found = seen.iter().map(xi).collect::<Result<Vec<_>, _>>()?;
        let errors = found.iter().zip(&values).enumerate();
        let error =
            |(i, (found, stored)): (usize, (&f64, &f64))| (format!("[{i}]"), compare::relative(*found, *stored));
        report.compare_worst("xi_at_maximum", errors.map(error), tolerance.max(tolerance::vb::STORED_XI));
    }
    if let Some(node) = stored.find("exact_gaussian_sigmoid_integral") {
        let values = node.vector_of(seen.len())?;
        let worst = |probabilities: Vec<f64>| {
            let errors = probabilities.iter().zip(&values).map(|(p, stored)| (p - stored).abs());
            errors.enumerate().map(|(i, error)| (format!("[{i}]"), error)).collect::<Vec<_>>()
        };
        let exact = seen.iter().map(|seen| LogisticPrediction::new(*seen, &Exact).probability).collect();
        let mixture = seen.iter().map(|seen| LogisticPrediction::new(*seen, &Mixture8).probability).collect();
        report.compare_worst("integral", worst(exact), tolerance.max(tolerance::vb::STORED_INTEGRAL));
        report.compare_worst("mixture", worst(mixture), tolerance.max(tolerance::vb::STORED_INTEGRAL));
    }
    Ok(())
}

fn bound_terms(fit: &LogitFit) -> [(&'static str, f64); 7] {
    let terms = fit.bound_terms();
    [
        ("E_ln_h", terms.likelihood),
        ("E_ln_h_evaluated_directly_from_eq46", terms.likelihood),
        ("E_ln_p_w", terms.weights),
        ("E_ln_p_alpha", terms.shrinkage),
        ("E_ln_q_w", terms.weights_posterior),
        ("E_ln_q_alpha", terms.shrinkage_posterior),
        ("total", terms.total()),
    ]
}

fn check_incremental(stored: &Node<'_>, inputs: &Inputs, report: &mut Report) -> Result<(), CaseError> {
    let fit = vb::logit_incremental(inputs.x.as_ref(), &inputs.y, &VbSettings::authors())?;
    let expected = stored.get("authors")?;
    let factor = fit.belief().cholesky()?;
    let d = fit.belief().dim();
    let condition = tolerance::vb::condition(Mat::as_ref(&fit.belief().covariance_lower()))?;
    let run = Run { dim: d, condition, sensitivity: 0.0 };
    report.part("authors", |report| {
        let tolerance = run.parameters();
        let w = expected.get("w")?.vector_of(d)?;
        report.compare("w", compare::vectors(fit.belief().mean(), &w, 0.0), tolerance);
        if let Some(log_det) = expected.find("logdetV") {
            let stored = log_det.number()?;
            for (name, found) in [("logdetV", fit.log_det()), ("logdetV_of_V", factor.log_det())] {
                report.compare(name, compare::scaled(found, stored, stored.abs().max(d as f64)), tolerance);
            }
        }
        check_matrix(&expected, "V", &fit.belief().covariance(), tolerance, report)?;
        check_matrix(&expected, "invV", &factor.inverse(), tolerance, report)?;
        let Some(test) = &inputs.test else { return Ok(()) };
        let seen = vi_models::predict::project(fit.belief(), test.as_ref())?;
        check_predictions(&expected, &seen, fit.energy(), tolerance, report)
    });
    if let (Some(check), Some(test)) = (stored.find("pred_check"), &inputs.test) {
        let seen = vi_models::predict::project(fit.belief(), test.as_ref())?;
        report.part("pred_check", |report| check_integrals(&check, &seen, run.parameters(), report));
    }
    Ok(())
}

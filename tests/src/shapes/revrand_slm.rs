//! Bayesian linear regression on features: evidence, gradients, posterior, learned hyper-parameters (revrand §1.2).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_linalg::faer::{Mat, Par};
use vi_revrand::basis::{Basis, Composed, Kernel, Linear, Part, RandomFourier};
use vi_revrand::slm::{self, Hyperparameters, Slm, SlmSettings};

use super::Shape;
use super::revrand_basis::{length_scale, published_radial};
use crate::json::Node;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "linear regression on features", recognise, check };

/// Starts of our own search, the first where the file says that its own began.
const STARTS: usize = 4;

fn recognise(root: &Node<'_>) -> bool {
    let is_slm = |case: &Node<'_>| case.find("features").is_some() && case.find("expected_at_inputs").is_some();
    root.find("cases").and_then(|cases| cases.items().ok()).is_some_and(|cases| cases.iter().any(is_slm))
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    for (k, case) in root.get("cases")?.items()?.iter().enumerate() {
        let name = case.find("features").and_then(|features| features.text()).unwrap_or("features");
        report.part(&format!("case{k}/{name}"), |report| check_case(case, report));
    }
    Ok(())
}

/// A line, and beside it published radial features or waves, if there are centres or frequencies.
struct Problem<'a> {
    inputs: Node<'a>,
    x: Mat<f64>,
    y: Vec<f64>,
    /// Whether there is a line, and whether a constant belongs to it.
    line: Option<bool>,
}

impl<'a> Problem<'a> {
    fn read(case: &Node<'a>) -> Result<Self, CaseError> {
        let inputs = case.get("inputs")?;
        let x = inputs.get("X")?.matrix()?;
        let y = inputs.get("y")?.vector_of(x.nrows())?;
        let named =
            case.find("features").and_then(|features| features.text()).is_none_or(|name| name.contains("linear"));
        // The stored features say by their number whether there is a constant.
        let phi = case.find("expected_at_inputs").and_then(|expected| expected.find("Phi"));
        let width = phi.map(|phi| phi.matrix()).transpose()?.map(|phi| phi.ncols());
        let others = match (inputs.find("centres"), inputs.find("rff_weights_W")) {
            (Some(centres), _) => centres.matrix()?.nrows(),
            (None, Some(weights)) => 2 * weights.matrix()?.ncols(),
            (None, None) => 0,
        };
        let constant = width.is_none_or(|width| width != others + x.ncols());
        Ok(Self { inputs, x, y, line: named.then_some(constant) })
    }

    /// The basis at stored length scales, with our parameters and `dθ/dl`.
    fn basis(&self, scales: &[f64]) -> Result<(Composed, Vec<f64>, Vec<f64>), CaseError> {
        let d = self.x.ncols();
        let mut parts: Vec<Part> = match self.line {
            Some(true) => vec![Linear::with_intercept(d)?.into()],
            Some(false) => vec![Linear::new(d)?.into()],
            None => Vec::new(),
        };
        let (mut theta, mut slopes) = (Vec::new(), Vec::new());
        if let Some(centres) = self.inputs.find("centres") {
            let (radial, at, rates) = published_radial(&centres.matrix()?, scales)?;
            parts.push(radial.into());
            (theta, slopes) = (at, rates);
        } else if let Some(weights) = self.inputs.find("rff_weights_W") {
            let basis = RandomFourier::from_frequencies(Kernel::Rbf, weights.matrix()?, length_scale(scales))?;
            parts.push(basis.into());
            (theta, slopes) = (scales.to_vec(), vec![1.0; scales.len()]);
        }
        Ok((Composed::new(parts)?, theta, slopes))
    }

    /// The evidence at stored values: `(basis, hyper-parameters, dθ/dl)`.
    fn at(&self, values: &Node<'_>) -> Result<(Composed, Hyperparameters, Vec<f64>), CaseError> {
        let scales = scales(values)?;
        let (basis, theta, slopes) = self.basis(&scales)?;
        let noise_variance = values.get("var")?.number()?;
        let prior_variances = values.get("regularisers")?.vector_of(basis.regularisers().len())?;
        Ok((basis, Hyperparameters { noise_variance, prior_variances, theta }, slopes))
    }
}

/// A number, a list, an empty list, or nothing.
fn scales(values: &Node<'_>) -> Result<Vec<f64>, CaseError> {
    match values.find("lenscale") {
        None => Ok(Vec::new()),
        Some(scales) if scales.is_array() => scales.vector(),
        Some(scale) => Ok(vec![scale.number()?]),
    }
}

fn check_case(case: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let problem = Problem::read(case)?;
    if let Some(expected) = case.find("expected_at_inputs") {
        report.part("at_inputs", |report| check_at_inputs(&problem, &expected, report));
    }
    if let Some(learned) = case.find("learned") {
        report.part("learned", |report| check_learned(&problem, &learned, report));
    }
    Ok(())
}

fn check_at_inputs(problem: &Problem<'_>, expected: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let Problem { inputs, x, y, .. } = problem;
    let (basis, hyper, slopes) = problem.at(inputs)?;
    let features = basis.features(&hyper.theta, x.as_ref(), Par::Seq)?;
    report.matrix(expected, "Phi", features.as_ref(), tolerance::FEATURES)?;
    let evidence = slm::evidence(&basis, &hyper, x.as_ref(), y, Par::Seq)?;
    let model = Slm::new(basis, hyper, x.as_ref(), y, Par::Seq)?;
    report.number(expected, "elbo", model.bound(x.as_ref(), y, Par::Seq)?, 1.0, tolerance::KALMAN)?;
    report.number(expected, "log_marginal_likelihood_direct", evidence.value, 1.0, tolerance::KALMAN)?;
    check_posterior(&model, expected, report)?;

    // Exact derivatives where the file has right ones, and finite differences.
    let gradient = &evidence.gradient;
    let scales: Vec<f64> = gradient.theta.iter().zip(&slopes).map(|(g, slope)| g * slope).collect();
    let kinds = [
        ("grad_var", vec![gradient.noise_variance]),
        ("grad_regulariser", gradient.prior_variances.clone()),
        ("grad_lenscale", scales),
    ];
    for (key, found) in kinds {
        for (suffix, tolerance) in [("", tolerance::KALMAN), ("_fd", tolerance::EVIDENCE_DIFFERENCES)] {
            let Some(stored) = expected.find(&format!("{key}{suffix}")) else { continue };
            let stored = if stored.is_array() { stored.vector_of(found.len())? } else { vec![stored.number()?] };
            expected.check_len(found.len(), stored.len())?;
            // Differences lose what the evidence's own rounding takes, whatever their size.
            let error = compare::vectors(&found, &stored, 1.0);
            report.compare(&format!("{key}{suffix}"), error, tolerance);
        }
    }
    Ok(())
}

fn check_posterior(model: &Slm<Composed>, expected: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let (mean, covariance) = (model.weight_mean(), model.weight_covariance());
    let diagonal: Vec<f64> = (0..mean.len()).map(|j| covariance[(j, j)]).collect();
    report.vector(expected, "posterior_mean", &mean, 0.0, tolerance::SLM_POSTERIOR)?;
    report.matrix(expected, "posterior_cov", covariance.as_ref(), tolerance::SLM_POSTERIOR)?;
    report.vector(expected, "posterior_cov_diag", &diagonal, 0.0, tolerance::SLM_POSTERIOR)
}

/// The stored end of a search is compared at its own values; ours must not end lower.
fn check_learned(problem: &Problem<'_>, learned: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let Problem { inputs, x, y, .. } = problem;
    let (basis, hyper, _) = problem.at(learned)?;
    let model = Slm::new(basis, hyper, x.as_ref(), y, Par::Seq)?;
    let stored = learned.get("elbo")?.number()?;
    let size = stored.abs().max(1.0);
    let error = compare::scaled(model.log_marginal_likelihood(), stored, size);
    report.compare("elbo", error, tolerance::SLM_POSTERIOR);
    check_posterior(&model, learned, report)?;
    if let Some(points) = inputs.find("X_test") {
        let points = points.matrix_of(points.items()?.len(), x.ncols())?;
        let predictions = model.predict(points.as_ref(), Par::Seq)?;
        let means: Vec<f64> = predictions.iter().map(|p| p.mean).collect();
        let variances: Vec<f64> = predictions.iter().map(|p| p.predictive_variance).collect();
        report.vector(learned, "pred_mean", &means, 0.0, tolerance::SLM_POSTERIOR)?;
        report.vector(learned, "pred_var", &variances, 0.0, tolerance::SLM_POSTERIOR)?;
    }

    let (basis, _, _) = problem.basis(&vec![1.0; scales(learned)?.len()])?;
    let settings = SlmSettings { noise_variance: 0.5, starts: STARTS, spread: 0.5, ..SlmSettings::default() };
    let rng = &mut ChaCha8Rng::seed_from_u64(1);
    let fit = slm::learn(basis, x.as_ref(), y, &settings, rng, Par::Seq)?;
    let below = (stored - fit.model.log_marginal_likelihood()).max(0.0);
    report.compare("found_elbo_below", below / size, tolerance::SLM_LEARNED);
    Ok(())
}

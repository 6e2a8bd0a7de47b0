//! Linear regression with known noise: exact posteriors, evidence, vector observations (R-VGA §4.1, Theorem 2).

use vi_core::{Belief, DenseGaussian, GaussianExpectation, GaussianLikelihood, Kalman, filter, papers::kalman};
use vi_linalg::faer::{Mat, Par};
use vi_models::linear;

use super::Shape;
use crate::json::Node;
use crate::problem::{self, Problem, symmetric, trace};
use crate::report::Report;
use crate::{CaseError, compare, logistic, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "linear regression with known noise", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let expected = root.find("expected").is_some_and(|expected| expected.is_array());
    let noise = root.find("parameters").is_some_and(|parameters| parameters.find("noise_variance").is_some());
    (expected && (root.find("x").is_some() || noise)) || root.find("vector_observations").is_some()
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    if root.find("expected").is_some() {
        check_scalars(root, report)?;
    }
    if let Some(vectors) = root.find("vector_observations") {
        report.part("vector_observations", |report| check_vectors(root, &vectors, report));
    }
    Ok(())
}

fn check_scalars(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let problem = Problem::read(root, root)?;
    let likelihood = GaussianLikelihood::new(root.get("parameters")?.get("noise_variance")?.number()?)?;
    let rule: Kalman = vi_core::Explicit(likelihood);
    let mut beliefs = vec![(problem.prior.clone(), 0.0)];
    let (mut belief, mut log_evidence) = (problem.prior.clone(), 0.0);
    filter::run(&mut belief, &rule, problem.x.as_ref(), &problem.y, |t, belief: &DenseGaussian, info| {
        log_evidence += likelihood.log_predictive(problem.y[t], info.projection.mean, info.projection.variance);
        beliefs.push((belief.clone(), log_evidence));
    })?;
    for point in root.get("expected")?.items()? {
        let time = point.get("t")?;
        let t = time.count()?;
        let Some((belief, log_evidence)) = beliefs.get(t) else {
            return Err(time.refuse(format!("beyond the last of {} observations", problem.len())));
        };
        report.part(&format!("t{t}"), |report| {
            check_point(&point, belief, *log_evidence, report)?;
            if t == 0 {
                return Ok(());
            }
            let x = problem.x.as_ref().subrows(0, t);
            let batch = linear::fit(&problem.prior, x, &problem.y[..t], likelihood)?;
            report.part("batch", |report| check_point(&point, &batch.belief, batch.log_evidence, report));
            Ok(())
        });
    }
    Ok(())
}

fn check_point(
    point: &Node<'_>,
    belief: &DenseGaussian,
    log_evidence: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let d = belief.dim();
    let mean = point.get("mean")?.vector_of(d)?;
    report.compare("mean", compare::vectors(belief.mean(), &mean, logistic::mean_floor(belief)), tolerance::KALMAN);
    if let Some(stored) = point.find_any(&["cov", "final_cov"]) {
        let stored = stored.matrix_of(d, d)?;
        report.compare("cov", compare::matrices(belief.covariance().as_ref(), stored.as_ref()), tolerance::KALMAN);
    }
    if let Some(stored) = point.find_any(&["cov_trace", "trace"]) {
        report.compare("cov_trace", compare::relative(trace(belief), stored.number()?), tolerance::KALMAN);
    }
    if let Some(stored) = point.find_any(&["cov_logdet", "logdet"]) {
        let stored = stored.number()?;
        let error = compare::scaled(belief.cholesky()?.log_det(), stored, stored.abs().max(d as f64));
        report.compare("cov_logdet", error, tolerance::KALMAN);
    }
    report.number(point, "log_evidence", log_evidence, 1.0, tolerance::KALMAN)
}

/// Observations `y = Hθ + N(0, R)` in blocks, from the prior.
fn check_vectors(root: &Node<'_>, vectors: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let d = root.get("prior_mean")?.vector()?.len();
    let mut belief = problem::prior(root, root, d)?;
    let labels = vectors.get("y")?.matrix()?;
    let m = labels.ncols();
    let noise = symmetric(&vectors.get("R")?.matrix_of(m, m)?);
    let rows = vectors.get("H")?;
    let blocks = rows.items()?;
    rows.check_len(labels.nrows(), blocks.len())?;
    for (i, block) in blocks.iter().enumerate() {
        let h: Mat<f64> = block.matrix_of(m, d)?;
        let y: Vec<f64> = labels.row(i).iter().copied().collect();
        kalman::step(&mut belief, h.as_ref(), &y, noise.as_ref(), Par::Seq)?;
    }
    let mean = vectors.get("expected_mean")?.vector_of(d)?;
    report.compare("mean", compare::vectors(belief.mean(), &mean, logistic::mean_floor(&belief)), tolerance::KALMAN);
    if let Some(stored) = vectors.find("expected_cov") {
        let stored = stored.matrix_of(d, d)?;
        report.compare("cov", compare::matrices(belief.covariance().as_ref(), stored.as_ref()), tolerance::KALMAN);
    }
    Ok(())
}

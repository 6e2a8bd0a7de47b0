//! One logistic regression, with its true posterior where it has two dimensions: R-VGA Figs 3-6, 14-16.

use vi_core::{BernoulliLogit, Exact};
use vi_models::laplace::{self, LaplaceSettings};

use super::Shape;
use crate::json::Node;
use crate::problem::Problem;
use crate::report::Report;
use crate::{CaseError, grid, logistic, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "one logistic regression", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let has = |key: &str| root.find(key).is_some();
    let algorithms = root.find("algorithms").is_some_and(|algorithms| algorithms.is_object());
    let results = [algorithms, has("true_posterior"), has("laplace_exact")].into_iter().filter(|found| *found).count();
    !has("cases") && (results >= 2 || (results == 1 && (has("x") || has("prior_mean"))))
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let problem = Problem::read(root, root)?;
    let mut algorithms = root.find("algorithms").map(|found| found.members()).transpose()?.unwrap_or_default();
    // Laplace may stand beside the others or among them.
    if let Some(laplace) = root.find("laplace_exact") {
        algorithms.push(("laplace_exact", laplace));
    }
    let truth = root.find("true_posterior");
    let log_normaliser = truth.as_ref().and_then(|truth| truth.find("log_normaliser"));
    let log_normaliser = log_normaliser.map(|value| value.number()).transpose()?;
    let gap = logistic::stated_gap(root.find("authors_vs_exact_roots").as_ref(), "mean_reldiff", "cov_reldiff")?;
    logistic::check_all(&problem, &algorithms, log_normaliser, gap, report)?;
    if let Some(truth) = truth {
        report.part("true_posterior", |report| check_truth(&problem, &truth, report));
    }
    Ok(())
}

/// The stored moments of the true posterior against a grid of our own.
fn check_truth(problem: &Problem, truth: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    if problem.dim() != 2 {
        report.skip("", "a grid needs two dimensions");
        return Ok(());
    }
    let start = laplace::fit(
        &problem.prior,
        problem.x.as_ref(),
        &problem.y,
        &BernoulliLogit(Exact),
        &LaplaceSettings::default(),
    )?;
    let moments = grid::moments(&problem.logistic_posterior()?, &start.belief)?;
    let stated = truth.find("grid_refinement_error").map_or(Ok(0.0), |value| value.number())?;
    let tolerance = tolerance::grid(stated);
    report.vector(truth, "mean", &moments.mean, 0.0, tolerance)?;
    report.matrix(truth, "cov", moments.covariance.as_ref(), tolerance)?;
    report.number(truth, "log_normaliser", moments.log_normaliser, 1.0, tolerance)
}

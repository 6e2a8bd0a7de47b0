//! What both models store of a posterior, compared.

use vi_linalg::faer::Mat;
use vi_models::vb::{VbInfo, WeightDistribution};

use crate::compare::{relative, scaled, vectors};
use crate::json::Node;
use crate::report::Report;
use crate::tolerance::{self, vb::Run};
use crate::{CaseError, compare};

/// `w`, `V`, `V⁻¹` and `ln|V|` in whichever forms `stored` has them.
pub(super) fn check_weights(
    stored: &Node<'_>,
    weights: &WeightDistribution,
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    report.vector(stored, "w", weights.mean(), 0.0, tolerance)?;
    report.number(stored, "logdetV", weights.log_det(), weights.dim() as f64, tolerance)?;
    check_matrix(stored, "V", &weights.covariance(), tolerance, report)?;
    if ["invV", "invV_diag", "invV_rows_0_and_1"].iter().any(|key| stored.find(key).is_some()) {
        check_matrix(stored, "invV", &weights.precision()?, tolerance, report)?;
    }
    Ok(())
}

/// A matrix as a whole, its diagonal, its first rows, or the beginning of the first, each relative to its own norm.
pub(super) fn check_matrix(
    stored: &Node<'_>,
    name: &str,
    found: &Mat<f64>,
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let d = found.nrows();
    let key = |suffix: &str| format!("{name}{suffix}");
    let diagonal: Vec<f64> = (0..d).map(|j| found[(j, j)]).collect();
    report.matrix(stored, name, found.as_ref(), tolerance)?;
    report.vector(stored, &key("_diag"), &diagonal, 0.0, tolerance)?;
    report.matrix(stored, &key("_rows_0_and_1"), found.as_ref().subrows(0, 2.min(d)), tolerance)?;
    if let Some(row) = stored.find(&key("_row_0_first_10")) {
        let stored = row.vector()?;
        row.check_len(d.min(stored.len()), stored.len())?;
        let found: Vec<f64> = (0..stored.len()).map(|j| found[(0, j)]).collect();
        report.compare(&key("_row_0_first_10"), vectors(&found, &stored, 0.0), tolerance);
    }
    Ok(())
}

/// A number, or one for each weight, relative to itself.
pub(super) fn check_each(
    stored: &Node<'_>,
    key: &str,
    found: &[f64],
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let Some(node) = stored.find(key) else { return Ok(()) };
    let values = if node.is_array() { node.vector_of(found.len())? } else { vec![node.number()?; found.len()] };
    let errors = found.iter().zip(&values).enumerate();
    report.compare_worst(
        key,
        errors.map(|(j, (found, stored))| (format!("[{j}]"), relative(*found, *stored))),
        tolerance,
    );
    Ok(())
}

/// Numbers that may pass through 0, relative to the largest.
pub(super) fn check_all(
    stored: &Node<'_>,
    key: &str,
    found: &[f64],
    tolerance: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    if let Some(node) = stored.find(key) {
        let values = node.vector_of(found.len())?;
        let scale = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
        let errors = found.iter().zip(&values).enumerate();
        let error = |(i, (found, stored)): (usize, (&f64, &f64))| (format!("[{i}]"), scaled(*found, *stored, scale));
        report.compare_worst(key, errors.map(error), tolerance);
    }
    Ok(())
}

/// The terms of ℒ by their names, of which the last is their total: as stored, and ℒ itself.
pub(super) fn check_terms(
    stored: &Node<'_>,
    terms: &[(&str, f64)],
    bound: f64,
    run: Run,
    report: &mut Report,
) -> Result<(), CaseError> {
    for (key, found) in terms {
        report.number(stored, key, *found, 1.0, run.terms())?;
    }
    // Both forms of ℒ are one number.
    let total = terms.last().map_or(f64::NAN, |(_, total)| *total);
    report.compare("total_is_L", scaled(total, bound, bound.abs().max(1.0)), run.terms());
    Ok(())
}

/// A converged fit's ℒ, which is not to be below what is stored of the authors' run, or what ours under their rule came to.
pub(super) fn check_not_below(
    stored: &Node<'_>,
    authors: f64,
    converged: f64,
    run: Run,
    report: &mut Report,
) -> Result<(), CaseError> {
    let least = stored.find("authors").and_then(|authors| authors.find("L"));
    let least = least.map_or(Ok(authors), |least| least.number())?;
    report.compare("L_not_below_authors", shortfall(converged, least), run.bound());
    Ok(())
}

/// The run under the authors' rule: how many iterations, and ℒ after each.
pub(super) fn check_run(fit: &Node<'_>, info: &VbInfo, run: Run, report: &mut Report) -> Result<(), CaseError> {
    if let Some(iterations) = fit.find("iterations_authors_rule") {
        // Two runs that are equal to rounding stop together, unless the rule is met within rounding.
        let expected = iterations.count()?;
        report.compare("iterations", info.iterations.abs_diff(expected) as f64, 0.0);
    }
    if let Some(trace) = fit.find("bound_trace") {
        // Some files keep the last one only.
        let stored = trace.vector()?;
        let found = info.bounds.get(info.bounds.len().saturating_sub(stored.len())..).unwrap_or_default();
        trace.check_len(stored.len(), found.len())?;
        let errors = found.iter().zip(&stored).enumerate();
        let error = |(i, (found, stored)): (usize, (&f64, &f64))| {
            (format!("[{i}]"), scaled(*found, *stored, stored.abs().max(1.0)))
        };
        report.compare_worst("bound_trace", errors.map(error), run.bound());
    }
    report.compare("monotone", fall(info), info.rounding);
    Ok(())
}

/// The largest fall of ℒ from one iteration to the next, in nats.
fn fall(info: &VbInfo) -> f64 {
    info.bounds.windows(2).map(|pair| pair[0] - pair[1]).fold(0.0, f64::max)
}

/// How far `bound` is below `stored`, relative to it; a bound may be better.
pub(super) fn shortfall(bound: f64, stored: f64) -> f64 {
    compare::scaled(bound.min(stored), stored, stored.abs().max(1.0))
}

/// What the file says of its own fixed point.
pub(super) struct FixedPoint {
    pub(super) bound: f64,
    iterations: usize,
    last_change: f64,
}

impl FixedPoint {
    pub(super) fn read(converged: &Node<'_>) -> Result<Self, CaseError> {
        let number = |key: &str| converged.find(key).map(|value| value.number()).transpose();
        Ok(Self {
            bound: converged.get("L")?.number()?,
            iterations: converged.find("iterations").map_or(Ok(1000), |value| value.count())?,
            last_change: number("last_relative_change_E_a")?.unwrap_or(0.0),
        })
    }

    /// Files ℒ; whether the parameters should agree, too.
    pub(super) fn check(&self, info: &VbInfo, bound: f64, run: Run, report: &mut Report) -> bool {
        report.compare("L_not_below", shortfall(bound, self.bound), run.bound());
        report.compare("monotone", fall(info), info.rounding);
        if self.last_change > tolerance::vb::REACHED {
            report.skip("parameters", &format!("the stored run still moved by {:e}", self.last_change));
            return false;
        }
        if bound - self.bound > tolerance::vb::OTHER_OPTIMUM * self.bound.abs().max(1.0) {
            report.skip("parameters", "another optimum, and a better one");
            return false;
        }
        true
    }

    pub(super) fn tolerance(&self, run: Run) -> f64 {
        tolerance::vb::fixed_point(run, self.iterations, self.last_change)
    }
}

/// `x` with every entry moved by `ε` of itself, up or down.
pub(super) fn moved(x: &Mat<f64>) -> Mat<f64> {
    Mat::from_fn(x.nrows(), x.ncols(), |i, j| {
        let up = (i * 7919 + j * 104_729).wrapping_mul(0x9E37_79B9) >> 7 & 1 == 1;
        x[(i, j)] * if up { 1.0 + f64::EPSILON } else { 1.0 - f64::EPSILON }
    })
}

/// The largest relative difference of two runs' shrinkages; 0, for nothing to go by, where they stopped after different numbers of
/// iterations.
pub(super) fn sensitivity(one: (&[f64], &VbInfo), other: (&[f64], &VbInfo)) -> f64 {
    if one.1.iterations != other.1.iterations {
        return 0.0;
    }
    one.0.iter().zip(other.0).map(|(one, other)| relative(*other, *one)).fold(0.0, f64::max)
}

//! What the shapes of logistic regression share: running each named algorithm and comparing what it gives.

mod algorithm;
mod entry;

use vi_linalg::faer::Par;

pub use algorithm::Algorithm;
pub use entry::{Context, Entry};

use crate::json::Node;
use crate::problem::{Problem, trace};
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

/// Runs every algorithm of `algorithms` on `problem` and compares it with what is stored under its name.
///
/// # Errors
/// A [`CaseError`] if the problem itself, or the list of algorithms, is broken. A broken entry is filed as a failure.
pub fn check_all(
    problem: &Problem,
    algorithms: &[(&str, Node<'_>)],
    log_normaliser: Option<f64>,
    stated_gap: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let posterior = problem.logistic_posterior()?;
    let context = Context { problem, posterior: &posterior, log_normaliser };
    for (name, node) in algorithms {
        let Some(algorithm) = Algorithm::named(name) else {
            report.skip(name, "unknown algorithm");
            continue;
        };
        report.part(name, |report| check_one(&context, algorithm, node, stated_gap, report));
    }
    Ok(())
}

fn check_one(
    context: &Context<'_>,
    algorithm: Algorithm,
    node: &Node<'_>,
    stated_gap: f64,
    report: &mut Report,
) -> Result<(), CaseError> {
    let problem = context.problem;
    let (n, d) = (problem.len(), problem.dim());
    let last = Entry::read(node, d)?;
    let mut times = vec![n];
    let mut points = Vec::new();
    if let Some(trajectory) = node.find("trajectory") {
        for point in trajectory.items()? {
            let time = point.get("t")?;
            let t = time.count()?;
            if t > n {
                return Err(time.refuse(format!("beyond the last of {n} observations")));
            }
            times.push(t);
            points.push(Entry::read(&point, d)?);
        }
    }
    let run = algorithm.run(problem, &times)?;
    let tolerance = algorithm.tolerance(&run, d, stated_gap);
    let Some((end, way)) = run.beliefs.split_first() else { return Ok(()) };
    last.check(context, end, tolerance, report)?;
    if let (Some(stated), Some(gradient)) = (node.find("gradient_norm"), run.gradient) {
        // Information: how near to the mode the stored answer is. Ours must be there too.
        stated.number()?;
        report.compare("gradient_norm", gradient, tolerance::GRADIENT);
    }
    for ((point, belief), t) in points.iter().zip(way).zip(&times[1..]) {
        report.part(&format!("t{t}"), |report| point.check(context, belief, tolerance, report));
    }
    if last.kl_monte_carlo.is_some() {
        let estimate = algorithm::monte_carlo(context.posterior, end)?;
        let exact = context.posterior.kl(end, Par::Seq)?;
        let error = compare::scaled(estimate.value, exact, estimate.standard_error);
        report.compare("kl_mc_of_ours", error, tolerance::OWN_STANDARD_ERRORS);
    }
    Ok(())
}

/// The larger of the two numbers in which a file says how far the published implicit run is from the one with exact
/// roots: `mean_key` and `cov_key` of `node`; 0 for what is not said.
///
/// # Errors
/// [`CaseError::Type`].
pub fn stated_gap(node: Option<&Node<'_>>, mean_key: &str, cov_key: &str) -> Result<f64, CaseError> {
    let number = |key: &str| node.and_then(|node| node.find(key)).map_or(Ok(0.0), |value| value.number());
    Ok(number(mean_key)?.abs().max(number(cov_key)?.abs()))
}

/// A thousandth of `√tr P`: a mean smaller than that, relative to its standard deviation, is as good as 0.
pub(crate) fn mean_floor(belief: &vi_core::DenseGaussian) -> f64 {
    1e-3 * trace(belief).sqrt()
}

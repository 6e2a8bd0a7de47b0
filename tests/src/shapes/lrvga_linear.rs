//! Limited-memory linear regression: the exact posterior, and the recursion as printed (L-RVGA §3.2, (25)-(28)).

use vi_core::{
    Belief, DenseGaussian, DiagonalGaussian, Explicit, GaussianBelief, GaussianLikelihood, Kalman, MeanMoves,
    divergence, filter,
};
use vi_linalg::faer::Mat;

use super::Shape;
use crate::json::Node;
use crate::low_rank::{Start, Stored};
use crate::problem::{self, trace};
use crate::report::Report;
use crate::{CaseError, compare, logistic, tolerance};

pub(super) const SHAPE: Shape = Shape { about: "limited-memory linear regression", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let cases = root.find("cases").and_then(|cases| cases.items().ok()).unwrap_or_default();
    let starts = cases.iter().any(|case| case.find("W0").is_some() || case.find("Psi0").is_some());
    let linear = root.find_any(&["exact_posterior", "full_kalman", "prior_precision_diag"]).is_some();
    linear && (starts || root.find("x").is_some()) && cases.iter().all(|case| case.find("algorithms").is_none())
}

struct Linear {
    x: Mat<f64>,
    y: Vec<f64>,
    prior: DenseGaussian,
    rule: Kalman,
}

fn read(root: &Node<'_>) -> Result<Linear, CaseError> {
    let x = root.get("x")?.matrix()?;
    let (n, d) = (x.nrows(), x.ncols());
    let y = root.get("y")?.vector_of(n)?;
    let parameter = |name: &str| root.find("parameters").and_then(|parameters| parameters.find(name));
    let noise = match (parameter("noise_sigma"), parameter("noise_variance")) {
        (Some(sigma), _) => sigma.number()?.powi(2),
        (None, Some(variance)) => variance.number()?,
        (None, None) => 1.0,
    };
    let mean = root.find("prior_mean").map_or(Ok(vec![0.0; d]), |mean| mean.vector_of(d))?;
    let prior = match root.find("prior_precision_diag") {
        Some(diagonal) => {
            let diagonal = if diagonal.is_array() { diagonal.vector_of(d)? } else { vec![diagonal.number()?; d] };
            let variances: Vec<f64> = diagonal.iter().map(|precision| 1.0 / precision).collect();
            DiagonalGaussian::new(&mean, &variances)?.to_dense()?
        }
        None if root.find("prior_cov").is_some() => problem::prior(root, root, d)?,
        None => DenseGaussian::isotropic(&mean, root.get("parameters")?.get("sigma0")?.number()?)?,
    };
    Ok(Linear { x, y, prior, rule: Explicit(GaussianLikelihood::new(noise)?) })
}

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let linear = read(root)?;
    let mut exact = linear.prior.clone();
    filter::run(&mut exact, &linear.rule, linear.x.as_ref(), &linear.y, |_, _, _| {})?;
    if let Some(stored) = root.find("exact_posterior") {
        report.part("exact_posterior", |report| check_exact(&stored, &exact, report));
    }
    if let Some(stored) = root.find("full_kalman") {
        report.part("full_kalman", |report| check_kalman(&stored, &exact, report));
    }
    for (i, case) in root.find("cases").map_or(Ok(Vec::new()), |cases| cases.items())?.iter().enumerate() {
        let rank = case.find("p").and_then(|p| p.count().ok());
        let name = rank.map_or(format!("case{i}"), |p| format!("case{i}_p{p}"));
        report.part(&name, |report| check_case(root, case, &linear, &exact, report));
    }
    Ok(())
}

fn check_exact(stored: &Node<'_>, exact: &DenseGaussian, report: &mut Report) -> Result<(), CaseError> {
    let d = exact.dim();
    let covariance = exact.covariance_lower();
    let diagonal: Vec<f64> = (0..d).map(|i| covariance[(i, i)]).collect();
    report.vector(stored, "mean", exact.mean(), logistic::mean_floor(exact), tolerance::KALMAN)?;
    report.number(stored, "precision_logdet", -exact.cholesky()?.log_det(), d as f64, tolerance::KALMAN)?;
    report.number(stored, "cov_trace", trace(exact), 0.0, tolerance::KALMAN)?;
    report.vector(stored, "cov_diag", &diagonal, 0.0, tolerance::KALMAN)
}

fn check_kalman(stored: &Node<'_>, exact: &DenseGaussian, report: &mut Report) -> Result<(), CaseError> {
    let mean = stored.get("final_mean")?.vector_of(exact.dim())?;
    report.compare("mean", compare::vectors(exact.mean(), &mean, logistic::mean_floor(exact)), tolerance::KALMAN);
    if let Some(kl) = stored.find("kl") {
        // The Kalman filter is the exact posterior: what is stored is rounding.
        report.compare("kl", kl.number()?.abs(), tolerance::KALMAN * exact.dim() as f64);
    }
    Ok(())
}

fn check_case(
    root: &Node<'_>,
    case: &Node<'_>,
    linear: &Linear,
    exact: &DenseGaussian,
    report: &mut Report,
) -> Result<(), CaseError> {
    let start = Start::read(root, case, linear.prior.mean(), 3)?;
    let stored = Stored::read(case, linear.y.len())?;
    let stated = stated(case)?;
    let Some(tolerance) = tolerance::recursion(stated) else {
        report.skip("", "the file says that the run cannot be repeated");
        return Ok(());
    };
    let (x, y) = (linear.x.as_ref(), &linear.y);
    let beliefs = start.run(&linear.rule, MeanMoves::AfterProjection, x, y, &stored.times)?;
    let kl = |belief: &DenseGaussian| Ok(divergence::gaussian_kl(belief, exact)?);
    stored.check(&beliefs, "kl_to_exact", &kl, tolerance, report)
}

/// The largest relative difference between two implementations that the file states.
fn stated(case: &Node<'_>) -> Result<f64, CaseError> {
    let mut largest = 0.0_f64;
    for key in ["second_implementation", "sensitivity"] {
        let Some(found) = case.find(key) else { continue };
        if found.is_object() {
            for (_, value) in found.members()? {
                largest = largest.max(value.number().map_or(0.0, f64::abs));
            }
        } else {
            largest = largest.max(found.number()?.abs());
        }
    }
    Ok(largest)
}

//! A logistic posterior with its long-run truth: what Gaussians and mixtures attain on it.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_boost::gaussian::{self, GaussianSettings};
use vi_boost::target::GlmTarget;
use vi_boost::{BoostSettings, Component, Family, GaussianMixture, LogDensity, Refit, divergence, points};
use vi_core::{Belief, BernoulliLogit, DenseGaussian, Exact, GlmPosterior, Mixture8, batch};
use vi_linalg::faer::{Mat, Par};
use vi_models::laplace::{self, LaplaceSettings};

use super::Shape;
use crate::boosting::{SEED, best_of, greedy, refitted};
use crate::json::Node;
use crate::problem::symmetric;
use crate::report::Report;
use crate::{CaseError, compare, tolerance};

pub(super) const SHAPE: Shape =
    Shape { about: "a logistic posterior and what boosting attains on it", recognise, check };

fn recognise(root: &Node<'_>) -> bool {
    let rows = root.find_any(&["X", "x"]).is_some() && root.find("y").is_some();
    let optimum = root.find("full_rank_gaussian_optimum").or_else(|| root.find("mean_field_gaussian_optimum"));
    let evidence = root.find("truth").is_some_and(|truth| truth.find("log_evidence").is_some());
    root.find("prior_variance").is_some() && (rows || evidence) && (optimum.is_some() || root.find("truth").is_some())
}

struct Case {
    x: Mat<f64>,
    y: Vec<f64>,
    prior: DenseGaussian,
    target: GlmTarget<BernoulliLogit<Mixture8>>,
}

impl Case {
    fn read(root: &Node<'_>) -> Result<Self, CaseError> {
        let rows = root.find_any(&["X", "x"]).map_or_else(|| root.get("X"), Ok)?;
        let x = rows.matrix()?;
        let labels = root.get("y")?;
        // Labels are ±1 or 0/1.
        let y: Vec<f64> = labels.vector_of(x.nrows())?.iter().map(|y| if *y > 0.5 { 1.0 } else { 0.0 }).collect();
        let d = x.ncols();
        let mean = root.find("prior_mean").map_or_else(|| Ok(vec![0.0; d]), |mean| mean.vector_of(d))?;
        let prior = DenseGaussian::isotropic(&mean, root.get("prior_variance")?.number()?.sqrt())?;
        let target = GlmTarget::new(&prior, x.as_ref(), &y, BernoulliLogit(Mixture8))?;
        Ok(Self { x, y, prior, target })
    }

    fn dim(&self) -> usize {
        self.x.ncols()
    }

    /// The prior: broad beside any posterior.
    fn start(&self) -> Result<Component, CaseError> {
        Ok(Component::full(self.prior.mean(), self.prior.covariance().as_ref())?)
    }
}

/// Points of each component.
const POINTS: usize = 1024;

fn check(root: &Node<'_>, report: &mut Report) -> Result<(), CaseError> {
    let case = Case::read(root)?;
    let q = refitted(&case.target, &case.start()?, 3, POINTS, 0.01)?;
    let truth = root.find("truth");
    let mut log_evidence = None;
    if let Some(truth) = &truth {
        log_evidence = truth.find("log_evidence").map(|value| value.number()).transpose()?;
        report.part("truth", |report| check_truth(&case, truth, &q, report));
    }
    for (name, family) in
        [("mean_field_gaussian_optimum", Family::Diagonal), ("full_rank_gaussian_optimum", Family::Full)]
    {
        if let Some(stored) = root.find(name) {
            report.part(name, |report| check_gaussian(&case, &stored, family, log_evidence, report));
        }
    }
    if let Some(stored) = root.find("laplace") {
        report.part("laplace", |report| check_laplace(&case, &stored, ["mean", "cov"], report));
    }
    let single = root.find("full_rank_gaussian_optimum").and_then(|found| found.find("kl_q_p"));
    if let (Some(log_evidence), Some(truth)) = (log_evidence, &truth) {
        let single = single.map(|kl| kl.number()).transpose()?;
        report.part("boosted", |report| check_boosted(&case, truth, log_evidence, single, &q, report));
    }
    if root.find("polya_gamma_gibbs_check").is_some() {
        report.skip("polya_gamma_gibbs_check", "a check of the truth, for information");
    }
    Ok(())
}

fn check_laplace(case: &Case, stored: &Node<'_>, keys: [&str; 2], report: &mut Report) -> Result<(), CaseError> {
    let x = case.x.as_ref();
    let fit = laplace::fit(&case.prior, x, &case.y, &BernoulliLogit(Exact), &LaplaceSettings::default())?;
    let tolerance = tolerance::LAPLACE.belief;
    report.vector(stored, keys[0], fit.belief.mean(), 0.0, tolerance)?;
    report.matrix(stored, keys[1], fit.belief.covariance().as_ref(), tolerance)?;
    report.number(stored, "log_evidence_laplace", fit.log_evidence, 1.0, tolerance)
}

/// Moments of the posterior by importance weights on the boosted mixture, each with its standard error.
struct Moments {
    mean: Vec<(f64, f64)>,
    covariance: Vec<Vec<(f64, f64)>>,
}

/// Scramblings from whose scatter the standard errors come.
const REPLICATES: u64 = 8;

impl Moments {
    fn of(case: &Case, q: &GaussianMixture) -> Result<Self, CaseError> {
        let d = case.dim();
        let log_evidence = divergence::quasi(q, &case.target, 1024, 2, SEED)?.log_evidence.value;
        let one = |replicate: u64| -> Result<Vec<f64>, CaseError> {
            let (mut mass, mut first, mut second) = (0.0, vec![0.0; d], vec![0.0; d * d]);
            for (k, (component, weight)) in q.components().iter().zip(q.weights()).enumerate() {
                let belief = component.to_belief()?;
                let z = points::quasi(8192, d, 1000 * replicate + k as u64)?;
                let theta = belief.cholesky()?.unwhiten(z.transpose()).map_err(vi_core::Error::from)?;
                let theta = Mat::from_fn(z.nrows(), d, |i, j| belief.mean()[j] + theta[(j, i)]);
                let (mut log_q, mut log_f) = (vec![0.0; z.nrows()], vec![0.0; z.nrows()]);
                q.log_densities(theta.as_ref(), &mut log_q)?;
                case.target.log_densities(theta.as_ref(), &mut log_f);
                for i in 0..z.nrows() {
                    // f/q is near the evidence wherever q is near the posterior: relative to it, ratios stay in range.
                    let v = weight * (log_f[i] - log_q[i] - log_evidence).exp();
                    mass += v;
                    for j in 0..d {
                        first[j] += v * theta[(i, j)];
                        for l in 0..=j {
                            second[j * d + l] += v * theta[(i, j)] * theta[(i, l)];
                        }
                    }
                }
            }
            let mut all: Vec<f64> = first.iter().map(|sum| sum / mass).collect();
            for j in 0..d {
                for l in 0..d {
                    all.push(second[j.max(l) * d + j.min(l)] / mass - all[j] * all[l]);
                }
            }
            Ok(all)
        };
        let runs = (0..REPLICATES).map(one).collect::<Result<Vec<_>, _>>()?;
        let n = runs.len() as f64;
        let estimate = |index: usize| {
            let mean = runs.iter().map(|run| run[index]).sum::<f64>() / n;
            let squares: f64 = runs.iter().map(|run| (run[index] - mean).powi(2)).sum();
            (mean, (squares / (n - 1.0) / n).sqrt())
        };
        Ok(Self {
            mean: (0..d).map(estimate).collect(),
            covariance: (0..d).map(|j| (0..d).map(|l| estimate(d + j * d + l)).collect()).collect(),
        })
    }
}

/// The difference in standard errors of both.
fn in_errors(found: (f64, f64), stored: f64, error: f64) -> f64 {
    (found.0 - stored).abs() / found.1.hypot(error)
}

fn check_truth(case: &Case, truth: &Node<'_>, q: &GaussianMixture, report: &mut Report) -> Result<(), CaseError> {
    check_laplace(case, truth, ["map", "laplace_cov"], report)?;
    let d = case.dim();
    let error = |key: &str| truth.find(key).map_or(Ok(0.0), |value| value.number());
    if let Some(stored) = truth.find("log_evidence") {
        let found = divergence::quasi(q, &case.target, 8192, 8, SEED)?.log_evidence;
        let error = in_errors((found.value, found.standard_error), stored.number()?, error("log_evidence_se")?);
        report.compare("log_evidence", error, tolerance::STANDARD_ERRORS);
    }
    let moments = Moments::of(case, q)?;
    if let Some(stored) = truth.find("mean") {
        let stored = stored.vector_of(d)?;
        let errors = truth.find("mean_se").map_or_else(|| Ok(vec![0.0; d]), |value| value.vector_of(d))?;
        let rows = (0..d).map(|j| (format!("[{j}]"), in_errors(moments.mean[j], stored[j], errors[j])));
        report.compare_worst("mean", rows, tolerance::STANDARD_ERRORS);
    }
    if let Some(stored) = truth.find("cov") {
        let stored = stored.matrix_of(d, d)?;
        let zero = || Mat::zeros(d, d);
        let errors = truth.find("cov_se").map_or_else(|| Ok(zero()), |value| value.matrix_of(d, d))?;
        let entries = (0..d).flat_map(|j| (0..=j).map(move |l| (j, l)));
        let rows = entries
            .map(|(j, l)| (format!("[{j}][{l}]"), in_errors(moments.covariance[j][l], stored[(j, l)], errors[(j, l)])));
        report.compare_worst("cov", rows, tolerance::STANDARD_ERRORS);
    }
    Ok(())
}

/// The stored Gaussian's bound exactly, and ours against it.
fn check_gaussian(
    case: &Case,
    stored: &Node<'_>,
    family: Family,
    log_evidence: Option<f64>,
    report: &mut Report,
) -> Result<(), CaseError> {
    let d = case.dim();
    let mean = stored.get("mean")?.vector_of(d)?;
    let covariance = symmetric(&stored.get("cov")?.matrix_of(d, d)?);
    let belief = DenseGaussian::new(&mean, covariance.as_ref())?;
    let posterior = GlmPosterior::new(&case.prior, case.x.as_ref(), &case.y, BernoulliLogit(Exact))?;
    let bound = -posterior.kl(&belief, Par::Seq)?;
    report.number(stored, "elbo", bound, 1.0, tolerance::KL_OF_STORED)?;
    if let (Some(kl), Some(log_evidence)) = (stored.find("kl_q_p"), log_evidence) {
        let error = compare::scaled(log_evidence - bound, kl.number()?, log_evidence.abs().max(1.0));
        report.compare("kl_q_p", error, tolerance::KL_OF_STORED);
    }
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let settings = GaussianSettings { family, ..GaussianSettings::default() };
    let (found, _) = gaussian::fit(&case.target, &case.start()?, &settings, &mut rng)?;
    // How much of the bound our optimum on points loses on the exact one.
    let ours = -posterior.kl(&found.to_belief()?, Par::Seq)?;
    report.compare("boost_bound", (bound - ours).abs(), tolerance::BOOST_BOUND);
    if family == Family::Full {
        let (x, likelihood) = (case.x.as_ref(), BernoulliLogit(Exact));
        let settings = batch::BatchSettings::default();
        let (best, _) = batch::optimum(&case.prior, &case.prior, x, &case.y, &likelihood, &settings, Par::Seq)?;
        report.compare("mean", compare::vectors(best.mean(), &mean, 0.0), tolerance::BATCH_OPTIMUM);
        let error = compare::matrices(best.covariance().as_ref(), covariance.as_ref());
        report.compare("cov", error, tolerance::BATCH_OPTIMUM);
    }
    Ok(())
}

/// What mixtures attain, against what a single Gaussian does.
fn check_boosted(
    case: &Case,
    truth: &Node<'_>,
    log_evidence: f64,
    single: Option<f64>,
    three: &GaussianMixture,
    report: &mut Report,
) -> Result<(), CaseError> {
    let d = case.dim();
    let start = case.start()?;
    let kl = |q: &GaussianMixture| divergence::known_evidence(q, &case.target, log_evidence, 8192, 16, SEED);
    let two = {
        let settings = BoostSettings {
            components: 2,
            points: Some(POINTS),
            refit: Refit::Each,
            polish: 4 * POINTS,
            ..BoostSettings::default()
        };
        best_of(&case.target, &start, &settings, (0, 0.0), SEED)?.0
    };
    let sixteen = greedy(&case.target, &start, 16, POINTS)?;
    if let Some(single) = single {
        let shares = tolerance::BOOST_SHARES;
        for (name, q, share) in [
            ("greedy_16", &sixteen, shares.greedy),
            ("refitted_2", &two, shares.two),
            ("refitted_3", three, shares.three),
        ] {
            let found = kl(q)?;
            report.compare(&format!("{name}/kl"), found.value, share * single + 2.0 * found.standard_error);
            report.compare(&format!("{name}/kl_error"), found.standard_error, tolerance::BOOST_KL_ERROR);
        }
    }
    let (Some(mean), Some(covariance)) = (truth.find("mean"), truth.find("cov")) else { return Ok(()) };
    let (mean, covariance) = (mean.vector_of(d)?, covariance.matrix_of(d, d)?);
    for (name, q, (of_mean, of_sd)) in [
        ("greedy_16", &sixteen, tolerance::BOOST_GREEDY_MOMENTS),
        ("refitted_3", three, tolerance::BOOST_REFITTED_MOMENTS),
    ] {
        let (m, s) = (q.mean(), q.covariance()?);
        let sd = |j: usize| covariance[(j, j)].sqrt();
        let rows = (0..d).map(|j| (format!("[{j}]"), (m[j] - mean[j]).abs() / sd(j)));
        report.compare_worst(&format!("{name}/mean"), rows, of_mean);
        let rows = (0..d).map(|j| (format!("[{j}]"), (s[(j, j)].sqrt() / sd(j) - 1.0).abs()));
        report.compare_worst(&format!("{name}/sd"), rows, of_sd);
    }
    Ok(())
}

//! The Gaussian of the latent values given the hyper-parameters: sites by expectation propagation or at the mode, all at once.
//!
//! ```text
//! f = m + W·z,  z ~ N(0, I),  η_i = o_i + a_iᵀf,  sites exp(r_i·η_i − ½h_i·η_i²),  c_i = o_i + a_iᵀm
//! G = Σ h_i·a_i·a_iᵀ,   b = Σ (r_i − h_i·c_i)·a_i,   Λ = I + WᵀGW                                        (RW 3.27)
//! f | sites ~ N(m + WΛ⁻¹Wᵀb, WΛ⁻¹Wᵀ),   log ∫ = Σ(r_i·c_i − ½h_i·c_i²) + ½|Λ^(−½)Wᵀb|² − ½log|Λ|         (RW 3.53)
//! ```
//!
//! `W` is a root of the covariance, so that nothing is divided by a small eigenvalue of it. RW: Rasmussen and Williams 2006, ch. 3.

use vi_core::{Error, GaussianExpectation, Likelihood as _};
use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use super::data::Data;
use super::{Inner, Latent, LatentSettings, Spread};
use crate::BoostError;

/// A square root `W` of the covariance of the latent values.
enum Root {
    Diagonal(Vec<f64>),
    Full(Mat<f64>),
}

impl Root {
    fn of(spread: &Spread) -> Result<Self, BoostError> {
        let named = |argument: &'static str| move |pivot: usize| Error::NotPositiveDefinite { argument, pivot };
        match spread {
            Spread::Variances(variances) => {
                crate::error::check_positive_entries("variances of the field", variances)?;
                Ok(Self::Diagonal(variances.iter().map(|v| v.sqrt()).collect()))
            }
            Spread::Covariance(covariance) => {
                Ok(Self::Full(factor(covariance.as_ref(), named("covariance of the field"))?.into_factor()))
            }
            Spread::Precision(precision) => {
                let factor = factor(precision.as_ref(), named("precision of the field"))?;
                // From Q = RRᵀ the root R⁻ᵀ.
                Ok(Self::Full(
                    factor.whiten(Mat::identity(factor.dim(), factor.dim()).as_ref())?.transpose().to_owned(),
                ))
            }
        }
    }

    /// `W·B`.
    fn times(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Diagonal(w) => Mat::from_fn(b.nrows(), b.ncols(), |i, j| w[i] * b[(i, j)]),
            Self::Full(w) => w * b,
        }
    }

    /// `WᵀB`.
    fn transposed_times(&self, b: MatRef<'_, f64>) -> Mat<f64> {
        match self {
            Self::Diagonal(_) => self.times(b),
            Self::Full(w) => w.transpose() * b,
        }
    }
}

fn factor(lower: MatRef<'_, f64>, indefinite: impl Fn(usize) -> Error) -> Result<Cholesky, BoostError> {
    Cholesky::new(lower).map_err(|error| match error {
        vi_linalg::LinalgError::NotPositiveDefinite { pivot } => indefinite(pivot).into(),
        other => other.into(),
    })
}

/// The prior of the latent values at some hyper-parameters, seen through the rows.
pub(super) struct Prior {
    mean: Vec<f64>,
    root: Root,
    /// `c_i`.
    centres: Vec<f64>,
}

impl Prior {
    pub(super) fn at<M: Latent>(model: &M, data: &Data, hyper: &[f64]) -> Result<Self, BoostError> {
        let field = model.field(hyper)?;
        field.check(data.dim)?;
        let centres = (0..data.len()).map(|i| data.offsets[i] + data.along(i, |j| field.mean[j])).collect();
        Ok(Self { root: Root::of(&field.spread)?, mean: field.mean, centres })
    }
}

/// Sites `(r_i, h_i)` with the sum `G`.
#[derive(Debug, Clone)]
pub(super) struct Sites {
    pub(super) pairs: Vec<(f64, f64)>,
    g: Mat<f64>,
}

impl Sites {
    fn new(pairs: Vec<(f64, f64)>, data: &Data) -> Self {
        let mut g = Mat::zeros(data.dim, data.dim);
        for (i, &(_, h)) in pairs.iter().enumerate() {
            data.each(i, |j, a| data.each(i, |k, b| g[(j, k)] += h * a * b));
        }
        Self { pairs, g }
    }
}

/// The Gaussian of prior and sites: `Λ`'s factor, `Λ⁻¹Wᵀb`, and the log integral.
pub(super) struct Joint {
    lambda: Cholesky,
    z: Mat<f64>,
    pub(super) log_integral: f64,
}

impl Joint {
    pub(super) fn of(prior: &Prior, sites: &Sites, data: &Data) -> Result<Self, BoostError> {
        let n = data.dim;
        let (mut b, mut log_integral) = (Mat::zeros(n, 1), 0.0);
        for (i, (&(r, h), &c)) in sites.pairs.iter().zip(&prior.centres).enumerate() {
            log_integral += (r - 0.5 * h * c) * c;
            data.each(i, |j, a| b[(j, 0)] += (r - h * c) * a);
        }
        let mut lambda = match &prior.root {
            Root::Diagonal(w) => Mat::from_fn(n, n, |i, j| w[i] * sites.g[(i, j)] * w[j]),
            Root::Full(w) => w.transpose() * (&sites.g * w),
        };
        (0..n).for_each(|i| lambda[(i, i)] += 1.0);
        let argument = "precision of the field given its sites";
        let lambda = factor(lambda.as_ref(), |pivot| Error::NotPositiveDefinite { argument, pivot })?;
        let wb = prior.root.transposed_times(b.as_ref());
        let z = lambda.solve(wb.as_ref())?;
        let form: f64 = (0..n).map(|i| wb[(i, 0)] * z[(i, 0)]).sum();
        log_integral += 0.5 * (form - lambda.log_det());
        Ok(Self { lambda, z, log_integral })
    }

    fn mean(&self, prior: &Prior) -> Vec<f64> {
        let moved = prior.root.times(self.z.as_ref());
        prior.mean.iter().enumerate().map(|(j, m)| m + moved[(j, 0)]).collect()
    }

    fn covariance(&self, prior: &Prior) -> Mat<f64> {
        let inverse = self.lambda.inverse();
        match &prior.root {
            Root::Diagonal(w) => Mat::from_fn(w.len(), w.len(), |i, j| w[i] * inverse[(i, j)] * w[j]),
            Root::Full(w) => w * (inverse * w.transpose()),
        }
    }

    /// A draw of the latent values from standard normal numbers: `m + W(z + L⁻ᵀε)`, `Λ = LLᵀ`.
    pub(super) fn draw(&self, prior: &Prior, mean: &[f64], epsilon: MatRef<'_, f64>) -> Mat<f64> {
        let mut moved = epsilon.to_owned();
        vi_linalg::cholesky::solve_upper_in_place(self.lambda.factor(), moved.as_mut(), vi_linalg::faer::Par::Seq);
        let moved = prior.root.times(moved.as_ref());
        Mat::from_fn(moved.nrows(), moved.ncols(), |j, k| mean[j] + moved[(j, k)])
    }
}

/// The Gaussian of the latent values at some hyper-parameters.
pub(super) struct Solved {
    pub(super) log_evidence: f64,
    pub(super) mean: Vec<f64>,
    pub(super) covariance: Mat<f64>,
    pub(super) sites: Sites,
    pub(super) prior: Prior,
    pub(super) joint: Joint,
    /// Mean and variance of `η_i` without its site, where that is proper.
    pub(super) cavities: Vec<Option<(f64, f64)>>,
    pub(super) sweeps: u64,
    pub(super) converged: bool,
}

/// The proposal of one row: its site, and the log of the factor that multiplies the present one.
struct Proposal {
    site: (f64, f64),
    log_scale: f64,
    cavity: Option<(f64, f64)>,
}

/// The least share of a row's precision that its cavity must keep.
const LEAST_CAVITY: f64 = 1e-8;
/// The least damping.
const LEAST_DAMPING: f64 = 1e-3;

/// Sweeps until the sites rest.
///
/// | step | what | |
/// |---|---|---|
/// | 1 | sites from the likelihood's slope and curvature at its peak, or at the prior's mean | |
/// | 2 | the Gaussian of all sites, mean `a` and variance `ν` of each `η_i` | RW (3.53) |
/// | 3 | EP: cavity `ν_c = ν/(1−hν)`, `a_c = (a−νr)/(1−hν)`, moments of `p(y_i\|η)·N(η\|a_c, ν_c)/Ẑ_i` | RW (3.56), (3.58) |
/// | | Laplace: slope and curvature of `log p(y_i\|η)` at `a` | RW (3.15) |
/// | 4 | all sites move to their proposals; by half of the last share where this moved them further than the sweep before | |
///
/// `log Z = log ∫ + Σ log scale_i`, RW (3.65) for EP and (3.32) for Laplace.
pub(super) fn solve<M: Latent>(
    model: &M,
    data: &Data,
    hyper: &[f64],
    settings: &LatentSettings,
) -> Result<Solved, BoostError> {
    let prior = Prior::at(model, data, hyper)?;
    let likelihoods = likelihoods(model, data, hyper)?;
    let start = |(i, likelihood): (usize, &M::Likelihood)| {
        let y = data.labels[i];
        let at = likelihood.peak(y).filter(|peak| peak.is_finite()).unwrap_or(prior.centres[i]);
        let [_, slope, curvature] = likelihood.derivatives(y, at);
        let h = curvature.max(0.0);
        (slope + h * at, h)
    };
    let mut sites = Sites::new(likelihoods.iter().enumerate().map(start).collect(), data);
    let mut before = sites.pairs.clone();
    let (mut damping, mut last, mut sweeps) = (1.0, f64::INFINITY, 0);
    loop {
        sweeps += 1;
        let joint = match Joint::of(&prior, &sites, data) {
            // Sites of a likelihood that is not log-concave went too far.
            Err(BoostError::Core(Error::NotPositiveDefinite { .. })) if sweeps > 1 && damping > LEAST_DAMPING => {
                damping *= 0.5;
                sites = Sites::new(towards(&before, &sites.pairs, 0.5), data);
                continue;
            }
            joint => joint?,
        };
        let (mean, covariance) = (joint.mean(&prior), joint.covariance(&prior));
        let (mut moved, mut log_evidence) = (0.0, joint.log_integral);
        let (mut wanted, mut cavities) = (Vec::with_capacity(data.len()), Vec::with_capacity(data.len()));
        for (i, likelihood) in likelihoods.iter().enumerate() {
            let at = data.offsets[i] + data.along(i, |j| mean[j]);
            let variance = data.quadratic(i, covariance.as_ref());
            let (r, h) = sites.pairs[i];
            let found = match settings.inner {
                Inner::ExpectationPropagation => propagate(likelihood, data.labels[i], (at, variance), (r, h)),
                Inner::Laplace => Ok(at_mode(likelihood, data.labels[i], at, (r, h))),
            };
            let found = found.map_err(|error| error.at_row(i))?;
            let (change_r, change_h) = (found.site.0 - r, found.site.1 - h);
            moved += change_h.abs() * variance + (change_r - change_h * at).abs() * variance.sqrt();
            log_evidence += found.log_scale;
            cavities.push(found.cavity);
            wanted.push(found.site);
        }
        vi_core::check::result("log evidence of the field", log_evidence)?;
        let converged = moved <= settings.tolerance;
        if converged || sweeps >= settings.sweeps as u64 {
            return Ok(Solved { log_evidence, mean, covariance, sites, prior, joint, cavities, sweeps, converged });
        }
        if moved > last {
            damping = (0.5 * damping).max(LEAST_DAMPING);
        }
        last = moved;
        let next = towards(&sites.pairs, &wanted, damping);
        before = std::mem::replace(&mut sites, Sites::new(next, data)).pairs;
    }
}

/// The likelihoods of all rows, which take their labels.
pub(super) fn likelihoods<M: Latent>(model: &M, data: &Data, hyper: &[f64]) -> Result<Vec<M::Likelihood>, BoostError> {
    let checked = |i: usize| {
        let likelihood = model.likelihood(hyper, i)?;
        likelihood.check_label(data.labels[i]).map_err(|error| error.at_row(i))?;
        Ok(likelihood)
    };
    (0..data.len()).map(checked).collect()
}

fn towards(from: &[(f64, f64)], to: &[(f64, f64)], share: f64) -> Vec<(f64, f64)> {
    from.iter().zip(to).map(|(a, b)| (a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1))).collect()
}

/// The site that gives `η_i` the moments of its tilted density; the same site where there is no proper cavity.
fn propagate<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    (mean, variance): (f64, f64),
    (r, h): (f64, f64),
) -> Result<Proposal, Error> {
    let left = 1.0 - h * variance;
    if left <= LEAST_CAVITY {
        return Ok(Proposal { site: (r, h), log_scale: 0.0, cavity: None });
    }
    let (a, nu) = ((mean - variance * r) / left, variance / left);
    let tilted = likelihood.tilted(y, a, nu)?;
    // a²/ν − a_c²/ν_c, as a/ν = a_c/ν_c + r and 1/ν = 1/ν_c + h.
    let exponent = r * (mean + a) - h * mean * a;
    let log_scale = tilted.log_normaliser + 0.5 * ((h * nu).ln_1p() - exponent);
    let site = (tilted.slope + tilted.curvature * (a + nu * tilted.slope), tilted.curvature);
    Ok(Proposal { site, log_scale, cavity: Some((a, nu)) })
}

/// The site that touches `log p(y|η)` to the second order at the mean.
fn at_mode<L: GaussianExpectation>(likelihood: &L, y: f64, at: f64, (r, h): (f64, f64)) -> Proposal {
    let [value, slope, curvature] = likelihood.derivatives(y, at);
    let log_scale = value - (r - 0.5 * h * at) * at;
    Proposal { site: (slope + curvature * at, curvature), log_scale, cavity: None }
}

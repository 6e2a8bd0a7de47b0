//! Prior scale and noise variance learned from the data: empirical Bayes on the bound.

use vi_linalg::faer::{MatRef, Par};

use crate::batch::{self, BatchSettings};
use crate::belief::{Belief, DenseGaussian, DenseStep};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::contiguous_row;
use crate::{Error, GaussianLikelihood, Stop};

/// The settings of [`learn_prior_scale`] and [`learn_linear`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HyperSettings {
    /// Learning stops when a round changes the scale and the noise by less than this share of themselves.
    pub tolerance: f64,
    /// The largest number of rounds, each a search of the batch optimum.
    pub max_rounds: usize,
}

impl Default for HyperSettings {
    /// The default tolerance is 1e-6, with at most 200 rounds.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_rounds: 200 }
    }
}

impl HyperSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_rounds", self.max_rounds)
    }
}

/// A report of what was learned and how.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct HyperInfo {
    /// The factor by which the prior's standard deviations were multiplied.
    pub scale: f64,
    /// The noise variance, for a linear model.
    pub noise_variance: Option<f64>,
    /// The bound on the log evidence after each round, in nats: it never falls by more than the inner search's rounding.
    pub bounds: Vec<f64>,
    /// The number of rounds in which the fast update would have lowered the bound and the EM update was taken instead.
    pub slow_rounds: usize,
    /// Why the rounds stopped.
    pub stop: Stop,
}

/// The posterior at the learned settings, its prior, and a report.
#[derive(Debug, Clone)]
pub struct Learned {
    /// The variational optimum at the learned settings.
    pub belief: DenseGaussian,
    /// The prior, scaled about its mean.
    pub prior: DenseGaussian,
    /// The report of what was learned.
    pub info: HyperInfo,
}

/// Learns the scale of the prior, `P₀ ← s²P₀`, by maximising the bound of the batch optimum.
///
/// With `Q = (μ−μ₀)ᵀP₀⁻¹(μ−μ₀)`, `T = tr(P₀⁻¹P)` (`P₀` unscaled) and `γ = d − T/s²` the number of well-determined directions, a
/// round takes MacKay's `s² = Q/γ` or, should the bound fall, EM's `s² = (Q+T)/d`, with which it cannot fall. Each round is one
/// search of the batch optimum, starting from the last one.
///
/// # Errors
/// As [`batch::optimum`].
pub fn learn_prior_scale<L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: &HyperSettings,
    par: Par,
) -> Result<Learned, Error> {
    learn(prior, x, y, settings, None, |start, scaled, _| {
        batch::optimum(scaled, start, x, y, likelihood, &BatchSettings::default(), par)
            .map(|(q, info)| (q, info.bound()))
    })
}

/// Learns the scale of the prior and the noise variance of a linear model together: here the bound is the log evidence.
///
/// The noise takes MacKay's `σ² = ‖y−Xμ‖²/(n−γ)`, or EM's `σ² = (‖y−Xμ‖² + Σx_iᵀPx_i)/n`.
///
/// # Errors
/// As [`batch::optimum`]; [`Error::Setting`] unless `noise_variance > 0`.
///
/// ```
/// use vi_core::{hyper, DenseGaussian};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 2.0, 3.0, 4.0, 5.0], 5, 1);
/// let y = [2.1, 3.9, 6.2, 7.8, 10.1];
/// let prior = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// let learned = hyper::learn_linear(&prior, x, &y, 1.0, &hyper::HyperSettings::default(), Par::Seq)?;
/// assert!(learned.info.noise_variance.is_some_and(|v| v < 0.1));
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn learn_linear(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    noise_variance: f64,
    settings: &HyperSettings,
    par: Par,
) -> Result<Learned, Error> {
    check::positive("noise_variance", noise_variance)?;
    learn(prior, x, y, settings, Some(noise_variance), |start, scaled, noise| {
        let likelihood = GaussianLikelihood::new(noise.unwrap_or(noise_variance))?;
        batch::optimum(scaled, start, x, y, &likelihood, &BatchSettings::default(), par)
            .map(|(q, info)| (q, info.bound()))
    })
}

/// The settings being learned.
#[derive(Debug, Clone, Copy)]
struct Point {
    variance_scale: f64,
    noise: Option<f64>,
}

impl Point {
    fn change(&self, next: &Self) -> f64 {
        let noise = match (self.noise, next.noise) {
            (Some(a), Some(b)) => (b / a).ln().abs(),
            _ => 0.0,
        };
        (next.variance_scale / self.variance_scale).ln().abs().max(noise)
    }

    fn is_proper(&self) -> bool {
        let inside = |v: f64| v.is_finite() && v > 1e-30 && v < 1e30;
        inside(self.variance_scale) && self.noise.is_none_or(inside)
    }
}

fn learn(
    prior: &DenseGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    settings: &HyperSettings,
    noise: Option<f64>,
    mut search: impl FnMut(&DenseGaussian, &DenseGaussian, Option<f64>) -> Result<(DenseGaussian, f64), Error>,
) -> Result<Learned, Error> {
    settings.check()?;
    let mut at = Point { variance_scale: 1.0, noise };
    let (mut belief, bound) = search(prior, prior, at.noise)?;
    let mut info =
        HyperInfo { scale: 1.0, noise_variance: noise, bounds: vec![bound], slow_rounds: 0, stop: Stop::Iterations };
    for round in 0..settings.max_rounds {
        let moments = Moments::of(prior, &belief, x, y)?;
        let fast = moments.mackay(at);
        let mut accepted = None;
        if fast.is_proper() {
            let (q, bound) = search(&belief, &scaled(prior, fast.variance_scale)?, fast.noise)?;
            if bound >= info.bounds[round] {
                accepted = Some((fast, q, bound));
            }
        }
        let (next, q, bound) = if let Some(found) = accepted {
            found
        } else {
            info.slow_rounds += 1;
            let slow = moments.em(at);
            if !slow.is_proper() {
                info.stop = Stop::Diverged;
                break;
            }
            let (q, bound) = search(&belief, &scaled(prior, slow.variance_scale)?, slow.noise)?;
            (slow, q, bound)
        };
        let change = at.change(&next);
        (at, belief) = (next, q);
        info.bounds.push(bound);
        if change <= settings.tolerance {
            info.stop = Stop::Converged;
            break;
        }
    }
    info.scale = at.variance_scale.sqrt();
    info.noise_variance = at.noise;
    Ok(Learned { belief, prior: scaled(prior, at.variance_scale)?, info })
}

/// The prior with its covariance multiplied by `factor`.
fn scaled(prior: &DenseGaussian, factor: f64) -> Result<DenseGaussian, Error> {
    let mut covariance = prior.covariance();
    for column in covariance.col_iter_mut() {
        for value in column.iter_mut() {
            *value *= factor;
        }
    }
    DenseGaussian::new(prior.mean(), covariance.as_ref())
}

/// The moments of a posterior that the updates need.
struct Moments {
    d: f64,
    n: f64,
    /// `Q`, in the unscaled prior.
    distance: f64,
    /// `T`, in the unscaled prior.
    trace: f64,
    /// `‖y − Xμ‖²`.
    residual: f64,
    /// `Σ x_iᵀPx_i`.
    spread: f64,
}

impl Moments {
    fn of(prior: &DenseGaussian, q: &DenseGaussian, x: MatRef<'_, f64>, y: &[f64]) -> Result<Self, Error> {
        let cholesky = prior.cholesky()?;
        let difference: Vec<f64> = q.mean().iter().zip(prior.mean()).map(|(a, b)| a - b).collect();
        let precision = cholesky.inverse();
        let covariance = q.covariance();
        let d = q.dim();
        let trace = (0..d).map(|j| (0..d).map(|i| precision[(i, j)] * covariance[(i, j)]).sum::<f64>()).sum();
        let (mut residual, mut spread) = (0.0, 0.0);
        let (mut step, mut buffer) = (DenseStep::default(), Vec::new());
        for (t, label) in y.iter().enumerate() {
            let seen = q.project(contiguous_row(x, t, &mut buffer).into(), 1.0, &mut step)?;
            residual += (label - seen.mean).powi(2);
            spread += seen.variance;
        }
        Ok(Self {
            d: d as f64,
            n: y.len() as f64,
            distance: cholesky.quadratic_form_inverse(&difference)?,
            trace,
            residual,
            spread,
        })
    }

    fn mackay(&self, at: Point) -> Point {
        let determined = self.d - self.trace / at.variance_scale;
        Point {
            variance_scale: self.distance / determined,
            noise: at.noise.map(|_| self.residual / (self.n - determined)),
        }
    }

    fn em(&self, at: Point) -> Point {
        Point {
            variance_scale: (self.distance + self.trace) / self.d,
            noise: at.noise.map(|_| (self.residual + self.spread) / self.n),
        }
    }
}

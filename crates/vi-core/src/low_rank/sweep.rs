//! Sweeps from one pass to the best factor-analysis Gaussian, over rows that can be read again.
//!
//! `KL(q ‖ posterior)` over `q = N(μ, C⁻¹)`, `C = Ψ + WWᵀ`, is stationary where
//!
//! ```text
//! Λ₀(μ₀ − μ) + Xᵀg = 0,   g = E_q ∂ log p(y|t)
//! C is factor analysis's fixed point for S = Λ₀ + XᵀHX,   h = −E_q ∂² log p(y|t)
//! ```
//!
//! A sweep, damped by `0 < δ ≤ 1`, with `S` never formed:
//!
//! ```text
//! (g, h)  of every row at q
//! C ← some EM steps from C on (1 − δ)C + δS                    a step uphill that vanishes with δ
//! μ ← μ + δ·S⁻¹(Λ₀(μ₀ − μ) + Xᵀg)                              conjugate gradients, once for each (g, h)
//! ```
//!
//! The bound `E_q log p(y) − KL(q ‖ prior)` is watched: a sweep that lowers it is undone and `δ` halved; one that is kept at the
//! first attempt doubles `δ`. EM keeps the span of `W` from growing: from a `W` with an idle direction it can end at a saddle.
//! There a sweep begins from the spectral start of `(1 − δ)C + δS` instead.

mod aim;
mod data;
mod rows;
mod settings;

use vi_linalg::eigen::eigenvalues;
use vi_linalg::faer::Par;
use vi_linalg::kernels::axpy;

use self::aim::Aim;
use self::data::{Data, SweepSites};
use self::rows::SweepRows;
use super::LowRankGaussian;
use super::storage::Full;
use crate::belief::Belief;
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::{Error, Rows, Stop};

pub use self::settings::{SweepInfo, SweepSettings};

/// The value of `δ` below which sweeping ends.
const LEAST_DAMPING: f64 = 1.0 / 1024.0;
/// The value of `δ` below which a spectral start is given up: with a smaller one the start is close to the belief, but for the
/// idle direction.
const LEAST_DAMPING_OF_START: f64 = 1.0 / 8.0;

/// Sweeps over the rows `x` (`n` of length `d`, dense or sparse) with labels `y` until the bound no longer changes.
///
/// `prior` is the prior of the pass that made `belief`; `belief` may be that pass, one over other rows, or the prior itself.
/// Buffered rows in either are projected first. Expectations should be [`Mixture8`](crate::Mixture8) or better.
///
/// Cost of a sweep, in flops: `2ndp` for the sites, `4ndp` for each EM step, `4nd` for each iteration of conjugate gradients, and
/// `O((n + d)p²)`; `18ndp` more if it begins from a spectral start. For sparse rows their entries replace `nd`, except in the
/// `n/b` projections of a spectral start at `O(dp²)`. Memory: some six times that of `W`, and `np`.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`] (also for two ranks), [`Error::Row`] with [`Error::NonFinite`], [`Error::Dimension`],
/// [`Error::Label`] or [`Error::Overflow`], [`Error::Overflow`] and [`Error::Linalg`] for results that are not finite,
/// [`Error::NotPositiveDefinite`] if buffered rows cannot be projected; `belief` is then as it was. Not converging is a [`Stop`].
///
/// ```
/// use vi_core::{Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings, low_rank};
/// use vi_linalg::faer::{Par, mat};
/// let x = mat![[1.0, 0.5, 0.1], [0.2, -1.0, 0.4], [0.3, 0.3, -1.5], [1.0, 1.0, 1.0], [0.0, -0.7, 0.6]];
/// let (y, noise) = ([1.0, 0.0, 2.0, 1.5, -1.0], GaussianLikelihood::new(0.1)?);
/// let prior = LowRankGaussian::isotropic(&[0.0; 3], 1.0, LowRankSettings::blocked(1)?.with_block(2)?)?;
/// let mut belief = prior.clone();
/// belief.run(&Explicit(noise), x.as_ref(), &y, Par::Seq, |_, _, _| {})?;
/// let info = low_rank::sweep(&prior, &mut belief, x.as_ref(), &y, &noise, &Default::default(), Par::Seq)?;
/// assert!(info.bounds.is_sorted() && info.bounds.last() > info.bounds.first());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn sweep<'a, L: GaussianExpectation>(
    prior: &LowRankGaussian,
    belief: &mut LowRankGaussian,
    x: impl Into<Rows<'a>>,
    y: &[f64],
    likelihood: &L,
    settings: &SweepSettings,
    par: Par,
) -> Result<SweepInfo, Error> {
    settings.check()?;
    let rows = SweepRows(x.into().labelled(prior.dim(), y)?);
    check::length("belief", prior.dim(), belief.dim())?;
    check::length("rank of the belief", prior.rank(), belief.rank())?;
    for (row, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(row))?;
    }
    let [mut best, mut flushed] = [belief, prior].map(|belief| belief.normalised().into_owned());
    best.flush(par)?;
    flushed.flush(par)?;
    let prior = flushed.precision.factor(par)?;
    let begun = f64::min(smallest(best.precision.psi()), smallest(prior.matrix().psi()));
    let data = Data { prior: &prior, prior_mean: &flushed.mean, rows, y, par };

    let mut sites = data.sites(&best, likelihood)?;
    let mut course = Course::new(idle(&best, settings.tolerance)?);
    let mut newton: Option<Vec<f64>> = None;
    let mut info = SweepInfo {
        sweeps: 0,
        undone: 0,
        indefinite: 0,
        restarts: 0,
        bounds: vec![sites.bound],
        mean_iterations: 0,
        mean_unsolved: 0,
        lifted: 0,
        stop: Stop::Iterations,
    };
    while info.sweeps < settings.max_sweeps {
        let Some((mut next, lifted)) = course.precision(&data, &best, &sites, settings.em_steps, begun)? else {
            info.undone += 1;
            info.indefinite += 1;
            if course.shorten() {
                info.stop = Stop::Improvement;
                break;
            }
            continue;
        };
        let change = if let Some(change) = newton.take() {
            change
        } else {
            let step = data.newton(&best.mean, &sites, &next, settings)?;
            info.mean_iterations += step.iterations;
            info.mean_unsolved += usize::from(!step.solved);
            step.change
        };
        axpy(&mut next.mean, course.damping, &change);
        newton = Some(change);
        // If the bound cannot be evaluated, the step was too long.
        let seen = data.sites(&next, likelihood).ok();
        let gained = seen.as_ref().map_or(f64::NEG_INFINITY, |seen| seen.bound - sites.bound);
        if gained < -rounding(sites.bound, y.len(), best.mean.len()) {
            info.undone += 1;
            if course.shorten() {
                info.stop = Stop::Improvement;
                break;
            }
            continue;
        }
        let still = gained <= settings.tolerance * course.damping;
        if let (Some(seen), true) = (seen, gained >= 0.0) {
            info.restarts += usize::from(course.start == Start::Spectral);
            info.sweeps += 1;
            info.lifted += lifted;
            info.bounds.push(seen.bound);
            (best, sites, newton) = (next, seen, None);
        }
        if !still {
            course.go_on();
        } else if course.settle(idle(&best, settings.tolerance)?) {
            info.stop = Stop::Converged;
            break;
        }
    }
    *belief = best.into();
    Ok(info)
}

/// The largest difference of the bound that is rounding, the bound being a sum over rows and coordinates.
fn rounding(bound: f64, n: usize, d: usize) -> f64 {
    16.0 * f64::EPSILON * (bound.abs() + (n + d) as f64)
}

fn smallest(values: &[f64]) -> f64 {
    values.iter().fold(f64::INFINITY, |least, &value| least.min(value))
}

/// Whether the weakest direction of `W` carries no more than `tolerance` nats: `½(λ − ln(1 + λ))`, `λ` being the smallest
/// eigenvalue of `WᵀΨ⁻¹W`.
fn idle(q: &Full, tolerance: f64) -> Result<bool, Error> {
    if q.core.rank() == 0 {
        return Ok(false);
    }
    let values = eigenvalues(q.core.gram.as_ref(), Par::Seq)?;
    let weakest = smallest(&values).max(0.0);
    Ok(0.5 * (weakest - weakest.ln_1p()) <= tolerance)
}

/// Where the EM steps of a sweep begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    Belief,
    Spectral,
}

/// How the next sweep is taken, as decided by the last ones.
struct Course {
    start: Start,
    /// `δ`.
    damping: f64,
    /// Whether this sweep has been undone before.
    shortened: bool,
    /// Whether a spectral start has been tried since the last sweep that gained.
    tried: bool,
}

impl Course {
    fn new(idle: bool) -> Self {
        let start = if idle { Start::Spectral } else { Start::Belief };
        Self { start, damping: 1.0, shortened: false, tried: idle }
    }

    /// `q` with the precision that the sweep leads to, and how many `ψ` were lifted; `None` if that is not a Gaussian.
    fn precision(
        &self,
        data: &Data<'_>,
        q: &Full,
        sites: &SweepSites,
        em_steps: usize,
        begun: f64,
    ) -> Result<Option<(Full, usize)>, Error> {
        let parts = (&q.precision, data.prior.matrix());
        let aim = Aim::new(parts, data.rows, &sites.curvatures, self.damping, data.par)?;
        let reached = match self.start {
            Start::Belief => Ok(q.precision.clone()),
            Start::Spectral => aim.spectral_start(q.core.rank()),
        }
        .and_then(|start| aim.em_steps(start, em_steps, begun))
        .and_then(|(precision, lifted)| {
            let mut next = Full::from_parts(q.mean.clone(), precision, q.core.settings)?;
            (next.core.counts, next.core.begun) = (q.core.counts, q.core.begun);
            Ok((next, lifted))
        });
        match reached {
            Ok(reached) => Ok(Some(reached)),
            // An error names the row that a spectral start cannot take.
            Err(Error::NotPositiveDefinite { .. } | Error::Overflow { .. } | Error::Linalg(_) | Error::Row { .. }) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Shortens the course after a sweep that was undone; returns whether there is none left to try.
    fn shorten(&mut self) -> bool {
        self.damping *= 0.5;
        self.shortened = true;
        match self.start {
            Start::Belief => self.damping < LEAST_DAMPING,
            Start::Spectral => {
                if self.damping < LEAST_DAMPING_OF_START {
                    self.begin(Start::Belief);
                }
                false
            }
        }
    }

    /// Lengthens the course after a sweep that gained.
    fn go_on(&mut self) {
        self.tried = self.start == Start::Spectral;
        self.start = Start::Belief;
        if !self.shortened {
            self.damping = (2.0 * self.damping).min(1.0);
        }
        self.shortened = false;
    }

    /// Decides after a sweep that changed next to nothing whether that is the end.
    fn settle(&mut self, idle: bool) -> bool {
        match self.start {
            Start::Belief if idle && !self.tried => {
                self.begin(Start::Spectral);
                self.tried = true;
                false
            }
            Start::Belief => true,
            Start::Spectral => {
                self.begin(Start::Belief);
                false
            }
        }
    }

    fn begin(&mut self, start: Start) {
        *self = Self { start, damping: 1.0, shortened: false, tried: self.tried };
    }
}

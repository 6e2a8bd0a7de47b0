//! From one pass to the best factor-analysis Gaussian: sweeps over rows that are at hand again.
//!
//! `KL(q ‖ posterior)` over `q = N(μ, C⁻¹)`, `C = Ψ + WWᵀ`, is stationary where
//!
//! ```text
//! Λ₀(μ₀ − μ) + Xᵀg = 0,   g = E_q ∂ log p(y|t)
//! C is factor analysis's fixed point for S = Λ₀ + XᵀHX,   h = −E_q ∂² log p(y|t)
//! ```
//!
//! A sweep takes `(g, h)` of every row at the current `q`, some EM steps for `C` on `S` (which is never formed: `F = [W₀ Xᵀ]`
//! has its columns), and a Newton step `Sδ = Λ₀(μ₀ − μ) + Xᵀg` for the mean by conjugate gradients, with `C` as
//! preconditioner. The bound `E_q log p(y) − KL(q ‖ prior)` watches: a sweep that loses it is undone and damped.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::low_rank::{Factored, kl_of_precisions};
use vi_linalg::tiles::Tiling;
use vi_linalg::{LowRank, SymmetricOperator};

use super::LowRankGaussian;
use super::columns::Columns;
use super::em::{self, Floor, Target};
use super::kernels::{Factor, Tile, row_dot, scale_row};
use super::space::solve_lower;
use crate::Error;
use crate::belief::{Belief, Projection};
use crate::error::{check_len, check_positive};
use crate::filter::check_rows;
use crate::likelihood::GaussianExpectation;

/// Rows seen at a time.
const ROWS: usize = 1024;
/// Damping below which sweeping is given up.
const LEAST_DAMPING: f64 = 0.05;

/// How far to sweep; checked at construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SweepSettings {
    tolerance: f64,
    max_sweeps: usize,
    em_steps: usize,
    mean_tolerance: f64,
    max_mean_iterations: usize,
}

impl Default for SweepSettings {
    /// Tolerance 1e-6 nats, at most 100 sweeps of 5 EM steps; the mean's system to 1e-6 in at most 100 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 100, em_steps: 5, mean_tolerance: 1e-6, max_mean_iterations: 100 }
    }
}

impl SweepSettings {
    /// Stops when a sweep changes the bound by less than `tolerance` nats, or after `max_sweeps`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `tolerance > 0` and `max_sweeps ≥ 1`.
    pub fn new(tolerance: f64, max_sweeps: usize) -> Result<Self, Error> {
        check_positive("tolerance", tolerance)?;
        check_count("max_sweeps", max_sweeps)?;
        Ok(Self { tolerance, max_sweeps, ..Self::default() })
    }

    /// The same with another number of EM steps in a sweep.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `em_steps ≥ 1`.
    pub fn with_em_steps(self, em_steps: usize) -> Result<Self, Error> {
        check_count("em_steps", em_steps)?;
        Ok(Self { em_steps, ..self })
    }

    /// The same with conjugate gradients stopped when the preconditioned residual is `tolerance` times the first one, or after
    /// `max_iterations`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `tolerance > 0` and `max_iterations ≥ 1`.
    pub fn with_mean(self, tolerance: f64, max_iterations: usize) -> Result<Self, Error> {
        check_positive("mean_tolerance", tolerance)?;
        check_count("max_mean_iterations", max_iterations)?;
        Ok(Self { mean_tolerance: tolerance, max_mean_iterations: max_iterations, ..self })
    }
}

fn check_count(name: &'static str, count: usize) -> Result<(), Error> {
    if count == 0 { Err(Error::Setting { name, value: 0.0, requirement: "at least 1" }) } else { Ok(()) }
}

/// Why the sweeps stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SweepStop {
    /// A sweep changed the bound by less than the tolerance.
    Converged,
    /// The sweeps ran out.
    MaxSweeps,
    /// However damped, the next sweep loses the bound.
    Stalled,
    /// Negative curvatures leave `S` indefinite: there is no next sweep.
    Indefinite,
}

/// What the sweeps did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SweepInfo {
    /// Sweeps kept.
    pub sweeps: usize,
    /// Sweeps undone because the bound fell; each halves the damping.
    pub undone: usize,
    /// The bound on the log evidence before the first sweep and after each kept one, in nats.
    pub bounds: Vec<f64>,
    /// Iterations of conjugate gradients, over all sweeps.
    pub mean_iterations: usize,
    /// Sweeps whose mean step ended before its tolerance: its iterations ran out.
    pub mean_unsolved: usize,
    /// Entries of `ψ` lifted to the bound of an EM step, over all sweeps.
    pub lifted: usize,
    /// Why it stopped.
    pub stop: SweepStop,
}

/// Sweeps over the rows of `x` (`n × d`) with labels `y` until the bound stands still.
///
/// `prior` is what the pass that made `belief` started from. Rows that wait in either are projected first. Cost of a sweep, in
/// flops: `2ndp` for the sites, `6ndp` for each EM step, `4nd` for each iteration of conjugate gradients; memory
/// twice that of `W`, and `np`. Expectations want [`Mixture8`](crate::Mixture8) or better.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`] (also for two ranks), [`Error::Row`] with [`Error::NonFinite`] or [`Error::Label`],
/// [`Error::Overflow`]; `belief` is then as it was. Not converging is a [`SweepStop`].
///
/// ```
/// use vi_core::{Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings, low_rank};
/// use vi_linalg::faer::{Par, mat};
/// let x = mat![[1.0, 0.5, 0.1], [0.2, -1.0, 0.4], [0.3, 0.3, -1.5], [1.0, 1.0, 1.0], [0.0, -0.7, 0.6]];
/// let (y, noise) = ([1.0, 0.0, 2.0, 1.5, -1.0], GaussianLikelihood::new(0.1)?);
/// let prior = LowRankGaussian::isotropic(&[0.0; 3], 1.0, LowRankSettings::blocked(1)?.with_block(2)?)?;
/// let mut belief = prior.clone();
/// belief.run(&Explicit(noise), x.as_ref(), &y, Par::Seq, |_, _, _| {})?;
/// let info = low_rank::sweep(&prior, &mut belief, x.as_ref(), &y, &noise, Default::default(), Par::Seq)?;
/// assert!(info.bounds.last() > info.bounds.first());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn sweep<L: GaussianExpectation>(
    prior: &LowRankGaussian,
    belief: &mut LowRankGaussian,
    x: MatRef<'_, f64>,
    y: &[f64],
    likelihood: &L,
    settings: SweepSettings,
    par: Par,
) -> Result<SweepInfo, Error> {
    check_rows(prior.dim(), x, y)?;
    check_len("belief", prior.dim(), belief.dim())?;
    check_len("rank of the belief", prior.rank(), belief.rank())?;
    for (row, &label) in y.iter().enumerate() {
        likelihood.check_label(label).map_err(|error| error.at_row(row))?;
    }
    let mut best = belief.clone();
    best.flush(par)?;
    let mut flushed = prior.clone();
    flushed.flush(par)?;
    let prior = flushed.precision.factor(par)?;
    let data = Data { prior: &prior, prior_mean: &flushed.mean, x, y, par };

    let mut sites = data.sites(&best, likelihood)?;
    let mut curvatures = sites.curvatures.clone();
    let mut info = SweepInfo {
        sweeps: 0,
        undone: 0,
        bounds: vec![sites.bound],
        mean_iterations: 0,
        mean_unsolved: 0,
        lifted: 0,
        stop: SweepStop::MaxSweeps,
    };
    let mut damping = 1.0;
    while info.sweeps < settings.max_sweeps {
        let mixed: Vec<f64> =
            curvatures.iter().zip(&sites.curvatures).map(|(old, new)| old + damping * (new - old)).collect();
        let Some((next, outcome)) = data.step(&best, &sites, &mixed, damping, settings)? else {
            info.stop = SweepStop::Indefinite;
            break;
        };
        info.mean_iterations += outcome.iterations;
        info.mean_unsolved += usize::from(!outcome.solved);
        let bound = info.bounds[info.sweeps];
        // Where it cannot be evaluated, the step was too long.
        let seen = data
            .sites(&next, likelihood)
            .ok()
            .filter(|seen| seen.bound - bound >= -rounding(bound, y.len(), x.ncols()));
        let Some(seen) = seen else {
            info.undone += 1;
            damping *= 0.5;
            if damping < LEAST_DAMPING {
                info.stop = SweepStop::Stalled;
                break;
            }
            continue;
        };
        let gained = seen.bound - bound;
        best = next;
        curvatures = mixed;
        sites = seen;
        info.sweeps += 1;
        info.lifted += outcome.lifted;
        info.bounds.push(sites.bound);
        if gained.abs() <= settings.tolerance * damping {
            info.stop = SweepStop::Converged;
            break;
        }
    }
    *belief = best;
    Ok(info)
}

/// Differences of the bound below this are rounding: it is a sum over rows and coordinates.
fn rounding(bound: f64, n: usize, d: usize) -> f64 {
    16.0 * f64::EPSILON * (bound.abs() + (n + d) as f64)
}

/// Slopes and curvatures of all rows at a belief, and the bound there.
struct SweepSites {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
    bound: f64,
}

/// What a step did.
struct StepOutcome {
    iterations: usize,
    solved: bool,
    lifted: usize,
}

struct Data<'a> {
    prior: &'a Factored<'a>,
    prior_mean: &'a [f64],
    x: MatRef<'a, f64>,
    y: &'a [f64],
    par: Par,
}

impl Data<'_> {
    /// `(g, h)` of every row at `q`, and the bound.
    fn sites<L: GaussianExpectation>(&self, q: &LowRankGaussian, likelihood: &L) -> Result<SweepSites, Error> {
        let n = self.y.len();
        let (mut slopes, mut curvatures) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let mut bound = 0.0;
        for first in (0..n).step_by(ROWS) {
            let rows = self.x.subrows(first, ROWS.min(n - first));
            for (t, seen) in q.project_rows(rows, self.par).into_iter().enumerate() {
                let y = self.y[first + t];
                let seen = seen.map_err(|error| error.at_row(first + t))?;
                let (slope, curvature) = likelihood.expected_slope_curvature(y, seen.mean, seen.variance);
                let term = likelihood.expected_log_density(y, seen.mean, seen.variance);
                if !(slope.is_finite() && curvature.is_finite() && term.is_finite()) {
                    let error = Error::Overflow { quantity: "an expectation of the likelihood", value: term };
                    return Err(error.at_row(first + t));
                }
                bound += term;
                slopes.push(slope);
                curvatures.push(curvature);
            }
        }
        let factored = q.precision.factor_with(q.capacitance.clone())?;
        bound -= kl_of_precisions(&q.mean, &factored, self.prior_mean, self.prior, self.par)?;
        if !bound.is_finite() {
            return Err(Error::Overflow { quantity: "the bound", value: bound });
        }
        Ok(SweepSites { slopes, curvatures, bound })
    }

    /// EM steps for the factor and a Newton step for the mean, from `q`; nothing where `S` is indefinite.
    fn step(
        &self,
        q: &LowRankGaussian,
        sites: &SweepSites,
        curvatures: &[f64],
        damping: f64,
        settings: SweepSettings,
    ) -> Result<Option<(LowRankGaussian, StepOutcome)>, Error> {
        let (d, p) = (q.dim(), q.rank());
        let start = self.prior.matrix();
        let weights: Vec<f64> = std::iter::repeat_n(1.0, start.rank()).chain(curvatures.iter().copied()).collect();
        let target =
            Target { columns: Columns::Dense(self.x), weights: &weights, share: 1.0, least: 1.0, begun: q.begun };
        let (mut w, mut psi) = (q.precision.w_row_major().to_vec(), q.precision.psi().to_vec());
        // A negative curvature may leave less than Ψ₀, and then a ψ that falls to nothing says that S is indefinite.
        let floor = if curvatures.iter().all(|h| *h >= 0.0) { Floor::Bound } else { Floor::Refuse };
        let mut lifted = 0;
        let old = (Factor::new(start.w_row_major(), d), start.psi());
        for _ in 0..settings.em_steps {
            match em::step(target, old, (&mut w, &mut psi), floor, self.par) {
                Ok(count) => lifted += count,
                Err(Error::NotPositiveDefinite { .. }) => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        let precision = LowRank::from_row_major(w, p, psi)?;
        let mut next = LowRankGaussian {
            counts: q.counts,
            begun: q.begun,
            ..LowRankGaussian::from_parts(q.mean.clone(), precision, q.settings)?
        };
        let gradient = self.gradient(&q.mean, &sites.slopes);
        let Some((change, iterations, solved)) = self.solve(&next, curvatures, &gradient, settings)? else {
            return Ok(None);
        };
        axpy(&mut next.mean, damping, &change);
        Ok(Some((next, StepOutcome { iterations, solved, lifted })))
    }

    /// `Λ₀(μ₀ − μ) + Xᵀg`.
    fn gradient(&self, mean: &[f64], slopes: &[f64]) -> Vec<f64> {
        let difference: Vec<f64> = self.prior_mean.iter().zip(mean).map(|(prior, mean)| prior - mean).collect();
        let mut out = vec![0.0; mean.len()];
        self.apply_prior(&mut out, &difference);
        self.add_combination(&mut out, slopes);
        out
    }

    /// `out ← Λ₀v`.
    fn apply_prior(&self, out: &mut [f64], v: &[f64]) {
        let d = v.len();
        let out = MatMut::from_column_major_slice_mut(out, d, 1);
        self.prior.matrix().apply(out, MatRef::from_column_major_slice(v, d, 1), self.par);
    }

    /// `out ← out + Xᵀu`.
    fn add_combination(&self, out: &mut [f64], u: &[f64]) {
        let (n, d) = self.x.shape();
        let out = MatMut::from_column_major_slice_mut(out, d, 1);
        matmul(out, Accum::Add, self.x.transpose(), MatRef::from_column_major_slice(u, n, 1), 1.0, self.par);
    }

    /// `S⁻¹b` by conjugate gradients with the preconditioner `C⁻¹` of `q`: the solution, the iterations, whether they
    /// sufficed. Nothing where a direction of negative curvature is met.
    fn solve(
        &self,
        q: &LowRankGaussian,
        curvatures: &[f64],
        b: &[f64],
        settings: SweepSettings,
    ) -> Result<Option<(Vec<f64>, usize, bool)>, Error> {
        let (n, d) = self.x.shape();
        let preconditioner = q.precision.factor_with(q.capacitance.clone())?;
        let (mut solution, mut residual) = (vec![0.0; d], b.to_vec());
        let (mut z, mut applied, mut along) = (vec![0.0; d], vec![0.0; d], vec![0.0; n]);
        preconditioner.solve_vec(&mut z, &residual, self.par)?;
        let mut direction = z.clone();
        let mut size = dot(&residual, &z);
        let goal = settings.mean_tolerance * settings.mean_tolerance * size;
        for iteration in 0..settings.max_mean_iterations {
            if size <= goal || size == 0.0 {
                return Ok(Some((solution, iteration, true)));
            }
            self.apply_prior(&mut applied, &direction);
            matmul(
                MatMut::from_column_major_slice_mut(&mut along, n, 1),
                Accum::Replace,
                self.x,
                MatRef::from_column_major_slice(&direction, d, 1),
                1.0,
                self.par,
            );
            along.iter_mut().zip(curvatures).for_each(|(along, h)| *along *= h);
            self.add_combination(&mut applied, &along);
            let bend = dot(&direction, &applied);
            if bend <= 0.0 || bend.is_nan() {
                return Ok(None);
            }
            axpy(&mut solution, size / bend, &direction);
            axpy(&mut residual, -size / bend, &applied);
            preconditioner.solve_vec(&mut z, &residual, self.par)?;
            let next = dot(&residual, &z);
            for (direction, z) in direction.iter_mut().zip(&z) {
                *direction = z + next / size * *direction;
            }
            size = next;
        }
        Ok(Some((solution, settings.max_mean_iterations, size <= goal)))
    }
}

impl LowRankGaussian {
    /// `(xᵀμ, xᵀPx)` of each row of `x` (`k × d`), no row waiting. Cost `2dkp` flops.
    fn project_rows(&self, x: MatRef<'_, f64>, par: Par) -> Vec<Result<Projection, Error>> {
        let (p, k, d) = (self.rank(), x.nrows(), x.ncols());
        let tiling = Tiling::for_width(p + 2 * k);
        let height = tiling.height().min(d);
        let zeros = || (vec![0.0; k], vec![0.0; k], vi_linalg::faer::Mat::<f64>::zeros(p, k));
        let (means, own, wx) = tiling.fold(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi(), self.mean.as_slice()),
            par,
            || (vec![0.0; height * k], vec![0.0; height]),
            zeros,
            |(means, own, wx), (scaled, inverse), first, (w, psi, mean)| {
                let r = psi.len();
                let x = x.subcols(first, r);
                let (y, inverse) = (&mut scaled[..r * k], &mut inverse[..r]);
                inverse.iter_mut().zip(psi).for_each(|(inverse, psi)| *inverse = 1.0 / psi);
                for (j, out) in y.chunks_exact_mut(r).enumerate() {
                    scale_row(out, x.row(j), inverse);
                    means[j] += row_dot(x.row(j), mean);
                    own[j] += row_dot(x.row(j), out);
                }
                Tile { w, x: x.subrows(0, 0), psi }.add_transposed_mul(wx.as_mut(), y);
            },
            |left, right| {
                axpy(&mut left.0, 1.0, &right.0);
                axpy(&mut left.1, 1.0, &right.1);
                left.2 += right.2;
            },
        );
        (0..k)
            .map(|j| {
                let mut whitened: Vec<f64> = wx.col(j).iter().copied().collect();
                solve_lower(self.root(), &mut whitened);
                let explained = dot(&whitened, &whitened);
                let rounding = 8.0 * (p + 8) as f64 * f64::EPSILON * own[j];
                Projection::new(means[j], own[j] - explained, rounding)
            })
            .collect()
    }
}

//! Newton's method with a line search on the bound, accelerated.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, mirror_lower, quadratic_form, symmetric_mul_vec};

use super::anderson::{Anderson, pack, unpack};
use super::{InformationGaussian, Statistics};
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::Rows;
use crate::{Error, Stop};

/// When the search for the [batch optimum](optimum) stops.
///
/// ```
/// use vi_core::batch::BatchSettings;
/// let tight = BatchSettings { tolerance: 1e-11, ..BatchSettings::default() };
/// assert!(tight.check().is_ok() && BatchSettings { max_passes: 0, ..tight }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchSettings {
    /// A full step that would move the mean by less than this many standard deviations, and each entry of the precision by less than
    /// this share of its scale, is the last.
    pub tolerance: f64,
    /// The largest number of passes over the rows.
    pub max_passes: usize,
}

impl Default for BatchSettings {
    /// Tolerance 1e-9, at most 200 passes.
    fn default() -> Self {
        Self { tolerance: 1e-9, max_passes: 200 }
    }
}

impl BatchSettings {
    /// Checks the settings, as every entry that takes them does.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit at least 1.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::count("max_passes", self.max_passes)
    }
}

/// What the search did.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BatchInfo {
    /// Passes over the rows.
    pub passes: usize,
    /// Steps that had to be halved.
    pub halvings: usize,
    /// The bound `B(q)` at the start and after each accepted step, in nats: it never falls by more than rounding.
    pub bounds: Vec<f64>,
    /// Size of the last full step: the larger of the mean's (standard deviations) and the precision's (relative).
    pub last_step: f64,
    /// Why it stopped.
    pub stop: Stop,
}

impl BatchInfo {
    /// The bound on the log evidence at the end, in nats.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bounds.last().copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// The variational Gaussian optimum of the `n` rows `x`, dense or sparse, from `start` (the prior, or better a filtered belief); `likelihood` is one
/// for all rows or one for each ([`PerRow`](crate::PerRow)).
///
/// Each pass costs `2nd²` flops in matrix products, `n` expectations and about `2d³`; 10 to 40 passes in the settings of R-VGA's
/// figures, up to 160 seen on separable data with flat priors. Newton's step
/// `Λ ← Λ₀ + XᵀHX`, `μ ← μ + Λ⁻¹∇_μB` is accelerated by Anderson's method and, whenever the bound would fall, damped. The bound is exact to the accuracy of
/// the likelihood's expectations; with the papers' [`ProbitApproximation`](crate::ProbitApproximation), whose value and derivatives are not of one
/// function, ask another class.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], [`Error::NotPositiveDefinite`]. Not converging is a [`Stop`].
///
/// ```
/// use vi_core::{Stop, batch, Belief, BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
/// let (best, info) = batch::optimum(
///     &prior, &prior, x, &[1.0, 0.0, 1.0, 0.0], &BernoulliLogit(Mixture8), &batch::BatchSettings::default(), Par::Seq)?;
/// assert_eq!(info.stop, Stop::Converged);
/// assert!(best.mean()[1] > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn optimum<'a, L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    start: &DenseGaussian,
    x: impl Into<Rows<'a>>,
    y: &[f64],
    likelihood: &L,
    settings: &BatchSettings,
    par: Par,
) -> Result<(DenseGaussian, BatchInfo), Error> {
    let rows = x.into().labelled(prior.dim(), y)?;
    likelihood.check_labels(y)?;
    optimum_of(prior, start, settings, |q| Ok(Statistics::of_checked(q, rows, y, likelihood, par)))
}

/// [`optimum`] for rows that `statistics` keeps: on several machines it adds what each returns.
///
/// # Errors
/// [`Error::Dimension`], [`Error::NotPositiveDefinite`], [`Error::Overflow`] for a bound at `start` that is no number, and what
/// `statistics` returns.
pub fn optimum_of(
    prior: &DenseGaussian,
    start: &DenseGaussian,
    settings: &BatchSettings,
    mut statistics: impl FnMut(&InformationGaussian) -> Result<Statistics, Error>,
) -> Result<(DenseGaussian, BatchInfo), Error> {
    settings.check()?;
    check::length("start", prior.dim(), start.dim())?;
    let d = prior.dim();
    let mut statistics = |q: &InformationGaussian| {
        let sums = statistics(q)?;
        sums.check(d)?;
        Ok::<_, Error>(sums)
    };
    let prior = InformationGaussian::of(prior)?;
    let mut q = InformationGaussian::of(start)?;
    let mut sums = statistics(&q)?;
    let mut info = BatchInfo {
        passes: 1,
        halvings: 0,
        bounds: vec![check::result("the bound on the log evidence", sums.expected_log_likelihood - kl(&q, &prior)?)?],
        last_step: f64::INFINITY,
        stop: Stop::Iterations,
    };
    let mut accelerated = Anderson::default();
    loop {
        let step = Step::at(&prior, &q, &sums)?;
        info.last_step = step.size;
        if info.last_step <= settings.tolerance {
            info.stop = Stop::Converged;
            break;
        }
        let mut rho = 1.0;
        let mut proposal = step.accelerated(&q, &mut accelerated)?;
        let accepted = loop {
            if info.passes >= settings.max_passes {
                break Err(Stop::Iterations);
            }
            let plain = proposal.is_none();
            if let Some(next) = proposal.take().or_else(|| step.plain(&q, rho).ok()) {
                let next_sums = statistics(&next)?;
                info.passes += 1;
                let bound = next_sums.expected_log_likelihood - kl(&next, &prior)?;
                if bound >= info.bound() - rounding(info.bound()) {
                    break Ok((next, next_sums, bound));
                }
            }
            if plain {
                rho *= 0.5;
                info.halvings += 1;
            } else {
                accelerated.clear();
            }
            if rho < LEAST_STEP {
                break Err(Stop::Improvement);
            }
        };
        match accepted {
            Ok((next, next_sums, bound)) => {
                (q, sums) = (next, next_sums);
                info.bounds.push(bound);
            }
            Err(stop) => {
                info.stop = stop;
                break;
            }
        }
    }
    Ok((q.to_belief(), info))
}

/// Shortest step tried before the search is declared stalled.
const LEAST_STEP: f64 = 1e-6;

/// Differences of the bound below this are rounding of its sums.
fn rounding(bound: f64) -> f64 {
    64.0 * f64::EPSILON * (1.0 + bound.abs())
}

/// Newton's step from one `q`: where it leads and how far.
struct Step {
    /// `Λ′ = Λ₀ + XᵀHX`, lower triangle.
    target: Mat<f64>,
    /// `∇_μB = Xᵀg − Λ₀(μ−μ₀)`.
    gradient: Vec<f64>,
    /// The larger of the mean's length in standard deviations and the precision's in the Frobenius norm of `L⁻¹(Λ′−Λ)L⁻ᵀ`.
    size: f64,
    /// Both of these, as one column in the metric of `q`.
    whitened: Vec<f64>,
}

impl Step {
    /// Cost `4d³/3`.
    fn at(prior: &InformationGaussian, q: &InformationGaussian, sums: &Statistics) -> Result<Self, Error> {
        let d = q.dim();
        let target = add_lower(prior.precision_lower(), sums.information.as_ref());
        let difference: Vec<f64> = q.mean().iter().zip(prior.mean()).map(|(a, b)| a - b).collect();
        let mut pull = vec![0.0; d];
        symmetric_mul_vec(&mut pull, prior.precision_lower(), &difference);
        let gradient: Vec<f64> = sums.slope.iter().zip(&pull).map(|(s, p)| s - p).collect();

        let old = q.precision_lower();
        let mut change = Mat::from_fn(d, d, |i, j| if i >= j { target[(i, j)] - old[(i, j)] } else { 0.0 });
        mirror_lower(change.as_mut());
        let half = q.cholesky().whiten(change.as_ref())?;
        let change = q.cholesky().whiten(half.transpose())?;
        let shift = q.cholesky().whiten(MatRef::from_column_major_slice(&gradient, d, 1))?;
        let size = change.norm_l2().max(shift.norm_l2());
        let shift: Vec<f64> = (0..d).map(|i| shift[(i, 0)]).collect();
        let whitened = pack(change.as_ref(), &shift);
        Ok(Self { target, gradient, size, whitened })
    }

    /// `Λ(ρ) = (1−ρ)Λ + ρΛ′`, `μ(ρ) = μ + ρ·Λ(ρ)⁻¹∇_μB`.
    fn plain(&self, q: &InformationGaussian, rho: f64) -> Result<InformationGaussian, Error> {
        let old = q.precision_lower();
        let mixed = Mat::from_fn(q.dim(), q.dim(), |i, j| {
            if i >= j { (1.0 - rho) * old[(i, j)] + rho * self.target[(i, j)] } else { 0.0 }
        });
        let mut next = InformationGaussian::new(q.mean().to_vec(), mixed)?;
        let mut shift = self.gradient.clone();
        next.cholesky().solve_vec_in_place(&mut shift)?;
        next.shift_mean(rho, &shift);
        Ok(next)
    }

    /// Anderson's step in the natural parameters `(Λμ, Λ)`, in which a full step is the map
    /// `Λ ← Λ′`, `Λμ ← Λμ + ∇_μB + (Λ′−Λ)μ`. `None` if it leaves no Gaussian.
    fn accelerated(
        &self,
        q: &InformationGaussian,
        anderson: &mut Anderson,
    ) -> Result<Option<InformationGaussian>, Error> {
        let d = q.dim();
        let mut natural = vec![0.0; d];
        symmetric_mul_vec(&mut natural, q.precision_lower(), q.mean());
        let old = q.precision_lower();
        let change = Mat::from_fn(d, d, |i, j| if i >= j { self.target[(i, j)] - old[(i, j)] } else { 0.0 });
        let mut residual = vec![0.0; d];
        symmetric_mul_vec(&mut residual, change.as_ref(), q.mean());
        axpy(&mut residual, 1.0, &self.gradient);
        let point = pack(old, &natural);
        let Some(packed) = anderson.propose(&point, &pack(change.as_ref(), &residual), &self.whitened) else {
            return Ok(None);
        };
        let (precision, mut mean) = unpack(d, &packed);
        let Ok(next) = InformationGaussian::new(vec![0.0; d], precision) else { return Ok(None) };
        next.cholesky().solve_vec_in_place(&mut mean)?;
        Ok(Some(next.with_mean(mean)))
    }
}

fn add_lower(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| if i >= j { a[(i, j)] + b[(i, j)] } else { 0.0 })
}

/// `KL(q‖p)` from precisions: `½[tr(Λ_pΛ_q⁻¹) + ‖μ_p−μ_q‖²_{Λ_p} − d − log|Λ_p| + log|Λ_q|]`.
fn kl(q: &InformationGaussian, p: &InformationGaussian) -> Result<f64, Error> {
    let d = q.dim();
    // tr(Λ_pΛ_q⁻¹) = ‖L_q⁻¹L_p‖²
    let factor = p.cholesky().factor();
    let lower = Mat::from_fn(d, d, |i, j| if i >= j { factor[(i, j)] } else { 0.0 });
    let trace = q.cholesky().whiten(lower.as_ref())?.squared_norm_l2();
    let difference: Vec<f64> = q.mean().iter().zip(p.mean()).map(|(a, b)| a - b).collect();
    let distance = quadratic_form(p.precision_lower(), &difference);
    Ok(0.5 * (trace + distance - d as f64 - p.cholesky().log_det() + q.cholesky().log_det()))
}

//! The explicit and the implicit step on a dense belief, for any form.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use super::{Form, Moments};
use crate::belief::{Belief, DenseGaussian, factor};
use crate::check;
use crate::divergence::gaussian_kl;
use crate::{Error, Stop};

/// The settings of the implicit step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepSettings {
    /// The search ends when a step moves the mean by less than this many standard deviations, and each entry of the precision by
    /// less than this share of its scale.
    pub tolerance: f64,
    /// The largest number of iterations.
    pub max_iterations: usize,
}

impl Default for StepSettings {
    /// The default tolerance is 1e-10, with at most 100 iterations.
    fn default() -> Self {
        Self { tolerance: 1e-10, max_iterations: 100 }
    }
}

impl StepSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_iterations", self.max_iterations)
    }
}

/// A report of an implicit step.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct StepInfo {
    /// The number of iterations taken.
    pub iterations: usize,
    /// The number of steps that had to be shortened.
    pub halvings: usize,
    /// The objective `KL(q‖q₀) − E_q[log p]` at the end, in nats, which the step minimises (eq 5).
    pub objective: f64,
    /// Why it stopped.
    pub stop: Stop,
}

/// Takes the explicit step (30)-(31), with expectations under the old belief.
///
/// ```text
/// P⁻¹ ← P⁻¹ − E_{q₋}[∇²log p],   μ ← μ + P₊·E_{q₋}[∇log p]
/// ```
///
/// Cost: one set of moments and `d³`.
///
/// # Errors
/// Those of the form; [`Error::NotPositiveDefinite`] when the new precision is not; the belief is then as it was.
pub fn explicit_step<F: Form>(belief: &mut DenseGaussian, form: &F) -> Result<(), Error> {
    let cholesky = belief.cholesky()?;
    let prior = Prior::new(belief, &cholesky);
    let moments = checked(form, belief.mean(), &cholesky)?;
    let target = prior.precision.as_ref() + &moments.information;
    *belief = prior.move_to(&prior.mean, &moments, target.as_ref(), 1.0)?;
    Ok(())
}

/// Takes the implicit step (28)-(29), or equally (1)-(2), (16)-(17), (18)-(19), to the Gaussian nearest to `p(y|θ)·q₋(θ)`.
///
/// The fixed point is found by natural-gradient steps on `KL(q‖q₋) − E_q[log p]`,
///
/// ```text
/// Λ ← (1−ρ)Λ + ρ(Λ₋ − E_q[∇²log p]),   μ ← μ + ρ·Λ⁻¹(Λ₋(μ₋−μ) + E_q[∇log p])
/// ```
///
/// with `ρ` halved until the objective does not rise (`ρ = 1` is the paper's iteration, which alone need not converge). With
/// nodes the moments and the objective have different errors, so up to a hundredth of what has been gained may be lost again.
/// Cost per iteration: one set of moments and a few `d³`.
///
/// # Errors
/// Those of the form at the old belief; the belief is then as it was. Not converging is a [`Stop`].
///
/// ```
/// use vi_core::{Stop, papers::black_box::{self, LogLikelihood, Nodes, Order0, StepSettings}, DenseGaussian};
/// /// A likelihood with a kink: no derivative needed.
/// struct Absolute;
/// impl LogLikelihood for Absolute {
///     fn log_density(&self, theta: &[f64]) -> f64 { -(theta[0] - 1.0).abs() }
/// }
/// let mut belief = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// let nodes = Nodes::gauss_hermite(1, 40)?;
/// let info = black_box::implicit_step(&mut belief, &Order0(&Absolute, &nodes), &StepSettings::default())?;
/// assert_eq!(info.stop, Stop::Converged);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn implicit_step<F: Form>(
    belief: &mut DenseGaussian,
    form: &F,
    settings: &StepSettings,
) -> Result<StepInfo, Error> {
    settings.check()?;
    let start = belief.clone();
    let cholesky = start.cholesky()?;
    let prior = Prior::new(&start, &cholesky);
    let mut q = start.clone();
    let mut precision = prior.precision.clone();
    let mut moments = checked(form, q.mean(), &cholesky)?;
    let mut info = StepInfo { iterations: 0, halvings: 0, objective: -moments.value, stop: Stop::Iterations };

    let first_objective = info.objective;
    while info.iterations < settings.max_iterations {
        info.iterations += 1;
        let target = prior.precision.as_ref() + &moments.information;
        let mut rho = 1.0;
        let accepted = loop {
            let mixed = Mat::from_fn(q.dim(), q.dim(), |i, j| (1.0 - rho) * precision[(i, j)] + rho * target[(i, j)]);
            if let Ok(next) = prior.move_to(q.mean(), &moments, mixed.as_ref(), rho)
                && let Some((next_moments, objective)) = evaluate(form, &next, &start)
                && objective <= info.objective + slack(first_objective, info.objective)
            {
                break Some((next, mixed, next_moments, objective));
            }
            rho *= 0.5;
            info.halvings += 1;
            if rho < 1e-8 {
                break None;
            }
        };
        let Some((next, mixed, next_moments, objective)) = accepted else {
            info.stop = Stop::Improvement;
            break;
        };
        let moved = change(&q, &next, &precision, &mixed);
        (q, precision, moments) = (next, mixed, next_moments);
        info.objective = objective;
        if moved <= settings.tolerance * rho {
            info.stop = Stop::Converged;
            break;
        }
    }
    *belief = q;
    Ok(info)
}

/// The moments of a form, which may be the caller's own, checked to have the right shape.
fn checked<F: Form>(form: &F, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error> {
    let moments = form.moments(mean, cholesky)?;
    check::length("slope of the moments", mean.len(), moments.slope.len())?;
    check::length("rows of the information", mean.len(), moments.information.nrows())?;
    check::length("columns of the information", mean.len(), moments.information.ncols())?;
    Ok(moments)
}

/// How much the objective may rise: a hundredth of the gain so far, and rounding.
fn slack(first: f64, current: f64) -> f64 {
    0.01 * (first - current).max(0.0) + 64.0 * f64::EPSILON * (first.abs() + current.abs() + 1.0)
}

/// The moments at `q` and the objective `KL(q‖q₋) − E_q[log p]`, if both are finite.
fn evaluate<F: Form>(form: &F, q: &DenseGaussian, start: &DenseGaussian) -> Option<(Moments, f64)> {
    let moments = checked(form, q.mean(), &q.cholesky().ok()?).ok()?;
    let objective = gaussian_kl(q, start).ok()? - moments.value;
    objective.is_finite().then_some((moments, objective))
}

/// The length of a step: that of the mean in standard deviations or of the precision relative to itself, whichever is larger.
fn change(old: &DenseGaussian, new: &DenseGaussian, old_precision: &Mat<f64>, new_precision: &Mat<f64>) -> f64 {
    let d = old.dim();
    let mut mean = 0.0_f64;
    let mut spread = 0.0_f64;
    for i in 0..d {
        mean = mean.max((new.mean()[i] - old.mean()[i]).abs() * old_precision[(i, i)].sqrt());
        for j in 0..d {
            let scale = (old_precision[(i, i)] * old_precision[(j, j)]).sqrt();
            spread = spread.max((new_precision[(i, j)] - old_precision[(i, j)]).abs() / scale);
        }
    }
    mean.max(spread)
}

/// The belief before the step, in information form.
struct Prior {
    mean: Vec<f64>,
    precision: Mat<f64>,
}

impl Prior {
    fn new(belief: &DenseGaussian, cholesky: &Cholesky) -> Self {
        Self { mean: belief.mean().to_vec(), precision: cholesky.inverse() }
    }

    /// The Gaussian with precision `Λ` and mean `μ + ρ·Λ⁻¹(Λ₋(μ₋−μ) + E∇)`.
    fn move_to(
        &self,
        from: &[f64],
        moments: &Moments,
        precision: MatRef<'_, f64>,
        rho: f64,
    ) -> Result<DenseGaussian, Error> {
        let d = from.len();
        let cholesky = factor("new precision", precision)?;
        let mut shift: Vec<f64> = (0..d)
            .map(|i| {
                let pull: f64 = (0..d).map(|j| self.precision[(i, j)] * (self.mean[j] - from[j])).sum();
                pull + moments.slope[i]
            })
            .collect();
        cholesky.solve_vec_in_place(&mut shift)?;
        let mean = from.iter().zip(&shift).map(|(m, s)| m + rho * s).collect();
        Ok(DenseGaussian::from_parts(mean, cholesky.inverse()))
    }
}

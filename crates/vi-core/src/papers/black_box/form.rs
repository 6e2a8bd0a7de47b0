//! The forms of Theorem 1 and Corollary 1.1: ways to compute the expectations of a step.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::product;

use super::Nodes;
use crate::Error;
use crate::check;

/// A log-likelihood `log p(y|θ)` of one observation, as a function of `θ ∈ ℝᵈ`; it may be known up to a constant.
pub trait LogLikelihood {
    /// `log p(y|θ)`, in nats.
    fn log_density(&self, theta: &[f64]) -> f64;
}

/// A log-likelihood with its gradient.
pub trait Gradient: LogLikelihood {
    /// Writes `∇log p(y|θ)` into `out` (length `d`).
    fn gradient(&self, theta: &[f64], out: &mut [f64]);
}

/// A log-likelihood with its gradient and Hessian.
pub trait Hessian: Gradient {
    /// Writes `∇²log p(y|θ)` into `out` (`d × d`).
    fn hessian(&self, theta: &[f64], out: MatMut<'_, f64>);
}

/// The expectations that a step needs at a Gaussian `q = N(μ, P)`.
#[derive(Debug, Clone)]
pub struct Moments {
    /// `E_q[log p]`.
    pub value: f64,
    /// `E_q[∇log p] = ∇_μ E_q[log p]`, length `d`.
    pub slope: Vec<f64>,
    /// `−E_q[∇²log p] = −2∇_P E_q[log p]`, `d × d`, symmetric.
    pub information: Mat<f64>,
}

/// A way to compute the [`Moments`] of a log-likelihood.
pub trait Form {
    /// The moments at `q = N(mean, LLᵀ)`.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::NonFinite`] when the log-likelihood or a derivative of it is not finite.
    fn moments(&self, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error>;
}

/// The form of equations (3)-(4): means of gradients and Hessians.
#[derive(Debug, Clone, Copy)]
pub struct Order2<'a, L>(
    /// The log-likelihood.
    pub &'a L,
    /// The nodes at which it is evaluated.
    pub &'a Nodes,
);

/// The form of equations (16)-(17), with `P_t⁻¹` in (17): `−E∇² = −P⁻¹E[(θ−μ)∇log pᵀ]`, symmetrised; it needs no Hessian.
#[derive(Debug, Clone, Copy)]
pub struct Order1<'a, L>(
    /// The log-likelihood.
    pub &'a L,
    /// The nodes at which it is evaluated.
    pub &'a Nodes,
);

/// The form of equations (18)-(19), with `P_t⁻¹` on both sides in (19): `E∇ = P⁻¹E[(θ−μ)ℓ]`, `−E∇² = P⁻¹E[ℓ] −
/// P⁻¹E[(θ−μ)(θ−μ)ᵀℓ]P⁻¹`, `ℓ = log p(θ) − log p(μ)`; it needs no derivative.
#[derive(Debug, Clone, Copy)]
pub struct Order0<'a, L>(
    /// The log-likelihood.
    pub &'a L,
    /// The nodes at which it is evaluated.
    pub &'a Nodes,
);

/// The form of equations (1)-(2): a function that gives `E_q[log p]` and its gradients `(∇_μ, ∇_P)` at `(μ, P)`, for likelihoods
/// whose expectation is known in closed form.
#[derive(Debug, Clone, Copy)]
pub struct GradientForm<F>(
    /// `(μ, P) ↦ (E_q[log p], ∇_μ, ∇_P)`; `P` is full, `∇_P` symmetric `d × d`.
    pub F,
);

/// The sums over nodes that all orders share, each visiting `θ_k = μ + L·z_k`.
fn for_each_node(
    nodes: &Nodes,
    mean: &[f64],
    cholesky: &Cholesky,
    mut visit: impl FnMut(usize, f64, &[f64]) -> Result<(), Error>,
) -> Result<(), Error> {
    check::length("nodes", mean.len(), nodes.points().nrows())?;
    check::length("mean", cholesky.dim(), mean.len())?;
    let shifts = cholesky.unwhiten(nodes.points())?;
    let mut theta = vec![0.0; mean.len()];
    for (k, &weight) in nodes.weights().iter().enumerate() {
        for (i, value) in theta.iter_mut().enumerate() {
            *value = mean[i] + shifts[(i, k)];
        }
        visit(k, weight, &theta)?;
    }
    Ok(())
}

fn finite(argument: &'static str, node: usize, value: f64) -> Result<f64, Error> {
    if value.is_finite() { Ok(value) } else { Err(Error::NonFinite { argument, index: node, value }) }
}

/// `L⁻ᵀB`, by a triangular solve.
fn solve_transpose(cholesky: &Cholesky, b: &mut Mat<f64>) {
    use vi_linalg::faer::Par;
    use vi_linalg::faer::linalg::triangular_solve::solve_upper_triangular_in_place;
    solve_upper_triangular_in_place(cholesky.factor().transpose(), b.as_mut(), Par::Seq);
}

fn symmetrised(a: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| 0.5 * (a[(i, j)] + a[(j, i)]))
}

impl<L: Hessian> Form for Order2<'_, L> {
    fn moments(&self, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error> {
        let d = mean.len();
        let mut sum = Moments { value: 0.0, slope: vec![0.0; d], information: Mat::zeros(d, d) };
        let (mut gradient, mut hessian) = (vec![0.0; d], Mat::<f64>::zeros(d, d));
        for_each_node(self.1, mean, cholesky, |k, weight, theta| {
            sum.value += weight * finite("log density", k, self.0.log_density(theta))?;
            self.0.gradient(theta, &mut gradient);
            self.0.hessian(theta, hessian.as_mut());
            for j in 0..d {
                sum.slope[j] += weight * finite("gradient", k, gradient[j])?;
                for i in 0..d {
                    sum.information[(i, j)] -= weight * finite("Hessian", k, hessian[(i, j)])?;
                }
            }
            Ok(())
        })?;
        sum.information = symmetrised(sum.information.as_ref());
        Ok(sum)
    }
}

impl<L: Gradient> Form for Order1<'_, L> {
    fn moments(&self, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error> {
        let d = mean.len();
        let mut sum = Moments { value: 0.0, slope: vec![0.0; d], information: Mat::zeros(d, d) };
        let mut gradient = vec![0.0; d];
        for_each_node(self.1, mean, cholesky, |k, weight, theta| {
            sum.value += weight * finite("log density", k, self.0.log_density(theta))?;
            self.0.gradient(theta, &mut gradient);
            for j in 0..d {
                let component = weight * finite("gradient", k, gradient[j])?;
                sum.slope[j] += component;
                for i in 0..d {
                    sum.information[(i, j)] -= self.1.points()[(i, k)] * component;
                }
            }
            Ok(())
        })?;
        // P⁻¹(θ−μ) = L⁻ᵀz
        solve_transpose(cholesky, &mut sum.information);
        sum.information = symmetrised(sum.information.as_ref());
        Ok(sum)
    }
}

impl<L: LogLikelihood> Form for Order0<'_, L> {
    fn moments(&self, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error> {
        let d = mean.len();
        let at_mean = finite("log density at the mean", 0, self.0.log_density(mean))?;
        let mut value = 0.0;
        let mut first = Mat::<f64>::zeros(d, 1);
        let mut second = Mat::<f64>::zeros(d, d);
        for_each_node(self.1, mean, cholesky, |k, weight, theta| {
            // Since E z = 0 and E zzᵀ = I, a constant can be subtracted, and with it most of the variance of draws.
            let rise = weight * (finite("log density", k, self.0.log_density(theta))? - at_mean);
            value += rise;
            let z = self.1.points().col(k);
            for j in 0..d {
                first[(j, 0)] += rise * z[j];
                for i in 0..d {
                    second[(i, j)] -= rise * (z[i] * z[j] - f64::from(u8::from(i == j)));
                }
            }
            Ok(())
        })?;
        solve_transpose(cholesky, &mut first); // (18)
        solve_transpose(cholesky, &mut second); // (19), from the left
        let mut information = second.transpose().to_owned();
        solve_transpose(cholesky, &mut information); // and from the right
        Ok(Moments {
            value: value + at_mean,
            slope: (0..d).map(|i| first[(i, 0)]).collect(),
            information: symmetrised(information.as_ref()),
        })
    }
}

impl<F> Form for GradientForm<F>
where
    F: Fn(&[f64], MatRef<'_, f64>) -> (f64, Vec<f64>, Mat<f64>),
{
    fn moments(&self, mean: &[f64], cholesky: &Cholesky) -> Result<Moments, Error> {
        let d = mean.len();
        let factor = cholesky.factor();
        let lower = Mat::from_fn(d, d, |i, j| if i >= j { factor[(i, j)] } else { 0.0 });
        let covariance = product(lower.as_ref(), lower.transpose(), Par::Seq);
        let (value, slope, by_covariance) = (self.0)(mean, covariance.as_ref());
        check::length("gradient by μ", d, slope.len())?;
        check::length("rows of the gradient by P", d, by_covariance.nrows())?;
        check::length("columns of the gradient by P", d, by_covariance.ncols())?;
        finite("expected log density", 0, value)?;
        check::finite("gradient by μ", &slope)?;
        crate::belief::check_symmetric("gradient by P", by_covariance.as_ref())?;
        Ok(Moments { value, slope, information: Mat::from_fn(d, d, |i, j| -2.0 * by_covariance[(i, j)]) })
    }
}

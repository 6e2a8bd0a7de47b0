//! The extended Kalman filter for exponential-family observations (R-VGA §4.2, Theorem 3).

use vi_linalg::faer::{Mat, MatMut, Par};

use crate::Error;
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::papers::kalman::{VectorInfo, innovate};

/// A model of exponential-family observations, `E[y|θ] = h(θ) ∈ ℝᵐ` (R-VGA eq 43), nonlinear in `θ ∈ ℝᵈ`.
///
/// The link and the log-partition function enter only through `Cov(y|θ)`.
pub trait MeanModel {
    /// Dimension `m` of an observation.
    fn output_dim(&self) -> usize;

    /// Writes `h(θ)` into `out` (length `m`).
    fn mean(&self, theta: &[f64], out: &mut [f64]);

    /// Writes the Jacobian `H = ∂h/∂θ` (`m × d`) into `out` (eq 44).
    fn jacobian(&self, theta: &[f64], out: MatMut<'_, f64>);

    /// Writes `R = Cov(y|θ)` (`m × m`, symmetric positive definite) into `out` (eq 45).
    fn covariance(&self, theta: &[f64], out: MatMut<'_, f64>);
}

/// One step of the extended Kalman filter of a static state:
///
/// ```text
/// H = ∂h(μ₋)/∂θ, R = Cov(y|μ₋)               (44)-(45)
/// K = PHᵀ(R + HPHᵀ)⁻¹
/// μ ← μ + K(y − h(μ₋)),  P ← (I − KH)P       (55)
/// ```
///
/// By Theorem 3 this is also the linearised R-VGA (51), its explicit form (52)-(53), and the online natural gradient
/// with rate `1/(t+1)` (54). The label `y` has length `m`. Cost `3md² + m²d`.
///
/// # Errors
/// [`Error::Dimension`], [`Error::NonFinite`] (in `y` or in what the model returns), [`Error::NotSymmetric`],
/// [`Error::NotPositiveDefinite`] when the model's covariance is singular; the belief is then as it was.
///
/// ```
/// use vi_core::{papers::ekf, Belief, DenseGaussian};
/// use vi_linalg::faer::{MatMut, Par};
///
/// /// A range measurement: the distance of θ from the origin, with variance 0.01.
/// struct Range;
/// impl ekf::MeanModel for Range {
///     fn output_dim(&self) -> usize { 1 }
///     fn mean(&self, theta: &[f64], out: &mut [f64]) { out[0] = theta[0].hypot(theta[1]); }
///     fn jacobian(&self, theta: &[f64], mut out: MatMut<'_, f64>) {
///         let range = theta[0].hypot(theta[1]);
///         out[(0, 0)] = theta[0] / range;
///         out[(0, 1)] = theta[1] / range;
///     }
///     fn covariance(&self, _theta: &[f64], mut out: MatMut<'_, f64>) { out[(0, 0)] = 0.01; }
/// }
/// let mut belief = DenseGaussian::isotropic(&[1.0, 0.0], 1.0)?;
/// ekf::step(&mut belief, &Range, &[2.0], Par::Seq)?;
/// assert!(belief.mean()[0] > 1.9);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn step<M: MeanModel>(belief: &mut DenseGaussian, model: &M, y: &[f64], par: Par) -> Result<VectorInfo, Error> {
    let m = model.output_dim();
    check::length("y", m, y.len())?;
    check::finite("y", y)?;
    let mut h = Mat::<f64>::zeros(m, belief.dim());
    model.jacobian(belief.mean(), h.as_mut());
    let mut r = Mat::<f64>::zeros(m, m);
    model.covariance(belief.mean(), r.as_mut());
    let mut expected = vec![0.0; m];
    model.mean(belief.mean(), &mut expected);
    check::finite("h(μ)", &expected)?;
    let residual = Mat::from_fn(m, 1, |i, _| y[i] - expected[i]);
    innovate(belief, h.as_ref(), residual.as_ref(), r.as_ref(), par)
}

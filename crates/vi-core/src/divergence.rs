//! Divergences between Gaussians, in closed form.

use vi_linalg::Cholesky;
use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::special::HALF_LN_2PI;

/// A Monte-Carlo estimate with its standard error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// The mean over the draws.
    pub value: f64,
    /// Its standard error.
    pub standard_error: f64,
}

/// `KL(q ‖ p) = ½[tr(P_p⁻¹P_q) + (μ_p−μ_q)ᵀP_p⁻¹(μ_p−μ_q) − d + log|P_p| − log|P_q|]`, in nats. Cost `d³`.
///
/// # Errors
/// [`Error::Dimension`], [`Error::NotPositiveDefinite`], [`Error::Overflow`].
///
/// ```
/// use vi_core::{divergence::gaussian_kl, DenseGaussian};
/// let q = DenseGaussian::isotropic(&[1.0, 0.0], 1.0)?;
/// let p = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// assert!((gaussian_kl(&q, &p)? - 0.5).abs() < 1e-15);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn gaussian_kl(q: &DenseGaussian, p: &DenseGaussian) -> Result<f64, Error> {
    check::length("p", q.dim(), p.dim())?;
    let (lq, lp) = (q.cholesky()?, p.cholesky()?);
    let (trace, distance) = whitened(q.mean(), &lq, p.mean(), &lp)?;
    check::result("KL(q‖p)", 0.5 * (trace - q.dim() as f64 + distance + lp.log_det() - lq.log_det()))
}

/// `−E_q[log p]` for Gaussians `q = N(μ_q, L_qL_qᵀ)`, `p = N(μ_p, L_pL_pᵀ)`.
pub(crate) fn cross_entropy(mu_q: &[f64], l_q: &Cholesky, mu_p: &[f64], l_p: &Cholesky) -> Result<f64, Error> {
    let (trace, distance) = whitened(mu_q, l_q, mu_p, l_p)?;
    Ok(0.5 * (trace + distance + l_p.log_det()) + mu_q.len() as f64 * HALF_LN_2PI)
}

/// `(tr(P_p⁻¹P_q), (μ_p−μ_q)ᵀP_p⁻¹(μ_p−μ_q))` as squared norms of whitened factors.
fn whitened(mu_q: &[f64], l_q: &Cholesky, mu_p: &[f64], l_p: &Cholesky) -> Result<(f64, f64), Error> {
    let d = mu_q.len();
    let factor = l_q.factor();
    let lower = Mat::from_fn(d, d, |i, j| if i >= j { factor[(i, j)] } else { 0.0 });
    let trace = l_p.whiten(lower.as_ref())?.squared_norm_l2();
    Ok((trace, distance(mu_q, mu_p, l_p)?))
}

fn distance(theta: &[f64], mean: &[f64], l: &Cholesky) -> Result<f64, Error> {
    let difference: Vec<f64> = theta.iter().zip(mean).map(|(t, m)| t - m).collect();
    Ok(l.quadratic_form_inverse(&difference)?)
}

/// `log N(θ | μ, LLᵀ)`.
pub(crate) fn log_density_with(mean: &[f64], l: &Cholesky, theta: &[f64]) -> Result<f64, Error> {
    Ok(-0.5 * (distance(theta, mean, l)? + l.log_det()) - theta.len() as f64 * HALF_LN_2PI)
}

impl DenseGaussian {
    /// `log N(θ | μ, P)`, in nats. Cost `d³/3`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`].
    pub fn log_density(&self, theta: &[f64]) -> Result<f64, Error> {
        check::length("theta", self.dim(), theta.len())?;
        check::finite("theta", theta)?;
        log_density_with(self.mean(), &self.cholesky()?, theta)
    }

    /// One draw of `θ ~ N(μ, P)` into `theta`, by `μ + Lz`, given `L` from [`cholesky`](Self::cholesky). Cost `d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn draw_with<R: rand::Rng + ?Sized>(
        &self,
        cholesky: &Cholesky,
        theta: &mut [f64],
        rng: &mut R,
    ) -> Result<(), Error> {
        use rand_distr::{Distribution, StandardNormal};
        check::length("theta", self.dim(), theta.len())?;
        check::length("cholesky", self.dim(), cholesky.dim())?;
        for z in theta.iter_mut() {
            *z = StandardNormal.sample(rng);
        }
        let shift = cholesky.unwhiten(MatRef::from_column_major_slice(theta, theta.len(), 1))?;
        for (i, value) in theta.iter_mut().enumerate() {
            *value = self.mean()[i] + shift[(i, 0)];
        }
        Ok(())
    }
}

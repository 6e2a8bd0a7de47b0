//! Posteriors of generalised linear models.

use vi_core::{Belief, DenseGaussian, Error, Likelihood, by_slabs, check};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::{Cholesky, kernels};

use super::LogDensity;
use crate::BoostError;
use crate::component::HALF_LN_2PI;

/// The posterior `f(θ) = p₀(θ)·Π_i p(y_i | x_iᵀθ)` of `n` observations with any [`Likelihood`], the prior normalised: that of
/// [`vi_core::GlmPosterior`], with gradient and Hessian, on many points at once.
///
/// With `t_i = x_iᵀθ`: `∇log f = Xᵀ∂ − Λ₀(θ−μ₀)` and `∇²log f = −Xᵀ·diag(−∂²)·X − Λ₀`, `Λ₀` the prior's precision. The
/// likelihoods of `vi-models` can be used as they are. Cost of `m` points: `4nmd + 2md²` flops and `nm` derivatives.
///
/// ```
/// use vi_boost::{LogDensity, target::GlmTarget};
/// use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::mat;
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// let x = mat![[1.0, 0.5], [1.0, -2.0]];
/// let target = GlmTarget::new(&prior, x.as_ref(), &[1.0, 0.0], BernoulliLogit(Mixture8))?;
/// assert!(target.log_density(&[0.0, 1.0]) > target.log_density(&[0.0, -1.0]));
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GlmTarget<L> {
    prior_mean: Vec<f64>,
    /// `Λ₀`, full.
    precision: Mat<f64>,
    /// `−½log|P₀| − (d/2)·log 2π`.
    constant: f64,
    /// `Xᵀ`, `d × n`: a row of `X` is a column.
    xt: Mat<f64>,
    y: Vec<f64>,
    likelihood: L,
}

impl<L: Likelihood> GlmTarget<L> {
    /// The posterior of labels `y` (`n`) at the rows of `x` (`n × d`), both copied. Cost `d³` once.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `Dimension`, `Row` (with `NonFinite` or `Label`), `NotPositiveDefinite`.
    pub fn new(prior: &DenseGaussian, x: MatRef<'_, f64>, y: &[f64], likelihood: L) -> Result<Self, BoostError> {
        if y.is_empty() {
            return Err(Error::Empty { argument: "y" }.into());
        }
        check::length("columns of x", prior.dim(), x.ncols())?;
        check::length("rows of x", y.len(), x.nrows())?;
        for (row, label) in y.iter().enumerate() {
            if let Some(index) = (0..x.ncols()).find(|&j| !x[(row, j)].is_finite()) {
                let error = Error::NonFinite { argument: "x", index, value: x[(row, index)] };
                return Err(error.at_row(row).into());
            }
            likelihood.check_label(*label).map_err(|error| error.at_row(row))?;
        }
        let cholesky: Cholesky = prior.cholesky()?;
        Ok(Self {
            prior_mean: prior.mean().to_vec(),
            precision: cholesky.inverse(),
            constant: -0.5 * cholesky.log_det() - prior.dim() as f64 * HALF_LN_2PI,
            xt: x.transpose().to_owned(),
            y: y.to_vec(),
            likelihood,
        })
    }

    /// `log p₀(θ)`, and `−Λ₀(θ−μ₀)` into `slope`.
    fn prior(&self, theta: &[f64], slope: &mut [f64]) -> f64 {
        let away: Vec<f64> = theta.iter().zip(&self.prior_mean).map(|(t, m)| t - m).collect();
        kernels::symmetric_mul_vec(slope, self.precision.as_ref(), &away);
        let square = kernels::dot(&away, slope);
        for s in slope.iter_mut() {
            *s = -*s;
        }
        self.constant - 0.5 * square
    }

    /// `x_iᵀθ` for every observation.
    fn predictors(&self, theta: &[f64]) -> Vec<f64> {
        let theta = MatRef::from_column_major_slice(theta, theta.len(), 1);
        let mut t = Mat::<f64>::zeros(self.y.len(), 1);
        matmul(t.as_mut(), Accum::Replace, self.xt.transpose(), theta, 1.0, Par::Seq);
        (0..self.y.len()).map(|i| t[(i, 0)]).collect()
    }

    /// Values at a slab of points, and gradients if asked for.
    fn slab(&self, points: MatRef<'_, f64>, values: &mut [f64], gradients: Option<MatMut<'_, f64>>) {
        let (m, n, d) = (points.nrows(), self.y.len(), self.prior_mean.len());
        // t: m × n, a column for each observation.
        let mut t = Mat::<f64>::zeros(m, n);
        matmul(t.as_mut(), Accum::Replace, points, self.xt.as_ref(), 1.0, Par::Seq);
        let mut away = Mat::from_fn(m, d, |i, j| points[(i, j)] - self.prior_mean[j]);
        let mut pull = Mat::<f64>::zeros(m, d);
        matmul(pull.as_mut(), Accum::Replace, away.as_ref(), self.precision.as_ref(), 1.0, Par::Seq);
        values.fill(self.constant);
        for j in 0..d {
            for (i, value) in values.iter_mut().enumerate() {
                *value -= 0.5 * away[(i, j)] * pull[(i, j)];
            }
        }
        let Some(mut gradients) = gradients else {
            for (k, &y) in self.y.iter().enumerate() {
                self.likelihood.add_log_densities(y, t.col_as_slice(k), values);
            }
            return;
        };
        for (k, &y) in self.y.iter().enumerate() {
            self.likelihood.add_log_densities_and_slopes(y, t.col_as_slice_mut(k), values);
        }
        matmul(gradients.as_mut(), Accum::Replace, t.as_ref(), self.xt.transpose(), 1.0, Par::Seq);
        std::mem::swap(&mut away, &mut pull);
        for j in 0..d {
            for i in 0..m {
                gradients[(i, j)] -= away[(i, j)];
            }
        }
    }

    /// The number of points that share a slab: `slab·n` predictors stay in the cache.
    fn slab_len(&self) -> usize {
        (SLAB / self.y.len()).clamp(8, 1024)
    }
}

/// The number of predictors of one slab: 256 KiB.
const SLAB: usize = 1 << 15;

impl<L: Likelihood> LogDensity for GlmTarget<L> {
    fn dim(&self) -> usize {
        self.prior_mean.len()
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let t = self.predictors(theta);
        let fit: f64 = self.y.iter().zip(&t).map(|(&y, &t)| self.likelihood.log_density(y, t)).sum();
        self.prior(theta, &mut vec![0.0; theta.len()]) + fit
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        self.value_and_gradient(theta, out).is_some()
    }

    fn value_and_gradient(&self, theta: &[f64], out: &mut [f64]) -> Option<f64> {
        let t = self.predictors(theta);
        let mut value = self.prior(theta, out);
        for (k, (&y, &t)) in self.y.iter().zip(&t).enumerate() {
            value += self.likelihood.log_density(y, t);
            let slope = self.likelihood.slope(y, t);
            for (j, out) in out.iter_mut().enumerate() {
                *out += slope * self.xt[(j, k)];
            }
        }
        Some(value)
    }

    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) -> bool {
        let (d, n) = (theta.len(), self.y.len());
        let t = self.predictors(theta);
        let curvature: Vec<f64> = self.y.iter().zip(&t).map(|(&y, &t)| self.likelihood.curvature(y, t)).collect();
        let weighted = Mat::from_fn(d, n, |j, k| self.xt[(j, k)] * curvature[k]);
        matmul(out.as_mut(), Accum::Replace, weighted.as_ref(), self.xt.transpose(), -1.0, Par::Seq);
        for j in 0..d {
            for i in 0..d {
                out[(i, j)] -= self.precision[(i, j)];
            }
        }
        true
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        by_slabs((points, self.slab_len()), values, None, |points, values, gradients| {
            self.slab(points, values, gradients);
        });
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> bool {
        by_slabs((points, self.slab_len()), values, Some(gradients), |points, values, gradients| {
            self.slab(points, values, gradients);
        });
        true
    }
}

//! The posterior `N(w, V)` of the weights, kept by the factor that the fit had.

mod stored;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::{DenseGaussian, Projection};
use vi_linalg::eigen::eigen;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{dot, mirror_lower, symmetric_rank_r};
use vi_linalg::{Cholesky, cholesky};

use super::no_spectrum;
use crate::whitened::product;
use crate::{ModelError, check};

/// The posterior `N(w, V)` of the weights; for a linear model `V` is in units of the noise variance, `w ~ N(w_N, V_N/τ)` (6).
///
/// With more rows than weights it holds the Cholesky factor of `V⁻¹`, otherwise `V = A⁻¹ − ZᵀZ` with `Z` of `n × d`, so that
/// there is no `d × d` matrix if `d` is the larger.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "stored::Stored", into = "stored::Stored")]
pub struct WeightDistribution {
    mean: Vec<f64>,
    log_det: f64,
    energy: f64,
    form: Form,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Form {
    /// `V⁻¹ = LLᵀ`.
    Primal(Cholesky),
    /// `V = diag(variances) − lossᵀ·loss`.
    Dual { variances: Vec<f64>, loss: Mat<f64> },
}

/// The number of rows taken together.
const BLOCK: usize = 256;

impl WeightDistribution {
    pub(super) fn primal(mean: Vec<f64>, precision: Cholesky) -> Self {
        let log_det = -precision.log_det();
        let whitened = product(precision.factor().transpose(), &mean);
        Self { log_det, energy: dot(&whitened, &whitened), mean, form: Form::Primal(precision) }
    }

    pub(super) fn dual(mean: Vec<f64>, variances: Vec<f64>, loss: Mat<f64>, log_det: f64, energy: f64) -> Self {
        Self { mean, log_det, energy, form: Form::Dual { variances, loss } }
    }

    pub(super) fn form(&self) -> &Form {
        &self.form
    }

    /// Dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// The mean `w`, length `d`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// `ln|V|`.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// The diagonal of `V`, length `d`. Cost `d³/3` or `2nd` flops.
    #[must_use]
    pub fn variances(&self) -> Vec<f64> {
        match &self.form {
            Form::Primal(precision) => {
                let covariance = precision.inverse();
                (0..self.dim()).map(|j| covariance[(j, j)]).collect()
            }
            Form::Dual { variances, loss } => {
                let norm = |j: usize| loss.col(j).squared_norm_l2();
                variances.iter().enumerate().map(|(j, variance)| (variance - norm(j)).max(0.0)).collect()
            }
        }
    }

    /// The covariance `V` (`d × d`, a copy). Cost `2d³/3` or `nd²` flops.
    #[must_use]
    pub fn covariance(&self) -> Mat<f64> {
        match &self.form {
            Form::Primal(precision) => precision.inverse(),
            Form::Dual { variances, loss } => {
                let d = self.dim();
                let mut covariance = Mat::from_fn(d, d, |i, j| if i == j { variances[i] } else { 0.0 });
                let loss = loss.as_ref().transpose();
                symmetric_rank_r(covariance.as_mut(), -1.0, loss, loss, Par::Seq);
                mirror_lower(covariance.as_mut());
                covariance
            }
        }
    }

    /// The precision `V⁻¹` (`d × d`, a copy), for output. Cost `d³/3` flops, or those of a factorisation of `V` in the dual form.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NotPositiveDefinite` where `V`, as rounded, is not.
    pub fn precision(&self) -> Result<Mat<f64>, ModelError> {
        match &self.form {
            Form::Primal(precision) => {
                let d = self.dim();
                let mut out = Mat::zeros(d, d);
                let factor = precision.factor();
                matmul(out.as_mut(), Accum::Replace, factor, factor.transpose(), 1.0, Par::Seq);
                Ok(out)
            }
            Form::Dual { .. } => Ok(crate::whitened::factor("V", self.covariance().as_ref())?.inverse()),
        }
    }

    /// The posterior as a dense belief. It costs as much as [`covariance`](Self::covariance) and a factorisation to check it.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `NotPositiveDefinite` where `V`, as rounded, is not.
    pub fn belief(&self) -> Result<DenseGaussian, ModelError> {
        Ok(DenseGaussian::new(&self.mean, self.covariance().as_ref())?)
    }

    /// The mean and variance `(xᵀw, xᵀVx)` for every row of `x` (`m × d`). Cost `md²` or `2mnd` flops.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or with `Overflow` or `NegativeVariance` for a row
    /// along which `V` is not known to any digit.
    pub fn project(&self, x: MatRef<'_, f64>) -> Result<Vec<Projection>, ModelError> {
        check::rows(self.dim(), x)?;
        let mut seen = Vec::with_capacity(x.nrows());
        for start in (0..x.nrows()).step_by(BLOCK) {
            let block = x.subrows(start, BLOCK.min(x.nrows() - start));
            let means = product(block, &self.mean);
            let (variances, sizes) = self.along(block);
            for (i, ((mean, variance), size)) in means.into_iter().zip(variances).zip(sizes).enumerate() {
                let rounding = 8.0 * self.dim() as f64 * f64::EPSILON * size;
                seen.push(Projection::new(mean, variance, rounding).map_err(|error| error.at_row(start + i))?);
            }
        }
        Ok(seen)
    }

    /// `xᵀVx` of each row, and the size of what it was computed from.
    fn along(&self, rows: MatRef<'_, f64>) -> (Vec<f64>, Vec<f64>) {
        match &self.form {
            Form::Primal(precision) => {
                let mut whitened = rows.transpose().to_owned();
                cholesky::solve_lower_in_place(precision.factor(), whitened.as_mut(), Par::Seq);
                let variances: Vec<f64> = (0..rows.nrows()).map(|i| whitened.col(i).squared_norm_l2()).collect();
                (variances.clone(), variances)
            }
            Form::Dual { variances, loss } => {
                let mut lost = Mat::zeros(loss.nrows(), rows.nrows());
                matmul(lost.as_mut(), Accum::Replace, loss.as_ref(), rows.transpose(), 1.0, Par::Seq);
                let prior = |i: usize| rows.row(i).iter().zip(variances).map(|(x, v)| x * x * v).sum::<f64>();
                let priors: Vec<f64> = (0..rows.nrows()).map(prior).collect();
                let left = priors.iter().enumerate().map(|(i, prior)| prior - lost.col(i).squared_norm_l2());
                (left.collect(), priors)
            }
        }
    }

    /// Draws from `N(0, V)`, one a column (`d × draws`). Cost `d²` flops a draw, or `n²d` and an eigendecomposition of `n × n` once
    /// and `4nd` a draw in the dual form.
    ///
    /// ```text
    /// primal:  V⁻¹ = LLᵀ                               δ = L⁻ᵀz,   z ~ N(0, I)
    /// dual:    V = A^(−½)(I − TᵀT)A^(−½), TTᵀ = UΛUᵀ    δ = A^(−½)(z − TᵀU·(I + √(I−Λ))⁻¹·Uᵀ·Tz)
    /// ```
    ///
    /// The second is the symmetric square root of `I − TᵀT`, which needs nothing of size `d × d` and cannot fail where `Λ` rounds
    /// to 1.
    ///
    /// # Errors
    /// `Overflow` if `TTᵀ` has no eigendecomposition; `Setting` for more draws than memory holds.
    pub(super) fn draw_deviations<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Mat<f64>, ModelError> {
        let d = self.dim();
        check::room("draws", &[draws, d.max(1)])?;
        let mut z = Mat::zeros(d, draws);
        for s in 0..draws {
            z.col_mut(s).iter_mut().for_each(|z| *z = StandardNormal.sample(rng));
        }
        match &self.form {
            Form::Primal(precision) => cholesky::solve_upper_in_place(precision.factor(), z.as_mut(), Par::Seq),
            Form::Dual { variances, loss } => {
                let roots: Vec<f64> = variances.iter().map(|variance| variance.sqrt()).collect();
                let n = loss.nrows();
                let t = Mat::from_fn(n, d, |i, j| loss[(i, j)] / roots[j]);
                let mut gram = Mat::zeros(n, n);
                symmetric_rank_r(gram.as_mut(), 1.0, t.as_ref(), t.as_ref(), Par::Seq);
                let (values, vectors) = eigen(gram.as_ref(), Par::Seq).map_err(no_spectrum)?;
                let mut along = vectors.transpose() * (&t * &z);
                for (k, value) in values.iter().enumerate() {
                    let shrink = 1.0 / (1.0 + (1.0 - value).max(0.0).sqrt());
                    along.row_mut(k).iter_mut().for_each(|along| *along *= shrink);
                }
                let lost = t.transpose() * (&vectors * &along);
                z = Mat::from_fn(d, draws, |j, s| roots[j] * (z[(j, s)] - lost[(j, s)]));
            }
        }
        Ok(z)
    }

    /// `wᵀV⁻¹w`.
    pub(super) fn energy(&self) -> f64 {
        self.energy
    }
}

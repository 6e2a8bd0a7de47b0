//! How a dense belief forgets.

use vi_linalg::cholesky::solve_lower_in_place;
use vi_linalg::faer::{Mat, MatMut, Par};
use vi_linalg::kernels::{
    axpy, dot, mirror_lower, symmetric_mul_vec, symmetric_rank_one, tiled_lower_product, tiled_mul_mat, tiled_rank_r,
};

use super::{Forget, LARGEST_VARIANCE};
use crate::Error;
use crate::belief::{Belief, DenseGaussian, SquareRootGaussian, factor};
use crate::check;

/// Columns of the prior's root that return together.
const COLUMNS: usize = 32;

impl Forget for DenseGaussian {
    type Anchor = SquareRootGaussian;

    fn anchor(&self) -> Result<SquareRootGaussian, Error> {
        SquareRootGaussian::from_dense(self)
    }

    fn can_fade(&self, lambda: f64) -> bool {
        let p = self.covariance_lower();
        (0..self.dim()).all(|i| p[(i, i)] <= LARGEST_VARIANCE * lambda)
    }

    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let d = self.dim();
        // No entry of a positive definite matrix is larger than the largest on its diagonal.
        for i in 0..d {
            check_variance(i, self.covariance_lower()[(i, i)] / lambda)?;
        }
        let digits = self.digits().faded(lambda);
        let (_, p) = self.parts_mut();
        for j in 0..d {
            for i in j..d {
                p[(i, j)] /= lambda;
            }
        }
        self.set_digits(digits);
        Ok(())
    }

    /// The prior comes back as `d` observations, the columns of its root, each with the information `1−λ`: after fading by `λ` none of
    /// them takes more than that share of a variance, so that no digits are lost. Many columns come 32 at a time, by matrix
    /// products. Cost `d³` for a diagonal prior, `3d³` for another.
    fn towards(&mut self, anchor: &SquareRootGaussian, lambda: f64) -> Result<(), Error> {
        /// Where products become the faster way.
        const NARROW: usize = 64;
        let mut next = if self.dim() <= NARROW {
            observed(self, anchor, lambda)
        } else {
            observed_by_columns(self, anchor, lambda)?
        };
        check::finite("mean", next.mean())?;
        for i in 0..next.dim() {
            let variance = next.covariance_lower()[(i, i)];
            check_variance(i, variance)?;
            if variance <= 0.0 {
                return Err(Error::NotPositiveDefinite { argument: "covariance", pivot: i });
            }
        }
        let of_anchor = |i: usize| (0..=i).map(|j| anchor.root()[(i, j)].powi(2)).sum();
        let variance = |i: usize| self.covariance_lower()[(i, i)] / lambda;
        next.set_digits(self.digits().mixed(lambda, variance, of_anchor));
        *self = next;
        Ok(())
    }

    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        for (i, q) in q.iter().enumerate() {
            check_variance(i, self.covariance_lower()[(i, i)] + q)?;
        }
        // The precisions fall, so that their bounds stay bounds.
        let digits = self.digits().clone();
        let (_, p) = self.parts_mut();
        for (i, q) in q.iter().enumerate() {
            p[(i, i)] += q;
        }
        self.set_digits(digits);
        Ok(())
    }
}

/// `P ← P/λ`, then for each column `v` of `L₀` a step along it to `vᵀμ₀` with curvature `1−λ`.
fn observed(belief: &DenseGaussian, anchor: &SquareRootGaussian, lambda: f64) -> DenseGaussian {
    let (d, root) = (belief.dim(), anchor.root());
    let (mut mean, mut covariance) = (belief.mean().to_vec(), belief.covariance_lower().to_owned());
    for j in 0..d {
        covariance.col_mut(j).subrows_mut(j, d - j).iter_mut().for_each(|p| *p /= lambda);
    }
    let (mut row, mut gain) = (vec![0.0; d], vec![0.0; d]);
    for j in 0..d {
        (0..d).for_each(|i| row[i] = if i >= j { root[(i, j)] } else { 0.0 });
        if row[j + 1..].iter().all(|v| *v == 0.0) {
            (0..d).for_each(|i| gain[i] = row[j] * if i >= j { covariance[(i, j)] } else { covariance[(j, i)] });
        } else {
            symmetric_mul_vec(&mut gain, covariance.as_ref(), &row);
        }
        let behind: f64 = (j..d).map(|i| row[i] * (anchor.mean()[i] - mean[i])).sum();
        let left = 1.0 + (1.0 - lambda) * dot(&row, &gain);
        axpy(&mut mean, (1.0 - lambda) * behind / left, &gain);
        symmetric_rank_one(covariance.as_mut(), -(1.0 - lambda) / left, &gain);
    }
    DenseGaussian::from_parts(mean, covariance)
}

/// The same, [`COLUMNS`] columns `V` of `L₀` at a time: `G = PV`, `I/(1−λ) + VᵀG = LLᵀ`, `U = GL⁻ᵀ`, `P ← P − UUᵀ`,
/// `μ ← μ + UL⁻¹Vᵀ(μ₀ − μ)`.
fn observed_by_columns(
    belief: &DenseGaussian,
    anchor: &SquareRootGaussian,
    lambda: f64,
) -> Result<DenseGaussian, Error> {
    let (d, root) = (belief.dim(), anchor.root());
    let (mut mean, mut covariance) = (belief.mean().to_vec(), belief.covariance_lower().to_owned());
    let fade = lambda.recip();
    for j in 0..d {
        covariance.col_mut(j).subrows_mut(j, d - j).iter_mut().for_each(|p| *p *= fade);
    }
    let diagonal = (0..d).all(|j| (j + 1..d).all(|i| root[(i, j)] == 0.0));
    let mut gains = Mat::<f64>::zeros(d, COLUMNS);
    let mut minus = Mat::<f64>::zeros(d, COLUMNS);
    let mut inner = Mat::<f64>::zeros(COLUMNS, COLUMNS);
    for first in (0..d).step_by(COLUMNS) {
        let columns = COLUMNS.min(d - first);
        let mut gains = gains.as_mut().submatrix_mut(0, 0, d, columns);
        let mut inner = inner.as_mut().submatrix_mut(0, 0, columns, columns);
        let mut behind = vec![0.0; columns];
        if diagonal {
            mirror_lower(covariance.as_mut().submatrix_mut(first, first, columns, columns));
            gains.as_mut().subrows_mut(0, first).copy_from(covariance.submatrix(first, 0, columns, first).transpose());
            gains.as_mut().subrows_mut(first, d - first).copy_from(covariance.submatrix(
                first,
                first,
                d - first,
                columns,
            ));
            for j in 0..columns {
                let scale = root[(first + j, first + j)];
                gains.as_mut().col_mut(j).iter_mut().for_each(|g| *g *= scale);
                behind[j] = scale * (anchor.mean()[first + j] - mean[first + j]);
            }
            for j in 0..columns {
                for i in j..columns {
                    inner[(i, j)] = root[(first + i, first + i)] * gains[(first + i, j)];
                }
            }
        } else {
            let prior = Mat::from_fn(d, columns, |i, j| if i >= first + j { root[(i, first + j)] } else { 0.0 });
            tiled_mul_mat(gains.as_mut(), covariance.as_mut(), prior.as_ref(), Par::Seq);
            tiled_lower_product(inner.as_mut(), prior.transpose(), gains.as_ref(), Par::Seq);
            for (j, behind) in behind.iter_mut().enumerate() {
                *behind = (first + j..d).map(|i| prior[(i, j)] * (anchor.mean()[i] - mean[i])).sum();
            }
        }
        (0..columns).for_each(|j| inner[(j, j)] += (1.0 - lambda).recip());
        let inner = factor("covariance in units of the prior", inner.as_ref())?;
        solve_lower_in_place(inner.factor(), gains.as_mut().transpose_mut(), Par::Seq);
        solve_lower_in_place(inner.factor(), MatMut::from_column_major_slice_mut(&mut behind, columns, 1), Par::Seq);
        let gains = gains.as_ref();
        let mut minus = minus.as_mut().subcols_mut(0, columns);
        for (j, behind) in behind.iter().enumerate() {
            for ((mean, minus), gain) in
                mean.iter_mut().zip(minus.as_mut().col_mut(j).iter_mut()).zip(gains.col(j).iter())
            {
                *mean += behind * gain;
                *minus = -gain;
            }
        }
        tiled_rank_r(covariance.as_mut(), minus.as_ref(), gains, Par::Seq);
    }
    Ok(DenseGaussian::from_parts(mean, covariance))
}

/// `share·Λ₀(μ₀ − μ)`. Cost `2d²`.
pub(super) fn pull(anchor: &SquareRootGaussian, mean: &[f64], share: f64) -> Vec<f64> {
    let (d, root) = (mean.len(), anchor.root());
    let mut out = vec![0.0; d];
    for j in 0..d {
        let along: f64 = (j..d).map(|i| root[(i, j)] * (anchor.mean()[i] - mean[i])).sum();
        for i in j..d {
            out[i] += share * along * root[(i, j)];
        }
    }
    out
}

fn check_variance(index: usize, value: f64) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::NonFinite { argument: "variance", index, value }) }
}

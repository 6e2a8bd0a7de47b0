//! How a dense belief forgets.

use vi_linalg::cholesky::solve_lower_in_place;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{
    axpy, dot, mirror_lower, symmetric_mul_vec, symmetric_rank_one, symmetric_rank_r, tiled_lower_product,
    tiled_mul_mat,
};

use super::{Forget, LARGEST_VARIANCE};
use crate::Error;
use crate::belief::{Belief, DenseGaussian, SquareRootGaussian, factor, is_diagonal};
use crate::check;

/// Columns of the prior's root that return together, at most.
const COLUMNS: usize = 32;

impl Forget for DenseGaussian {
    type Anchor = SquareRootGaussian;

    fn anchor(&self) -> Result<SquareRootGaussian, Error> {
        SquareRootGaussian::from_dense(self)
    }

    fn can_fade(&self, lambda: f64) -> bool {
        (0..self.dim()).all(|i| self.variance(i) <= LARGEST_VARIANCE * lambda)
    }

    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let d = self.dim();
        // No entry of a positive definite matrix is larger than the largest on its diagonal.
        for i in 0..d {
            check_variance(i, self.variance(i) / lambda)?;
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
    /// them takes more than that share of a variance, so that no digits are lost. Many columns come some 32 at a time, by matrix
    /// products. Cost `d³` for a diagonal prior, `3d³` for another.
    fn towards(&mut self, anchor: &SquareRootGaussian, lambda: f64) -> Result<(), Error> {
        /// Where products become the faster way.
        const NARROW: usize = 64;
        let diagonal = is_diagonal(anchor.root());
        let mut next = if self.dim() <= NARROW {
            observed(self, anchor, lambda)
        } else {
            observed_by_columns(self, anchor, lambda, diagonal)?
        };
        check::finite("mean", next.mean())?;
        for i in 0..next.dim() {
            let variance = next.variance(i);
            check_variance(i, variance)?;
            if variance <= 0.0 {
                return Err(Error::NotPositiveDefinite { argument: "covariance", pivot: i });
            }
        }
        let precision = |i: usize| {
            let from = if diagonal { i } else { 0 };
            (from..=i).map(|j| anchor.root()[(i, j)].powi(2)).sum()
        };
        let variance = |i: usize| self.variance(i) / lambda;
        next.set_digits(self.digits().mixed(lambda, variance, precision));
        *self = next;
        Ok(())
    }

    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        for (i, q) in q.iter().enumerate() {
            check_variance(i, self.variance(i) + q)?;
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
    let (mut mean, mut covariance) = (belief.mean().to_vec(), faded_lower(belief, lambda));
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

/// The same, up to [`COLUMNS`] columns `V` of `L₀` at a time: `G = PV`, `I/(1−λ) + VᵀG = LLᵀ`, `U = GL⁻ᵀ`, `P ← P − UUᵀ`,
/// `μ ← μ + UL⁻¹Vᵀ(μ₀ − μ)`.
fn observed_by_columns(
    belief: &DenseGaussian,
    anchor: &SquareRootGaussian,
    lambda: f64,
    diagonal: bool,
) -> Result<DenseGaussian, Error> {
    let d = belief.dim();
    // As few parts as there can be, all about as wide.
    let width = d.div_ceil(d.div_ceil(COLUMNS));
    let (mut mean, mut covariance) = (belief.mean().to_vec(), faded_lower(belief, lambda));
    let (mut gains, mut inner) = (Mat::<f64>::zeros(d, width), Mat::<f64>::zeros(width, width));
    for first in (0..d).step_by(width) {
        let columns = width.min(d - first);
        let mut gains = gains.as_mut().subcols_mut(0, columns);
        let mut inner = inner.as_mut().submatrix_mut(0, 0, columns, columns);
        let mut behind = vec![0.0; columns];
        if diagonal {
            let scales: Vec<f64> = (first..first + columns).map(|j| anchor.root()[(j, j)]).collect();
            scaled_columns(gains.as_mut(), covariance.as_mut(), first, &scales);
            for (j, scale) in scales.iter().enumerate() {
                behind[j] = scale * (anchor.mean()[first + j] - mean[first + j]);
                (j..columns).for_each(|i| inner[(i, j)] = scales[i] * gains[(first + i, j)]);
            }
        } else {
            let root = anchor.root();
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
        let behind = MatRef::from_column_major_slice(&behind, columns, 1);
        matmul(MatMut::from_column_major_slice_mut(&mut mean, d, 1), Accum::Add, gains, behind, 1.0, Par::Seq);
        symmetric_rank_r(covariance.as_mut(), -1.0, gains, gains, Par::Seq);
    }
    Ok(DenseGaussian::from_parts(mean, covariance))
}

/// `P/λ`, its lower triangle.
fn faded_lower(belief: &DenseGaussian, lambda: f64) -> Mat<f64> {
    let (fade, mut out) = (lambda.recip(), belief.covariance_lower().into_owned());
    for (j, column) in out.as_mut().col_iter_mut().enumerate() {
        if let Some(column) = column.try_as_col_major_mut() {
            column.as_slice_mut()[j..].iter_mut().for_each(|entry| *entry *= fade);
        }
    }
    out
}

/// The columns of `P` from `first` on, each times its scale, of which the lower triangle is stored.
fn scaled_columns(mut out: MatMut<'_, f64>, covariance: MatMut<'_, f64>, first: usize, scales: &[f64]) {
    let (d, columns) = (covariance.nrows(), scales.len());
    let mut covariance = covariance;
    mirror_lower(covariance.as_mut().submatrix_mut(first, first, columns, columns));
    let covariance = covariance.as_ref();
    out.as_mut().subrows_mut(0, first).copy_from(covariance.submatrix(first, 0, columns, first).transpose());
    out.as_mut().subrows_mut(first, d - first).copy_from(covariance.submatrix(first, first, d - first, columns));
    for (j, scale) in scales.iter().enumerate() {
        let Some(column) = out.as_mut().col_mut(j).try_as_col_major_mut() else { continue };
        column.as_slice_mut().iter_mut().for_each(|entry| *entry *= scale);
    }
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

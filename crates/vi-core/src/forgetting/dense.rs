//! How a dense belief forgets.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, Par};
use vi_linalg::kernels::{add_lower_product, axpy, dot, symmetric_mul_vec, symmetric_rank_one};

use super::{Forget, LARGEST_VARIANCE};
use crate::Error;
use crate::belief::{Belief, DenseGaussian, SquareRootGaussian, factor};
use crate::check;

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
    /// them takes more than that share of a variance, so that no digits are lost. For many weights by matrix products:
    /// with `P = LLᵀ`, `P ← L(λI + (1−λ)LᵀΛ₀L)⁻¹Lᵀ`. Cost `d³` for a diagonal prior, `3d³` for another, or about `4d³`.
    fn towards(&mut self, anchor: &SquareRootGaussian, lambda: f64) -> Result<(), Error> {
        /// Where products become the faster way.
        const NARROW: usize = 64;
        let mut next =
            if self.dim() <= NARROW { observed(self, anchor, lambda) } else { multiplied(self, anchor, lambda)? };
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

/// The same by matrix products.
fn multiplied(belief: &DenseGaussian, anchor: &SquareRootGaussian, lambda: f64) -> Result<DenseGaussian, Error> {
    let d = belief.dim();
    let root = belief.cholesky()?.into_factor();
    let lower = Mat::from_fn(d, d, |i, j| if i >= j { root[(i, j)] } else { 0.0 });
    let whitened = whitened_by(anchor, &lower);
    let mut inner = Mat::<f64>::zeros(d, d);
    add_lower_product(inner.as_mut(), whitened.transpose(), whitened.as_ref(), Par::Seq);
    let inner = Mat::from_fn(d, d, |i, j| {
        let own = if i == j { lambda } else { 0.0 };
        if i >= j { own + (1.0 - lambda) * inner[(i, j)] } else { 0.0 }
    });
    let inner = factor("covariance in units of the prior", inner.as_ref())?;
    let mut half = lower.transpose().to_owned();
    vi_linalg::cholesky::solve_lower_in_place(inner.factor(), half.as_mut(), Par::Seq);
    let mut covariance = Mat::<f64>::zeros(d, d);
    add_lower_product(covariance.as_mut(), half.transpose(), half.as_ref(), Par::Seq);
    let mut mean = vec![0.0; d];
    symmetric_mul_vec(&mut mean, covariance.as_ref(), &pull(anchor, belief.mean(), 1.0 - lambda));
    axpy(&mut mean, 1.0, belief.mean());
    Ok(DenseGaussian::from_parts(mean, covariance))
}

/// `L₀ᵀL` for `Λ₀ = L₀L₀ᵀ`, `L` lower triangular with zeros above.
fn whitened_by(anchor: &SquareRootGaussian, lower: &Mat<f64>) -> Mat<f64> {
    let (d, root) = (lower.nrows(), anchor.root());
    if (0..d).all(|j| (j + 1..d).all(|i| root[(i, j)] == 0.0)) {
        return Mat::from_fn(d, d, |i, j| root[(i, i)] * lower[(i, j)]);
    }
    let upper = Mat::from_fn(d, d, |i, j| if i <= j { root[(j, i)] } else { 0.0 });
    let mut out = Mat::zeros(d, d);
    matmul(out.as_mut(), Accum::Replace, upper.as_ref(), lower.as_ref(), 1.0, Par::Seq);
    out
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

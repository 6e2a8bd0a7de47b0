//! A dense belief under a site of several directions at once.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, symmetric_rank_r};

use super::dense::check_variances;
use crate::belief::DenseGaussian;
use crate::error::{check_finite, check_len, check_results};
use crate::{Belief, Error};

impl DenseGaussian {
    /// Multiplies in a factor of `t = Hθ ∈ ℝᵐ`, `exp(rᵀt − ½tᵀKt)`, given `G = PHᵀ` and what the factor makes of `N = HPHᵀ`:
    ///
    /// ```text
    /// μ ← μ + G·e,   e = (I+KN)⁻¹(r − K·Hμ)
    /// P ← P − G·S·Gᵀ,   S = (I+KN)⁻¹K
    /// ```
    ///
    /// `gains` is `d × m`, `shift = e` has length `m`, `shrinkage = S` is `m × m`, symmetric. `m = 1` is
    /// [`Belief::absorb`]. Cost `d²m + 2dm²`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`] when a variance would not stay positive,
    /// [`Error::Overflow`] when a number would not stay finite; the belief is then as it was.
    ///
    /// ```
    /// use vi_core::{Belief, DenseGaussian};
    /// use vi_linalg::faer::{Par, mat};
    /// // Both coordinates measured with unit noise: N = 4I, S = (1+4)⁻¹I, y = (5, 0).
    /// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 2.0)?;
    /// let (gains, shrinkage) = (mat![[4.0, 0.0], [0.0, 4.0]], mat![[0.2, 0.0], [0.0, 0.2]]);
    /// belief.absorb_vector(gains.as_ref(), &[1.0, 0.0], shrinkage.as_ref(), Par::Seq)?;
    /// assert_eq!(belief.mean(), [4.0, 0.0]);
    /// assert!((belief.covariance()[(1, 1)] - 0.8).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn absorb_vector(
        &mut self,
        gains: MatRef<'_, f64>,
        shift: &[f64],
        shrinkage: MatRef<'_, f64>,
        par: Par,
    ) -> Result<(), Error> {
        let (d, m) = (self.dim(), shift.len());
        check_len("rows of gains", d, gains.nrows())?;
        check_len("columns of gains", m, gains.ncols())?;
        check_len("rows of shrinkage", m, shrinkage.nrows())?;
        check_len("columns of shrinkage", m, shrinkage.ncols())?;
        check_finite("shift", shift)?;
        let mut shrunk = Mat::<f64>::zeros(d, m);
        matmul(shrunk.as_mut(), Accum::Replace, gains, shrinkage, 1.0, par);
        let mut moved = vec![0.0; d];
        for (i, moved) in moved.iter_mut().enumerate() {
            *moved = (0..m).map(|c| gains[(i, c)] * shift[c]).sum();
        }
        let (mean, covariance) = self.parts_mut();
        check_results("μ + G·e", mean.iter().zip(&moved).map(|(mean, moved)| mean + moved))?;
        check_variances(covariance, |i| (0..m).map(|c| shrunk[(i, c)] * gains[(i, c)]).sum())?;
        for (mean, moved) in mean.iter_mut().zip(&moved) {
            *mean += moved;
        }
        symmetric_rank_r(covariance.as_mut(), -1.0, shrunk.as_ref(), gains, par);
        Ok(())
    }

    /// `(Hμ, G = PHᵀ)` for `H = I_m ⊗ xᵀ`, whose `m` directions are one row `x` in each of `m` equal blocks of `θ`; the number
    /// of blocks is the length of `means`, `gains` is `d × m`. One pass over the lower triangle of `P`, cost `2d²`.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    ///
    /// ```
    /// use vi_core::DenseGaussian;
    /// use vi_linalg::faer::Mat;
    /// let belief = DenseGaussian::isotropic(&[1.0, 2.0, 3.0, 4.0], 2.0)?;
    /// let (mut means, mut gains) = ([0.0; 2], Mat::zeros(4, 2));
    /// belief.project_blocks(&[1.0, 10.0], &mut means, &mut gains)?;
    /// assert_eq!(means, [21.0, 43.0]);
    /// assert_eq!((gains[(1, 0)], gains[(3, 1)], gains[(3, 0)]), (40.0, 40.0, 0.0));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn project_blocks(&self, x: &[f64], means: &mut [f64], gains: &mut Mat<f64>) -> Result<(), Error> {
        let (d, m) = (x.len(), means.len());
        check_len("belief", d * m, self.dim())?;
        check_len("rows of gains", d * m, gains.nrows())?;
        check_len("columns of gains", m, gains.ncols())?;
        let covariance = self.covariance_lower();
        for (c, mean) in means.iter_mut().enumerate() {
            *mean = dot(x, &self.mean()[c * d..(c + 1) * d]);
        }
        gains.fill(0.0);
        for c in 0..m {
            for j in 0..d {
                let Some(column) = covariance.col(c * d + j).try_as_col_major() else { continue };
                let column = column.as_slice();
                let diagonal = c * d + j;
                // Within the block, the entries below the diagonal serve twice.
                gains[(diagonal, c)] += x[j] * column[diagonal] + dot(&x[j + 1..], &column[diagonal + 1..(c + 1) * d]);
                // What is below the diagonal, in this block and the next ones, as it is; the next ones also transposed.
                if let Some(gain) = gains.col_mut(c).try_as_col_major_mut() {
                    axpy(&mut gain.as_slice_mut()[diagonal + 1..], x[j], &column[diagonal + 1..]);
                }
                for k in c + 1..m {
                    gains[(diagonal, k)] = dot(x, &column[k * d..(k + 1) * d]);
                }
            }
        }
        Ok(())
    }
}

//! A dense belief under a site of several directions at once.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, symmetric_rank_r};

use super::dense::check_variances;
use crate::belief::DenseGaussian;
use crate::check;
use crate::{Belief, Error};

/// A site of several directions that is ready to be written.
#[derive(Debug)]
pub struct VectorStep {
    mean: Vec<f64>,
    shrunk: Mat<f64>,
    fade: f64,
}

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
        let step = self.prepare_vector(gains, shift, shrinkage, 1.0, par)?;
        self.commit_vector(gains, &step, par);
        Ok(())
    }

    /// All of [`absorb_vector`](Self::absorb_vector) that can fail, for the belief that has forgotten by the factor `fade = λ`,
    /// `P′ = P/λ`; `gains` are those of `P′`.
    ///
    /// # Errors
    /// As [`absorb_vector`](Self::absorb_vector).
    pub fn prepare_vector(
        &self,
        gains: MatRef<'_, f64>,
        shift: &[f64],
        shrinkage: MatRef<'_, f64>,
        fade: f64,
        par: Par,
    ) -> Result<VectorStep, Error> {
        let (d, m) = (self.dim(), shift.len());
        check::length("rows of gains", d, gains.nrows())?;
        check::length("columns of gains", m, gains.ncols())?;
        check::length("rows of shrinkage", m, shrinkage.nrows())?;
        check::length("columns of shrinkage", m, shrinkage.ncols())?;
        check::finite("shift", shift)?;
        let mut shrunk = Mat::<f64>::zeros(d, m);
        matmul(shrunk.as_mut(), Accum::Replace, gains, shrinkage, 1.0, par);
        let mut mean = self.mean().to_vec();
        for (i, mean) in mean.iter_mut().enumerate() {
            *mean += (0..m).map(|c| gains[(i, c)] * shift[c]).sum::<f64>();
        }
        check::results("μ + G·e", mean.iter().copied())?;
        let loss = |i: usize| (0..m).map(|c| shrunk[(i, c)] * gains[(i, c)]).sum::<f64>();
        let covariance = self.covariance_lower();
        check_variances(covariance, |i| fade * loss(i))?;
        if fade < 1.0 {
            check::results("variance after the update", (0..d).map(|i| covariance[(i, i)] / fade - loss(i)))?;
        }
        Ok(VectorStep { mean, shrunk, fade })
    }

    /// Writes what [`prepare_vector`](Self::prepare_vector) has prepared with the same `gains`; it cannot fail.
    pub fn commit_vector(&mut self, gains: MatRef<'_, f64>, step: &VectorStep, par: Par) {
        let (mean, covariance) = self.parts_mut();
        mean.copy_from_slice(&step.mean);
        if step.fade < 1.0 {
            for j in 0..covariance.ncols() {
                covariance.col_mut(j).subrows_mut(j, step.mean.len() - j).iter_mut().for_each(|p| *p /= step.fade);
            }
        }
        symmetric_rank_r(covariance.as_mut(), -1.0, step.shrunk.as_ref(), gains, par);
    }

    /// Checks that what `step`, prepared with the same `gains`, would leave has a Cholesky factor; `factor` is what the site multiplies the
    /// precision along its directions by, `det(I+KN)`. A factor that costs the entries of `P` less than half of their digits is taken as
    /// it is; above, the covariance is written to a copy and factored. Cost `d³/3` then, nothing else.
    ///
    /// # Errors
    /// [`Error::Unresolved`].
    pub fn check_vector(&self, gains: MatRef<'_, f64>, step: &VectorStep, factor: f64, par: Par) -> Result<(), Error> {
        const HALF_OF_THE_DIGITS: f64 = 1e8;
        if factor <= HALF_OF_THE_DIGITS {
            return Ok(());
        }
        let mut next = self.clone();
        next.commit_vector(gains, step, par);
        match next.cholesky() {
            Ok(_) => Ok(()),
            Err(_) => Err(Error::Unresolved { factor }),
        }
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
        check::length("belief", d * m, self.dim())?;
        check::length("rows of gains", d * m, gains.nrows())?;
        check::length("columns of gains", m, gains.ncols())?;
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

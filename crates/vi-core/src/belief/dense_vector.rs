//! Updates of a dense belief by a site of several directions at once.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::{axpy, dot, symmetric_rank_r};

use super::digits::{Digits, Strain};
use crate::belief::DenseGaussian;
use crate::check;
use crate::{Belief, Error};

/// A site of several directions, in the terms of the belief that it updates.
///
/// ```text
/// e = (I+KN)⁻¹(r − K·Hμ),   S = (I+KN)⁻¹K      for the factor exp(rᵀt − ½tᵀKt) of t = Hθ, N = HPHᵀ
/// ```
#[derive(Debug, Clone, Copy)]
pub struct VectorSite<'a> {
    /// `e`, length `m`.
    pub shift: &'a [f64],
    /// `S`, `m × m`, symmetric.
    pub shrinkage: MatRef<'a, f64>,
    /// The diagonal of `HᵀKH`, which the site adds to the precision; length `d`.
    pub information: &'a [f64],
    /// What the site multiplies the precision by, `det(I+KN)`.
    pub factor: f64,
}

/// A site of several directions that is ready to be written.
#[derive(Debug)]
pub struct VectorStep {
    mean: Vec<f64>,
    shrunk: Mat<f64>,
    digits: Digits,
}

impl DenseGaussian {
    /// Multiplies in a factor of `t = Hθ ∈ ℝᵐ`, given `G = PHᵀ` (`d × m`) and what the factor makes of `N = HPHᵀ`:
    ///
    /// ```text
    /// μ ← μ + G·e
    /// P ← P − G·S·Gᵀ
    /// ```
    ///
    /// `m = 1` is [`Belief::absorb`]. Cost `d²m + 2dm²`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`] when a variance would not stay positive,
    /// [`Error::Overflow`] when a number would not stay finite, [`Error::Unresolved`] when rounding would leave a covariance without a
    /// Cholesky factor; the belief is then as it was.
    ///
    /// ```
    /// use vi_core::{Belief, DenseGaussian, VectorSite};
    /// use vi_linalg::faer::{Par, mat};
    /// // Both coordinates measured with unit noise: N = 4I, S = (1+4)⁻¹I, y = (5, 0).
    /// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 2.0)?;
    /// let (gains, shrinkage) = (mat![[4.0, 0.0], [0.0, 4.0]], mat![[0.2, 0.0], [0.0, 0.2]]);
    /// let site =
    ///     VectorSite { shift: &[1.0, 0.0], shrinkage: shrinkage.as_ref(), information: &[1.0, 1.0], factor: 25.0 };
    /// belief.absorb_vector(gains.as_ref(), site, Par::Seq)?;
    /// assert_eq!(belief.mean(), [4.0, 0.0]);
    /// assert!((belief.covariance()[(1, 1)] - 0.8).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn absorb_vector(&mut self, gains: MatRef<'_, f64>, site: VectorSite<'_>, par: Par) -> Result<(), Error> {
        let step = self.prepare_vector(gains, site, par)?;
        self.commit_vector(gains, step, par);
        Ok(())
    }

    /// The part of [`absorb_vector`](Self::absorb_vector) that can fail.
    ///
    /// # Errors
    /// As [`absorb_vector`](Self::absorb_vector).
    pub fn prepare_vector(&self, gains: MatRef<'_, f64>, site: VectorSite<'_>, par: Par) -> Result<VectorStep, Error> {
        let VectorSite { shift, shrinkage, information, factor } = site;
        let (d, m) = (self.dim(), shift.len());
        check::length("rows of gains", d, gains.nrows())?;
        check::length("columns of gains", m, gains.ncols())?;
        check::length("rows of shrinkage", m, shrinkage.nrows())?;
        check::length("columns of shrinkage", m, shrinkage.ncols())?;
        check::length("information", d, information.len())?;
        check::finite("shift", shift)?;
        let mut shrunk = Mat::<f64>::zeros(d, m);
        matmul(shrunk.as_mut(), Accum::Replace, gains, shrinkage, 1.0, par);
        let mut mean = self.mean().to_vec();
        for (i, mean) in mean.iter_mut().enumerate() {
            *mean += (0..m).map(|c| gains[(i, c)] * shift[c]).sum::<f64>();
        }
        check::results("μ + G·e", mean.iter().copied())?;
        let loss = |i: usize| (0..m).map(|c| shrunk[(i, c)] * gains[(i, c)]).sum::<f64>();
        let (condition, entries) = self.strain_sums(1.0, loss, |i| information[i])?;
        // The roundings of G: h·√(ν·Σx²P)/(1+hν) is at most √(h·Σx²P)/2.
        let roundings = 3.0 + m as f64 + entries.sqrt();
        let strain = Strain { condition, roundings, growth: factor.recip().max(1.0) };
        let digits = self.digits_after(strain, factor, information, |next| {
            symmetric_rank_r(next.parts_mut().1.as_mut(), -1.0, shrunk.as_ref(), gains, par);
        })?;
        Ok(VectorStep { mean, shrunk, digits })
    }

    /// Writes the step that [`prepare_vector`](Self::prepare_vector) has prepared with the same `gains`; it cannot fail.
    pub fn commit_vector(&mut self, gains: MatRef<'_, f64>, step: VectorStep, par: Par) {
        let (mean, covariance) = self.parts_mut();
        *mean = step.mean;
        symmetric_rank_r(covariance.as_mut(), -1.0, step.shrunk.as_ref(), gains, par);
        self.set_digits(step.digits);
    }

    /// Projects along one row `x` in each of `m` equal blocks of `θ`: `(Hμ, G = PHᵀ)` for `H = I_m ⊗ xᵀ`. The number `m` of
    /// blocks is the length of `means`, `gains` is `d × m`. One pass over the lower triangle of `P`, cost `2d²`.
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
        let covariance = Mat::as_ref(&covariance);
        for (c, mean) in means.iter_mut().enumerate() {
            *mean = dot(x, &self.mean()[c * d..(c + 1) * d]);
        }
        gains.fill(0.0);
        for c in 0..m {
            for j in 0..d {
                let Some(column) = covariance.col(c * d + j).try_as_col_major() else { continue };
                let column = column.as_slice();
                let diagonal = c * d + j;
                // Within the block each entry below the diagonal is used twice.
                gains[(diagonal, c)] += x[j] * column[diagonal] + dot(&x[j + 1..], &column[diagonal + 1..(c + 1) * d]);
                // The entries below the diagonal, in this block and the next ones; those of the next ones are also used
                // transposed.
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

//! A low-rank belief with additional information that is not projected.

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use crate::belief::Belief;
use crate::{Error, check};

impl LowRankGaussian {
    /// A copy of the belief with the precision `Ψ + WWᵀ + XᵀX` and the same mean; the rows of `x` (`k × d`) are buffered and not
    /// projected.
    ///
    /// It is what [`add_information`](Self::add_information) leads to before its projection: a belief to draw from or to multiply
    /// with, not to stream into. Cost `2dk(p + k)` flops and a copy.
    ///
    /// # Errors
    /// As [`add_information`](Self::add_information); [`Error::Setting`] for more than 16384 rows.
    ///
    /// ```
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::{Par, mat};
    /// let belief = LowRankGaussian::isotropic(&[0.0; 3], 1.0, LowRankSettings::one_loop(1)?)?;
    /// let x = mat![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]];
    /// let sharper = belief.with_information(x.as_ref(), Par::Seq)?;
    /// let moved = sharper.covariance_mul(&[1.0, 1.0, 1.0], Par::Seq)?;
    /// assert!(moved.iter().zip([0.5, 0.2, 1.0]).all(|(found, expected)| (found - expected).abs() < 1e-14));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn with_information(&self, x: MatRef<'_, f64>, par: Par) -> Result<Self, Error> {
        check::rows(self.dim(), x)?;
        let mut copy = self.in_full().into_owned();
        copy.core.settings = self.settings().in_blocks(self.waiting() + x.nrows() + 1)?;
        copy.add_information(x, par)?;
        Ok(copy.into())
    }
}

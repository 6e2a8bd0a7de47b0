//! The least-squares estimate of one effect, from sums.

use vi_core::check;
use vi_linalg::Cholesky;
use vi_models::linear::Effect;

use super::LinearSums;
use crate::{SumsError, packed};

impl LinearSums {
    /// The effect `cᵀw` of a coefficient (`c` is 1 at its place) or a contrast of several, with the intercept and all else fitted by least squares: what may be said of
    /// it at any time, however often it is looked at.
    ///
    /// ```text
    /// δ̂ = cᵀS_xx⁻¹S_xy,   v = cᵀS_xx⁻¹c,   R = S_yy − S_xyᵀS_xx⁻¹S_xy,   ν = n − d − 1
    /// ```
    ///
    /// Sums merge exactly, so the effect of parts of the rows is that of their sum. Cost `d³/3`.
    ///
    /// # Errors
    /// `Dimension`; `NonFinite`; `Setting` for a contrast of zeros or fewer rows than coefficients; `NotPositiveDefinite` or `Linalg` while the rows do not tell all
    /// coefficients apart.
    ///
    /// ```
    /// use vi_sums::LinearSums;
    /// let mut sums = LinearSums::new(1)?;
    /// for (treated, y) in [(0.0, 1.0), (1.0, 3.0), (0.0, 2.0), (1.0, 5.0)] {
    ///     sums.update(&[treated], y)?;
    /// }
    /// assert!((sums.effect(&[1.0])?.estimate() - 2.5).abs() < 1e-12);
    /// # Ok::<(), vi_sums::SumsError>(())
    /// ```
    pub fn effect(&self, contrast: &[f64]) -> Result<Effect, SumsError> {
        let d = self.inputs();
        check::length("contrast", d, contrast.len())?;
        check::finite("contrast", contrast)?;
        let freedom = self.rows() as f64 - d as f64 - 1.0;
        let cholesky = Cholesky::new(packed::matrix(self.scatter(), d).as_ref())?;
        let mut weights: Vec<f64> = packed::row(self.scatter(), d)[..d].to_vec();
        cholesky.solve_vec_in_place(&mut weights)?;
        let mut along = contrast.to_vec();
        cholesky.solve_vec_in_place(&mut along)?;
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
        let (estimate, variance) = (dot(contrast, &weights), dot(contrast, &along));
        let mut residual: Vec<f64> = weights.iter().map(|w| -w).collect();
        residual.push(1.0);
        let squares = dot(&packed::multiply(self.scatter(), &residual), &residual);
        Ok(Effect::new(estimate, variance, squares.max(0.0), freedom)?)
    }
}

//! Neal's funnel.

use vi_linalg::faer::MatMut;

use super::LogDensity;
use crate::BoostError;
use crate::component::HALF_LN_2PI;
use crate::error::{check_positive_entries, setting};

/// Neal's funnel: `θ₁ ~ N(0, width²)`, `θ_j | θ₁ ~ N(0, e^θ₁)` for `j = 2, …, d`, normalised: `log ∫f = 0`.
///
/// ```
/// use vi_boost::{LogDensity, target::Funnel};
/// let funnel = Funnel::new(3, 1.5)?;
/// assert!(funnel.log_density(&[-1.0, 0.0, 0.0]) > funnel.log_density(&[1.0, 0.0, 0.0]));
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Funnel {
    dim: usize,
    width: f64,
}

impl Funnel {
    /// The funnel in `dim` dimensions.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Setting` unless `dim ≥ 2`, with `Entry` unless `width` is positive.
    pub fn new(dim: usize, width: f64) -> Result<Self, BoostError> {
        if dim < 2 {
            return Err(setting("dim", dim as f64, "at least 2"));
        }
        check_positive_entries("width", &[width])?;
        Ok(Self { dim, width })
    }

    fn squares(theta: &[f64]) -> f64 {
        theta[1..].iter().map(|x| x * x).sum()
    }
}

impl LogDensity for Funnel {
    fn dim(&self) -> usize {
        self.dim
    }

    fn log_density(&self, theta: &[f64]) -> f64 {
        let (u, n) = (theta[0] / self.width, (self.dim - 1) as f64);
        let narrow = -0.5 * (Self::squares(theta) * (-theta[0]).exp() + n * theta[0]);
        narrow - 0.5 * u * u - self.width.ln() - self.dim as f64 * HALF_LN_2PI
    }

    fn gradient(&self, theta: &[f64], out: &mut [f64]) -> bool {
        let (e, n) = ((-theta[0]).exp(), (self.dim - 1) as f64);
        out[0] = 0.5 * (Self::squares(theta) * e - n) - theta[0] / (self.width * self.width);
        for (out, x) in out[1..].iter_mut().zip(&theta[1..]) {
            *out = -x * e;
        }
        true
    }

    fn hessian(&self, theta: &[f64], mut out: MatMut<'_, f64>) -> bool {
        let e = (-theta[0]).exp();
        out.fill(0.0);
        out[(0, 0)] = -0.5 * Self::squares(theta) * e - 1.0 / (self.width * self.width);
        for j in 1..self.dim {
            out[(j, j)] = -e;
            out[(0, j)] = theta[j] * e;
            out[(j, 0)] = theta[j] * e;
        }
        true
    }
}

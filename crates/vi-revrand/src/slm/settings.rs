//! Settings of the search.

use crate::basis::{Bound, Parameter};
use crate::{RevrandError, check};

/// Where the search for hyper-parameters starts and when it stops.
///
/// ```
/// use vi_revrand::Bound;
/// use vi_revrand::slm::SlmSettings;
/// let settings = SlmSettings::default()
///     .with_noise_variance(0.1)?
///     .with_noise_bound(Bound::positive_between(1e-6, 1.0)?)?
///     .with_starts(5, 0.5)?
///     .with_stop(1e-8, 1000)?;
/// assert!(settings.with_starts(0, 0.5).is_err());
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SlmSettings {
    pub(super) noise: Parameter,
    pub(super) starts: usize,
    pub(super) spread: f64,
    pub(super) max_iterations: usize,
    pub(super) tolerance: f64,
}

impl SlmSettings {
    /// The noise variance at which the search starts.
    ///
    /// # Errors
    /// [`RevrandError::OutOfBounds`] unless positive and finite.
    pub fn with_noise_variance(self, start: f64) -> Result<Self, RevrandError> {
        Ok(Self { noise: Parameter::new("noise variance", start, self.noise.bound)?, ..self })
    }

    /// Bounds of the noise variance.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] for a negative lower end, [`RevrandError::OutOfBounds`] when the start is outside.
    pub fn with_noise_bound(self, bound: Bound) -> Result<Self, RevrandError> {
        if bound.lower() < 0.0 {
            return Err(RevrandError::Bounds { lower: bound.lower(), upper: bound.upper() });
        }
        Ok(Self { noise: Parameter::new("noise variance", self.noise.start, bound)?, ..self })
    }

    /// Starts the search `starts` times and keeps the best end: first where the basis and the noise say, then at random
    /// places about it, `spread` away on the scale of the logarithm.
    ///
    /// # Errors
    /// `Setting` unless `starts ≥ 1` and `spread > 0` is finite.
    pub fn with_starts(self, starts: usize, spread: f64) -> Result<Self, RevrandError> {
        check::count("starts", starts)?;
        check::positive("spread", spread)?;
        Ok(Self { starts, spread, ..self })
    }

    /// Stops a search when no derivative on the searched scale is above `tolerance` times the larger of 1 and the log
    /// marginal likelihood's size, or after `max_iterations` steps.
    ///
    /// # Errors
    /// `Setting` unless `tolerance > 0` is finite and `max_iterations ≥ 1`.
    pub fn with_stop(self, tolerance: f64, max_iterations: usize) -> Result<Self, RevrandError> {
        check::count("max_iterations", max_iterations)?;
        check::positive("tolerance", tolerance)?;
        Ok(Self { max_iterations, tolerance, ..self })
    }
}

impl Default for SlmSettings {
    /// Noise variance 1, three starts with a spread of 1, tolerance `10⁻⁶`, 500 steps: the marginal likelihood of a kernel's parameters
    /// has several maxima.
    fn default() -> Self {
        let noise = Parameter { name: "noise variance", start: 1.0, bound: Bound::POSITIVE };
        Self { noise, starts: 3, spread: 1.0, max_iterations: 500, tolerance: 1e-6 }
    }
}

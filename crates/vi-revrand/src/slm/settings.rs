//! Settings of the search for hyper-parameters.

use crate::basis::{Bound, Parameter};
use crate::{RevrandError, check};

/// Settings of the search for hyper-parameters: its starts and its stopping rules.
///
/// ```
/// use vi_revrand::Bound;
/// use vi_revrand::slm::SlmSettings;
/// let noise_bound = Bound::positive_between(1e-6, 1.0)?;
/// let settings = SlmSettings { noise_variance: 0.1, noise_bound, starts: 5, ..SlmSettings::default() };
/// assert!(settings.check().is_ok());
/// assert!(SlmSettings { noise_variance: 2.0, ..settings }.check().is_err());
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct SlmSettings {
    /// The initial noise variance.
    pub noise_variance: f64,
    /// The bounds of the noise variance.
    pub noise_bound: Bound,
    /// The number of searches, of which the best result is kept: the first starts at the values of basis and noise, the others at
    /// random places about it.
    pub starts: usize,
    /// How far away the random starts are, on the scale of the logarithm.
    pub spread: f64,
    /// The most steps of one search.
    pub max_iterations: usize,
    /// A search ends when no derivative on the searched scale exceeds this times the size of the log marginal likelihood, or
    /// times 1 if that is larger.
    pub tolerance: f64,
}

impl Default for SlmSettings {
    /// The default is noise variance 1, three starts with a spread of 1 (the marginal likelihood of a kernel's parameters has
    /// several maxima), a tolerance of `10⁻⁶`, and at most 500 steps.
    fn default() -> Self {
        Self {
            noise_variance: 1.0,
            noise_bound: Bound::POSITIVE,
            starts: 3,
            spread: 1.0,
            max_iterations: 500,
            tolerance: 1e-6,
        }
    }
}

impl SlmSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`RevrandError::Bounds`] for bounds of the noise below 0, [`RevrandError::OutOfBounds`] if its initial value is outside;
    /// `Setting` unless `spread` and `tolerance` are positive and finite and the counts from 1 to 10⁶.
    pub fn check(&self) -> Result<(), RevrandError> {
        self.noise()?;
        check::limit("starts", self.starts)?;
        check::positive("spread", self.spread)?;
        check::limit("max_iterations", self.max_iterations)?;
        Ok(check::positive("tolerance", self.tolerance)?)
    }

    /// The noise variance as a parameter to be learned.
    pub(super) fn noise(&self) -> Result<Parameter, RevrandError> {
        let bound = self.noise_bound;
        if bound.lower() < 0.0 {
            return Err(RevrandError::Bounds { lower: bound.lower(), upper: bound.upper() });
        }
        Parameter::new("noise variance", self.noise_variance, bound)
    }
}

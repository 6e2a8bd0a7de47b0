//! Priors on noise and shrinkage.

use serde::{Deserialize, Serialize};

use crate::{ModelError, check};

/// The hyper-priors of the linear model: `τ ~ Gam(a₀, b₀)` for the noise precision (3), `α ~ Gam(c₀, d₀)` for the shrinkage
/// (4), (25), both with shape first and rate second, so their means are `a₀/b₀` and `c₀/d₀`.
///
/// ```
/// use vi_models::vb::LinearPrior;
/// let prior = LinearPrior::new(2.0, 1.5, 0.5, 0.25)?;
/// assert_eq!(<[f64; 4]>::from(prior), [2.0, 1.5, 0.5, 0.25]);
/// assert!(LinearPrior::new(0.0, 1.0, 1.0, 1.0).is_err());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[f64; 4]", into = "[f64; 4]")]
pub struct LinearPrior {
    a0: f64,
    b0: f64,
    c0: f64,
    d0: f64,
}

impl LinearPrior {
    /// The prior with shapes `a0`, `c0` and rates `b0` (units of `y²`), `d0`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless all four are positive and finite.
    pub fn new(a0: f64, b0: f64, c0: f64, d0: f64) -> Result<Self, ModelError> {
        for (name, value) in [("a0", a0), ("b0", b0), ("c0", c0), ("d0", d0)] {
            check::positive(name, value)?;
        }
        Ok(Self { a0, b0, c0, d0 })
    }

    /// The shape `a₀` of the noise precision.
    pub(super) fn noise_shape(self) -> f64 {
        self.a0
    }

    /// The rate `b₀` of the noise precision.
    pub(super) fn noise_rate(self) -> f64 {
        self.b0
    }

    /// The shape `c₀` of the shrinkage.
    pub(super) fn shrinkage_shape(self) -> f64 {
        self.c0
    }

    /// The rate `d₀` of the shrinkage.
    pub(super) fn shrinkage_rate(self) -> f64 {
        self.d0
    }
}

impl Default for LinearPrior {
    /// The default is that of the authors: `a₀ = c₀ = 10⁻²`, `b₀ = d₀ = 10⁻⁴`.
    fn default() -> Self {
        Self { a0: 1e-2, b0: 1e-4, c0: 1e-2, d0: 1e-4 }
    }
}

impl From<LinearPrior> for [f64; 4] {
    fn from(prior: LinearPrior) -> Self {
        [prior.a0, prior.b0, prior.c0, prior.d0]
    }
}

impl TryFrom<[f64; 4]> for LinearPrior {
    type Error = ModelError;

    fn try_from([a0, b0, c0, d0]: [f64; 4]) -> Result<Self, ModelError> {
        Self::new(a0, b0, c0, d0)
    }
}

/// The hyper-prior of the logistic model: `α ~ Gam(a₀, b₀)` for the shrinkage (41), (70), shape and rate.
///
/// ```
/// use vi_models::vb::LogitPrior;
/// assert_eq!(LogitPrior::default(), LogitPrior::new(1e-2, 1e-4)?);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "[f64; 2]", into = "[f64; 2]")]
pub struct LogitPrior {
    a0: f64,
    b0: f64,
}

impl LogitPrior {
    /// The prior with shape `a0` and rate `b0`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless both are positive and finite.
    pub fn new(a0: f64, b0: f64) -> Result<Self, ModelError> {
        check::positive("a0", a0)?;
        check::positive("b0", b0)?;
        Ok(Self { a0, b0 })
    }

    /// The shape `a₀` of the shrinkage.
    pub(super) fn shrinkage_shape(self) -> f64 {
        self.a0
    }

    /// The rate `b₀` of the shrinkage.
    pub(super) fn shrinkage_rate(self) -> f64 {
        self.b0
    }
}

impl Default for LogitPrior {
    /// The default is that of the authors: `a₀ = 10⁻²`, `b₀ = 10⁻⁴`.
    fn default() -> Self {
        Self { a0: 1e-2, b0: 1e-4 }
    }
}

impl From<LogitPrior> for [f64; 2] {
    fn from(prior: LogitPrior) -> Self {
        [prior.a0, prior.b0]
    }
}

impl TryFrom<[f64; 2]> for LogitPrior {
    type Error = ModelError;

    fn try_from([a0, b0]: [f64; 2]) -> Result<Self, ModelError> {
        Self::new(a0, b0)
    }
}

//! What can go wrong, named after the fact that proves it.

use vi_linalg::LinalgError;

/// Errors of `vi-core`. Every entry point checks its input at the door and leaves its state
/// bit-identical when it returns one of these.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A number that must be finite is NaN or infinite.
    #[error("{argument}[{index}] is not finite: {value}")]
    NonFinite {
        /// Name of the argument.
        argument: &'static str,
        /// Position in it (column-major for a matrix, 0 for a scalar).
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// An argument has the wrong length or shape.
    #[error("{argument} has length {found}, expected {expected}")]
    Dimension {
        /// Name of the argument.
        argument: &'static str,
        /// What the other arguments ask for.
        expected: usize,
        /// What was given.
        found: usize,
    },
    /// A label that the likelihood gives no probability.
    #[error("label {label} is outside the support of the {family} likelihood")]
    Label {
        /// The offending label.
        label: f64,
        /// Name of the likelihood.
        family: &'static str,
    },
    /// An argument that must hold something is empty.
    #[error("{argument} is empty")]
    Empty {
        /// Name of the argument.
        argument: &'static str,
    },
    /// A setting is out of its range.
    #[error("{name} = {value} must be {requirement}")]
    Setting {
        /// Name of the setting.
        name: &'static str,
        /// The value given.
        value: f64,
        /// The range in words.
        requirement: &'static str,
    },
    /// A covariance is not symmetric.
    #[error("{argument} is not symmetric: entries ({row}, {column}) and ({column}, {row}) differ by {difference}")]
    NotSymmetric {
        /// Name of the argument.
        argument: &'static str,
        /// Row of the entry below the diagonal.
        row: usize,
        /// Its column.
        column: usize,
        /// Size of the difference.
        difference: f64,
    },
    /// A matrix that must be positive definite is not.
    #[error("{argument} is not positive definite (pivot {pivot})")]
    NotPositiveDefinite {
        /// Name of the matrix.
        argument: &'static str,
        /// Index of the first pivot that is not positive.
        pivot: usize,
    },
    /// `xᵀPx` came out negative: rounding has destroyed the covariance.
    #[error("the projected variance xᵀPx = {value} is negative: the covariance has lost positive definiteness")]
    NegativeVariance {
        /// The value of `xᵀPx`.
        value: f64,
    },
    /// A site would make the covariance indefinite, or is not finite.
    #[error("slope {slope}, curvature {curvature} at variance {variance} do not leave a Gaussian")]
    ImproperSite {
        /// Slope `g`.
        slope: f64,
        /// Curvature `h`.
        curvature: f64,
        /// Projected variance `ν`.
        variance: f64,
    },
    /// A quadrature did not reach its tolerance.
    #[error(
        "the quadrature of {quantity} at mean {mean}, variance {variance} ended with relative error {relative_error}"
    )]
    Quadrature {
        /// What was integrated.
        quantity: &'static str,
        /// The Gaussian's mean.
        mean: f64,
        /// The Gaussian's variance.
        variance: f64,
        /// Estimated relative error; infinite when an integral is not finite or does not end.
        relative_error: f64,
    },
    /// One observation of many failed.
    #[error("observation {row}: {source}")]
    Row {
        /// Index of the observation, from 0.
        row: usize,
        /// What is wrong with it.
        source: Box<Error>,
    },
    /// A linear-algebra step failed.
    #[error(transparent)]
    Linalg(#[from] LinalgError),
}

impl Error {
    /// The same error, told of observation `row`.
    #[must_use]
    pub fn at_row(self, row: usize) -> Self {
        Self::Row { row, source: Box::new(self) }
    }
}

/// Checks that every entry of `values` is finite.
///
/// # Errors
/// [`Error::NonFinite`] with the first offending index.
pub(crate) fn check_finite(argument: &'static str, values: &[f64]) -> Result<(), Error> {
    match values.iter().position(|v| !v.is_finite()) {
        None => Ok(()),
        Some(index) => Err(Error::NonFinite { argument, index, value: values[index] }),
    }
}

/// Checks a length.
///
/// # Errors
/// [`Error::Dimension`].
pub(crate) fn check_len(argument: &'static str, expected: usize, found: usize) -> Result<(), Error> {
    if expected == found { Ok(()) } else { Err(Error::Dimension { argument, expected, found }) }
}

/// Checks that a setting is a positive, finite number.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn check_positive(name: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "positive and finite" })
    }
}

/// Checks the weight of an observation.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn check_weight(weight: f64) -> Result<(), Error> {
    if weight >= 0.0 && weight.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name: "weight", value: weight, requirement: "finite and not negative" })
    }
}

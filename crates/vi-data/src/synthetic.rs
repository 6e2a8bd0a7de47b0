//! The papers' synthetic data, drawn from a random generator that the caller supplies.
//!
//! The same seed gives the same data, whatever the number of threads.

mod covariance;
mod linear;
mod two_classes;
mod two_moons;

pub use covariance::{InputCovariance, Normalisation};
pub use linear::{LinearData, LinearSettings};
pub use two_classes::{TwoClasses, TwoClassesSettings};
pub use two_moons::TwoMoonsSettings;

use crate::DataError;

/// Returns an error unless `value` is positive.
fn positive(setting: &'static str, value: usize) -> Result<(), DataError> {
    if value > 0 {
        Ok(())
    } else {
        Err(DataError::Setting { setting, value: value.to_string(), requirement: "at least 1" })
    }
}

/// Returns an error unless `value` is finite and not negative.
fn finite_not_negative(setting: &'static str, value: f64) -> Result<(), DataError> {
    if value.is_finite() && value >= 0.0 {
        Ok(())
    } else {
        Err(DataError::Setting { setting, value: value.to_string(), requirement: "finite and not negative" })
    }
}

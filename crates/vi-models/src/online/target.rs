//! Labels converted to a common scale, and back.

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::observation::Observation;
use crate::units::unit;

/// The scale of labels: `(y − centre)/scale` for families that take labels in any unit; 0 and 1 for the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Target {
    pub(super) centre: f64,
    pub(super) scale: f64,
}

/// The largest label, less its centre, and offset in the caller's units, where the scale is not 1: sums of their squares are floats.
const LARGEST: f64 = 1e151;

impl Default for Target {
    fn default() -> Self {
        Self { centre: 0.0, scale: 1.0 }
    }
}

impl Target {
    /// The scale from the mean (if `centred`) and the root mean square of what is left of `y − offset`; rows of weight 0 do not
    /// count.
    ///
    /// # Errors
    /// `Overflow` if their variance is not finite.
    pub(super) fn of<'a>(observed: impl Iterator<Item = &'a Observation>, centred: bool) -> Result<Self, Error> {
        let labels: Vec<f64> = observed.filter(|o| o.weight > 0.0).map(|o| o.label - o.offset).collect();
        let n = labels.len().max(1) as f64;
        let largest = labels.iter().fold(0.0_f64, |largest, y| largest.max(y.abs()));
        if largest.is_infinite() {
            return Err(Error::Overflow { quantity: "a label less its offset", value: largest });
        }
        let unit = unit(largest);
        let centre = if centred { labels.iter().map(|y| y / unit).sum::<f64>() / n } else { 0.0 };
        let spread = (labels.iter().map(|y| (y / unit - centre).powi(2)).sum::<f64>() / n).sqrt();
        // If all labels have one value, deviations are rounding errors, and the unit is that value's size.
        let varies = spread > n * f64::EPSILON * (largest / unit);
        let scale = if varies { spread * unit } else { largest };
        let square = scale * scale;
        if varies && !square.is_normal() {
            return Err(Error::Overflow { quantity: "the variance of the labels", value: square });
        }
        Ok(Self { centre: centre * unit, scale: if square.is_normal() { scale } else { 1.0 } })
    }

    /// Checks a stored scale.
    ///
    /// # Errors
    /// `NonFinite`, `Setting`.
    pub(super) fn check(&self) -> Result<(), Error> {
        crate::check::values("centre of the labels", &[self.centre])?;
        crate::check::positive("scale of the labels", self.scale)
    }

    /// The observation with label and offset on the new scale.
    ///
    /// # Errors
    /// `Overflow`.
    pub(super) fn apply(&self, observed: &Observation) -> Result<Observation, Error> {
        let mut scaled = *observed;
        let away = observed.label - self.centre;
        if self.scale != 1.0 && away.abs().max(observed.offset.abs()) > LARGEST {
            return Err(Error::Overflow { quantity: "the square of a label or an offset", value: f64::INFINITY });
        }
        scaled.label = away / self.scale;
        scaled.offset = observed.offset / self.scale;
        match [scaled.label, scaled.offset].into_iter().find(|value| !value.is_finite()) {
            None => Ok(scaled),
            Some(value) => Err(Error::Overflow { quantity: "a standardised label", value }),
        }
    }

    /// By how much the log density of the scaled label exceeds that of the label itself: `weight·log scale`.
    pub(super) fn log_jacobian(&self, observed: &Observation) -> f64 {
        observed.weight * self.scale.ln()
    }
}

//! Labels converted to a common scale, transformed first where a transform is learned, and back.

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::observation::Observation;
use crate::Transform;
use crate::units::unit;

/// The scale of labels: `(g(y) − centre)/scale` with a [`Transform`] `g`, for families that take labels in any unit; 0 and 1 for the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    pub(super) centre: f64,
    pub(super) scale: f64,
    /// The transform of the label that is learned.
    #[serde(default, skip_serializing_if = "Transform::is_identity")]
    pub(super) transform: Transform,
}

/// The largest label, less its centre, and offset in the caller's units, where the scale is not 1: sums of their squares are floats.
const LARGEST: f64 = 1e151;

impl Default for Target {
    fn default() -> Self {
        Self { centre: 0.0, scale: 1.0, transform: Transform::Identity }
    }
}

/// How many deviations of a Gaussian lie between its quartiles.
const BETWEEN: f64 = 1.349;

impl Target {
    /// Labels, or the transform of them, in their own units.
    pub(super) fn plain(transform: Transform) -> Self {
        Self { transform, ..Self::default() }
    }

    /// This target with median and distance of the quartiles (over that of a unit Gaussian) of what is left of the labels, so that labels far
    /// out move neither; as [`of_mean`](Self::of_mean) where half of the labels are the same.
    ///
    /// # Errors
    /// `Overflow` as `of_mean`.
    pub(super) fn of_quartiles<'a>(
        self,
        observed: impl Iterator<Item = &'a Observation> + Clone,
        centred: bool,
    ) -> Result<Self, Error> {
        let counted = observed.clone().filter(|o| o.weight > 0.0);
        let mut labels: Vec<f64> = counted.map(|o| self.transformed(o).label - o.offset).collect();
        labels.sort_by(f64::total_cmp);
        let Some(last) = labels.len().checked_sub(1) else { return Ok(self) };
        // Between the two neighbours of a quarter of the way.
        let at = |quarters: usize| {
            let (low, high) = (labels[quarters * last / 4], labels[(quarters * last).div_ceil(4)]);
            low + (high - low) * ((quarters * last % 4) as f64 / 4.0)
        };
        let (low, high) = (at(1), at(3));
        let centre = if centred { at(2) } else { 0.0 };
        let spread = if centred { (high - low) / BETWEEN } else { low.abs().max(high.abs()) };
        let varies = spread > labels.len() as f64 * f64::EPSILON * low.abs().max(high.abs());
        if varies && (spread * spread).is_normal() {
            Ok(Self { centre, scale: spread, ..self })
        } else {
            self.of_mean(observed, centred)
        }
    }

    /// This target with the scale from the weighted mean (if `centred`) and the weighted root mean square of what is left of `y − offset`.
    ///
    /// # Errors
    /// `Overflow` if their variance is not finite.
    pub(super) fn of_mean<'a>(
        self,
        observed: impl Iterator<Item = &'a Observation>,
        centred: bool,
    ) -> Result<Self, Error> {
        let labels = observed.filter(|o| o.weight > 0.0).map(|o| (self.transformed(o).label - o.offset, o.weight));
        let labels: Vec<(f64, f64)> = labels.collect();
        let of_all = |larger: fn(&(f64, f64)) -> f64| labels.iter().map(larger).fold(0.0, f64::max);
        let (largest, heaviest) = (of_all(|(y, _)| y.abs()), of_all(|(_, weight)| *weight));
        let n = if labels.is_empty() { 1.0 } else { labels.iter().map(|(_, weight)| weight / heaviest).sum() };
        if largest.is_infinite() {
            return Err(Error::Overflow { quantity: "a label less its offset", value: largest });
        }
        let unit = unit(largest);
        let mean = |of: &dyn Fn(f64) -> f64| {
            labels.iter().map(|(y, weight)| weight / heaviest * of(y / unit)).sum::<f64>() / n
        };
        let centre = if centred { mean(&|y| y) } else { 0.0 };
        let spread = mean(&|y| (y - centre).powi(2)).sqrt();
        self.of_moments(centre * unit, spread * unit, largest, n)
    }

    /// This target for `n` labels of this mean or 0, root mean square about it, and largest size.
    ///
    /// # Errors
    /// `Overflow` if the variance is not finite.
    pub(super) fn of_moments(self, centre: f64, spread: f64, largest: f64, n: f64) -> Result<Self, Error> {
        // If all labels have one value, deviations are rounding errors, and the unit is that value's size.
        let varies = spread > n * f64::EPSILON * largest;
        let scale = if varies { spread } else { largest };
        let square = scale * scale;
        if varies && !square.is_normal() {
            return Err(Error::Overflow { quantity: "the variance of the labels", value: square });
        }
        Ok(Self { centre, scale: if square.is_normal() { scale } else { 1.0 }, ..self })
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
        let mut scaled = self.transformed(observed);
        let away = scaled.label - self.centre;
        if self.scale != 1.0 && away.abs().max(observed.offset.abs()) > LARGEST {
            return Err(Error::Overflow { quantity: "the square of a label or an offset", value: f64::INFINITY });
        }
        scaled.label = away / self.scale;
        scaled.offset = observed.offset / self.scale;
        scaled.in_units(self.scale);
        match [scaled.label, scaled.offset].into_iter().find(|value| !value.is_finite()) {
            None => Ok(scaled),
            Some(value) => Err(Error::Overflow { quantity: "a standardised label", value }),
        }
    }

    /// The observation with the transform of the label, or of both ends of its range.
    pub(super) fn transformed(&self, observed: &Observation) -> Observation {
        if observed.is_range() {
            let (low, high) = observed.ends();
            return observed.with_label_of(Observation::between(self.transform.of(low), self.transform.of(high)));
        }
        observed.labelled(self.transform.of(observed.label))
    }

    /// By how much the log density of the scaled label exceeds that of the label itself: `weight·(log scale + log dy/dg)`; the probability of a range
    /// has no unit.
    pub(super) fn log_jacobian(&self, observed: &Observation) -> f64 {
        if observed.is_range() {
            return 0.0;
        }
        observed.weight * (self.scale.ln() + self.transform.log_slope(observed.label))
    }
}

//! An input on a common scale: `z = (g(x) − centre)/spread`, where `g(x) = x`, or `asinh(x/s)` for a skewed input.
//!
//! `asinh(x/s)` is `log(2x/s)` far above `s` and a line about 0, and has a value for every number: the logarithm of an income of which
//! some are 0.

use serde::{Deserialize, Serialize};

use crate::TermsError;

/// Skewness beyond which an input is taken for skewed.
const SKEWED: f64 = 1.5;

/// The common scale of an input, by the first rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Coordinate {
    pub(crate) input: usize,
    /// The `s` of `asinh(x/s)`; none where the input is taken as it is.
    fold: Option<f64>,
    centre: f64,
    spread: f64,
    /// The least and the largest of `z` in the first rows.
    range: (f64, f64),
}

/// Mean, standard deviation and skewness; none of a constant column or one beyond the range of floats.
fn moments(values: &[f64]) -> Option<(f64, f64, f64)> {
    let n = values.len() as f64;
    let mean = values.iter().map(|x| x / n).sum::<f64>();
    let sd = values.iter().map(|x| (x - mean).powi(2) / n).sum::<f64>().sqrt();
    // Of a column of one value the rounding of its mean is left.
    let known = mean.is_finite() && sd.is_finite() && sd > n * f64::EPSILON * mean.abs();
    known.then(|| (mean, sd, values.iter().map(|x| ((x - mean) / sd).powi(3)).sum::<f64>() / n))
}

impl Coordinate {
    /// The scale of an input by its values in the first rows; that of two values is half their distance, as in the front door. A
    /// positive input may be `bent` where that takes half of its skewness away.
    ///
    /// # Errors
    /// [`TermsError::Few`] for a constant column.
    pub(crate) fn new(input: usize, values: &[f64], bent: bool) -> Result<Self, TermsError> {
        let few = TermsError::Few { found: usize::from(!values.is_empty()), needed: 2 };
        let (mean, sd, skewness) = moments(values).ok_or(few)?;
        let plain = Self { input, fold: None, centre: mean, spread: sd, range: (0.0, 0.0) };
        let chosen = if bent && skewness > SKEWED { plain.bent(values, skewness).unwrap_or(plain) } else { plain };
        Ok(chosen.of_two(values).ranged(values))
    }

    fn bent(&self, values: &[f64], skewness: f64) -> Option<Self> {
        let mut positive: Vec<f64> = values.iter().copied().filter(|x| *x > 0.0).collect();
        positive.sort_unstable_by(f64::total_cmp);
        let low = *positive.get(positive.len() / 10)?;
        let folded: Vec<f64> = values.iter().map(|x| (x / low).asinh()).collect();
        let (centre, spread, after) = moments(&folded)?;
        let better = values.iter().all(|x| *x >= 0.0) && after.abs() < 0.5 * skewness;
        better.then_some(Self { fold: Some(low), centre, spread, ..*self })
    }

    fn of_two(mut self, values: &[f64]) -> Self {
        let first = values[0];
        let second = values.iter().copied().find(|x| *x != first).unwrap_or(first);
        if values.iter().all(|x| *x == first || *x == second) {
            self.spread = (0.5 * first - 0.5 * second).abs();
        }
        self
    }

    fn ranged(mut self, values: &[f64]) -> Self {
        let z = values.iter().map(|x| self.of(*x));
        self.range = z.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), z| (low.min(z), high.max(z)));
        self
    }

    /// Whether the input is bent.
    pub(crate) fn is_bent(&self) -> bool {
        self.fold.is_some()
    }

    /// `dz/dx` of an input taken as it is.
    pub(crate) fn slope(&self) -> f64 {
        self.spread.recip()
    }

    /// `z` at 0 of an input taken as it is.
    pub(crate) fn at_zero(&self) -> f64 {
        -self.centre / self.spread
    }

    /// `z` of a value.
    pub(crate) fn of(&self, x: f64) -> f64 {
        (self.fold.map_or(x, |fold| (x / fold).asinh()) - self.centre) / self.spread
    }

    /// The value of the input at `z`.
    pub(crate) fn value(&self, z: f64) -> f64 {
        let g = self.centre + z * self.spread;
        self.fold.map_or(g, |fold| g.sinh() * fold)
    }

    /// The least and the largest `z` of the first rows.
    pub(crate) fn range(&self) -> (f64, f64) {
        self.range
    }

    /// `z` of the row's input, at most the width of the first rows' range beyond that: a curve goes on as a line so far, and is then level, so
    /// that no input far out has more weight than the line gives it.
    pub(crate) fn at(&self, row: &[f64]) -> f64 {
        let (low, high) = self.range;
        self.of(row[self.input]).clamp(low - (high - low), high + (high - low))
    }

    /// `z` of the row's input, held within the range of the first rows: products and waves tell nothing beyond it.
    pub(crate) fn within(&self, row: &[f64]) -> f64 {
        self.at(row).clamp(self.range.0, self.range.1)
    }

    /// Whether it could be of `inputs` inputs.
    pub(crate) fn is_of(&self, inputs: usize) -> bool {
        self.input < inputs
            && self.centre.is_finite()
            && self.spread > 0.0
            && self.spread.is_finite()
            && self.fold.is_none_or(|fold| fold > 0.0 && fold.is_finite())
            && self.range.0 < self.range.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skewed_input_is_bent_and_a_symmetric_one_is_not() {
        let skewed: Vec<f64> = (0..100).map(|i| (f64::from(i) / 15.0).exp()).collect();
        let bent = Coordinate::new(0, &skewed, true).unwrap();
        assert!(bent.is_bent() && !Coordinate::new(0, &skewed, false).unwrap().is_bent());
        let mean = skewed.iter().map(|x| bent.of(*x)).sum::<f64>() / 100.0;
        let square = skewed.iter().map(|x| bent.of(*x).powi(2)).sum::<f64>() / 100.0;
        assert!(mean.abs() < 1e-14 && (square - 1.0).abs() < 1e-14);
        assert!(bent.of(-3.0).is_finite() && bent.of(1e300) < 1e3);
        assert_eq!(bent.within(&[1e300]), bent.of(skewed[99]));
        let even: Vec<f64> = (0..100).map(f64::from).collect();
        assert!(!Coordinate::new(0, &even, true).unwrap().is_bent());
    }

    #[test]
    fn two_values_lie_two_apart_and_one_is_refused() {
        let rare: Vec<f64> = (0..50).map(|i| f64::from(i == 7)).collect();
        let z = Coordinate::new(0, &rare, true).unwrap();
        assert!((z.of(1.0) - z.of(0.0) - 2.0).abs() < 1e-15);
        for constant in [vec![], vec![3.0; 9], vec![0.1; 700], vec![f64::MAX, -f64::MAX]] {
            assert!(matches!(Coordinate::new(0, &constant, true), Err(TermsError::Few { .. })));
        }
    }
}

//! Rows along the file with what was predicted of them, for a picture.

use serde::{Deserialize, Serialize};
use vi_models::online::Prediction;

/// Rows beyond which every second is let go.
const MOST: usize = 240;

/// The levels of the two intervals.
pub const BANDS: [f64; 2] = [0.5, 0.9];

/// Every so many-th row, with the prediction that was made before it was learned.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thinned {
    /// Rows from one that is kept to the next; a power of 2.
    step: u64,
    kept: Vec<Seen>,
}

/// A row that came, and the intervals in which it was expected.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Rows scored before.
    pub row: u64,
    /// The target.
    pub label: f64,
    /// The mean that was predicted.
    pub mean: f64,
    /// Ends of the intervals of [`BANDS`].
    pub bands: [(f64, f64); 2],
}

impl Thinned {
    /// Keeps the row if it is its turn. One without a finite interval (of more than two classes, or of a model that knows nothing yet) is not kept.
    pub(super) fn add(&mut self, row: u64, predicted: &Prediction, label: f64) {
        self.step = self.step.max(1);
        if !row.is_multiple_of(self.step) {
            return;
        }
        let ends = |level: f64| {
            let interval = predicted.interval(level).ok().flatten()?;
            (interval.lower.is_finite() && interval.upper.is_finite()).then_some((interval.lower, interval.upper))
        };
        let mean = predicted.mean().filter(|mean| mean.is_finite());
        if let (Some(mean), [Some(inner), Some(outer)]) = (mean, BANDS.map(ends)) {
            self.kept.push(Seen { row, label, mean, bands: [inner, outer] });
            self.thin(self.step);
        }
    }

    /// Lets rows go until there are few enough, at least `step` rows apart.
    fn thin(&mut self, step: u64) {
        while self.step < step || self.kept.len() > MOST {
            self.step *= 2;
            let step = self.step;
            self.kept.retain(|seen| seen.row.is_multiple_of(step));
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.step = self.step.max(1);
        let mut other = other.clone();
        other.step = other.step.max(1);
        other.thin(self.step);
        self.thin(other.step);
        self.kept.append(&mut other.kept);
        self.thin(self.step);
    }

    /// The rows that are kept, without those of the first tenth, when little was known.
    pub(super) fn after_the_first(&self, rows: u64) -> Vec<Seen> {
        self.kept.iter().copied().filter(|seen| 10 * seen.row >= rows).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_rows(rows: u64) -> Thinned {
        let mut thinned = Thinned { step: 1, kept: Vec::new() };
        for row in 0..rows {
            if row.is_multiple_of(thinned.step) {
                thinned.kept.push(Seen { row, label: 0.0, mean: 0.0, bands: [(0.0, 0.0); 2] });
                thinned.thin(thinned.step);
            }
        }
        thinned
    }

    #[test]
    fn rows_are_kept_evenly_and_never_too_many() {
        let thinned = of_rows(10_000);
        assert_eq!((thinned.step, thinned.kept.len()), (64, 157));
        assert!(thinned.kept.windows(2).all(|pair| pair[1].row - pair[0].row == 64));
        assert!(thinned.after_the_first(10_000).iter().all(|seen| seen.row >= 1000));
        let mut both = of_rows(300);
        both.merge(&thinned);
        assert_eq!((both.step, both.kept.len()), (64, 157 + 5));
    }
}

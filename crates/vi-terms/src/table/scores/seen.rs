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
    /// The target; of three and more classes whether the most probable one came, 1 or 0.
    pub label: f64,
    /// The predicted mean; of three and more classes the probability of the most probable one.
    pub mean: f64,
    /// Ends of the intervals of [`BANDS`]; none of three and more classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bands: Option<[(f64, f64); 2]>,
}

/// The most probable of three and more classes, with its probability.
pub(super) fn surest_of_many(predicted: &Prediction) -> Option<(usize, f64)> {
    match predicted {
        Prediction::Classes(own) => predicted.class().map(|class| (class, own.probabilities[class])),
        _ => None,
    }
}

impl Thinned {
    /// Keeps the row if it is its turn and its intervals are finite, which those of a model that knows nothing yet are not.
    pub(super) fn add(&mut self, row: u64, predicted: &Prediction, label: f64) {
        self.step = self.step.max(1);
        if !row.is_multiple_of(self.step) {
            return;
        }
        let ends = |level: f64| {
            let interval = predicted.interval(level).ok().flatten()?;
            (interval.lower.is_finite() && interval.upper.is_finite()).then_some((interval.lower, interval.upper))
        };
        let of_number = || match (predicted.mean().filter(|mean| mean.is_finite()), BANDS.map(ends)) {
            (Some(mean), [Some(inner), Some(outer)]) => Some((label, mean, Some([inner, outer]))),
            _ => None,
        };
        let of_classes =
            surest_of_many(predicted).map(|(class, p)| (f64::from(u8::from(class as f64 == label)), p, None));
        if let Some((label, mean, bands)) = of_classes.or_else(of_number) {
            self.kept.push(Seen { row, label, mean, bands });
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
                thinned.kept.push(Seen { row, label: 0.0, mean: 0.0, bands: Some([(0.0, 0.0); 2]) });
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

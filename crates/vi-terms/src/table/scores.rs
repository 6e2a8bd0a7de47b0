//! How good predictions were, each made before its row was learned.

mod seen;

use serde::{Deserialize, Serialize};
use vi_models::online::{Alarm, Certificate, Change, Observation, Prediction, Share};
use vi_models::{ModelError, Transform};

pub use self::seen::{BANDS, Seen};
use self::seen::{Thinned, surest_of_many};

/// The levels of the intervals that are counted.
pub(crate) const LEVELS: [f64; 3] = [0.5, 0.9, 0.95];
/// Bins of probabilities.
const BINS: usize = 10;

/// Sums over scored rows, and the same for a model that knows no inputs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scores {
    /// The rows that were scored.
    pub rows: u64,
    log_loss: f64,
    squared_error: f64,
    /// Rows whose expectation, or the square of its error, is beyond the range of floats: only their log loss counts.
    #[serde(default)]
    unexpected: u64,
    /// Rows of which a range is known: log loss and intervals count.
    #[serde(default, skip_serializing_if = "is_zero")]
    ranges: u64,
    /// Of labels that are learned by their logarithm: the rows whose median counts, and the sum of its squared errors.
    #[serde(default, skip_serializing_if = "is_without_medians")]
    medians: (u64, f64),
    /// How many intervals of each of [`LEVELS`] held what they promised.
    held: [u64; 3],
    /// How often the most probable class was right.
    right: u64,
    /// For each bin of the probability of the second of two classes, of the most probable of more: rows, the sum of the probabilities, how
    /// many were of that class.
    bins: Vec<(u64, f64, u64)>,
    /// Of labels so far: the mean and the sum of squares about it, or how many of each class there were.
    mean: f64,
    squares: f64,
    classes: Vec<u64>,
    /// Of times so far.
    #[serde(default, skip_serializing_if = "Times::is_empty")]
    times: Times,
    plain_log_loss: f64,
    plain_squared_error: f64,
    /// The log losses along the rows: at most [`BLOCKS`] of as many rows each, the last perhaps of fewer.
    along: Vec<Block>,
    /// Rows of a block.
    block: u64,
    /// Single rows with what was predicted of them.
    #[serde(default)]
    seen: Thinned,
    /// Where each label fell in its prediction.
    #[serde(default, skip_serializing_if = "is_without_rows")]
    certificate: Certificate,
    #[serde(skip)]
    recording: Recording,
}

/// Labels, as they are scored.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scored {
    Number,
    /// One of so many.
    Class(usize),
    /// A time of an event, by the mean time for each event in the first rows.
    Time {
        unit: f64,
    },
}

/// Events, times without one, and the sum of all times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Times {
    events: u64,
    censored: u64,
    total: f64,
}

impl Times {
    fn is_empty(&self) -> bool {
        self.events + self.censored == 0
    }

    /// Adds a time. Returns its log density under one hazard for all times, which had one event in a `unit` before them and has the posterior
    /// `Gamma(1 + events, unit + total)`.
    fn add(&mut self, label: Observation, unit: f64) -> f64 {
        let (shape, rate, time) = (1.0 + self.events as f64, unit + self.total, label.label());
        let left = shape * (rate / (rate + time)).ln();
        self.total += time;
        if label.is_range() {
            self.censored += 1;
            left
        } else {
            self.events += 1;
            left + (shape / (rate + time)).ln()
        }
    }
}

/// What a row does to the record by which intervals are certified.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Recording {
    /// It moves them, as the model learns it.
    #[default]
    Learned,
    /// It tests them.
    Tested,
}

/// Rows that follow one another, and the sums of their log losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Block {
    rows: u64,
    log_loss: f64,
    plain: f64,
}

/// Blocks beyond which two become one.
const BLOCKS: usize = 128;

/// What sums come to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The rows.
    pub rows: u64,
    /// Rows of which only the log loss counts.
    #[serde(skip_serializing_if = "is_zero")]
    pub unexpected: u64,
    /// Rows of which only a range is known.
    #[serde(skip_serializing_if = "is_zero")]
    pub ranges: u64,
    /// The log loss in nats a row.
    pub log_loss: f64,
    /// That of the frequencies of the classes so far, or of one hazard for all times so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_log_loss: Option<f64>,
    /// The root of the mean squared error, in which the first row that a model learned is none; none where of some rows only a range is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse: Option<f64>,
    /// The root mean squared error of the predicted medians, where the logarithm is learned. Means of the first rows are far too large while the
    /// logarithm is uncertain, so that a few rows can dominate `rmse`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rmse_of_medians: Option<f64>,
    /// That of the mean so far, in which the first row is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plain_rmse: Option<f64>,
    /// Of times, the rows whose event came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub events: Option<u64>,
    /// Of times, the rows whose event had not come.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub censored: Option<u64>,
    /// The share of rows whose most probable class was right.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// `(promised, held)` of the intervals.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<(f64, f64)>,
    /// How often the model's own intervals and the certified ones held, where there are rows enough; sets in place of intervals of classes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub certified: Vec<Share>,
    /// How often labels began to fall elsewhere in their predictions; none with too few rows to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarms: Option<u64>,
    /// The last time that they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alarm: Option<Alarm>,
    /// The number of classes; 0 of other targets.
    #[serde(skip)]
    pub classes: usize,
    /// `(mean probability, frequency, rows)` of each bin that has rows: of the second of two classes, of the most probable of more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub calibration: Vec<(f64, f64, u64)>,
}

/// The expected label as one number: of a count the mean at the expectation of its logarithm, since the average over a wide prior of that
/// has no square to speak of. None where it is beyond the range of floats.
fn point(predicted: &Prediction) -> Option<f64> {
    let point = match predicted {
        Prediction::Count(predicted) => Some(predicted.predictor.mean().exp()),
        Prediction::Spread(predicted) => Some(predicted.predictor.mean().exp()),
        Prediction::Inflated(predicted) => Some((1.0 - predicted.excess()) * predicted.predictor.mean().exp()),
        _ => predicted.mean(),
    };
    point.filter(|point| point.is_finite())
}

/// The median of a label that is learned by its logarithm.
fn median(predicted: &Prediction) -> Option<f64> {
    match predicted {
        Prediction::Number(predicted) if predicted.label.transform() == Transform::Log => {
            predicted.label.quantile(0.5).ok()
        }
        _ => None,
    }
}

fn is_without_medians((rows, _): &(u64, f64)) -> bool {
    *rows == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde asks")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn is_without_rows(certificate: &Certificate) -> bool {
    certificate.rows() == 0
}

impl Block {
    fn add(&mut self, other: &Self) {
        self.rows += other.rows;
        self.log_loss += other.log_loss;
        self.plain += other.plain;
    }
}

impl Scores {
    /// No scores yet, for rows that the model with this record does not learn.
    pub(crate) fn of_test(certificate: &Certificate) -> Self {
        Self { certificate: certificate.settled().untested(), recording: Recording::Tested, ..Self::default() }
    }

    /// The record by which intervals are certified.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// Scores a prediction of `label`, which had this log density.
    ///
    /// # Errors
    /// What the prediction cannot say.
    pub(crate) fn add(
        &mut self,
        (predicted, log_density): (Option<&Prediction>, f64),
        label: Observation,
        scored: Scored,
    ) -> Result<(), ModelError> {
        // A time that is censored has no place in its prediction.
        let placed = predicted.filter(|_| !matches!(scored, Scored::Time { .. }));
        let share = self.certificate.share();
        let below = placed.map(|predicted| predicted.below_of(label, share)).transpose()?.flatten();
        if let Some(predicted) = placed {
            self.seen.add(self.rows, predicted, label.label());
            // A label is left out of the record where the prediction has no quantiles within floats, so that no interval could be given.
            match self.recording {
                Recording::Learned => self.certificate.add_placed(predicted, label, below).ok(),
                Recording::Tested => self.certificate.test(predicted, label, below).ok(),
            };
        }
        self.log_loss -= log_density;
        self.rows += 1;
        let plain = self.plain_log_loss;
        match scored {
            Scored::Number if label.is_range() => {
                self.ranges += 1;
                self.add_held(below.unwrap_or((0.0, 1.0)));
            }
            Scored::Number => {
                let label = label.label();
                let squares = |median: f64| self.medians.1 + self.squared(label - median);
                if let Some(squares) = predicted.and_then(median).map(squares).filter(|sum| sum.is_finite()) {
                    self.medians = (self.medians.0 + 1, squares);
                }
                self.add_number(predicted.and_then(point).zip(below), label);
            }
            Scored::Class(classes) => self.add_class(predicted, label.label(), classes),
            Scored::Time { unit } => self.plain_log_loss -= self.times.add(label, unit),
        }
        self.add_along(Block { rows: 1, log_loss: -log_density, plain: self.plain_log_loss - plain });
        Ok(())
    }

    /// Whether the row being scored is the first that counts, whose label no other has foretold.
    fn is_first(&self) -> bool {
        self.rows - self.unexpected - self.ranges == 1
    }

    /// The squared error of a prediction; none of the first row that a model learns, since the prior knows no size of labels.
    fn squared(&self, error: f64) -> f64 {
        if self.is_first() && self.recording == Recording::Learned { 0.0 } else { error * error }
    }

    /// What is counted of numbers: the point that was predicted, and the probabilities of less than what came and of no more.
    fn add_number(&mut self, predicted: Option<(f64, (f64, f64))>, label: f64) {
        let away = label - self.mean;
        let plain = self.plain_squared_error + if self.is_first() { 0.0 } else { away * away };
        let squares = predicted.map(|(point, _)| self.squared_error + self.squared(label - point));
        let (Some((_, (below, up_to))), Some(squares)) = (predicted, squares.filter(|sum| (sum + plain).is_finite()))
        else {
            self.unexpected += 1;
            return;
        };
        (self.squared_error, self.plain_squared_error) = (squares, plain);
        self.add_held((below, up_to));
        self.mean += away / (self.rows - self.unexpected - self.ranges) as f64;
        self.squares += away * (label - self.mean);
    }

    /// Counts the intervals that hold a label, or the number that stands for its range.
    fn add_held(&mut self, (below, up_to): (f64, f64)) {
        for (count, level) in self.held.iter_mut().zip(LEVELS) {
            // The label lies between the quantiles (1 − level)/2 and (1 + level)/2.
            *count += u64::from(up_to >= 0.5 * (1.0 - level) && below < 0.5 * (1.0 + level));
        }
    }

    fn add_class(&mut self, predicted: Option<&Prediction>, label: f64, classes: usize) {
        self.classes.resize(classes, 0);
        let class = (0..classes).find(|class| *class as f64 == label).unwrap_or(0);
        let share = (self.classes[class] as f64 + 1.0) / ((self.rows - 1) as f64 + classes as f64);
        self.plain_log_loss -= share.ln();
        self.classes[class] += 1;
        self.right += u64::from(predicted.and_then(Prediction::class) == Some(class));
        let of_two = |predicted: &Prediction| predicted.mean().map(|probability| (1, probability));
        if let Some((named, probability)) = predicted.and_then(|own| surest_of_many(own).or_else(|| of_two(own))) {
            self.bins.resize(BINS, (0, 0.0, 0));
            let last = BINS - 1;
            let bin = (1..BINS).position(|k| probability < k as f64 / BINS as f64).unwrap_or(last);
            let (rows, sum, hits) = &mut self.bins[bin];
            *rows += 1;
            *sum += probability;
            *hits += u64::from(class == named);
        }
    }

    fn add_along(&mut self, row: Block) {
        self.block = self.block.max(1);
        match self.along.last_mut() {
            Some(last) if last.rows < self.block => last.add(&row),
            _ => self.along.push(row),
        }
        while self.along.len() > BLOCKS {
            let pairs = self.along.chunks(2).map(|pair| {
                let mut sum = Block::default();
                for block in pair {
                    sum.add(block);
                }
                sum
            });
            self.along = pairs.collect();
            self.block *= 2;
        }
    }

    /// For each block the number of rows before its middle, the log loss of a row, and that without inputs.
    #[must_use]
    pub fn along(&self) -> Vec<(f64, f64, f64)> {
        let mut before = 0.0;
        let of = |block: &Block| {
            let rows = block.rows as f64;
            before += rows;
            (before - 0.5 * rows, block.log_loss / rows, block.plain / rows)
        };
        self.along.iter().filter(|block| block.rows > 0).map(of).collect()
    }

    /// The number of rows of each stretch along the file, and the sum of their log losses.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = (u64, f64)> {
        self.along.iter().map(|block| (block.rows, block.log_loss))
    }

    /// Some rows along the file, without the first, with what was predicted of them.
    #[must_use]
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.after_the_first(self.rows)
    }

    /// Adds the scores of other rows, each sum to its own.
    pub(crate) fn merge(&mut self, other: &Self) {
        let known = |scores: &Self| (scores.rows - scores.unexpected - scores.ranges) as f64;
        let (own, theirs) = (known(self), known(other));
        let away = other.mean - self.mean;
        let share = theirs / (own + theirs).max(1.0);
        self.squares += other.squares + away * away * own * share;
        self.mean += away * share;
        self.rows += other.rows;
        self.unexpected += other.unexpected;
        self.ranges += other.ranges;
        self.log_loss += other.log_loss;
        self.squared_error += other.squared_error;
        self.medians = (self.medians.0 + other.medians.0, self.medians.1 + other.medians.1);
        self.right += other.right;
        self.plain_log_loss += other.plain_log_loss;
        self.plain_squared_error += other.plain_squared_error;
        self.times.events += other.times.events;
        self.times.censored += other.times.censored;
        self.times.total += other.times.total;
        self.seen.merge(&other.seen);
        self.certificate.merge(&other.certificate);
        self.block = self.block.max(other.block);
        other.along.iter().for_each(|block| self.add_along(*block));
        self.held.iter_mut().zip(other.held).for_each(|(own, other)| *own += other);
        self.classes.resize(self.classes.len().max(other.classes.len()), 0);
        self.classes.iter_mut().zip(&other.classes).for_each(|(own, other)| *own += other);
        self.bins.resize(self.bins.len().max(other.bins.len()), (0, 0.0, 0));
        for (own, other) in self.bins.iter_mut().zip(&other.bins) {
            *own = (own.0 + other.0, own.1 + other.1, own.2 + other.2);
        }
    }

    /// The scores of a row on average.
    #[must_use]
    pub fn summary(&self) -> Summary {
        let n = self.rows.max(1) as f64;
        let placed = self.rows.saturating_sub(self.unexpected);
        let expected = placed.saturating_sub(self.ranges).max(1) as f64;
        let of_times = !self.times.is_empty();
        let of_numbers = self.classes.is_empty() && self.rows > 0 && !of_times;
        // Known numbers are no fair sample where others are known to lie beyond a limit.
        let has_errors = of_numbers && self.ranges == 0;
        Summary {
            rows: self.rows,
            unexpected: self.unexpected,
            ranges: self.ranges,
            log_loss: self.log_loss / n,
            plain_log_loss: (!of_numbers).then_some(self.plain_log_loss / n),
            rmse: has_errors.then(|| (self.squared_error / expected).sqrt()),
            rmse_of_medians: Some(self.medians)
                .filter(|own| own.0 > 0 && has_errors)
                .map(|(rows, sum)| (sum / rows as f64).sqrt()),
            plain_rmse: has_errors.then(|| (self.plain_squared_error / expected).sqrt()),
            events: of_times.then_some(self.times.events),
            censored: of_times.then_some(self.times.censored),
            accuracy: (!of_numbers && !of_times).then_some(self.right as f64 / n),
            coverage: if of_numbers {
                LEVELS.iter().zip(self.held).map(|(level, held)| (*level, held as f64 / placed.max(1) as f64)).collect()
            } else {
                Vec::new()
            },
            alarms: Some(self.certificate.change()).filter(|change| change.is_watching()).map(Change::alarms),
            alarm: self.certificate.change().last(),
            certified: self.certificate.ready().map(|()| self.certificate.shares().collect()).unwrap_or_default(),
            classes: self.classes.len(),
            calibration: self
                .bins
                .iter()
                .filter(|(rows, ..)| *rows > 0)
                .map(|&(rows, sum, hits)| (sum / rows as f64, hits as f64 / rows as f64, rows))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_along_the_rows_keep_their_sums() {
        let mut scores = Scores::default();
        for t in 0..1000 {
            scores.add_along(Block { rows: 1, log_loss: f64::from(t), plain: 1.0 });
        }
        assert!(scores.along.len() <= BLOCKS && scores.block == 8);
        assert!(scores.along.iter().rev().skip(1).all(|block| block.rows == 8));
        assert_eq!(scores.along.iter().map(|block| block.rows).sum::<u64>(), 1000);
        let along = scores.along();
        // The loss of row t is t, so that of a block its middle, as the rows before it count.
        assert!(along.iter().all(|(rows, loss, plain)| (rows - loss - 0.5).abs() < 1e-9 && *plain == 1.0));
    }
}

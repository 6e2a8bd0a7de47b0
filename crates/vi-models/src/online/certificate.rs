//! Intervals that hold as often as they say, whatever the data do: a model's own, re-mapped by the record of its predictions.

mod change;
mod evidence;
mod place;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use vi_core::special::{normal_cdf, normal_quantile};

pub use self::change::{Alarm, Change, Towards};
pub use self::evidence::{Calibration, Outliers};
use self::evidence::{FAR, Far};
use self::place::Place;
use super::{Observation, Prediction};
use crate::{Interval, ModelError, check};

/// The levels whose reach is followed; others lie between.
const LEVELS: [f64; 5] = [0.5, 0.8, 0.9, 0.95, 0.99];
/// `Φ⁻¹((1 + level)/2)`: how far a normal number is from its median with these probabilities.
const NORMAL: [f64; 5] = [
    0.674_489_750_196_081_7,
    1.281_551_565_544_600_4,
    1.644_853_626_951_472_2,
    1.959_963_984_540_054,
    2.575_829_303_548_900_4,
];
/// The step of a reach, on its scale: a miss adds nearly as much.
const STEP: f64 = 0.08;
/// The step of the centre, in units of the reach of 90 %.
const CENTRE_STEP: f64 = 0.02;
/// Rows over which centre and reaches are averaged for labels that will not be seen, since the steps add noise to them.
const SETTLED: f64 = 300.0;
/// Labels that a record needs before it certifies: with fewer its reach is still the model's own.
const FEWEST: u64 = 200;

/// A record of where each label fell in its own prediction, and the intervals that follow from it.
///
/// A label `y` is `z = Φ⁻¹(P(Y ≤ y))` deviations from the median of its prediction. For each of five levels a reach `q` about a centre `c` follows the
/// labels:
///
/// ```text
/// missed = |z − c| > q,   r ← max(0, r + γ(missed − (1 − level))),   q = r up to 1, eʳ⁻¹ beyond
/// c ← c + γ_c·max(q₉₀, 1)·(P(the label was above c) − ½)
/// ```
///
/// The certified interval lies between the quantiles `Φ(c − q)` and `Φ(c + q)` of the prediction. The sum of all steps is what `r` has moved, so after `T` rows the
/// share of misses is at most `1 − level + (r_T − r_0)/(γT)`, for any sequence of labels and any model; were no `r` held at 0, it is that to the digit. In a still
/// world the steps add noise to the ends. Of a count both `P(Y < y)` and `P(Y ≤ y)` are taken, and the nearer counts. Of classes `z` belongs to the probability
/// of all that are more probable, and a set holds every class within reach, the most probable always: both hold at least their level.
///
/// A row costs some 0.16 µs beyond the distribution function of the label. Source: adaptive conformal inference (Gibbs and Candès 2021), as a tracker of
/// quantiles (Angelopoulos, Candès and Tibshirani 2023).
///
/// ```
/// use vi_models::online::{Certificate, OnlineLinear, Prediction};
///
/// let (mut model, mut certificate) = (OnlineLinear::new(1)?, Certificate::default());
/// for t in 0..2000 {
///     let (x, y) = ([f64::from(t % 10)], f64::from((7 * t) % 11) * if t < 1000 { 1.0 } else { 30.0 });
///     certificate.add(&Prediction::Number(model.predict(&x)?), y)?; // before the model learns the row
///     model.update(&x, y)?;
/// }
/// let share = certificate.shares().find(|share| share.level == 0.9).unwrap();
/// assert!((share.certified - 0.9).abs() < 0.02);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    rows: u64,
    now: Reach,
    /// The average of the last [`SETTLED`] rows or so.
    settled: Reach,
    /// Labels within the certified intervals of each level, and within the model's own.
    held: [u64; 5],
    own: [u64; 5],
    /// The classes of all certified sets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sizes: Option<[u64; 5]>,
    /// Whether labels are whole numbers, which may be anywhere between two places.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    whole: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    far: Option<Far>,
    #[serde(default)]
    change: Change,
    /// Whether it tests intervals of too few labels to certify.
    #[serde(skip)]
    unready: bool,
}

/// Centre and reaches about it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Reach {
    centre: f64,
    /// `r` of each of [`LEVELS`].
    of: [f64; 5],
}

/// The shares of labels that the intervals of one level held.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Share {
    /// The level.
    pub level: f64,
    /// The share of the model's own intervals, or sets, that held their label.
    pub own: f64,
    /// That of the certified ones.
    pub certified: f64,
    /// The mean number of classes in a certified set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<f64>,
    /// The reach of the certified intervals as it is now, in units of the model's own.
    pub reach: f64,
}

impl Default for Certificate {
    fn default() -> Self {
        let own = Reach { centre: 0.0, of: NORMAL.map(straightened) };
        let change = Change::default();
        let (held, sizes, far) = ([0; 5], None, None);
        Self { rows: 0, now: own, settled: own, held, own: held, sizes, whole: false, far, change, unready: false }
    }
}

/// The scale on which a reach moves: even steps up to 1, equal factors beyond.
fn straightened(reach: f64) -> f64 {
    if reach <= 1.0 { reach } else { 1.0 + reach.ln() }
}

/// The reach at a place of that scale.
fn reach_of(r: f64) -> f64 {
    if r <= 1.0 { r } else { (r - 1.0).exp() }
}

impl Reach {
    /// The reaches, each at least that of the level before, so that a wider interval holds a narrower one.
    fn nested(&self) -> [f64; 5] {
        let mut most = 0.0_f64;
        self.of.map(|r| {
            most = most.max(r);
            most
        })
    }

    /// The reach at any level, along the line between those that are followed; beyond the last by the same factor.
    fn at(&self, level: f64) -> f64 {
        let at = straightened(normal_quantile(0.5 + 0.5 * level));
        let mut from = (0.0, 0.0);
        for (normal, own) in NORMAL.map(straightened).into_iter().zip(self.nested()) {
            if at <= normal {
                return reach_of(from.1 + (at - from.0) / (normal - from.0) * (own - from.1));
            }
            from = (normal, own);
        }
        reach_of(from.1 + at - from.0)
    }

    /// Moves a share of the way to another.
    fn towards(&mut self, other: &Self, share: f64) {
        self.centre += share * (other.centre - self.centre);
        self.of.iter_mut().zip(other.of).for_each(|(own, other)| *own += share * (other - *own));
    }

    /// The distance of a place from the centre.
    fn distance(&self, place: &Place) -> f64 {
        match place {
            Place::Number { low, high } => (low - self.centre).max(self.centre - high).max(0.0),
            Place::Class { class, all, .. } => all[*class],
        }
    }

    /// One step of the algorithm.
    fn step(&mut self, place: &Place) {
        let (distance, nested) = (straightened(self.distance(place)), self.nested());
        for (k, r) in self.of.iter_mut().enumerate() {
            let missed = f64::from(u8::from(distance > nested[k]));
            *r = (*r + STEP * (missed - (1.0 - LEVELS[k]))).max(0.0);
        }
        if let Place::Number { low, high } = place {
            let above = above(self.centre, (*low, *high));
            self.centre += CENTRE_STEP * reach_of(nested[2]).max(1.0) * (above - 0.5);
        }
    }
}

impl Certificate {
    /// The labels that are needed before [`interval`](Self::interval) and [`classes`](Self::classes) answer.
    pub const FEWEST: u64 = FEWEST;

    /// The labels that have been added.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds a label and what was predicted of it before it was learned. Of a range it is a number that the prediction has there, by turns at all parts of the
    /// range's probability.
    ///
    /// # Errors
    /// Those of [`Prediction::below_of`] and of the quantiles of the prediction; [`ModelError::ClassLabel`]. The record then is as it was.
    pub fn add(&mut self, predicted: &Prediction, label: impl Into<Observation>) -> Result<(), ModelError> {
        let observed = label.into();
        self.add_placed(predicted, observed, predicted.below_of(observed, self.share())?)
    }

    /// The share of a range that lies below its number in the next row: the fractions of multiples of the golden section.
    #[must_use]
    pub fn share(&self) -> f64 {
        (0.618_033_988_749_894_8 * (self.rows + 1) as f64).fract()
    }

    /// As [`add`](Self::add) where `below`, [`Prediction::below_of`] the label, is known already.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_placed(
        &mut self,
        predicted: &Prediction,
        label: impl Into<Observation>,
        below: Option<(f64, f64)>,
    ) -> Result<(), ModelError> {
        if let Some(place) = Place::of(predicted, label.into(), below)? {
            self.count(&place);
            self.change.add(|share| place.score(share));
            self.now.step(&place);
            self.settled.towards(&self.now, (self.rows as f64).min(SETTLED).recip());
        }
        Ok(())
    }

    /// Counts whether the intervals as they are hold a label, which moves none of them: for rows that the model does not learn.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn test(
        &mut self,
        predicted: &Prediction,
        label: impl Into<Observation>,
        below: Option<(f64, f64)>,
    ) -> Result<(), ModelError> {
        if let Some(place) = Place::of(predicted, label.into(), below)? {
            self.count(&place);
        }
        Ok(())
    }

    /// The same record with intervals for many rows to come whose labels will not be seen: centre and reaches are averages of some 300 rows, since those of one
    /// moment are noisy. In a still world the share of 500 such rows is then within 1.9 points of 90 % in place of 3.5 (root mean square).
    #[must_use]
    pub fn settled(&self) -> Self {
        Self { now: self.settled, ..self.clone() }
    }

    /// The same intervals, with no label counted yet. Those of too few labels certify nothing however many are counted.
    #[must_use]
    pub fn untested(&self) -> Self {
        Self { now: self.now, settled: self.settled, unready: self.ready().is_err(), ..Self::default() }
    }

    fn count(&mut self, place: &Place) {
        self.rows += 1;
        let plain = Reach { centre: 0.0, ..self.now }.distance(place);
        let distance = straightened(self.now.distance(place));
        let nested = self.now.nested();
        for (k, r) in nested.into_iter().enumerate() {
            self.own[k] += u64::from(plain <= NORMAL[k]);
            self.held[k] += u64::from(distance <= r);
        }
        if let Place::Number { low, high } = place {
            self.whole |= low < high;
            if plain > FAR {
                let labels = self.far.map_or(0, |far| far.labels) + 1;
                self.far = Some(Far { labels, last: self.rows });
            }
        }
        if let Place::Class { all, .. } = place {
            let sizes = self.sizes.get_or_insert_default();
            for z in all.iter().copied().map(straightened) {
                sizes.iter_mut().zip(nested).for_each(|(size, r)| *size += u64::from(z <= r));
            }
        }
    }

    /// Whether labels still fall where they used to fall in their predictions.
    #[must_use]
    pub fn change(&self) -> &Change {
        &self.change
    }

    /// Checks that there are enough labels to certify by.
    ///
    /// # Errors
    /// [`ModelError::Uncertified`] with too few.
    pub fn ready(&self) -> Result<(), ModelError> {
        let Self { rows, unready, .. } = *self;
        if rows < FEWEST || unready { Err(ModelError::Uncertified { rows, needed: FEWEST }) } else { Ok(()) }
    }

    fn reach(&self, level: f64) -> Result<f64, ModelError> {
        check::probability("level", level)?;
        self.ready()?;
        Ok(self.now.at(level))
    }

    /// The certified interval of a number or a count; `None` of classes.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`; [`ModelError::Uncertified`] with too few labels; those of the quantiles of the prediction.
    pub fn interval(&self, predicted: &Prediction, level: f64) -> Result<Option<Interval>, ModelError> {
        let reach = self.reach(level)?;
        place::between(predicted, self.now.centre - reach, self.now.centre + reach)
    }

    /// The certified set of classes in their order, never empty; `None` of numbers and counts.
    ///
    /// # Errors
    /// As [`interval`](Self::interval).
    pub fn classes(&self, predicted: &Prediction, level: f64) -> Result<Option<Vec<usize>>, ModelError> {
        let reach = self.reach(level)?;
        let within = |all: Vec<f64>| (0..all.len()).filter(|class| all[*class] <= reach).collect();
        Ok(place::classes(predicted).map(within))
    }

    /// The shares of labels held so far, at each level that is followed.
    pub fn shares(&self) -> impl Iterator<Item = Share> {
        let rows = self.rows.max(1) as f64;
        let nested = self.now.nested();
        (0..LEVELS.len()).map(move |k| Share {
            level: LEVELS[k],
            own: self.own[k] as f64 / rows,
            certified: self.held[k] as f64 / rows,
            size: self.sizes.map(|sizes| sizes[k] as f64 / rows),
            reach: reach_of(nested[k]) / NORMAL[k],
        })
    }

    /// Adds the record of a model of other rows: counts are sums, centre and reaches the means by rows. The order of models does not matter but for rounding. The
    /// merged model predicts better than its parts, so its intervals are at first those of the parts and follow its own record from there.
    pub fn merge(&mut self, other: &Self) {
        let (own, theirs) = (self.rows as f64, other.rows as f64);
        let share = theirs / (own + theirs).max(1.0);
        self.now.towards(&other.now, share);
        self.settled.towards(&other.settled, share);
        for k in 0..LEVELS.len() {
            self.held[k] += other.held[k];
            self.own[k] += other.own[k];
        }
        self.rows += other.rows;
        self.whole |= other.whole;
        let both = |own: Far, other: Far| Far { labels: own.labels + other.labels, last: own.last.max(other.last) };
        self.far = self.far.into_iter().chain(other.far).reduce(both);
        self.change.merge(&other.change);
        if let Some(sizes) = other.sizes {
            self.sizes.get_or_insert_default().iter_mut().zip(sizes).for_each(|(own, other)| *own += other);
        }
    }
}

/// The probability that a label is above a place, where it may be anywhere between two.
fn above(centre: f64, (low, high): (f64, f64)) -> f64 {
    if low >= centre {
        f64::from(u8::from(high > centre))
    } else if high <= centre {
        0.0
    } else {
        let [low, high, centre] = [low, high, centre].map(normal_cdf);
        (high - centre) / (high - low)
    }
}

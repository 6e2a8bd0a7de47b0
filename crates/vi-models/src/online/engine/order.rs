//! Whether the rows come in an order, and whether the posterior suffers from it.
//!
//! One pass depends on the order of its rows where sites are approximate. Two signs of a harmful order are kept, at `O(1)` a row.
//! Labels that come in runs are more often like the one before than in a random order. And an exact posterior never gives all rows
//! that it has learned less probability than they had when they came: with the posterior `q` of the prior `p`,
//! `Σ log E_q p(y|θ) ≥ E_q Σ log p(y|θ) = log Z + KL(q‖p) ≥ log Z`, in any order and of any data. A sample of the rows, each with
//! its score when it came, tells whether that still holds.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::Error;

use super::family::{Family, RowStep};
use super::{Engine, Kept};
use crate::ModelError;
use crate::marginal::log_sum_exp;
use crate::online::design::RowSpace;
use crate::online::info::Order;
use crate::online::row::{OwnedRow, check_row};
use crate::online::target::Target;
use crate::online::{Memory, Observation, OnlineSettings, Row};

/// The most rows of the sample.
const MOST: usize = 256;

/// The most numbers in the rows of the sample: 1 MiB.
const NUMBERS: usize = 1 << 17;

/// The most strata of the sample.
const STRATA: usize = 16;

/// What a row counts whose score overflows under the present model, in nats.
const LOST: f64 = 50.0;

/// A label as the count of runs sees it: one of several classes, each its own component, or a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct RunLabel {
    /// The class; 0 for numbers.
    pub(in crate::online) component: usize,
    /// 1 for a class, otherwise the number, bounded by its logarithm.
    pub(in crate::online) value: f64,
    /// Rows of a stratum are sampled by themselves, so that those of a rare label are not missed.
    pub(in crate::online) stratum: usize,
}

impl RunLabel {
    /// A label of a family with one predictor.
    pub(super) fn number(label: f64, size: f64) -> Self {
        let value = (label / size).clamp(0.0, 1e300).ln_1p();
        Self { component: 0, value: if value.is_nan() { 0.0 } else { value }, stratum: usize::from(label > 0.0) }
    }

    /// A number of any sign, which the first labels standardise.
    pub(super) fn standardised(observed: &Observation, target: &Target) -> Self {
        let label = (target.transformed(observed).label - target.centre) / target.scale;
        let value = label.clamp(-1e300, 1e300).asinh();
        Self { component: 0, value: if value.is_nan() { 0.0 } else { value }, stratum: usize::from(label > 0.0) }
    }

    /// A class.
    pub(in crate::online) fn class(class: usize) -> Self {
        Self { component: class, value: 1.0, stratum: class % STRATA }
    }
}

/// How often a label is like the one before it, with what a random order would have.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Runs {
    last: Option<RunLabel>,
    rows: u64,
    /// Pairs of neighbours, and the sum of their products.
    pairs: u64,
    products: f64,
    /// The sum of each component, and of squares and cubes of all.
    sums: Vec<f64>,
    squares: f64,
    cubes: f64,
}

impl Runs {
    fn see(&mut self, label: RunLabel) {
        let RunLabel { component, value, .. } = label;
        if let Some(last) = self.last.replace(label) {
            self.pairs += 1;
            self.products += if last.component == component { last.value * value } else { 0.0 };
        }
        self.rows += 1;
        if self.sums.len() <= component {
            self.sums.resize(component + 1, 0.0);
        }
        self.sums[component] += value;
        self.squares += value * value;
        self.cubes += value.powi(3);
    }

    fn merge(&mut self, other: &Self) {
        self.last = None;
        self.rows += other.rows;
        self.pairs += other.pairs;
        self.products += other.products;
        self.sums.resize(self.sums.len().max(other.sums.len()), 0.0);
        self.sums.iter_mut().zip(&other.sums).for_each(|(own, other)| *own += other);
        self.squares += other.squares;
        self.cubes += other.cubes;
    }

    /// By how many standard deviations the products of neighbours exceed those of a random order. The products of a rare label are
    /// counts of rare events: the excess is taken as that of a Poisson count with their variance and skewness.
    fn excess(&self) -> f64 {
        let (n, pairs) = (self.rows as f64, self.pairs as f64);
        if self.rows < 3 || self.pairs == 0 {
            return 0.0;
        }
        let squared = self.sums.iter().map(|sum| sum * sum).sum::<f64>();
        let over = self.products - pairs * (squared - self.squares) / (n * (n - 1.0));
        let powers = |k| self.sums.iter().map(|sum| (sum / n).powi(k)).sum::<f64>();
        let (variance, unit) = if self.sums.len() > 1 {
            // The covariance of one of several classes, `Σ = diag(p) − ppᵀ`, has `tr Σ² = Σp² − 2Σp³ + (Σp²)²`.
            (powers(2) - 2.0 * powers(3) + powers(2).powi(2), 2.0)
        } else {
            let (mean, square, cube) = (powers(1), self.squares / n, self.cubes / n);
            let variance = square - mean * mean;
            let third = cube - 3.0 * mean * square + 2.0 * mean.powi(3);
            (variance * variance, (third / variance).powi(2))
        };
        let variance = pairs * variance;
        // Years of one century vary by a part in a hundred thousand of their square.
        if variance.is_nan() || variance <= 1e-14 * pairs * (self.squares / n).powi(2) {
            return 0.0;
        }
        let (expected, counted) = (variance / (unit * unit), over / unit);
        if counted.abs() < 1e-3 * expected || !(counted > 0.0 && expected.is_finite()) {
            return over / variance.sqrt();
        }
        (2.0 * ((expected + counted) * (counted / expected).ln_1p() - counted)).max(0.0).sqrt()
    }

    /// Whether these are sums of labels; only those of `signed` numbers may be negative.
    fn is_sound(&self, signed: bool) -> bool {
        let sums = self.sums.iter().chain([&self.products, &self.squares, &self.cubes]);
        sums.copied().all(|sum| sum.is_finite() && (signed || sum >= 0.0))
            && self.squares >= 0.0
            && self.pairs <= self.rows
    }
}

/// A row of the sample.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Taken {
    /// The sample of a stratum are the rows of the least keys.
    key: u64,
    kept: Kept,
    /// The log score of the row when it came, in nats.
    then: f64,
}

impl Taken {
    fn numbers(&self) -> usize {
        match &self.kept.row {
            OwnedRow::Dense(values) => values.len(),
            OwnedRow::Sparse { values, .. } => 2 * values.len(),
        }
    }
}

/// The rows of some labels, and a sample of them by rising key.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stratum {
    rows: u64,
    /// The most rows of the sample; it falls as those of other labels take their part.
    most: usize,
    #[serde(serialize_with = "shared", deserialize_with = "sharing")]
    taken: Vec<Arc<Taken>>,
}

fn shared<S: Serializer>(taken: &[Arc<Taken>], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(taken.iter().map(Arc::as_ref))
}

fn sharing<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<Taken>>, D::Error> {
    Ok(Vec::<Taken>::deserialize(deserializer)?.into_iter().map(Arc::new).collect())
}

impl Stratum {
    fn wants(&self, key: u64) -> bool {
        self.taken.len() < self.most || self.taken.last().is_some_and(|last| key < last.key)
    }

    fn take(&mut self, taken: Arc<Taken>) {
        let at = self.taken.partition_point(|other| other.key < taken.key);
        self.taken.insert(at, taken);
        self.taken.truncate(self.most);
    }
}

/// What is known of the order of all rows so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OrderSeen {
    runs: Runs,
    strata: Vec<Stratum>,
}

/// The number that decides whether a row is in the sample: the same for the same row of a stream, and as good as random (splitmix64;
/// Steele, Lea and Flood 2014).
pub(in crate::online) fn key(row: u64) -> u64 {
    let mut z = row.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl OrderSeen {
    /// Nothing seen yet, of a model for which the order matters; `None` for one that is exact, forgets, or is without rows.
    pub(super) fn new<F: Family>(settings: &OnlineSettings, family: &F) -> Option<Self> {
        if family.rescales_exactly() || settings.memory != Memory::Everything {
            return None;
        }
        let strata = family.run_strata().clamp(1, STRATA);
        let most = if settings.keep_sample { MOST } else { 0 };
        Some(Self { runs: Runs::default(), strata: vec![Stratum { most, ..Stratum::default() }; strata] })
    }

    /// Whether the row with this number is to be in the sample.
    pub(super) fn wants(&self, label: RunLabel, row: u64) -> bool {
        self.strata.get(label.stratum).is_some_and(|stratum| stratum.wants(key(row)))
    }

    /// Counts a row, and takes it into the sample with its score when it came, if it is to be there.
    pub(super) fn see(&mut self, label: RunLabel, row: u64, sampled: Option<(Kept, f64)>) {
        self.runs.see(label);
        let Some(stratum) = self.strata.get_mut(label.stratum) else { return };
        stratum.rows += 1;
        if let Some((kept, then)) = sampled.filter(|(_, then)| then.is_finite()) {
            stratum.take(Arc::new(Taken { key: key(row), kept, then }));
            self.fit_in();
        }
    }

    /// Drops rows of the largest strata until the sample is within its bounds.
    fn fit_in(&mut self) {
        let held = |of: fn(&Taken) -> usize, strata: &[Stratum]| -> usize {
            strata.iter().flat_map(|stratum| &stratum.taken).map(|taken| of(taken)).sum()
        };
        let (mut rows, mut numbers) = (held(|_| 1, &self.strata), held(Taken::numbers, &self.strata));
        while rows > MOST || numbers > NUMBERS {
            let Some(largest) = self.strata.iter_mut().max_by_key(|stratum| stratum.taken.len()) else { return };
            rows -= 1;
            numbers -= largest.taken.pop().map_or(0, |taken| taken.numbers());
            largest.most = largest.taken.len();
        }
    }

    /// Adds what was seen of other rows.
    pub(super) fn merge(&mut self, other: &Self) {
        self.runs.merge(&other.runs);
        for (own, other) in self.strata.iter_mut().zip(&other.strata) {
            own.rows += other.rows;
            own.most = own.most.min(other.most);
            other.taken.iter().for_each(|taken| own.take(Arc::clone(taken)));
            own.taken.truncate(own.most);
        }
        self.fit_in();
    }

    /// The rows of the sample in a random order, each weighted so that every label counts as often as among all rows; the weights sum
    /// to the number of rows in the sample.
    fn weighted(&self) -> Vec<(&Kept, f64)> {
        let held = self.strata.iter().map(|stratum| stratum.taken.len()).sum::<usize>() as f64;
        let all =
            self.strata.iter().filter(|stratum| !stratum.taken.is_empty()).map(|stratum| stratum.rows).sum::<u64>();
        let weight = |of: &Stratum| (of.rows as f64 / all as f64) / (of.taken.len() as f64 / held);
        // The keys of a stratum are evenly spread below the largest that it holds.
        let place = |of: &Stratum, key: u64| key as f64 * (of.rows as f64 / of.taken.len() as f64);
        let rows = self
            .strata
            .iter()
            .flat_map(|of| of.taken.iter().map(move |taken| (place(of, taken.key), &taken.kept, weight(of))));
        let mut rows: Vec<_> = rows.collect();
        rows.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
        rows.into_iter().map(|(_, kept, weight)| (kept, weight)).collect()
    }

    /// Checks a stored form for a model of so many inputs.
    ///
    /// # Errors
    /// What is not as it was written.
    pub(super) fn check<F: Family>(
        &self,
        settings: &OnlineSettings,
        family: &F,
        inputs: usize,
    ) -> Result<(), ModelError> {
        let Some(like) = Self::new(settings, family) else {
            return Err(ModelError::Document { what: "sample of rows, which such a model has not" });
        };
        let fits = |own: &Stratum, like: &Stratum| {
            let sorted =
                own.taken.is_sorted_by(|a, b| a.key <= b.key) && own.taken.iter().all(|taken| taken.then.is_finite());
            sorted && own.most <= like.most && own.taken.len() <= own.most && own.taken.len() as u64 <= own.rows
        };
        let strata =
            self.strata.len() == like.strata.len() && self.strata.iter().zip(&like.strata).all(|(a, b)| fits(a, b));
        if !strata
            || !self.runs.is_sound(family.standardises_labels())
            || self.runs.sums.len() > family.run_components()
        {
            return Err(ModelError::Document { what: "sample of rows" });
        }
        for Taken { kept, .. } in self.strata.iter().flat_map(|stratum| &stratum.taken).map(Arc::as_ref) {
            check_row(kept.row.as_row(), inputs)?;
            family.check_observation(&kept.observed)?;
        }
        Ok(())
    }
}

impl<F: Family> Engine<F> {
    fn run_label(&self, observed: &Observation) -> RunLabel {
        self.family.run_label(observed, &self.design.target)
    }

    /// Whether the row with this number is wanted for the sample.
    pub(super) fn is_wanted(&self, observed: &Observation, row: u64) -> bool {
        self.order.as_ref().is_some_and(|order| order.wants(self.run_label(observed), row))
    }

    /// Counts a row that was just learned, with its score before that where it is wanted for the sample.
    pub(super) fn see(&mut self, row: Row<'_>, observed: Observation, then: Option<f64>) {
        let label = self.run_label(&observed);
        let Some(order) = &mut self.order else { return };
        // Among rows that were learned together an earlier one may have taken the place.
        let then = then.filter(|_| order.wants(label, self.observations));
        order.see(label, self.observations, then.map(|then| (Kept { row: row.into(), observed }, then)));
    }

    /// What is known of the order once the first rows, which are kept, are complete. These were learned together, or anew with other
    /// scales, so that their scores when they came are told by their sum alone: each is taken to have had the present score less an
    /// equal share of the difference.
    pub(super) fn order_of_rows(&self) -> Option<OrderSeen> {
        let mut order = self.order.clone()?;
        if self.fixed {
            return Some(order);
        }
        let (now, evidence, rows) = (self.scores_of(self.rows.iter()), self.evidence(), self.rows.len() as f64);
        let gained = (now.iter().flatten().sum::<f64>() - evidence) / rows;
        let all = now.iter().all(Option::is_some);
        for ((n, kept), now) in (0..).zip(&self.rows).zip(now) {
            let label = self.run_label(&kept.observed);
            let then = match now {
                Some(now) if all => now - gained,
                _ => evidence / rows,
            };
            let sampled = order.wants(label, n).then(|| (kept.clone(), then));
            order.see(label, n, sampled);
        }
        Some(order)
    }

    /// See `of_sample` of the models.
    pub(in crate::online) fn of_sample(&self) -> Result<Self, ModelError> {
        let order = self.order_of_rows().filter(|order| order.strata.iter().any(|stratum| !stratum.taken.is_empty()));
        let order = order.ok_or(ModelError::Unsupported { what: "sample of rows in this model" })?;
        let mut model = Self::new(self.design.inputs, self.family.clone(), self.settings.clone())?;
        for (kept, weight) in order.weighted() {
            model.update(kept.row.as_row(), kept.observed.weight(weight * kept.observed.weight))?;
        }
        Ok(model)
    }

    /// The log score of each row under the present model, in nats; `None` for one that overflows.
    fn scores_of<'a>(&'a self, rows: impl Iterator<Item = &'a Kept>) -> Vec<Option<f64>> {
        let (mut space, mut step) = (RowSpace::default(), RowStep::default());
        let weights = self.weights();
        let mut score = |kept: &Kept| -> Result<f64, Error> {
            let row = self.design.write(kept.row.as_row(), &mut space)?;
            let observed = self.design.target.apply(&kept.observed)?;
            let mut parts = Vec::with_capacity(weights.len());
            for (weight, member) in weights.iter().zip(&self.members) {
                let mut state = member.state.clone();
                let own = self.family.score_row(&member.belief, &mut state, (row, &observed), &mut step)?;
                parts.push(weight.ln() + own);
            }
            Ok(log_sum_exp(parts.into_iter()) - self.design.target.log_jacobian(&kept.observed))
        };
        rows.map(|kept| score(kept).ok().filter(|score| score.is_finite())).collect()
    }

    /// What the labels and the sample say of the order, labels alone while the least number of first rows is gathered; `None` before the first,
    /// and for models that are exact or forget. Cost: a prediction for each row of the sample, and of more first rows for each of them.
    pub(in crate::online) fn order(&self) -> Option<Order> {
        let known = self.order.as_ref().filter(|_| !self.mixed)?;
        let refined = self.refined > 0 && self.refined == self.observations;
        if !self.fixed && self.rows.len() <= self.start_rows() {
            let mut runs = known.runs.clone();
            self.rows.iter().for_each(|kept| runs.see(self.run_label(&kept.observed)));
            let order = Order { runs: runs.excess(), gained: 0.0, error: 0.0, sampled: 0, refined };
            return Some(order).filter(|_| runs.rows > 0);
        }
        let seen = self.order_of_rows().filter(|seen| seen.runs.rows > 0)?;
        let (mut gained, mut variance, mut sampled) = (0.0, 0.0, 0);
        for stratum in seen.strata.iter().filter(|stratum| !stratum.taken.is_empty()) {
            let (n, m) = (stratum.rows as f64, stratum.taken.len() as f64);
            let now = self.scores_of(stratum.taken.iter().map(|taken| &taken.kept));
            let changes = stratum.taken.iter().zip(now).map(|(taken, now)| now.map_or(-LOST, |now| now - taken.then));
            let changes: Vec<f64> = changes.collect();
            let mean = changes.iter().sum::<f64>() / m;
            let spread = changes.iter().map(|change| (change - mean).powi(2)).sum::<f64>() / (m - 1.0).max(1.0);
            let share = n / seen.runs.rows as f64;
            gained += share * mean;
            variance += share * share * spread / m * (1.0 - m / n).max(0.0);
            sampled += stratum.taken.len();
        }
        Some(Order { runs: seen.runs.excess(), gained, error: variance.sqrt(), sampled, refined })
    }
}

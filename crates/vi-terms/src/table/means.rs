//! The mean label of a level among the rows before: a number for columns of texts with too many levels for an input each.
//!
//! With `t = asinh((y − c)/s)` for numbers and counts, `c` and `s` the median and the spread of the first labels, and `t` 1 or 0 for each class but
//! the first, a row of level `g` has the input
//!
//! ```text
//! x = (S_g − n_g·m) / (n_g + κ),   κ = (v − τ²)/τ²
//! ```
//!
//! `n_g` and `S_g` are the number and the sum of the labels of `g` so far, `m` and `v` the mean and the variance of all labels, and `τ²` the mean of
//! `(t − m)(S_g/n_g − m)` over the rows so far, which is the covariance of two labels of one level: `x` is the best linear unbiased prediction of the
//! effect of the level. No row's label is in its own input, so that a model that learns the rows in their order learns how much the number is worth
//! (ordered target statistics: Prokhorenkova et al. 2018, arXiv 1706.09516). A row costs one look-up; a level takes three numbers, or two for each class.
//!
//! Numbers of levels that are known by few rows, or by none, lie farther from their predictions: the spread of a prediction is multiplied by the root of
//! the mean squared normal score of labels of levels known so well (by 0, 1, 2–3, …, 32 rows or more), relative to that of all.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};
use vi_core::special::normal_quantile;
use vi_data::fnv;
use vi_models::ModelError;
use vi_models::online::{Observation, Prediction};

use crate::TermsError;
use crate::table::choose::shuffled;
use crate::table::schema::{Column, Kind, Schema, Told, is_called_identifier, is_missing, kind_of, names_rows};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};
use crate::table::text::whole;

/// Levels of a column that are kept; rows of further ones have the mean of all.
const MOST_LEVELS: usize = 1 << 20;
/// Classes beyond which a column would become too many numbers.
const MOST_CLASSES: usize = 12;
/// The share of rows of rare levels above which the other levels have no inputs of their own either.
const MOST_RARE: f64 = 0.1;
/// Levels from which on a column is one of many where new ones still come, and the part of the first rows that is late: a tenth.
const FEWEST_LEVELS: usize = 12;
const LATE: usize = 10;
/// Rows of levels that came before, by which `τ²` is known.
const FEWEST_PAIRS: f64 = 20.0;
/// The share of `v` that `τ²` has before, and the bounds of that share.
const SHARE: f64 = 0.1;
const SHARES: (f64, f64) = (0.003, 0.8);
/// The part of a sum of labels that may be rounding.
const ROUNDING: f64 = 1e-9;
/// Numbers of rows of a level from which on it is known better, each twice the one before; those before and after are alike.
const KNOWN: usize = 7;
/// The weight of the newest row in the mean squared place of labels, the largest such square, and the rows that 1 stands for.
const NEWEST: f64 = 1e-3;
const FARTHEST: f64 = 25.0;
const BEFORE: f64 = 30.0;
/// The least probability of a label beyond which it counts as that rare.
const RAREST: f64 = 1e-9;
/// Standard deviations by which a label is more like the last one of its level than like the others where these come in an order, and by which it is
/// more like the last one of all.
const IN_ORDER: f64 = 6.0;
const IN_RUNS: f64 = 4.0;
/// The deviation of the middle half of a Gaussian of unit variance, both sides.
const QUARTILES: f64 = 1.349;

/// The mean labels of the levels of several columns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Means {
    /// Centre and spread of the labels; none of classes.
    unit: Option<(f64, f64)>,
    /// The names of the classes but the first; one that has no name of numbers.
    of: Vec<String>,
    /// For each of these the number, the mean and the sum of squared deviations of all labels.
    all: Vec<(f64, f64, f64)>,
    /// For rows of levels that are known so well the number, and the mean square of the normal score of their labels in the predictions of
    /// the model.
    places: [(f64, f64); KNOWN],
    columns: Vec<Levels>,
    /// For each of these the last label `t′`, the sum of `(t − m)(t′ − m)`, and the sum of the squares: of mean 0 in a random order.
    #[serde(default)]
    order: Vec<(f64, f64, f64)>,
}

/// The labels of the levels of a column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Levels {
    column: String,
    /// By the hash of a level: the number of its labels, their sums, and the last ones.
    of: BTreeMap<u64, Vec<f64>>,
    /// For each class the sum of `(t − m)(t′ − S_g/n_g)`, `t′` the last label of the level, and the sum of the squares: of mean 0 in a random order.
    order: Vec<(f64, f64)>,
    /// The number of rows of levels that came before, and for each class the sum of `(t − m)(S_g/n_g − m)`.
    pairs: (f64, Vec<f64>),
}

impl Means {
    /// Those of the columns with rare levels, with new levels at the end, and of identifiers that come again, with nothing learned, and the records
    /// with their numbers, [shuffled]; none for targets of many classes. The numbers become columns of the schema, in place of the levels where many rows are
    /// of rare ones.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn in_place_of_levels(
        schema: &mut Schema,
        target: &Target,
        records: &[Record],
        columns: &Columns,
    ) -> Result<(Self, Vec<Record>), TermsError> {
        let place = target.places(columns)?;
        let labels = || {
            records
                .iter()
                .filter_map(|record| target.label(record, place, NOWHERE).ok().flatten())
                .map(|own| own.label())
        };
        let (unit, of) = match &target.kind {
            // The mean of times of which some are censored is none.
            TargetKind::Survival(_) => return Ok(Default::default()),
            TargetKind::Number | TargetKind::Count | TargetKind::Ordered(_) => {
                (Some(unit(labels().collect())), vec![String::new()])
            }
            TargetKind::Classes(classes) if classes.len() == 2 => (None, vec![String::new()]),
            TargetKind::Classes(classes) => (None, classes.iter().skip(1).cloned().collect()),
        };
        if of.len() >= MOST_CLASSES {
            return Ok(Default::default());
        }
        let levels = |name: &String| Levels {
            column: name.clone(),
            of: BTreeMap::new(),
            order: vec![(0.0, 0.0); of.len()],
            pairs: (0.0, vec![0.0; of.len()]),
        };
        let known = Known::new(schema);
        let inputs = columns.names().iter().enumerate().filter(|(_, name)| **name != target.column);
        let many = inputs.filter(|(place, name)| known.has_many_levels(name, records, *place));
        let many = many.map(|(_, name)| levels(name)).collect();
        let (all, places) = (vec![(0.0, 0.0, 0.0); of.len()], [(0.0, 1.0); KNOWN]);
        let order = vec![(0.0, 0.0, 0.0); of.len()];
        let mut means = Self { unit, all, of, places, columns: many, order };
        let mut with_means = means.with(records, columns, target)?;
        let (mut next, candidates) = (columns.names().len(), means.columns.len());
        for (column, names) in means.names().map(|(own, names)| (own.to_owned(), names)).collect::<Vec<_>>() {
            let places = next..next + names.len();
            next = places.end;
            let number = |(name, place): (String, usize)| {
                let fields: Vec<&str> = with_means.iter().map(|record| record.field(place)).collect();
                let kind = kind_of(&name, &fields, Some(Told::Number), usize::MAX).ok()?;
                let is_new = !columns.names().contains(&name);
                is_new.then_some(Column { name, function: None, kind })
            };
            // No level has come twice.
            let Some(numbers) = names.iter().cloned().zip(places).map(number).collect::<Option<Vec<_>>>() else {
                means.columns.retain(|own| own.column != column);
                continue;
            };
            schema.columns.extend(numbers);
            if let Some((_, why)) = schema.ignored.iter_mut().find(|(own, _)| *own == column) {
                *why = format!("many levels: the model has {}", names.join(", "));
            }
            let place = columns.position(&column)?;
            let Some(at) = schema.columns.iter().position(|own| own.name == column && own.is_levels()) else {
                continue;
            };
            if let Kind::Levels { base, levels, rare } = &schema.columns[at].kind {
                let is_rare = |record: &&Record| {
                    let level = record.field(place);
                    level != base && levels.binary_search_by(|own| own.as_str().cmp(level)).is_err()
                };
                let rows = records.iter().filter(is_rare).count();
                if rows as f64 > MOST_RARE * records.len() as f64 {
                    let why = format!("{} levels: the model has {}", 1 + levels.len() + rare, names.join(", "));
                    schema.columns.remove(at);
                    schema.ignored.push((column, why));
                }
            }
        }
        if means.columns.len() < candidates {
            with_means = means.with(records, columns, target)?;
        }
        Ok((means, with_means))
    }

    /// The [shuffled] records with the numbers that each has when it is learned, from a state with nothing learned.
    ///
    /// # Errors
    /// A column that is not there.
    fn with(&self, records: &[Record], columns: &Columns, target: &Target) -> Result<Vec<Record>, TermsError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let (mut means, places, label) = (self.emptied(), self.places(columns)?, target.places(columns)?);
        let with = |record: &Record| {
            let mut own = record.clone();
            means.append(&mut own, &places);
            if let Ok(Some(label)) = target.label(record, label, NOWHERE) {
                means.learn(record, &places, label.label(), None);
            }
            own
        };
        Ok(shuffled(records).map(with).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// The same columns with nothing learned.
    pub(crate) fn emptied(&self) -> Self {
        let mut emptied = self.clone();
        emptied.all.fill((0.0, 0.0, 0.0));
        emptied.places.fill((0.0, 1.0));
        emptied.order.fill((0.0, 0.0, 0.0));
        for own in &mut emptied.columns {
            own.of.clear();
            own.order.fill((0.0, 0.0));
            own.pairs.0 = 0.0;
            own.pairs.1.fill(0.0);
        }
        emptied
    }

    /// The same without those of some columns.
    pub(crate) fn without(mut self, columns: &[String]) -> Self {
        self.columns.retain(|own| !columns.contains(&own.column));
        if self.columns.is_empty() { Self::default() } else { self }
    }

    /// The columns that the numbers are of, each with the names of its numbers.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, Vec<String>)> {
        self.columns.iter().map(|own| {
            let name = |of: &String| match of.as_str() {
                "" => format!("mean({})", own.column),
                class => format!("mean({}; {class})", own.column),
            };
            (own.column.as_str(), self.of.iter().map(name).collect())
        })
    }

    /// `columns` with those of the numbers after them.
    pub(crate) fn beside(&self, columns: &Columns) -> Columns {
        let own = self.names().flat_map(|(_, names)| names);
        Columns::new(columns.names().iter().cloned().chain(own), columns.entries())
    }

    /// The places of the columns that the numbers are of.
    ///
    /// # Errors
    /// A column that is not there.
    pub(crate) fn places(&self, columns: &Columns) -> Result<Vec<usize>, TermsError> {
        columns.places(self.columns.iter().map(|own| &own.column))
    }

    /// Appends the numbers to a record.
    pub(crate) fn append(&self, record: &mut Record, places: &[usize]) {
        for (own, place) in self.columns.iter().zip(places) {
            let known = own.of.get(&key(record.field(*place)));
            for (k, (rows, mean, squares)) in self.all.iter().enumerate() {
                let (n, sum) = known.map_or((0.0, 0.0), |level| (level[0], level[1 + k]));
                let share = if own.pairs.0 < FEWEST_PAIRS || squares <= &0.0 {
                    SHARE
                } else {
                    (own.pairs.1[k] / own.pairs.0 / (squares / rows)).clamp(SHARES.0, SHARES.1)
                };
                let apart = sum - n * mean;
                // Where all rows are of one level the two sums differ by their rounding.
                let apart = if apart.abs() > ROUNDING * n * (1.0 + mean.abs()) { apart } else { 0.0 };
                let effect = apart / (n + (1.0 - share) / share);
                record.push(&effect.to_string());
            }
        }
    }

    /// The place in `places` of a row: how well the least known of its levels is known.
    fn known(&self, record: &Record, places: &[usize]) -> usize {
        let rows =
            |(own, place): (&Levels, &usize)| own.of.get(&key(record.field(*place))).map_or(0.0, |level| level[0]);
        let least = self.columns.iter().zip(places).map(rows).fold(f64::INFINITY, f64::min);
        (0..KNOWN - 1).take_while(|k| least >= f64::from(1_u32 << k)).count()
    }

    /// The prediction of a number with the spread that labels have of levels that are known so well.
    pub(crate) fn spread(
        &self,
        record: &Record,
        places: &[usize],
        predicted: Prediction,
    ) -> Result<Prediction, ModelError> {
        let Prediction::Number(number) = predicted else { return Ok(predicted) };
        let shrunken = |(rows, square): (f64, f64)| (rows * square + BEFORE) / (rows + BEFORE);
        let all = self.places.iter().fold((0.0, 0.0), |all, own| (all.0 + own.0, all.1 + own.0 * own.1));
        let all = shrunken((all.0, all.1 / f64::max(all.0, 1.0)));
        let own = shrunken(self.places[self.known(record, places)]);
        number.stretched((own / all).sqrt()).map(Prediction::Number)
    }

    /// By how many standard deviations labels are more like the last one of their level, or of all, than in a random order, where these are many.
    pub(crate) fn in_order(&self) -> Option<f64> {
        let score = |sum: f64, squares: f64| if squares > 0.0 { sum / squares.sqrt() } else { 0.0 };
        let of_levels = self.columns.iter().flat_map(|own| &own.order).map(|(sum, squares)| score(*sum, *squares));
        let of_all = self.order.iter().map(|(_, sum, squares)| score(*sum, *squares));
        let of_levels = of_levels.filter(|score| *score > IN_ORDER);
        of_levels.chain(of_all.filter(|score| *score > IN_RUNS)).reduce(f64::max)
    }

    /// The squared normal score of a label in the model's own prediction of a number; none of ranges and others, and where no means are to learn it.
    pub(crate) fn score(&self, own: Option<&Prediction>, label: Observation) -> Option<f64> {
        let is_needed = !self.is_empty() && !label.is_range();
        let Some(Prediction::Number(number)) = own.filter(|_| is_needed) else { return None };
        let at = number.label.cdf(label.label()).clamp(RAREST, 1.0 - RAREST);
        Some(normal_quantile(at).powi(2).min(FARTHEST))
    }

    /// Learns the label of a row, and its [`score`](Self::score) in the prediction before, if there was one.
    pub(crate) fn learn(&mut self, record: &Record, places: &[usize], label: f64, score: Option<f64>) {
        let weight = record.weight;
        if self.is_empty() || weight <= 0.0 {
            return;
        }
        if let Some(square) = score {
            let (rows, mean) = &mut self.places[self.known(record, places)];
            *rows = (*rows + 1.0).min(NEWEST.recip());
            *mean += (square - *mean) / *rows;
        }
        let t = |k: usize| match self.unit {
            Some((centre, spread)) => ((label - centre) / spread).asinh(),
            // Of two classes the second is 1.
            None => f64::from(u8::from(label == (k + 1) as f64)),
        };
        let labels: Vec<f64> = (0..self.of.len()).map(t).collect();
        for (own, place) in self.columns.iter_mut().zip(places) {
            let key = key(record.field(*place));
            let full = own.of.len() >= MOST_LEVELS;
            let Some(level) = (match own.of.get_mut(&key) {
                None if full => None,
                _ => Some(own.of.entry(key).or_insert_with(|| vec![0.0; 1 + 2 * labels.len()])),
            }) else {
                continue;
            };
            let (sums, last) = (1, 1 + labels.len());
            if level[0] > 0.0 {
                own.pairs.0 += 1.0;
                for (k, (t, (_, mean, _))) in labels.iter().zip(&self.all).enumerate() {
                    let of_level = level[sums + k] / level[0];
                    own.pairs.1[k] += (t - mean) * (of_level - mean);
                    let more = (t - mean) * (level[last + k] - of_level);
                    own.order[k].0 += more;
                    own.order[k].1 += more * more;
                }
            }
            level[0] += weight;
            level[sums..last].iter_mut().zip(&labels).for_each(|(sum, t)| *sum += weight * t);
            level[last..].copy_from_slice(&labels);
        }
        for (((rows, mean, _), (last, sum, squares)), t) in self.all.iter().zip(&mut self.order).zip(&labels) {
            if *rows > 0.0 {
                let more = (t - mean) * (*last - mean);
                *sum += more;
                *squares += more * more;
            }
            *last = *t;
        }
        for ((rows, mean, squares), t) in self.all.iter_mut().zip(&labels) {
            *rows += weight;
            let from_mean = t - *mean;
            *mean += from_mean * weight / *rows;
            *squares += weight * from_mean * (t - *mean);
        }
    }

    /// Whether a model with this target and these columns could have them.
    pub(crate) fn is_of(&self, target: &Target, schema: &Schema) -> bool {
        let outputs = target.kind.predictors();
        let is_named = |name: &String| {
            schema.columns.iter().any(|own| own.name == *name) || schema.ignored.iter().any(|(own, _)| own == name)
        };
        let whole = |own: &Levels| {
            let level =
                |own: &Vec<f64>| own.len() == 1 + 2 * outputs && own[0] > 0.0 && own.iter().all(|sum| sum.is_finite());
            own.pairs.1.len() == outputs
                && own.order.len() == outputs
                && own.pairs.1.iter().chain([&own.pairs.0]).all(|sum| sum.is_finite())
                && own.of.values().all(level)
        };
        self.is_empty()
            || self.of.len() == outputs
                && (self.order.is_empty() || self.order.len() == outputs)
                && self.order.iter().all(|(last, sum, squares)| (last + sum).is_finite() && *squares >= 0.0)
                && self.all.len() == outputs
                && self.all.iter().all(|(rows, mean, squares)| *rows >= 0.0 && mean.is_finite() && *squares >= 0.0)
                && self.places.iter().all(|(rows, square)| *rows >= 0.0 && *square >= 0.0 && square.is_finite())
                && self.unit.is_none() == matches!(target.kind, TargetKind::Classes(_))
                && self.unit.is_none_or(|(centre, spread)| centre.is_finite() && spread > 0.0)
                && self.columns.iter().all(whole)
                && self.names().all(|(_, names)| names.iter().all(is_named))
    }
}

/// What a schema makes of the columns, by their names, which may be many.
struct Known<'a> {
    /// The number of levels, and of the rare ones that share an input.
    levels: HashMap<&'a str, (usize, usize)>,
    /// Columns that name rows, and so have no inputs.
    left_out: HashSet<&'a str>,
    inputs: HashSet<&'a str>,
}

impl<'a> Known<'a> {
    fn new(schema: &'a Schema) -> Self {
        let levels = |own: &'a Column| match &own.kind {
            Kind::Levels { levels, rare, .. } if own.is_levels() => Some((own.name.as_str(), (levels.len(), *rare))),
            _ => None,
        };
        Self {
            levels: schema.columns.iter().filter_map(levels).collect(),
            left_out: schema.ignored.iter().filter(|(_, why)| names_rows(why)).map(|(own, _)| own.as_str()).collect(),
            inputs: schema.columns.iter().map(|own| own.name.as_str()).collect(),
        }
    }

    /// Whether the column `name`, at `place`, has rare levels or new ones at the end of the records, or is an identifier whose levels come again.
    fn has_many_levels(&self, name: &str, records: &[Record], place: usize) -> bool {
        if let Some((levels, rare)) = self.levels.get(name) {
            return *rare > 0 || *levels >= FEWEST_LEVELS && are_coming(records, place);
        }
        let called = self.inputs.contains(name) && is_called_identifier(name);
        (self.left_out.contains(name) || called) && come_again(records, place)
    }
}

/// Whether the last tenth of the records has new levels of the column at `place`, as in a table sorted by it.
fn are_coming(records: &[Record], place: usize) -> bool {
    let (early, late) = records.split_at(records.len() - records.len() / LATE);
    let known: HashSet<&str> = early.iter().map(|record| record.field(place)).collect();
    late.iter().any(|record| !known.contains(record.field(place)))
}

/// Whether levels come again, in more records than a few repeated rows explain.
fn come_again(records: &[Record], place: usize) -> bool {
    let mut seen = HashSet::new();
    let texts = records.iter().map(|record| record.field(place)).filter(|text| !is_missing(text));
    texts.filter(|text| !seen.insert(*text)).count() as f64 >= FEWEST_PAIRS
}

/// The key of a level.
fn key(text: &str) -> u64 {
    fnv::extended(fnv::START, whole(text).as_bytes())
}

/// Centre and spread of numbers: their median, and the deviation of a Gaussian with their quartiles.
fn unit(mut labels: Vec<f64>) -> (f64, f64) {
    labels.sort_unstable_by(f64::total_cmp);
    let at = |quarters: usize| labels.get(quarters * labels.len() / 4).copied().unwrap_or(0.0);
    let spread = (at(3) - at(1)) / QUARTILES;
    let widest = labels.last().unwrap_or(&0.0) - labels.first().unwrap_or(&0.0);
    let spread = [spread, widest].into_iter().find(|spread| spread.is_normal()).unwrap_or(1.0);
    (at(2), spread)
}

#[cfg(test)]
mod tests;

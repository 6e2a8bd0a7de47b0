//! The family of the labels: of those that the target allows, the one that the first records prefer.

use std::collections::HashMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use vi_core::Row;
use vi_models::Transform;
use vi_models::online::{Kind, Model, Observation, Start, Trial};

use crate::TermsError;
use crate::table::document::Pass;
use crate::table::learn::Reader;
use crate::table::means::Means;
use crate::table::plan::Plan;
use crate::table::schema::Schema;
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};
use crate::table::text::many;

/// The chosen family and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Chosen {
    /// Rows of the trial.
    pub(crate) rows: u64,
    /// The family.
    pub(crate) family: String,
    /// By how many nats it is better than each of the others; none for those that could not learn a row.
    pub(crate) better_than: Vec<(String, Option<f64>)>,
    /// Families whose means cost more than their score gains, and how many times the errors of their means are those of the plain family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) misses: Vec<(String, f64)>,
}

impl Chosen {
    /// Why the means of a family are against it, if they are.
    fn missed(&self, name: &str) -> Option<String> {
        let (_, ratio) = self.misses.iter().find(|(own, _)| own == name)?;
        Some(format!("{name} predicts means {ratio:.1} times as far off"))
    }

    /// The choice of groups of a column, of labels of one kind, before means of its levels, of labels of the `other` kind, which were so many nats behind.
    pub(crate) fn in_groups(kind: Kind, column: &str, rows: u64, (other, better): (Kind, Option<f64>)) -> Self {
        let family = format!("{}{IN_GROUPS}{column}", name(kind));
        Self { rows, family, better_than: vec![(format!("{} of its means", name(other)), better)], misses: Vec::new() }
    }

    /// Whether groups of a column were chosen, as by [`in_groups`](Self::in_groups).
    pub(crate) fn is_in_groups(&self) -> bool {
        self.family.contains(IN_GROUPS)
    }

    /// Whether outliers are given little weight.
    pub(crate) fn has_heavy_tails(&self) -> bool {
        ["robust", "varying"].contains(&self.family.as_str())
    }

    /// A description for people, in parts.
    pub(crate) fn describe(&self) -> Vec<String> {
        let of = |(name, nats): &(String, Option<f64>)| match nats {
            // Without the sign of a zero.
            Some(nats) => format!("{:.1} nats before {name}", (10.0 * nats).round() / 10.0 + 0.0),
            None => self.missed(name).unwrap_or_else(|| match name.as_str() {
                // Others of these learn any number.
                "robust" | "varying" => format!("{name} is not for labels that are mostly one number"),
                _ => format!("{name} has no such labels"),
            }),
        };
        let first = format!("{} by {}", self.family, many(self.rows, "row"));
        std::iter::once(first).chain(self.better_than.iter().map(of)).collect()
    }
}

/// The fewest rows that tell the tails of a logarithm; with fewer their exponential is beyond all labels.
const FEWEST_OF_LOG: usize = 200;

/// Rows up to which a trial is made in several orders, and these: of few rows one order may be a bad one for a family.
const FEW: usize = 400;
const PASSES: usize = 3;

/// The words between the names of a family and of the column of its groups.
const IN_GROUPS: &str = " in groups of ";

/// The name of a family.
fn name(kind: Kind) -> &'static str {
    let of = |transform: Transform, [identity, log, logit]: [&'static str; 3]| match transform {
        Transform::Identity => identity,
        Transform::Log => log,
        Transform::Logit => logit,
    };
    match kind {
        Kind::Number { transform, .. } => of(transform, ["gaussian", "log-normal", "logit-normal"]),
        Kind::Robust { transform, .. } => of(transform, ["robust", "log-robust", "logit-robust"]),
        Kind::Varying { transform, .. } => of(transform, ["varying", "log-varying", "logit-varying"]),
        Kind::Count => "poisson",
        Kind::LearnedSpread => "negative-binomial",
        Kind::ZeroInflated => "zero-inflated",
        _ => "classes",
    }
}

/// All records, those that stand together far apart, since a file may be sorted.
pub(crate) fn spread_out(records: &[Record]) -> impl Iterator<Item = &Record> {
    let n = records.len();
    let divisor = |mut a: usize, mut b: usize| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    // The golden section leaves the largest gaps between the first few.
    let step = (n * 618 / 1000 + 1..=n).find(|step| divisor(*step, n) == 1).unwrap_or(1);
    (0..n).map(move |k| &records[k * step % n])
}

/// All records in a random order that depends on them and not on how they stand, since a file may be sorted: the same for the same rows in any order.
pub(crate) fn shuffled(records: &[Record]) -> impl Iterator<Item = &Record> {
    let mut times: HashMap<u64, u64> = HashMap::new();
    let turn = |record| {
        let own = Record::fingerprint(record, Pass::START);
        // Rows that are alike do not come together.
        let time = times.entry(own).or_default();
        *time += 1;
        (ChaCha8Rng::seed_from_u64(own.wrapping_add(*time)).next_u64(), record)
    };
    let mut turns: Vec<(u64, &Record)> = records.iter().map(turn).collect();
    turns.sort_by_key(|(turn, _)| *turn);
    turns.into_iter().map(|(_, record)| record)
}

/// A model with nothing learned, of the family that the first records prefer in this order where there are several; where that is one of counts, so
/// is the target.
///
/// # Errors
/// Settings that no model of the plain family takes; a column that is not there.
pub(crate) fn chosen(
    plan: &Plan,
    schema: &Schema,
    target: &mut Target,
    records: &[&Record],
    columns: &Columns,
) -> Result<(Model, Option<Chosen>), TermsError> {
    // One pass tells the families apart at a fraction of the cost of fits, but those of counts: with many weights the first rows may leave a spread that
    // is learned at a wrong size for good, and it takes excess zeros for a small one.
    let quick = Plan { start: Start::OnePass, ..plan.clone() };
    let tried =
        |kind: Kind| (if kind.is_of_counts() { plan } else { &quick }).model_of(kind, &target.kind, schema.names());
    let (plain, others) = plan.kinds(&target.kind, schema.names().len());
    let model = plan.model_of(plain, &target.kind, schema.names())?;
    // A kind that does not take the belief is none of the candidates.
    let place = target.places(columns)?;
    let are_fractions = || {
        let mut labels = records.iter().filter_map(|record| target.label(record, place, NOWHERE).ok().flatten());
        labels.all(|label| Transform::Logit.supports(label.label()))
    };
    let allowed = |kind: &Kind| match kind {
        Kind::Varying { transform: Transform::Log, .. } => records.len() >= FEWEST_OF_LOG,
        other => other.transform() != Transform::Logit || are_fractions(),
    };
    let others: Vec<Model> = others.into_iter().filter(allowed).filter_map(|kind| tried(kind).ok()).collect();
    if others.is_empty() {
        return Ok((model, None));
    }
    // The records have their means already.
    let as_they_are = Means::default();
    let mut groups = plan.groups.clone().map(|(groups, _)| groups);
    let mut reader = Reader::new(schema, &model, columns)?.grouped(groups.as_ref(), columns)?;
    let mut trial = Trial::new(tried(plain)?, others);
    let (mut values, mut observed) = (Vec::new(), Vec::new());
    for record in records {
        if trial.is_over() || observed.len() == Trial::MOST_ROWS {
            break;
        }
        // Learning reports the error of a bad record.
        let Ok(Some(label)) = target.label(record, place, NOWHERE) else { continue };
        let seen = reader.added(&mut groups, record, label);
        match reader.row(&as_they_are, record, NOWHERE) {
            Ok(Row::Dense(row)) if row.len() == schema.width() => {
                values.extend_from_slice(row);
                observed.push(seen);
            }
            Ok(row) => {
                let _unlearned = trial.learn(row, seen);
            }
            Err(_) => {}
        }
    }
    let row = |i: usize| Row::Dense(&values[i * schema.width()..(i + 1) * schema.width()]);
    let rows: Vec<(Row<'_>, Observation)> = observed.into_iter().enumerate().map(|(i, seen)| (row(i), seen)).collect();
    trial.learn_all(&rows, plan.threads);
    if rows.len() <= FEW {
        trial.learn_again(&rows, PASSES - 1, plan.threads)?;
    }
    let kind = trial.chosen();
    let nats = |behind: f64| Some(behind).filter(|nats| nats.is_finite());
    let others = trial.behind().into_iter().filter(|(other, _)| *other != kind);
    let better_than = others.map(|(other, behind)| (name(other).to_owned(), nats(behind))).collect();
    let misses = trial.misses().map(|(kind, ratio)| (name(kind).to_owned(), ratio)).collect();
    let chosen = Chosen { rows: trial.rows(), family: name(kind).to_owned(), better_than, misses };
    if kind.is_of_counts() {
        target.kind = TargetKind::Count;
    }
    Ok((plan.model_of(kind, &target.kind, schema.names())?, (trial.rows() > 0).then_some(chosen)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tie_has_no_sign() {
        let better_than = [("robust", -0.04), ("varying", -0.06), ("poisson", 12.34)];
        let better_than = better_than.map(|(name, nats)| (name.to_owned(), Some(nats))).to_vec();
        let chosen = Chosen { rows: 9, family: "gaussian".to_owned(), better_than, misses: Vec::new() };
        let told = ["0.0 nats before robust", "-0.1 nats before varying", "12.3 nats before poisson"];
        assert_eq!(chosen.describe()[1..], told);
    }
}

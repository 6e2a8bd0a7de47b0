//! The correlations of the effects of a group, by the first rows.
//!
//! A grouped model of the labels learns the whole covariance `Σ` of the effects of a level, at the means of their inputs. `Σ = L·D·Lᵀ` with `L` upper
//! triangular of unit diagonal makes the effects `u = L·v` of independent `v`: `L` mixes the inputs, and stays as it is; the variances `D` are learned
//! anew with all else.

use vi_core::Row;
use vi_linalg::faer::{Mat, Par};
use vi_models::online::family::{Counts, Logit};
use vi_models::online::{Component, Effects, GroupedGlm, GroupedLinear, GroupedSettings, Kind, Observation};
use vi_models::{ModelError, Transform};

use crate::formula::Group;
use crate::table::choose::spread_out;
use crate::table::schema::{Encoded, Schema};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};
use crate::told::Mix;
use crate::{Terms, TermsError};

/// Rows that are looked at, and of these classes and counts as many as are fitted together, without regard to their order.
const MOST_ROWS: usize = 100_000;
const MOST_FITTED: usize = 5000;
/// Inputs beside the effects of a group up to which the effects of other groups are among them: what a row may cost.
const MOST_BESIDE: usize = 300;
/// Times the typical error beyond which a label is an outlier, for families that expect some.
const FAR: f64 = 4.0;
/// The number of times that outliers are brought nearer.
const ROUNDS: usize = 4;
/// The typical error `median |r|` of Gaussian noise of unit variance.
const MEDIAN: f64 = 0.6745;
/// Variance beyond what is known of an effect by others below which nothing is left to be known, as a share of its own.
const NOTHING_LEFT: f64 = 1e-9;
/// The least and the largest standard deviation of weights as a multiple of another: what the rows learn is not far away.
const SIZES: (f64, f64) = (0.01, 100.0);

/// The form in which a family sees the labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Seen {
    /// By this transform.
    transform: Transform,
    /// With outliers, which are brought nearer.
    outliers: bool,
}

impl Seen {
    /// As a kind of models sees them.
    pub(crate) fn by(kind: Kind) -> Self {
        Self { transform: kind.transform(), outliers: !matches!(kind, Kind::Number { .. }) }
    }
}

/// The rows that a grouped model learns.
#[derive(Default)]
struct Rows {
    /// The scaled inputs of the slopes and those beside them, row by row.
    x: Vec<f64>,
    groups: Vec<u64>,
    labels: Vec<f64>,
    weights: Vec<f64>,
}

impl Rows {
    fn inputs(&self) -> usize {
        self.x.len() / self.groups.len().max(1)
    }

    fn observed(&self) -> Vec<Observation> {
        self.labels.iter().zip(&self.weights).map(|(label, weight)| Observation::new(*label).weight(*weight)).collect()
    }
}

/// Correlates the effects of the `groups` that ask for it, in the terms of `schema`.
///
/// # Errors
/// [`TermsError::Unfit`] for more than two classes and for spreads that follow the inputs; [`TermsError::Term`] for rows that the grouped model does not take.
pub(crate) fn correlate(
    schema: &mut Schema,
    groups: &[Group],
    (target, kind): (&Target, Kind),
    records: &[Record],
    columns: &Columns,
) -> Result<(), TermsError> {
    let seen = Seen::by(kind);
    for group in groups.iter().filter(|group| group.correlated) {
        let term = format!("({} | {})", group.slopes.join(" + "), group.column);
        let others = match (&target.kind, kind) {
            (TargetKind::Classes(classes) | TargetKind::Ordered(classes), _) if classes.len() > 2 => {
                Some("numbers, counts and two classes")
            }
            (TargetKind::Survival(_), _) => Some("numbers, counts and two classes"),
            (_, Kind::Varying { .. }) => Some("families whose spread does not follow the inputs"),
            _ => None,
        };
        if let Some(others) = others {
            let (slopes, of, at) = (group.slopes.join(" + "), &group.column, group.at);
            let what = format!("correlated effects are for {others}; write `({slopes} || {of})` (the term at {at})");
            return Err(TermsError::Unfit { what });
        }
        let levels = schema.levels(group);
        let rows = rows(schema, groups, &levels, (target, seen), records, columns)?;
        let slopes = group.slopes.len();
        let (effects, told) = (levels.len().saturating_mul(1 + slopes), rows.labels.len());
        if effects >= told {
            let what = format!(
                "{effects} correlated effects, more than a row each of {told}, tell no correlation; write `({} || {})` (the term at {})",
                group.slopes.join(" + "),
                group.column,
                group.at
            );
            return Err(TermsError::Unfit { what });
        }
        let components = components(rows, slopes, target, seen)
            .map_err(|error| TermsError::Term { term: term.clone(), source: Box::new(error.into()) })?;
        let mixes = mixes(covariance(&components, 1 + slopes));
        if let Some(terms) = &mut schema.shape {
            terms.correlate(&levels, &mixes);
        }
    }
    Ok(())
}

/// The rows of records whose level is known, in an order in which no part is like another.
fn rows(
    schema: &Schema,
    groups: &[Group],
    levels: &[usize],
    (target, seen): (&Target, Seen),
    records: &[Record],
    columns: &Columns,
) -> Result<Rows, TermsError> {
    let Some(terms) = &schema.shape else { return Ok(Rows::default()) };
    let (places, label) = (schema.places(columns)?, target.places(columns)?);
    let slopes: Vec<_> = terms.slopes(levels).collect();
    let beside = beside(schema, groups, terms, levels);
    let most = if target.kind == TargetKind::Number { MOST_ROWS } else { MOST_FITTED };
    let (mut encoded, mut found) = (Encoded::default(), Rows::default());
    for record in spread_out(records).take(most) {
        // Learning reports the error of a bad record.
        let Ok(Some(label)) = target.label(record, label, NOWHERE) else { continue };
        if encoded.write(schema, &places, record, NOWHERE).is_err() {
            continue;
        }
        let Row::Dense(row) = encoded.row(schema, false) else { continue };
        let y = seen.transform.of(label.label());
        let Some(group) = levels.iter().position(|level| row[*level] != 0.0).filter(|_| y.is_finite()) else {
            continue;
        };
        found.x.extend(slopes.iter().map(|of| of.of(row[of.input])).chain(beside.iter().map(|place| row[*place])));
        found.groups.push(group as u64);
        found.labels.push(y);
        found.weights.push(record.weight);
    }
    Ok(found)
}

/// The inputs beside slopes and levels: those of no group, and of other groups where they are few.
fn beside(schema: &Schema, groups: &[Group], terms: &Terms, levels: &[usize]) -> Vec<usize> {
    let mut own = vec![false; terms.width()];
    let mut of_groups = own.clone();
    for group in groups {
        let of = schema.levels(group);
        for place in terms.of_levels(&of) {
            of_groups[place] = true;
            own[place] |= of == levels;
        }
    }
    for of in terms.slopes(levels) {
        (own[of.input], of_groups[of.input]) = (true, true);
    }
    let others = |skipped: &[bool]| (0..skipped.len()).filter(|place| !skipped[*place]).collect::<Vec<_>>();
    let all = others(&own);
    if all.len() > MOST_BESIDE { others(&of_groups) } else { all }
}

/// The components of variance of effects on level and slopes.
///
/// # Errors
/// Those of the model.
fn components(mut rows: Rows, slopes: usize, target: &Target, seen: Seen) -> Result<Vec<Component>, ModelError> {
    let effects = Effects { slopes: (0..slopes).collect(), ..Effects::default() };
    // Sweeps over the rows make their order of no account.
    let settings = GroupedSettings { effects, keep_rows: true, ..GroupedSettings::default() };
    macro_rules! of_family {
        ($family:expr) => {{
            let mut model = GroupedGlm::with_settings(rows.inputs(), $family, settings)?;
            model.update_batch(&rows.x, &rows.groups, &rows.observed(), Par::Seq)?;
            model.refine()?;
            model.components()
        }};
    }
    match target.kind {
        TargetKind::Classes(_) | TargetKind::Ordered(_) => of_family!(Logit),
        TargetKind::Count | TargetKind::Survival(_) => of_family!(Counts),
        TargetKind::Number => {
            let settings = GroupedSettings { keep_rows: false, ..settings };
            let mut model = numbers(&rows, &settings)?;
            let labels = rows.labels.clone();
            for _ in 0..if seen.outliers { ROUNDS } else { 0 } {
                rows.labels = brought_nearer(&model, &rows, &labels)?;
                model = numbers(&rows, &settings)?;
            }
            model.components()
        }
    }
}

/// A model of numbers, with its components exactly for these rows.
///
/// # Errors
/// Those of the model.
fn numbers(rows: &Rows, settings: &GroupedSettings) -> Result<GroupedLinear, ModelError> {
    let mut model = GroupedLinear::with_settings(rows.inputs(), settings.clone())?;
    model.update_batch(&rows.x, &rows.groups, &rows.observed(), Par::Seq)?;
    model.refine()?;
    Ok(model)
}

/// The `labels` of the rows, those far from their predictions no farther than where they are outliers no longer.
///
/// # Errors
/// Those of the model.
fn brought_nearer(model: &GroupedLinear, rows: &Rows, labels: &[f64]) -> Result<Vec<f64>, ModelError> {
    let inputs = rows.inputs();
    let row = |k: usize| &rows.x[k * inputs..(k + 1) * inputs];
    let means = rows.groups.iter().enumerate().map(|(k, group)| Ok(model.predict(row(k), *group)?.mean()));
    let means = means.collect::<Result<Vec<f64>, ModelError>>()?;
    let mut errors: Vec<f64> = labels.iter().zip(&means).map(|(label, mean)| (label - mean).abs()).collect();
    errors.sort_unstable_by(f64::total_cmp);
    let far = FAR / MEDIAN * errors.get(errors.len() / 2).copied().unwrap_or(0.0);
    Ok(labels.iter().zip(means).map(|(label, mean)| label.clamp(mean - far, mean + far)).collect())
}

/// The covariance of `effects` effects with these components, standard deviations and then correlations row by row.
fn covariance(components: &[Component], effects: usize) -> Mat<f64> {
    let (deviations, correlations) = components.split_at(effects.min(components.len()));
    let of = |i: usize, j: usize| {
        let correlation = if i == j { 1.0 } else { correlations[i * (i - 1) / 2 + j].value };
        correlation * deviations[i].value * deviations[j].value
    };
    Mat::from_fn(effects, effects, |i, j| of(i.max(j), i.min(j)))
}

/// For each slope the mix that makes effects of this covariance those of independent weights: the columns of `L`, and the roots of `D` as multiples of
/// the first.
fn mixes(mut covariance: Mat<f64>) -> Vec<Mix> {
    let own: Vec<f64> = (0..covariance.nrows()).map(|i| covariance[(i, i)]).collect();
    let mut mixes = Vec::new();
    for m in (1..own.len()).rev() {
        let left = covariance[(m, m)].max(0.0);
        let known = left > NOTHING_LEFT * own[m];
        let by: Vec<f64> = (0..m).map(|i| if known { covariance[(i, m)] / left } else { 0.0 }).collect();
        for i in 0..m {
            (0..m).for_each(|j| covariance[(i, j)] -= by[i] * by[j] * left);
        }
        mixes.push(Mix { by, size: left.sqrt() });
    }
    let first = covariance[(0, 0)].max(NOTHING_LEFT * own[0]).sqrt();
    for mix in &mut mixes {
        mix.size = (mix.size / first).clamp(SIZES.0, SIZES.1);
    }
    mixes.reverse();
    mixes
}

#[cfg(test)]
mod tests;

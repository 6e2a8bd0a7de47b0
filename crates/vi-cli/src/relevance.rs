//! A prior scale for each input, by automatic relevance determination of the first records.

use serde::{Deserialize, Serialize};
use vi_models::vb::{VbLinear, VbLinearSettings, VbLogit, VbLogitSettings};

use crate::error::CliError;
use crate::model::Scales;
use crate::schema::{Encoded, Schema};
use crate::source::{Record, Source};
use crate::target::{Target, TargetKind};

/// Numbers that are held in memory at most.
const MOST: usize = 100_000_000;

/// The least prior scale of an input beside the largest, so that later rows can still speak for it.
const LEAST: f64 = 1e-4;

/// What the first records say of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relevance {
    /// Records that told it.
    pub(crate) rows: usize,
    /// For each input the share of its coefficient's precision that these records account for, and not the prior.
    pub(crate) determined: Vec<f64>,
}

impl Relevance {
    /// Whether it is of so many inputs.
    pub(crate) fn is_of(&self, inputs: usize) -> bool {
        self.determined.len() == inputs && self.determined.iter().all(|share| (0.0..=1.0).contains(share))
    }
}

/// Divides the scale of each input by the prior standard deviation of its coefficient: where variational Bayes has found the shrinkage `α_j` of an input
/// of unit spread, the prior `N(0, 1)` of one of spread `1/√α_j` is the same.
///
/// # Errors
/// A target or records that relevance cannot be determined of.
pub(crate) fn determine(
    scales: &mut Scales,
    schema: &Schema,
    target: &Target,
    records: &[Record],
    source: &mut Source,
) -> Result<Relevance, CliError> {
    let refused = |what: String| CliError::Option { option: "ard", value: String::new(), what };
    if !matches!(&target.kind, TargetKind::Number)
        && !matches!(&target.kind, TargetKind::Classes(classes) if classes.len() == 2)
    {
        return Err(refused(format!(
            "relevance is determined for numbers and two classes; the target is {}",
            target.describe()
        )));
    }
    if !schema.intercept {
        return Err(refused("relevance is determined beside an intercept, which the formula takes out".to_owned()));
    }
    let width = schema.width();
    if records.len().saturating_mul(width) > MOST {
        let what =
            format!("{} first rows of {width} inputs are too much for memory; a smaller `--sniff`", records.len());
        return Err(refused(what));
    }
    let (places, label) = (schema.places(source)?, source.position(&target.column)?);
    let (mut encoded, mut x, mut y) = (Encoded::default(), Vec::new(), Vec::new());
    for record in records {
        // What is wrong with a record is told where it is learned.
        let Ok(Some(label)) = target.read(record.field(label), source) else { continue };
        if encoded.write(schema, &places, record, source).is_err() {
            continue;
        }
        let first = x.len();
        x.resize(first + width, 0.0);
        encoded.row(schema, true).for_each(|j, value| x[first + j] = (value - scales.centres[j]) / scales.spreads[j]);
        y.push(label);
    }
    if y.len() <= width {
        let what = format!("{} first rows for {width} inputs; it takes more rows than inputs (`--sniff`)", y.len());
        return Err(refused(what));
    }
    let (shrinkage, mut ranked) = if matches!(target.kind, TargetKind::Number) {
        let settings = VbLinearSettings { ard: true, ..VbLinearSettings::default() };
        let fit = VbLinear::fit(&x, width, &y, &settings)?;
        (fit.scaled_fit().expected_shrinkage(), fit.relevance())
    } else {
        let settings = VbLogitSettings { ard: true, ..VbLogitSettings::default() };
        let fit = VbLogit::fit(&x, width, &y, &settings)?;
        // The first is the intercept's.
        (fit.scaled_fit().expected_shrinkage().split_off(1), fit.relevance())
    };
    let deviations: Vec<f64> = shrinkage.iter().map(|precision| precision.recip().sqrt()).collect();
    let largest = deviations.iter().copied().fold(0.0, f64::max);
    for (spread, deviation) in scales.spreads.iter_mut().zip(deviations) {
        *spread /= deviation.max(LEAST * largest);
    }
    ranked.sort_by_key(|column| column.index);
    Ok(Relevance { rows: y.len(), determined: ranked.iter().map(|column| column.determined).collect() })
}

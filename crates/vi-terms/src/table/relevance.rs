//! A prior scale for each input, by relevance determination (a horseshoe prior) on the first records.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use vi_models::online::Model;
use vi_models::vb::{HorseshoeLinear, HorseshoeLogit, HorseshoeSettings};

use crate::TermsError;
use crate::table::plan::Plan;
use crate::table::schema::{Encoded, Schema};
use crate::table::source::{Columns, NOWHERE, Record};
use crate::table::target::{Target, TargetKind};

/// Numbers that are held in memory at most.
const MOST: usize = 100_000_000;

/// The least prior scale of an input beside the largest, so that later rows can still speak for it.
const LEAST: f64 = 1e-4;

/// Where the draws come from: the same records give the same scales.
const SEED: u64 = 1;

/// What the first records say of the inputs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Relevance {
    /// Records that told it.
    pub(crate) rows: usize,
    /// For each input the share of its coefficient's mean square that is its mean: 1 where these records know it, 0 where they tell nothing.
    pub(crate) determined: Vec<f64>,
}

impl Relevance {
    /// Whether it is of so many inputs.
    pub(crate) fn is_of(&self, inputs: usize) -> bool {
        self.determined.len() == inputs && self.determined.iter().all(|share| (0.0..=1.0).contains(share))
    }
}

/// Divides the scale of each input by the size of its coefficient under a horseshoe prior: where that is `s_j` for an input of unit spread, the prior
/// `N(0, 1)` of one of spread `s_j` is the Gaussian of that size.
///
/// These scales have seen the labels, which the model then learns under them once more: its noise would be too small. So the noise of a number
/// begins at the rate at which the model's mean of `σ²` after these records is that under the horseshoe prior.
///
/// # Errors
/// A target or records that relevance cannot be determined of.
pub(crate) fn determine(
    plan: &mut Plan,
    schema: &Schema,
    target: &Target,
    records: &[Record],
    columns: &Columns,
) -> Result<Relevance, TermsError> {
    let refused = |what: String| TermsError::Option { option: "ard", value: String::new(), what };
    if !matches!(&target.kind, TargetKind::Number)
        && !matches!(&target.kind, TargetKind::Classes(classes) if classes.len() == 2)
    {
        return Err(refused(format!("only for numbers and two classes; the target is {}", target.describe())));
    }
    if !target.ranges.is_none() {
        return Err(refused("not for numbers of which some are only known to lie in a range".to_owned()));
    }
    if !schema.intercept {
        return Err(refused("needs an intercept, and the formula removes it".to_owned()));
    }
    let width = schema.width();
    if records.len().saturating_mul(width) > MOST {
        let what =
            format!("{} first rows of {width} inputs need too much memory: use a smaller `--sniff`", records.len());
        return Err(refused(what));
    }
    let (places, label) = (schema.places(columns)?, target.places(columns)?);
    let (mut encoded, mut x, mut y) = (Encoded::default(), Vec::new(), Vec::new());
    for record in records {
        // The pass over the file reports the errors of a record.
        let Ok(Some(label)) = target.label(record, label, NOWHERE) else { continue };
        if encoded.write(schema, &places, record, NOWHERE).is_err() {
            continue;
        }
        let first = x.len();
        x.resize(first + width, 0.0);
        encoded.row(schema, true).for_each(|j, value| x[first + j] = value);
        y.push(label.label());
    }
    let (settings, mut rng) = (HorseshoeSettings::default(), ChaCha8Rng::seed_from_u64(SEED));
    let (deviations, determined, noise) = if matches!(target.kind, TargetKind::Number) {
        let fit = HorseshoeLinear::fit(&x, width, &y, &settings, &mut rng)?;
        (fit.sizes(), fit.info().determined.clone(), Some(fit.noise_variance()))
    } else {
        let fit = HorseshoeLogit::fit(&x, width, &y, &settings, &mut rng)?;
        (fit.sizes(), fit.info().determined.clone(), None)
    };
    let largest = deviations.iter().copied().fold(0.0, f64::max);
    let spreads = plan.scales.iter_mut().flat_map(|scales| &mut scales.spreads);
    for (spread, deviation) in spreads.zip(deviations) {
        *spread /= deviation.max(LEAST * largest);
    }
    if let Some(variance) = noise
        && let Model::Number(mut model) = plan.model(&target.kind, schema.names())?
    {
        // The pass over the file reports a record that the model refuses.
        let _unlearned = model.update_batch(&x, &y);
        let (shape, rate) = model.noise();
        // With three halves of a row or less the mean of `σ²` is infinite.
        let missing = variance * (shape - 1.0).max(0.0) - rate;
        plan.scales.iter_mut().for_each(|scales| scales.noise.1 += missing.max(0.0));
    }
    Ok(Relevance { rows: y.len(), determined })
}

//! The settings of a front-door model, all with a default.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::belief::BeliefKind;
use super::blocks;
use super::design::Standardise;
use crate::{ModelError, check};

/// Where the prior standard deviation `s` of the weights comes from, in units of standardised columns.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PriorScale {
    /// The scale is given, positive.
    Given(f64),
    /// One model runs for each of these scales; answers are their average, weighted by evidence.
    Among(Vec<f64>),
    /// Answers are averaged over the scale, with a wide prior on `log s`. With a full covariance three models stand at the nodes
    /// of the three-point Gauss rule of `p(log s | data)`, and move with that density as rows come: after 32 rows for
    /// each weight, at least a quarter of the rows before and at most as many. The work is three times that of one scale. Where the
    /// density is narrow, one model at its mean and derivatives by `log s` say the same (averages differ by less than .02 deviations before
    /// these corrections): a model of one predictor that forgets nothing then learns at the cost of one scale. A diagonal or low-rank
    /// belief averages over three fixed scales.
    #[default]
    Learned,
}

impl PriorScale {
    fn given(&self) -> &[f64] {
        match self {
            Self::Given(scale) => std::slice::from_ref(scale),
            Self::Among(scales) => scales,
            Self::Learned => &[],
        }
    }
}

/// How a model learns its first rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Start {
    /// The first rows are kept and fitted together, and again as their number grows: the stream then starts from the Gaussian of
    /// those rows together. They are at least 50: twenty for each weight up to 58 weights, fewer for more weights so that the work
    /// is bounded (400 rows for 100 weights), and two for each from 126 on. Where the posterior then still depends on the prior scale, as
    /// that of classes that hardly overlap does, their number doubles, and doubles again, up to 200 for each weight and 350,000
    /// numbers, for up to 128 weights. This holds for full covariances of up to 512 weights that forget nothing; other models do as
    /// [`OnePass`](Self::OnePass). Cost: some 20 passes over the first rows for each prior scale, once, and as many for each doubling;
    /// above 128 weights, three.
    #[default]
    Fitted,
    /// Every row is learned only once, when it comes.
    OnePass,
}

/// What a model forgets as rows come, so that it can follow relations that drift.
///
/// | the relation | choose |
/// | :-- | :-- |
/// | stands still | [`Everything`](Self::Everything): it costs least, and only it can be refined or merged |
/// | drifts or changes at an unknown rate | [`Learned`](Self::Learned) |
/// | drifts at a known rate, or rows must be cheap | [`Fading`](Self::Fading) |
///
/// Whatever is forgotten, the prior stays: a weight about which no recent row says anything returns to its prior, and no variance
/// grows beyond the prior's. See [`vi_core::forgetting`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Memory {
    /// Nothing is forgotten.
    #[default]
    Everything,
    /// Each row weighs `λ` times what it did when the next comes, `0 < λ < 1`: a memory of about `1/(1−λ)` rows. With the
    /// precisions `Λ` of the belief and `Λ₀` of the prior, `Λ ← λᵐΛ + (1−λᵐ)Λ₀` and `Λμ ← λᵐΛμ` after every `m`-th row; learned
    /// Gaussian noise `1/σ² ~ Gamma(a, b)` returns with the weights by `a ← λᵐa + (1−λᵐ)a₀` and `b ← λᵐb + (1−λᵐ)(b₀ + ½μᵀΛ₀μ′)`, `μ`
    /// being the mean before and `μ′` after, whose product a diagonal or low-rank belief leaves out. A diagonal belief takes `m = 1`, at no cost. The others take `m = max(0.1/(1−λ), min(2d, 0.2/(1−λ)), min(d, 0.5/(1−λ)))`, a
    /// low-rank belief with the rows of a block for `d` and no bound `2d`, which makes the cost `O(d²)` a row; the weights of the
    /// rows in between differ by at most 10 to 20 %, or 40 % in many dimensions.
    Fading(f64),
    /// The rate of forgetting is averaged over: five models remember all rows and the last 2000, 500, 100 and 20, and count by
    /// how well they predicted lately, so that the answers follow the rate of the drift. A model that falls 10 nats behind the
    /// shortest memory within some 50 rows is replaced by a copy of that: after an abrupt change nothing from before it stays.
    /// All five have one prior scale: the given one, the best among several, or four times what at least 50 first rows suggest
    /// (but no less than the prior's centre), since a prior that never fades pulls at every return. Five times the work of one
    /// scale.
    Learned,
}

impl Memory {
    /// The factor `λ` of a model that does not average over memories.
    pub(super) fn lambda(self) -> f64 {
        match self {
            Self::Fading(lambda) => lambda,
            Self::Everything | Self::Learned => 1.0,
        }
    }
}

/// Settings of a front-door model. The default suits most streams: an intercept, inputs standardised by the first 50 rows
/// (thousands that are mostly 0 stay as they are), the prior scale averaged over, the first rows fitted together, a full
/// covariance, nothing forgotten, no rows kept, inputs without names.
///
/// ```
/// use vi_models::online::{BeliefKind, OnlineSettings, PriorScale};
/// let settings = OnlineSettings {
///     belief: BeliefKind::Diagonal,
///     prior_scale: PriorScale::Given(1.0),
///     ..OnlineSettings::default()
/// };
/// assert!(settings.intercept);
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OnlineSettings {
    /// How the posterior is kept.
    pub belief: BeliefKind,
    /// Prior standard deviation of the weights of the (standardised) inputs.
    pub prior_scale: PriorScale,
    /// The sizes of groups of consecutive inputs, each with a prior scale of its own: the overall one times a factor that the evidence chooses
    /// anew, over its whole range, whenever the overall scale moves. Empty for one group of all inputs; otherwise the sizes sum to their number.
    /// It takes a full covariance and [`PriorScale::Learned`]; other models keep all factors at 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<usize>,
    /// Whether the model adds a constant column.
    pub intercept: bool,
    /// Prior standard deviation of the intercept, positive.
    pub intercept_scale: f64,
    /// How inputs are brought to a common scale.
    pub standardise: Standardise,
    /// How many of the last inputs are used as they are where the first rows give the others their scales: features that share a prior
    /// scale among them, such as those of `vi-terms`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub as_they_are: usize,
    /// What is forgotten between rows.
    pub memory: Memory,
    /// Whether rows and labels are kept, so that the model can be refined and diagnosed; this takes the memory of the data. It
    /// needs a full covariance that forgets nothing.
    pub keep_rows: bool,
    /// Whether a sample of the rows is kept, by which [`OnlineInfo::order`](super::OnlineInfo::order) tells whether their order has
    /// done harm: at most 256 rows and 1 MiB, as they came, in the model and where it is stored. Models that are exact or forget
    /// keep none.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub keep_sample: bool,
    /// How the first rows are learned.
    pub start: Start,
    /// The inputs that the log spread of [`OnlineVarying`](super::OnlineVarying) follows, in increasing order; all of them by default. Labels of other
    /// models have no such spread, and [`Model::new`](super::Model::new) refuses inputs for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread_inputs: Option<Vec<usize>>,
    /// The names of the inputs, for coefficients and errors: empty, or one name for each, all different.
    pub names: Vec<String>,
}

fn yes() -> bool {
    true
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_yes(kept: &bool) -> bool {
    *kept
}

impl Default for OnlineSettings {
    fn default() -> Self {
        Self {
            belief: BeliefKind::default(),
            prior_scale: PriorScale::default(),
            blocks: Vec::new(),
            intercept: true,
            intercept_scale: 5.0,
            standardise: Standardise::default(),
            as_they_are: 0,
            memory: Memory::Everything,
            keep_rows: false,
            keep_sample: true,
            start: Start::Fitted,
            spread_inputs: None,
            names: Vec::new(),
        }
    }
}

impl OnlineSettings {
    /// Checks the settings for `inputs` inputs.
    ///
    /// # Errors
    /// `Empty`, `Setting`, `Dimension`, and those of [`Standardise`]; [`ModelError::Unsupported`] for rows kept by a model that
    /// cannot be refined; [`ModelError::Name`] for a name that occurs twice.
    pub(super) fn check(&self, inputs: usize) -> Result<(), ModelError> {
        if self.keep_rows && (self.belief != BeliefKind::Full || self.memory != Memory::Everything) {
            let what =
                "refinement or diagnosis, which `keep_rows` is for, but of a full covariance that forgets nothing";
            return Err(ModelError::Unsupported { what });
        }
        self.check_names(inputs)?;
        blocks::check(&self.blocks, inputs)?;
        Ok(self.check_numbers(inputs)?)
    }

    fn check_names(&self, inputs: usize) -> Result<(), ModelError> {
        if self.names.is_empty() {
            return Ok(());
        }
        crate::check::length("names", inputs, self.names.len())?;
        let mut seen = HashSet::new();
        match self.names.iter().position(|name| !seen.insert(name)) {
            None => Ok(()),
            Some(index) => Err(ModelError::Name { index, name: self.names[index].clone() }),
        }
    }

    fn check_numbers(&self, inputs: usize) -> Result<(), Error> {
        if inputs == 0 && !self.intercept {
            return Err(Error::Empty { argument: "inputs" });
        }
        if self.prior_scale == PriorScale::Among(Vec::new()) {
            return Err(Error::Empty { argument: "prior scales" });
        }
        for &scale in self.prior_scale.given() {
            check_scale("prior scale", scale)?;
        }
        check_scale("intercept_scale", self.intercept_scale)?;
        if let Memory::Fading(lambda) = self.memory {
            check::probability("memory", lambda)?;
        }
        if self.as_they_are > inputs {
            let requirement = "at most the number of inputs";
            return Err(Error::Setting { name: "as_they_are", value: self.as_they_are as f64, requirement });
        }
        let spread = self.spread_inputs.as_deref().unwrap_or_default();
        let wrong = |at: usize| spread[at] >= inputs || at > 0 && spread[at] <= spread[at - 1];
        if let Some(index) = (0..spread.len()).find(|at| wrong(*at)) {
            let requirement = "a place of an input, after the one before";
            let (argument, value) = ("spread_inputs", spread[index] as f64);
            return Err(Error::Entry { argument, index, value, requirement });
        }
        self.standardise.check(inputs)
    }
}

pub(super) fn check_scale(name: &'static str, value: f64) -> Result<(), Error> {
    let variance = value * value;
    if value > 0.0 && variance.is_normal() && variance.recip().is_normal() {
        Ok(())
    } else {
        Err(Error::Setting { name, value, requirement: "positive, its square a float" })
    }
}

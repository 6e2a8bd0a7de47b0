//! The model behind a target: what the options and the target make of it.

use vi_models::ModelError;
use vi_models::online::{
    BeliefKind, Kind, Memory, Model, OnlineLinear, OnlineSettings, PriorScale, Standardise, Start,
};

use crate::target::TargetKind;

/// Inputs beyond which a full covariance costs too much for a file of many rows: 1 ms a row and 8 MB at 1000.
const WIDE: usize = 400;
/// Columns of the factor that wide models keep.
pub(crate) const RANK: usize = 10;
/// Inputs beyond which even that costs too much: each then has a variance of its own.
const VERY_WIDE: usize = 20_000;

/// What a model is to be, beside its target and inputs.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "switches, each by itself")]
pub(crate) struct Plan {
    pub(crate) memory: Memory,
    /// How the posterior is kept; by default as the number of inputs allows.
    pub(crate) belief: Option<BeliefKind>,
    /// Whether inputs are taken as they come, since most are seen in few rows.
    pub(crate) rare: bool,
    pub(crate) intercept: bool,
    /// Whether the first rows are fitted together, which is better and takes longer.
    pub(crate) start: Start,
    pub(crate) prior: PriorScale,
    /// Scales given once and for all, so that models of parts of the data can be merged.
    pub(crate) scales: Option<Scales>,
    /// Whether inputs are taken in their own units.
    pub(crate) unscaled: bool,
    /// Whether a sample of the rows is kept.
    pub(crate) keep_sample: bool,
}

/// Where inputs and a number lie, and how far they spread.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    pub(crate) centres: Vec<f64>,
    pub(crate) spreads: Vec<f64>,
    /// Mean and variance of the target, if it is a number.
    pub(crate) target: (f64, f64),
}

impl Plan {
    /// Shape and rate of what is believed of the precision of a number's noise at first.
    pub(crate) fn noise(&self) -> (f64, f64) {
        let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
        (shape, rate * self.scales.as_ref().map_or(1.0, |scales| scales.target.1))
    }

    fn belief(&self, inputs: usize) -> BeliefKind {
        self.belief.unwrap_or(if inputs > VERY_WIDE {
            BeliefKind::Diagonal
        } else if inputs > WIDE {
            BeliefKind::LowRank { rank: RANK }
        } else {
            BeliefKind::Full
        })
    }

    fn kind(&self, target: &TargetKind, belief: BeliefKind) -> Kind {
        match target {
            TargetKind::Number => Kind::Number { noise: self.noise() },
            TargetKind::Count => Kind::Count,
            TargetKind::Classes(classes) if classes.len() == 2 => Kind::Two,
            TargetKind::Classes(classes) => {
                // Only a full covariance is kept over several classes together.
                Kind::Classes {
                    classes: classes.len(),
                    joint: if belief == BeliefKind::Full { None } else { Some(false) },
                }
            }
        }
    }

    /// A model with nothing learned, of inputs with these names.
    ///
    /// # Errors
    /// Settings that no model of this kind takes.
    pub(crate) fn model(&self, target: &TargetKind, names: Vec<String>) -> Result<Model, ModelError> {
        let inputs = names.len();
        let belief = self.belief(inputs);
        let kind = self.kind(target, belief);
        let mut settings = OnlineSettings {
            names,
            memory: self.memory,
            belief,
            intercept: self.intercept,
            start: self.start,
            keep_sample: self.keep_sample,
            prior_scale: self.prior.clone(),
            standardise: Standardise::FirstRows { rows: Standardise::ROWS, centre: is_dense(belief) && self.intercept },
            ..kind.default_settings()
        };
        // The scale of a number is taken from the first rows together with those of its inputs.
        if self.unscaled || (self.rare && !is_dense(belief) && !matches!(target, TargetKind::Number)) {
            settings.standardise = Standardise::Never;
        }
        if let Some(Scales { mut centres, spreads, target: (mean, variance) }) = self.scales.clone() {
            if !is_dense(belief) || !self.intercept {
                centres.fill(0.0);
            }
            settings.standardise = Standardise::Fixed { centres, scales: spreads };
            if matches!(target, TargetKind::Number) {
                // The prior scales are relative to the noise, which is no larger than the target's spread: the same prior as that of the
                // target in its own units, about its mean.
                settings.intercept_scale *= (1.0 + mean * mean / variance).sqrt();
            }
        }
        Model::new(kind, inputs, settings)
    }
}

/// Whether a model learns the label that `target` reads.
pub(crate) fn is_of(model: &Model, target: &TargetKind, inputs: usize) -> bool {
    let kind = match (model, target) {
        (Model::Number(_), TargetKind::Number) | (Model::Count(_), TargetKind::Count) => true,
        (Model::Two(_), TargetKind::Classes(classes)) => classes.len() == 2,
        (Model::Classes(_), TargetKind::Classes(classes)) => classes.len() > 2,
        _ => false,
    };
    kind && model.settings().names.len() == inputs
}

/// Whether each of several classes has a belief of its own.
pub(crate) fn is_by_class(model: &Model) -> bool {
    matches!(model, Model::Classes(model) if model.is_by_class())
}

/// Whether rows are given to a model by their entries.
pub(crate) fn is_sparse(model: &Model) -> bool {
    !is_dense(model.settings().belief)
}

/// Whether a belief takes all entries of a row.
fn is_dense(belief: BeliefKind) -> bool {
    matches!(belief, BeliefKind::Full | BeliefKind::SquareRoot)
}

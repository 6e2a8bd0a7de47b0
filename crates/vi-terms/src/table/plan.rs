//! The model behind a target: what the options and the target make of it.

use vi_models::online::{
    BeliefKind, Effects, Kind, Memory, Model, OnlineLinear, OnlineSettings, PriorScale, Standardise, Start,
};
use vi_models::{ModelError, Transform};

use crate::Terms;
use crate::table::grouped::Groups;
use crate::table::options::Family;
use crate::table::schema::Schema;
use crate::table::target::TargetKind;

/// Inputs beyond which a full covariance costs too much for a file of many rows: 1 ms a row and 8 MB at 1000.
const WIDE: usize = 1000;
/// Inputs beyond which it does for one of each class, and families of numbers are not compared.
const WIDE_OF_SEVERAL: usize = 400;
/// The same where groups have effects, which a low rank would not hold.
const WIDE_IN_GROUPS: usize = 4000;
/// Columns of the factor that wide models keep.
pub const RANK: usize = 10;
/// Inputs beyond which even that costs too much: each then has a variance of its own.
const VERY_WIDE: usize = 20_000;

/// The prior scale of weights where curves stand beside effects that the model keeps by themselves: wide, and yet the first rows do not tell of curves
/// that leave them far behind.
pub(crate) const OF_CURVES: f64 = 10.0;

/// What a model is to be, beside its target and inputs.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools, reason = "switches, each by itself")]
pub(crate) struct Plan {
    pub(crate) memory: Memory,
    /// How the posterior is kept; by default as the number of inputs allows.
    pub(crate) belief: Option<BeliefKind>,
    /// Whether groups have effects.
    pub(crate) grouped: bool,
    /// The groups whose effects the model keeps by themselves, and which effects these are.
    pub(crate) groups: Option<(Groups, Effects)>,
    /// Whether effects of a group are correlated, which spreads that follow the inputs do not take.
    pub(crate) correlated: bool,
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
    /// The family that was asked for.
    pub(crate) family: Family,
    /// The inputs that the spread follows, where the formula says so.
    pub(crate) spread: Option<Vec<usize>>,
    /// Values of the target that a transform has not, as far as is known.
    pub(crate) refused: Vec<f64>,
    /// Whether a number may be a count.
    pub(crate) counted: bool,
    /// Whether only ranges of some numbers are known.
    pub(crate) ranges: bool,
    /// Whether a sample of the rows is kept.
    pub(crate) keep_sample: bool,
    /// The number of threads for the trial of families.
    pub(crate) threads: usize,
    /// How many inputs that follow one another share a prior scale.
    pub(crate) blocks: Vec<usize>,
    /// How many of the last inputs have a common size already.
    pub(crate) as_they_are: usize,
}

/// Where inputs and a number lie, and how far they spread.
#[derive(Debug, Clone)]
pub(crate) struct Scales {
    pub(crate) centres: Vec<f64>,
    pub(crate) spreads: Vec<f64>,
    /// Mean and variance of the target, if it is a number.
    pub(crate) target: (f64, f64),
    /// Shape and rate of what is believed of the precision of a number's noise at first.
    pub(crate) noise: (f64, f64),
}

impl Plan {
    /// The plan with the blocks of a schema's terms.
    pub(crate) fn shaped(mut self, schema: &Schema) -> Self {
        let terms = schema.shape.as_ref();
        self.blocks = terms.map_or_else(Vec::new, Terms::block_sizes);
        self.as_they_are = terms.map_or(0, |terms| terms.width() - terms.inputs().len());
        self
    }

    /// Shape and rate of what is believed of the precision of a number's noise at first.
    pub(crate) fn noise(&self) -> (f64, f64) {
        self.scales.as_ref().map_or(OnlineLinear::DEFAULT_NOISE, |scales| scales.noise)
    }

    pub(crate) fn belief(&self, target: &TargetKind, inputs: usize) -> BeliefKind {
        let wide = match target {
            _ if self.grouped => WIDE_IN_GROUPS,
            TargetKind::Classes(classes) if classes.len() > 2 => WIDE_OF_SEVERAL,
            _ => WIDE,
        };
        self.belief.unwrap_or(if inputs > VERY_WIDE {
            BeliefKind::Diagonal
        } else if inputs > wide {
            BeliefKind::LowRank { rank: RANK }
        } else {
            BeliefKind::Full
        })
    }

    /// The kinds of models that the target and the family allow: the plain one, and those that the first rows may prefer. A model that is
    /// to be written as a record is the plain one.
    pub(crate) fn kinds(&self, target: &TargetKind, inputs: usize) -> (Kind, Vec<Kind>) {
        let taken = |kind: &Kind| {
            (self.groups.is_none() || matches!(kind, Kind::Number { .. }))
                && !self.refused.iter().any(|label| !kind.transform().supports(*label))
        };
        let several = |others: Vec<Kind>| {
            if self.unscaled { Vec::new() } else { others.into_iter().filter(taken).collect() }
        };
        match (target, self.family) {
            (TargetKind::Number, _) => {
                let (plain, mut others) = self.numbers(inputs);
                if self.counted && self.scales.is_none() && self.spread.is_none() {
                    others.extend([Kind::Count, Kind::LearnedSpread, Kind::ZeroInflated]);
                }
                (plain, several(others))
            }
            (TargetKind::Count, Family::NegativeBinomial) => (Kind::LearnedSpread, Vec::new()),
            (TargetKind::Count, Family::ZeroInflated) => (Kind::ZeroInflated, Vec::new()),
            (TargetKind::Count, Family::Poisson) => (Kind::Count, Vec::new()),
            (TargetKind::Count, _) => (Kind::Count, several(vec![Kind::LearnedSpread, Kind::ZeroInflated])),
            (TargetKind::Classes(classes), _) if classes.len() == 2 => (Kind::Two, Vec::new()),
            (TargetKind::Classes(classes), _) => {
                // Only a full covariance is kept over several classes together.
                let joint = if self.belief(target, inputs) == BeliefKind::Full { None } else { Some(false) };
                (Kind::Classes { classes: classes.len(), joint }, Vec::new())
            }
            (TargetKind::Survival(event), _) => (Kind::Survival { cuts: event.cuts }, Vec::new()),
            (TargetKind::Ordered(classes), _) => (Kind::Ordered { classes: classes.len() }, Vec::new()),
        }
    }

    /// The kinds of models of numbers that the family allows.
    fn numbers(&self, inputs: usize) -> (Kind, Vec<Kind>) {
        let transform = self.family.transform();
        // Given scales are those of the target, not of its transform.
        let scales = self.scales.as_ref().filter(|_| transform == Transform::Identity);
        let unit = scales.map_or((0.0, 1.0), |scales| (scales.target.0, scales.target.1.sqrt()));
        let noise = scales.map_or(OnlineLinear::DEFAULT_NOISE, |scales| scales.noise);
        let number = |transform| Kind::Number { noise, transform };
        let robust = |transform| Kind::Robust { unit, transform };
        let varying = |transform| Kind::Varying { unit, transform };
        let is_open = matches!(self.family, Family::Auto | Family::Number) && scales.is_none();
        let transforms = [Transform::Log, Transform::Logit].into_iter().filter(|_| is_open);
        match (self.spread.as_deref(), self.family) {
            (Some([]), _) => (robust(transform), transforms.map(robust).collect()),
            (Some(_), _) => (varying(transform), transforms.map(varying).collect()),
            (None, _) if self.ranges => (robust(transform), transforms.map(robust).collect()),
            (None, Family::Robust | Family::LogRobust | Family::LogitRobust) => (robust(transform), Vec::new()),
            (None, Family::Varying | Family::LogVarying | Family::LogitVarying) => (varying(transform), Vec::new()),
            (None, _) => {
                let mut others: Vec<Kind> = transforms.clone().map(number).collect();
                if is_open && inputs <= WIDE_OF_SEVERAL && self.belief(&TargetKind::Number, inputs) == BeliefKind::Full
                {
                    others.push(robust(transform));
                    if !self.correlated {
                        others.push(varying(transform));
                        others.extend(transforms.map(varying));
                    }
                }
                (number(transform), others)
            }
        }
    }

    /// A model with nothing learned, of the plain kind and of inputs with these names.
    ///
    /// # Errors
    /// Settings that no model of this kind takes.
    pub(crate) fn model(&self, target: &TargetKind, names: Vec<String>) -> Result<Model, ModelError> {
        self.model_of(self.kinds(target, names.len()).0, target, names)
    }

    /// A model of this kind with nothing learned.
    ///
    /// # Errors
    /// Settings that no model of this kind takes.
    pub(crate) fn model_of(&self, kind: Kind, target: &TargetKind, names: Vec<String>) -> Result<Model, ModelError> {
        let inputs = names.len();
        let belief = self.belief(target, inputs);
        let mut settings = OnlineSettings {
            names,
            memory: self.memory,
            belief,
            intercept: self.intercept,
            start: self.start,
            keep_sample: self.keep_sample,
            blocks: self.blocks.clone(),
            as_they_are: self.as_they_are,
            spread_inputs: self.spread.clone().filter(|_| matches!(kind, Kind::Varying { .. })),
            prior_scale: self.prior.clone(),
            standardise: Standardise::FirstRows { rows: Standardise::ROWS, centre: is_dense(belief) && self.intercept },
            ..kind.default_settings()
        };
        // The scale of a number is taken from the first rows together with those of its inputs.
        if self.unscaled || (self.rare && !is_dense(belief) && !matches!(target, TargetKind::Number)) {
            settings.standardise = Standardise::Never;
        }
        if let Some(Scales { mut centres, spreads, target: (mean, variance), .. }) = self.scales.clone() {
            if !is_dense(belief) || !self.intercept {
                centres.fill(0.0);
            }
            settings.standardise = Standardise::Fixed { centres, scales: spreads };
            if matches!(kind, Kind::Number { transform: Transform::Identity, .. }) {
                // The prior scales are relative to the noise, which is no larger than the target's spread: the same prior as that of the
                // target in its own units, about its mean.
                settings.intercept_scale *= (1.0 + mean * mean / variance).sqrt();
            }
        }
        match &self.groups {
            Some((_, effects)) => {
                if !self.blocks.is_empty() {
                    settings.prior_scale = PriorScale::Given(OF_CURVES);
                }
                Model::grouped(kind, inputs, effects.clone(), &settings)
            }
            None => Model::new(kind, inputs, settings),
        }
    }
}

/// Whether a model learns the label that `target` reads.
pub(crate) fn is_of(model: &Model, target: &TargetKind, inputs: usize) -> bool {
    let kind = match (model, target) {
        (Model::Number(_) | Model::Robust(_) | Model::Varying(_), TargetKind::Number)
        | (Model::Count(_) | Model::LearnedSpread(_) | Model::ZeroInflated(_), TargetKind::Count) => true,
        (Model::Two(_), TargetKind::Classes(classes)) => classes.len() == 2,
        (Model::Classes(_), TargetKind::Classes(classes)) => classes.len() > 2,
        (Model::Ordered(model), TargetKind::Ordered(classes)) => classes.len() == model.classes(),
        (Model::Survival(model), TargetKind::Survival(event)) => event.is_sound() && event.cuts == model.cuts(),
        (Model::Grouped(model), target) => match model.kind() {
            Kind::Two => matches!(target, TargetKind::Classes(classes) if classes.len() == 2),
            Kind::Count => *target == TargetKind::Count,
            _ => *target == TargetKind::Number,
        },
        _ => false,
    };
    kind && model.settings().names.len() == inputs
}

/// The transform of a number that is learned, in words; none where it is the number itself.
pub(crate) fn transform_in_words(model: &Model) -> Option<&'static str> {
    match model.kind().transform() {
        Transform::Identity => None,
        Transform::Log => Some("log"),
        Transform::Logit => Some("log odds"),
    }
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

//! Linear regression with Student-t noise whose tails and scale are learned, one row at a time.

pub(super) mod noise;

use std::sync::LazyLock;

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::refine::{RefineInfo, RefineSettings};
use vi_core::special::gauss_hermite;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Projection, Site, Tilted, Weighted};

use self::noise::{Away, Component, KNOWN_FACTOR, Noise, state_is_noise};
use super::engine::{Engine, EngineWire, Parts, Pass, ScalarFamily, check_offset};
use super::linear::NumberPredicted;
use super::observation::{Observation, Size};
use super::posterior::Posterior;
use super::target::Target;
use super::{BeliefKind, Coefficient, Draw, OnlineInfo, OnlineSettings, Row, Rows};
use crate::likelihood::Offset;
use crate::marginal::log_sum_exp;
use crate::student::between::{distance as distance_of, told_of};
use crate::student::blurred::{DOF, Told};
use crate::{Marginal, ModelError, Transform, check};

/// Newton's method finds the mode of a power to this share of a squared deviation.
const SETTLED: f64 = 1e-6;
const MOST_STEPS: usize = 30;

/// The squared distance of a label, over `ν + s²`, from which on all tails count.
const FAR_OUT: f64 = 20.0;

/// The rule for expectations and powers.
static RULE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(|| gauss_hermite(20));

/// A tilted distribution with these numbers.
///
/// # Errors
/// `Overflow` unless all are finite.
fn finite(found: [f64; 4]) -> Result<Tilted, Error> {
    if let Some(value) = found.into_iter().find(|value| !value.is_finite()) {
        return Err(Error::Overflow { quantity: "squared error of the label", value });
    }
    let [log_normaliser, slope, curvature, variance] = found;
    Ok(Tilted { log_normaliser, slope, curvature, variance })
}

/// `y = t + s·ε`, `ε` Student-t, with the degrees of freedom and the scale of several components.
#[derive(Debug, Clone)]
pub(super) struct Tails {
    components: Vec<Component>,
    /// How many of these are likely; the others count for labels far out.
    likely: usize,
    /// The signed distance from the label to the other end of its range; 0 of a number.
    reach: f64,
    /// The power of the probability of a range.
    power: f64,
}

impl Tails {
    /// The tilted distribution of a power of the probability: by the rule of Gauss and Hermite about the mode, since quadrature to the last digits does not
    /// end on probabilities that are interpolated.
    fn tilted_by_power(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        if nu == 0.0 {
            let [log_normaliser, slope, curvature] = self.derivatives(y, a);
            return Ok(Tilted { log_normaliser, slope, curvature, variance: 0.0 });
        }
        let (mut mode, mut precision) = (a, nu.recip());
        for _ in 0..MOST_STEPS {
            let [_, slope, bend] = self.derivatives(y, mode);
            precision = nu.recip() + bend.max(0.0);
            let step = (slope - (mode - a) / nu) / precision;
            mode += step;
            if step * step * precision < SETTLED {
                break;
            }
        }
        let points: Vec<(f64, f64)> = RULE
            .iter()
            .map(|(z, weight)| {
                let t = mode + z / precision.sqrt();
                let log = self.log_density(y, t) - 0.5 * (t - a) * ((t - a) / nu) + 0.5 * z * z;
                (weight.ln() + log, t)
            })
            .collect();
        let [total, mean, variance] = noise::moments(&points);
        let log_normaliser = total - 0.5 * (precision * nu).ln();
        finite([log_normaliser, (mean - a) / nu, variance.recip() - nu.recip(), variance])
    }

    /// The likelihood of a label at the distance `r`, or of a range from there as far as the reach, with its slopes by the mean of a predictor of variance `nu`.
    fn told(&self, r: f64, nu: f64) -> Told {
        let likely = &self.components[..self.likely];
        let width = likely.first().map_or(0.0, |(_, scale, _)| nu + scale * scale);
        let away = distance_of((r, self.reach));
        let counted = if away * away < FAR_OUT * width { likely } else { &self.components };
        let told: Vec<(f64, Told)> = counted
            .iter()
            .map(|(share, scale, k)| {
                let told = told_of(*k, (r, self.reach), nu, *scale);
                (share.ln() + told.log_density, told)
            })
            .collect();
        let log_density = log_sum_exp(told.iter().map(|(log, _)| *log));
        let average = |of: fn(&Told) -> f64| {
            told.iter()
                .map(|(log, told)| ((log - log_density).exp(), of(told)))
                .map(|(share, of)| share * of)
                .sum::<f64>()
        };
        let slope = average(|told| told.slope);
        let between = (average(|told| told.slope * told.slope) - slope * slope).max(0.0);
        let (bend, left) = (average(|told| told.bend) - between, average(|told| told.left) + nu * between);
        Told { log_density, slope, bend, left }
    }
}

impl Likelihood for Tails {
    fn family(&self) -> &'static str {
        "number with Student-t noise"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn is_log_concave(&self) -> bool {
        false
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.power * self.told(y - t, 0.0).log_density
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.power * self.told(y - t, 0.0).slope
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.power * self.told(y - t, 0.0).bend
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        let Told { log_density, slope, bend, .. } = self.told(y - t, 0.0);
        [log_density, slope, bend].map(|value| self.power * value)
    }

    fn peak(&self, y: f64) -> Option<f64> {
        Some(y + 0.5 * self.reach)
    }

    /// `(k+1)/((k+3)s²)`, averaged over the components.
    fn fisher_information(&self, _t: f64) -> f64 {
        let of = |(share, scale, k): &Component| {
            let ratio = if DOF[*k].is_finite() { (DOF[*k] + 1.0) / (DOF[*k] + 3.0) } else { 1.0 };
            share * ratio / (scale * scale)
        };
        self.components.iter().map(of).sum()
    }
}

impl GaussianExpectation for Tails {
    /// By the rule of Gauss and Hermite: quadrature to the last digits does not end on densities that are themselves interpolated.
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let (mut sums, deviation) = ([0.0; 5], nu.sqrt());
        for (z, weight) in RULE.iter() {
            let [value, slope, bend] = self.derivatives(y, a + deviation * z);
            let parts = [value, slope, bend, bend * z, bend * (z * z - 1.0)];
            sums.iter_mut().zip(parts).for_each(|(sum, part)| *sum += weight * part);
        }
        let [value, slope, curvature, of_third, of_fourth] = sums;
        let of = |sum: f64, scale: f64| if nu > 0.0 { -sum / scale } else { 0.0 };
        Expected { value, slope, curvature, third: of(of_third, deviation), fourth: of(of_fourth, nu) }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        if self.power == 1.0 {
            return self.told(y - a, nu).log_density;
        }
        self.tilted_by_power(y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }

    /// In closed form: the sum of a Gaussian and a Student-t is a mixture of Gaussians.
    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        if self.power != 1.0 {
            return self.tilted_by_power(y, a, nu);
        }
        let Told { log_density, slope, bend, left } = self.told(y - a, nu);
        finite([log_density, slope, bend / left, nu * left])
    }
}

/// The spreads of the first logarithms, above their centre and a row's own, beyond which a label counts as one there in means, which the exponential of
/// heavy tails has not.
const SPREADS: f64 = 2.0;

/// The model `y = offset + intercept + xᵀw + s·ε`, `ε` Student-t with `k` degrees of freedom.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Robust {
    /// Centre and unit of the labels, or of their transform, where no first rows tell them.
    pub(super) unit: (f64, f64),
    #[serde(default, skip_serializing_if = "Transform::is_identity")]
    pub(super) transform: Transform,
}

impl Robust {
    /// The label where the members saw a row so, in units of `target`.
    fn number(&self, parts: &Parts<Noise>, target: Target, offset: f64) -> Result<NumberPredicted, ModelError> {
        self.number_with(parts, KNOWN_FACTOR, target, offset)
    }

    /// [`number`](Self::number) with noise whose log scale has the Gaussian part `more` besides.
    #[expect(clippy::unused_self, reason = "the families of numbers have one signature")]
    pub(super) fn number_with(
        &self,
        parts: &Parts<Noise>,
        more: Projection,
        target: Target,
        offset: f64,
    ) -> Result<NumberPredicted, ModelError> {
        let Target { centre, scale: unit, transform } = target;
        let origin = offset + centre;
        if let Some(value) = parts.iter().map(|(_, seen, _)| origin + unit * seen.mean).find(|mean| !mean.is_finite()) {
            return Err(Error::Overflow { quantity: "the expected label", value }.into());
        }
        let of_member = |(weight, seen, noise): &(f64, Projection, Noise)| {
            let (weight, seen) = (*weight, *seen);
            let (components, likely) = noise.components(more);
            let scaled = move |(share, scale, tail): Component| (weight * share, seen, scale, tail);
            components.into_iter().take(likely).map(scaled)
        };
        let label = Marginal::of_sums(parts.iter().flat_map(of_member)).in_units(origin, unit)?;
        let seen: Vec<(f64, Projection)> = parts.iter().map(|(weight, seen, _)| (*weight, *seen)).collect();
        let expectation = Marginal::of_gaussians(&seen).in_units(origin, unit)?;
        let highest = seen.iter().map(|(_, seen)| seen.mean).fold(0.0, f64::max);
        let label = label.transformed_below(transform, origin + unit * (highest + SPREADS));
        Ok(NumberPredicted { label, expectation: expectation.transformed(transform) })
    }
}

state_is_noise!(Robust);

impl ScalarFamily for Robust {
    type Likelihood = Tails;

    const SIZE: Size = Size::Factor;

    const STANDARDISES_LABELS: bool = true;

    const TAKES_RANGES: bool = true;

    const PASS: Pass = Pass::ByRows { rounds: 5 };

    fn label_target(&self) -> Target {
        Target { centre: self.unit.0, scale: self.unit.1, transform: self.transform }
    }

    fn label_target_of(&self, observed: &[&Observation], centred: bool) -> Result<Target, Error> {
        Target::plain(self.transform).of_quartiles(observed.iter().copied(), centred)
    }

    fn check(&self) -> Result<(), Error> {
        check::values("centre of the labels", &[self.unit.0])?;
        check::positive("unit of the labels", self.unit.1)
    }

    /// A label far out leaves a belief wider than it was.
    fn check_belief(&self, belief: BeliefKind) -> Result<(), ModelError> {
        match belief {
            BeliefKind::Full => Ok(()),
            _ => Err(ModelError::Unsupported { what: "Student-t noise with a belief that is no full covariance" }),
        }
    }

    /// As for every family, but without the components of a likelihood, of which no check asks.
    fn check_observed(&self, observed: &Observation) -> Result<(), Error> {
        check::positive("factor of the noise", observed.known().size(Self::SIZE)?)?;
        let tails = Offset::new(Tails { components: Vec::new(), likely: 0, reach: 0.0, power: 1.0 }, observed.offset)?;
        Weighted::new(tails, observed.weight)?.check_label(observed.label)?;
        observed.check_range()?;
        let (_, high) = observed.ends();
        self.transform.check(if self.transform.supports(high) { high } else { observed.label })
    }

    /// `size` is a factor of the noise.
    fn likelihood(&self, state: &Noise, size: f64) -> Result<Tails, Error> {
        check::positive("factor of the noise", size)?;
        let (mut components, likely) = state.components(KNOWN_FACTOR);
        for (_, scale, _) in &mut components {
            *scale *= size;
        }
        Ok(Tails { components, likely, reach: 0.0, power: 1.0 })
    }

    /// A range takes its weight as a power.
    fn likelihood_of(&self, state: &Noise, observed: &Observation) -> Result<(Tails, f64), Error> {
        let tails = self.likelihood(state, observed.known().size(Self::SIZE)?)?;
        if !observed.is_range() || observed.weight == 0.0 {
            return Ok((tails, observed.weight));
        }
        check::not_negative("weight", observed.weight)?;
        Ok((Tails { reach: observed.reach(), power: observed.weight, ..tails }, 1.0))
    }

    fn learn(&self, state: &mut Noise, observed: &Observation, seen: Projection, _site: Site) -> Result<f64, Error> {
        if observed.weight > 0.0 {
            state.learn(distance(observed, seen)?, observed.weight)?;
        }
        Ok(0.0)
    }

    fn fit_state(
        &self,
        at: &Noise,
        observed: &[Observation],
        seen: &[Projection],
        _has_level: bool,
    ) -> Result<(Noise, f64), Error> {
        at.fitted_to(observed.iter().zip(seen).map(|(own, seen)| Ok((distance(own, *seen)?, own.weight))))
    }
}

/// The distance of a label from its predictor, in units in which the noise has no factor.
fn distance(observed: &Observation, seen: Projection) -> Result<Away, Error> {
    let factor = observed.known().size(Robust::SIZE)?;
    let r = (observed.label - observed.offset - seen.mean) / factor;
    Ok(Away { r, reach: observed.reach() / factor, nu: seen.variance / (factor * factor) })
}

/// Linear regression on a stream with heavy tails: Student-t noise whose degrees of freedom and scale are learned with the weights.
///
/// ```text
/// y = intercept + xᵀw + s·ε,   ε ~ Student-t of k degrees of freedom,   w ~ N(0, σ²I)
/// ```
///
/// Labels far out move neither the weights nor the scale, wherever they stand, also among the first rows: these set the unit of the label by
/// its quartiles. `k` is averaged over nine values from 1.2 to infinity, a Gaussian's, and `log s` over a Gaussian for each, within the integral of each row; a row costs some
/// two to ten microseconds beside the belief's. Its site matches the moments of the tilted density, and a label far out widens the belief along its
/// row. So only a full covariance is taken.
///
/// A label may be a [range](Observation::between) in which the number lies (J. Tobin, Econometrica 26 (1958)): its probability takes the place of the density.
///
/// ```
/// use vi_models::online::OnlineRobust;
/// let mut model = OnlineRobust::new(1)?;
/// for t in 0..200 {
///     let x = f64::from(t % 10);
///     let noise = [0.1, -0.1, 0.0, 0.05][t as usize % 4];
///     model.update(&[x], if t % 20 == 7 { 1e6 } else { 3.0 - 2.0 * x + noise })?;
/// }
/// let predicted = model.predict(&[20.0])?;
/// assert!((predicted.quantile(0.5)? + 37.0).abs() < 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineRobust {
    engine: Engine<Robust>,
}

impl OnlineRobust {
    /// A model of `inputs` columns with default settings.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        Self::with_settings(inputs, OnlineSettings::default(), (0.0, 1.0))
    }

    /// A model of `inputs` columns. `unit` is a centre and a spread of the labels, which serve where the settings take no scales from the first
    /// rows.
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings; [`ModelError::Unsupported`] for a belief that is no full covariance.
    pub fn with_settings(inputs: usize, settings: OnlineSettings, unit: (f64, f64)) -> Result<Self, ModelError> {
        Self::of_transform(inputs, Transform::Identity, settings, unit)
    }

    /// A model of a transform of the label, whose predictions are of the label itself, as
    /// [`OnlineLinear::of_transform`](super::OnlineLinear::of_transform). `unit` is that of the transform.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn of_transform(
        inputs: usize,
        transform: Transform,
        settings: OnlineSettings,
        unit: (f64, f64),
    ) -> Result<Self, ModelError> {
        Ok(Self { engine: Engine::new(inputs, Robust { unit, transform }, settings)? })
    }

    /// The transform of the label that is learned.
    #[must_use]
    pub fn transform(&self) -> Transform {
        self.engine.family.transform
    }

    /// Centre and spread of the labels where no first rows tell them.
    #[must_use]
    pub fn unit(&self) -> (f64, f64) {
        self.engine.family.unit
    }

    /// The spread of the first labels or of their transform, in which the model learns.
    pub(super) fn spread(&self) -> f64 {
        self.engine.design.target.scale
    }

    /// The noise: degrees of freedom (the inverse of the expected inverse; infinite for a Gaussian's) and scale `exp E log s`, in the units of
    /// the label or its transform.
    #[must_use]
    pub fn noise(&self) -> (f64, f64) {
        noise_of(&self.engine)
    }
}

/// Degrees of freedom and scale of the noise, averaged over the members.
pub(super) fn noise_of(engine: &Engine<Robust>) -> (f64, f64) {
    let (mut inverse, mut log_scale) = (0.0, engine.design.target.scale.ln());
    for (weight, member) in engine.weights().into_iter().zip(&engine.members) {
        let told = member.state.told();
        inverse += weight * told.0;
        log_scale += weight * told.1;
    }
    (f64::recip(inverse), log_scale.exp())
}

front_door!(OnlineRobust, Robust);
one_predictor!(OnlineRobust);
predicts_numbers!(OnlineRobust);
approximate!(OnlineRobust);
posterior!(OnlineRobust);
predicts_batches!(OnlineRobust, NumberPredicted);

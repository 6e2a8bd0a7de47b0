//! Linear regression with unknown noise, one row at a time.

use rand::Rng;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::{Error, GaussianLikelihood, Projection, Site};

use super::engine::{Engine, EngineWire, Parts, Pass, ScalarFamily, Stateful, Together, check_offset};
use super::observation::Observation;
use super::scale::ScalePrior;
use super::target::Target;
use super::{Coefficient, Draw, OneGaussian, OnlineInfo, OnlineSettings, Row, Rows};
use crate::likelihood::Offset;
use crate::linear::NoisePrecision;
use crate::{Interval, Marginal, ModelError, Student, Transform, check};

/// The model `y = offset + intercept + xᵀw + ε`, `ε ~ N(0, σ²/weight)`, `w|σ² ~ N(0, s²σ²I)`, `1/σ² ~ Gamma(a₀, b₀)`.
///
/// The belief is kept in units of the noise: it is that of a linear model with `σ² = 1`, whose covariance no label can change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Linear {
    shape: f64,
    rate: f64,
    /// What the shape does not gain from the first rows: a half where the labels are centred by their own mean, which lies at the
    /// intercept's prior mean whatever the noise is, and so tells nothing of it.
    #[serde(default, skip_serializing_if = "is_none")]
    owed: f64,
    /// The transform of the label that is learned.
    #[serde(default, skip_serializing_if = "Transform::is_identity")]
    transform: Transform,
}

impl Linear {
    fn new(shape: f64, rate: f64, transform: Transform, settings: &OnlineSettings) -> Self {
        let centred = settings.intercept && settings.standardise.by_rows().is_some();
        Self { shape, rate, owed: if centred { MEAN } else { 0.0 }, transform }
    }

    /// The model whose `weights` have a prior that is nearly flat: each takes of the shape what a mean takes.
    pub(super) fn flat(shape: f64, rate: f64, weights: usize, transform: Transform) -> Self {
        Self { shape, rate, owed: MEAN * weights as f64, transform }
    }
}

/// The share of the labels' squares below which half the digits of what is left are rounding.
const LEAST_LEFT: f64 = 1e-8;

/// What a mean takes of the shape.
const MEAN: f64 = 0.5;

/// The posterior of the noise, `1/σ² ~ Gamma(shape, rate)`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Noise {
    shape: f64,
    rate: f64,
    /// What the shape is still not to gain.
    #[serde(default, skip_serializing_if = "is_none")]
    owed: f64,
}

impl Noise {
    pub(super) fn precision(&self) -> NoisePrecision {
        NoisePrecision { shape: self.shape, rate: self.rate }
    }

    /// `a ← a + ½n`, less what is owed, `b ← b + ½Σ(y − offset)² − quadratic`; the log probability is `g(a₀, b₀) − g(a, b) − ½n·log 2π + log_det` with
    /// `g = a·ln b − ln Γ(a)`. `None` where rounding has taken half the digits of what is left of the squares.
    pub(super) fn after(&self, rows: Together) -> Option<(f64, Self)> {
        let left = 0.5 * rows.squares - rows.quadratic;
        let is_resolved = left >= LEAST_LEFT * rows.squares;
        if !is_resolved {
            return None;
        }
        let count = rows.rows as f64;
        let paid = (0.5 * count).min(self.owed);
        let after = Self { shape: self.shape + 0.5 * count - paid, rate: self.rate + left, owed: self.owed - paid };
        Some((self.evidence(&after, count) + rows.log_det, after))
    }

    /// The noise's part of the log probability of this number of labels, which change it to `after`.
    fn evidence(&self, after: &Self, labels: f64) -> f64 {
        let of = |noise: &Self| noise.shape * noise.rate.ln() - libm::lgamma(noise.shape);
        of(self) - of(after) - 0.5 * labels * (2.0 * std::f64::consts::PI).ln()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_none(owed: &f64) -> bool {
    *owed == 0.0
}

/// Checks what is owed of the shape.
fn check_owed(owed: f64) -> Result<(), Error> {
    check::not_negative("part of the shape that is owed", owed)
}

impl Stateful for Linear {
    type State = Noise;

    fn initial(&self) -> Noise {
        Noise { shape: self.shape, rate: self.rate, owed: self.owed }
    }

    fn check_state(&self, state: &Noise) -> Result<(), Error> {
        check::positive("shape of the noise", state.shape)?;
        check::positive("rate of the noise", state.rate)?;
        check_owed(state.owed)
    }

    fn scale_prior(&self) -> ScalePrior {
        ScalePrior::NOISE
    }

    /// `b ← b + ½·quadratic`; `p(labels) ∝ √(|Λ₀|/|Λ|)·b⁻ᵃ`.
    fn rescale(&self, state: &Noise, log_det: f64, quadratic: f64) -> (f64, Noise) {
        let rate = (state.rate + 0.5 * quadratic).max(f64::MIN_POSITIVE);
        (log_det - state.shape * (rate / state.rate).ln(), Noise { rate, ..state.clone() })
    }

    /// `a ← λa + (1−λ)a₀`, `b ← λb + (1−λ)b₀ + ½·spread`, and what is owed as the shape: `p ∝ p^λ·p₀^(1−λ)` of weights and noise together,
    /// which is the posterior of rows that weigh the less the older they are.
    fn forget(&self, state: &mut Noise, lambda: f64, spread: f64) {
        state.shape = lambda * state.shape + (1.0 - lambda) * self.shape;
        state.rate = lambda * state.rate + (1.0 - lambda) * self.rate + 0.5 * spread;
        state.owed = lambda * state.owed + (1.0 - lambda) * self.owed;
    }

    fn noise_variance(&self, state: &Noise) -> f64 {
        state.rate / state.shape
    }

    /// `a = a₀ + Σ(a_k − a₀)`, of which what is owed is paid once, `b = b₀ + Σ(b_k − b₀) + ½·spread`; the log evidence gains
    /// `g(a, b) − g(a₀, b₀) − Σ(g(a_k, b_k) − g(a₀, b₀))` with `g = ln Γ(a) − a·ln b`.
    fn merge(&self, states: &[&Noise], spread: f64) -> (f64, Noise) {
        let of = |noise: &Noise| libm::lgamma(noise.shape) - noise.shape * noise.rate.ln();
        let (before, mut gained, mut told) = (of(&self.initial()), 0.0, 0.0);
        let mut merged = self.initial();
        for state in states {
            told += (state.shape - self.shape) + (self.owed - state.owed);
            merged.rate += state.rate - self.rate;
            gained -= of(state) - before;
        }
        merged.owed = (self.owed - told).max(0.0);
        merged.shape += told - (self.owed - merged.owed);
        merged.rate += 0.5 * spread;
        (gained + of(&merged) - before, merged)
    }
}

impl Linear {
    /// The label where the members saw a row so, in units of `target`.
    pub(super) fn number(
        &self,
        parts: &Parts<Noise>,
        target: Target,
        offset: f64,
    ) -> Result<NumberPredicted, ModelError> {
        let Target { centre, scale: unit, transform } = target;
        let origin = offset + centre;
        if let Some(value) = parts.iter().map(|(_, seen, _)| origin + unit * seen.mean).find(|mean| !mean.is_finite()) {
            return Err(Error::Overflow { quantity: "the expected label", value }.into());
        }
        let marginal = |noise: f64| {
            let with = |seen: Projection| Projection { variance: noise + seen.variance, ..seen };
            let parts: Vec<_> = parts.iter().map(|(share, seen, state)| (*share, with(*seen), state)).collect();
            Ok::<_, ModelError>(self.marginal(&parts)?.in_units(origin, unit)?.transformed(transform))
        };
        let label = marginal(1.0)?;
        if parts.iter().any(|(_, _, noise)| noise.shape > 1.0) {
            check::result("standard deviation of the label", label.standard_deviation())?;
        }
        Ok(NumberPredicted { label, expectation: marginal(0.0)? })
    }
}

impl ScalarFamily for Linear {
    type Likelihood = GaussianLikelihood;

    const STANDARDISES_LABELS: bool = true;

    const PASS: Pass = Pass::Exact;

    fn label_target(&self) -> Target {
        Target::plain(self.transform)
    }

    /// A draw of `σ`.
    fn draw_spread<R: Rng + ?Sized>(&self, state: &Noise, rng: &mut R) -> Result<f64, Error> {
        state.precision().draw_deviation(rng)
    }

    /// The posterior of a number is a Student-t with `2a` degrees of freedom and squared scale `(b/a)·variance`.
    fn marginal(&self, parts: &[(f64, Projection, &Noise)]) -> Result<Marginal, ModelError> {
        let students: Vec<(f64, Student)> = parts
            .iter()
            .map(|(weight, seen, Noise { shape, rate, .. })| {
                // For a row of zeros without an intercept the expectation is certain; it gets the narrowest distribution there
                // is.
                let scale = (rate / shape * seen.variance).sqrt().max(f64::MIN_POSITIVE);
                Ok((*weight, Student::new(seen.mean, scale, 2.0 * shape)?))
            })
            .collect::<Result<_, ModelError>>()?;
        Ok(Marginal::of_students(&students))
    }

    fn check(&self) -> Result<(), Error> {
        check::positive("shape of the noise prior", self.shape)?;
        check::positive("rate of the noise prior", self.rate)?;
        check_owed(self.owed)
    }

    fn likelihood(&self, _state: &Noise, _size: f64) -> Result<GaussianLikelihood, Error> {
        GaussianLikelihood::new(1.0)
    }

    /// The prediction is a Student-t with `2a` degrees of freedom about `offset + xᵀμ` and squared scale `(b/a)(1 + ν)`.
    fn log_predictive(&self, state: &Noise, likelihood: &Offset<GaussianLikelihood>, y: f64, seen: Projection) -> f64 {
        let predicted = state.precision().student(likelihood.offset() + seen.mean, 1.0, seen.variance);
        predicted.map_or(f64::NAN, |predicted| predicted.log_density(y))
    }

    /// Refuses a row whose square, added to the others', would make the noise infinite.
    fn check_step(&self, observed: &Observation, seen: Projection) -> Result<(), Error> {
        const LARGEST: f64 = 1e290;
        let error = observed.label - observed.offset - seen.mean;
        let square = observed.weight * error * error;
        if square < LARGEST {
            Ok(())
        } else {
            Err(Error::Overflow { quantity: "squared error of the label", value: square })
        }
    }

    /// As [`Noise::after`]; a row whose shape is still owed is not of this kind, since what it foretells depends on which it is.
    fn learn_together(&self, state: &Noise, rows: Together) -> Option<(f64, Noise)> {
        if state.owed > 0.0 { None } else { state.after(rows) }
    }

    /// `a ← a + ½·weight`, less what is owed, `b ← b + ½·weight·(y − xᵀμ)²/(1 + weight·ν)`, with the belief before the row. Returns by how much the
    /// log density of `weight` rows exceeds that of one row, `weight` times.
    fn learn(&self, state: &mut Noise, observed: &Observation, seen: Projection, _site: Site) -> Result<f64, Error> {
        let (weight, error) = (observed.weight, observed.label - observed.offset - seen.mean);
        let before = state.clone();
        let gained = 0.5 * weight;
        let paid = gained.min(state.owed);
        state.owed -= paid;
        state.shape += gained - paid;
        state.rate += gained * error * error / (1.0 + weight * seen.variance);
        if weight == 1.0 || weight == 0.0 {
            return Ok(0.0);
        }
        // A score has been computed, so that this is finite.
        let one = before.precision().student(0.0, 1.0, seen.variance).map_or(f64::NAN, |one| one.log_density(error));
        // The rows that pay are foretold as if they did not.
        let first =
            Noise { rate: before.rate + paid * error * error / (1.0 + 2.0 * paid * seen.variance), ..before.clone() };
        let paying = before.evidence(&Noise { shape: before.shape + paid, ..first.clone() }, 2.0 * paid);
        let others = first.evidence(state, 2.0 * (gained - paid));
        Ok(paying + others - 0.5 * (weight * seen.variance).ln_1p() - weight * one)
    }
}

/// The prediction of a number with unknown noise, averaged over prior scales: Student-t, from the normal-gamma posterior, or what the model's own
/// noise makes of it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct NumberPredicted {
    /// The predictive distribution of a new `y`.
    pub label: Marginal,
    /// The posterior of the expectation `offset + intercept + xᵀw`, which narrows as rows come; where a [`Transform`]
    /// of the label is learned the median label.
    pub expectation: Marginal,
}

impl NumberPredicted {
    /// The same prediction of a label that lies `factor` times as far from its expectation, or the transform of it that is learned: for whoever knows of a
    /// row that it is less certain than others.
    ///
    /// # Errors
    /// `Setting` unless the factor is positive and finite.
    ///
    /// ```
    /// use vi_models::online::OnlineLinear;
    /// let mut model = OnlineLinear::new(1)?;
    /// for t in 0..30 {
    ///     model.update(&[f64::from(t)], f64::from(t % 3))?;
    /// }
    /// let seen = model.predict(&[9.0])?;
    /// let wider = seen.clone().stretched(2.0)?;
    /// assert!((wider.mean() - seen.mean()).abs() < 1e-12);
    /// assert!((wider.standard_deviation() / seen.standard_deviation() - 2.0).abs() < 1e-12);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn stretched(self, factor: f64) -> Result<Self, ModelError> {
        check::positive("factor", factor)?;
        Ok(Self { label: self.label.stretched(factor)?, ..self })
    }

    /// The expected label.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.label.mean()
    }

    /// The standard deviation of a new label; infinite before the noise has been seen.
    #[must_use]
    pub fn standard_deviation(&self) -> f64 {
        self.label.standard_deviation()
    }

    /// The central interval that holds a new label with probability `level`.
    ///
    /// # Errors
    /// `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.label.interval(level)
    }

    /// The value `y` with `P(Y ≤ y) = p`.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        self.label.quantile(p)
    }

    /// The predictive density `log p(y)` of a new label, in nats.
    #[must_use]
    pub fn log_density(&self, y: f64) -> f64 {
        self.label.log_density(y)
    }
}

/// Linear regression on a stream with unknown noise: the exact conjugate posterior, normal-gamma.
///
/// ```text
/// y = intercept + xᵀw + N(0, σ²),   w | σ² ~ N(0, s²σ²I),   1/σ² ~ Gamma(a₀, b₀)
/// a ← a + ½,   b ← b + ½(y − xᵀμ)²/(1 + ν)
/// ```
///
/// Where the first rows standardise the label by their own mean, the first of them adds nothing to `a`: a mean takes one degree of
/// freedom.
///
/// The prior scale `s` is in units of the noise. By default the first rows set the scale of the label as they do those of the
/// inputs, so that nothing depends on its unit or origin. With a full or square-root belief everything is exact; low-rank and
/// diagonal beliefs approximate the weights and keep the recursion of the noise.
///
/// With [`Memory::Fading`](super::Memory::Fading) the noise returns to its prior together with the weights.
///
/// ```
/// use vi_models::online::OnlineLinear;
/// let mut model = OnlineLinear::new(1)?;
/// for t in 0..60 {
///     let x = f64::from(t % 10);
///     model.update(&[x], 3.0 - 2.0 * x + 0.1 * f64::from(t % 3))?;
/// }
/// let predicted = model.predict(&[20.0])?;
/// assert!((predicted.mean() + 37.0).abs() < 0.5 && predicted.standard_deviation() < 1.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineLinear {
    engine: Engine<Linear>,
}

impl OnlineLinear {
    /// The prior `(a₀, b₀)` of the noise that [`new`](Self::new) takes, which is nearly flat: it weighs as much as a fifth of a
    /// row, and lets the noise of 20 rows fall to a thousandth of the label's standard deviation.
    pub const DEFAULT_NOISE: (f64, f64) = (0.1, 1e-5);

    /// A model of `inputs` columns with [`default_settings`](Self::default_settings) and [`DEFAULT_NOISE`](Self::DEFAULT_NOISE).
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    pub fn new(inputs: usize) -> Result<Self, ModelError> {
        let (shape, rate) = Self::DEFAULT_NOISE;
        Self::with_settings(inputs, Self::default_settings(), shape, rate)
    }

    /// The default settings of all models, except that the intercept has prior scale 1000, in units of the noise.
    #[must_use]
    pub fn default_settings() -> OnlineSettings {
        OnlineSettings { intercept_scale: 1e3, ..OnlineSettings::default() }
    }

    /// A model of `inputs` columns whose noise has the prior `1/σ² ~ Gamma(shape, rate)`, `rate` in squared units of `y`, or of
    /// the standardised `y` under [`Standardise::FirstRows`](super::Standardise::FirstRows).
    ///
    /// # Errors
    /// `Setting`, `Empty` and `Dimension` for invalid settings.
    pub fn with_settings(inputs: usize, settings: OnlineSettings, shape: f64, rate: f64) -> Result<Self, ModelError> {
        Self::of_transform(inputs, Transform::Identity, settings, shape, rate)
    }

    /// A model of a transform of the label, `g(y) = offset + intercept + xᵀw + ε`, whose predictions are of `y` itself: positive labels whose spread
    /// grows with their size, fractions whose spread falls towards both ends. Noise and prior are those of `g(y)`, and the evidence is that of `y`. A label without the transform is
    /// refused. The log-normal's mean `exp(m + ½s²)` takes the noise at its expected size.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings).
    ///
    /// ```
    /// use vi_models::{Transform, online::OnlineLinear};
    /// let (shape, rate) = OnlineLinear::DEFAULT_NOISE;
    /// let mut model = OnlineLinear::of_transform(1, Transform::Log, OnlineLinear::default_settings(), shape, rate)?;
    /// for t in 0..60 {
    ///     let x = f64::from(t % 10);
    ///     model.update(&[x], (0.3 * x + 0.1 * f64::from(t % 3)).exp())?;
    /// }
    /// let predicted = model.predict(&[20.0])?;
    /// assert!((predicted.quantile(0.5)?.ln() - 6.1).abs() < 0.1 && predicted.interval(0.9)?.lower > 0.0);
    /// assert!(model.update(&[0.0], 0.0).is_err());
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn of_transform(
        inputs: usize,
        transform: Transform,
        settings: OnlineSettings,
        shape: f64,
        rate: f64,
    ) -> Result<Self, ModelError> {
        let family = Linear::new(shape, rate, transform, &settings);
        Ok(Self { engine: Engine::new(inputs, family, settings)? })
    }

    /// The transform of the label that is learned; see [`of_transform`](Self::of_transform).
    #[must_use]
    pub fn transform(&self) -> Transform {
        self.engine.family.transform
    }

    /// A model that starts from the posterior `learned` of the weights and `1/σ² ~ Gamma(shape, rate)` of the noise, and can
    /// learn further rows; `before` is the prior of the noise.
    ///
    /// # Errors
    /// As [`with_settings`](Self::with_settings); [`ModelError::Unsupported`] for settings whose posterior is not one Gaussian;
    /// `Dimension`.
    ///
    /// ```
    /// use vi_models::online::{OnlineLinear, OnlineSettings, PriorScale, Standardise};
    /// let settings = OnlineSettings {
    ///     prior_scale: PriorScale::Given(100.0),
    ///     standardise: Standardise::Never,
    ///     ..OnlineLinear::default_settings()
    /// };
    /// let mut model = OnlineLinear::with_settings(1, settings.clone(), 1e-2, 1e-4)?;
    /// for (x, y) in [(0.0, 1.1), (1.0, 2.9), (2.0, 5.2)] {
    ///     model.update(&[x], y)?;
    /// }
    /// let again = OnlineLinear::from_gaussian(settings, model.noise_prior(), &model.gaussian()?, model.noise())?;
    /// assert_eq!(again.predict(&[3.0])?, model.predict(&[3.0])?);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn from_gaussian(
        settings: OnlineSettings,
        before: (f64, f64),
        learned: &OneGaussian,
        (shape, rate): (f64, f64),
    ) -> Result<Self, ModelError> {
        let family = Linear::new(before.0, before.1, Transform::Identity, &settings);
        let state = Noise { shape, rate, owed: if learned.observations == 0 { family.owed } else { 0.0 } };
        let engine = Engine::new(learned.inputs(&settings), family, settings)?;
        Ok(Self { engine: engine.with_gaussian(learned, &state)? })
    }

    /// The prior of the noise, `1/σ² ~ Gamma(shape, rate)`, in the units that it was given in.
    #[must_use]
    pub fn noise_prior(&self) -> (f64, f64) {
        (self.engine.family.shape, self.engine.family.rate)
    }

    /// The state of the model, for people to read.
    #[must_use]
    pub fn info(&self) -> OnlineInfo {
        OnlineInfo::of_linear(&self.engine)
    }

    /// The posterior of the noise, `1/σ² ~ Gamma(shape, rate)` in the units of `y`, as `(shape, rate)`. `σ²` has the mean
    /// `rate/(shape − 1)`; the rate is averaged over the prior scales, which share the shape, so that this mean is right. It is at
    /// most the largest float, which errors of more than 10¹⁵⁰ could exceed.
    #[must_use]
    pub fn noise(&self) -> (f64, f64) {
        let unit = self.engine.design.target.scale;
        let states = self.engine.members.iter().map(|member| &member.state);
        let average = |of: fn(&Noise) -> f64| {
            self.engine.weights().into_iter().zip(states.clone()).map(|(weight, state)| weight * of(state)).sum::<f64>()
        };
        (average(|noise| noise.shape), (average(|noise| noise.rate) * unit * unit).min(f64::MAX))
    }
}

front_door!(OnlineLinear, Linear);
one_predictor!(OnlineLinear);
one_gaussian!(OnlineLinear);
predicts_numbers!(OnlineLinear);
predicts_batches!(OnlineLinear, NumberPredicted);

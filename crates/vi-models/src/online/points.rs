//! Expected labels and most probable classes of many rows, without the variances that these do not need.

use vi_core::{Error, Projection};

use super::engine::{Engine, ScalarFamily, check_offset};
use super::observation::Size;
use super::row::check_row;
use super::{Draw, LabelPredicted, Model, NumberPredicted, Observation, Prediction, ProbabilityPredicted, Row};
use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Poisson};
use crate::predict::CountPrediction;
use crate::{Marginal, ModelError, Transform};

/// A predictor this near 0, as a share of the sizes of its terms, is left to the full prediction, whose average over the prior scale could lie on
/// the other side.
const UNDECIDED: f64 = 1e-4;

/// The weights of a model for predictions that are a single number: `2d` flops a row where a variance takes `2d²`.
///
/// The mean of a number is that of the weights, `xᵀE[w]`, to second order in the log prior scale; [`Model::predict`] leaves out terms that
/// change a variance by less than a thousandth, so that its mean differs in about the sixth digit.
///
/// ```
/// use vi_models::Transform;
/// use vi_models::online::{Kind, Model, Observation, Row};
/// let kind = Kind::Number { transform: Transform::Identity, noise: (0.1, 1e-5) };
/// let mut model = Model::new(kind, 1, kind.default_settings())?;
/// for t in 0..60 {
///     let x = f64::from(t % 10);
///     model.update(Row::Dense(&[x]), Observation::new(3.0 - 2.0 * x + 0.1 * f64::from(t % 3)))?;
/// }
/// let (row, at) = (Row::Dense(&[20.0]), Observation::new(0.0));
/// let mean = model.points().mean(row, at)?.unwrap_or(f64::NAN);
/// assert!((mean - model.predict(row, at)?.mean().unwrap_or(f64::NAN)).abs() < 1e-6 * mean.abs());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug)]
pub struct Points<'a> {
    model: &'a Model,
    /// The mean of the weights where labels are linear in them, the means of each member where the sign of the predictor decides.
    weights: Vec<Draw>,
}

impl Model {
    /// The model for many predictions without variances.
    #[must_use]
    pub fn points(&self) -> Points<'_> {
        let weights = match self {
            Self::Number(model) if model.transform() == Transform::Identity => vec![model.weights()],
            Self::Robust(model) if model.transform() == Transform::Identity => vec![model.weights()],
            Self::Two(model) => model.member_weights(),
            Self::Probit(model) => model.member_weights(),
            _ => Vec::new(),
        };
        Points { model: self, weights }
    }
}

impl Points<'_> {
    /// The expected label at `row`; `None` for several classes. It takes no variance for numbers that are learned as they are.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn mean(&self, row: Row<'_>, at: Observation) -> Result<Option<f64>, ModelError> {
        let (Model::Number(_) | Model::Robust(_), [weights]) = (self.model, self.weights.as_slice()) else {
            return Ok(self.model.predict(row, at)?.mean());
        };
        self.check(row, at)?;
        let value = at.offset + along(weights, row).0;
        if value.is_finite() {
            Ok(Some(value))
        } else {
            Err(Error::Overflow { quantity: "the expected label", value }.into())
        }
    }

    /// The most probable class at `row`, that of [`Model::predict`]; `None` for labels that are no classes. It takes no variance for two
    /// classes whose log odds have one sign at all prior scales.
    ///
    /// # Errors
    /// As [`Model::predict`].
    pub fn class(&self, row: Row<'_>, at: Observation) -> Result<Option<usize>, ModelError> {
        if let Model::Two(_) | Model::Probit(_) = self.model {
            self.check(row, at)?;
            let (mut positive, mut negative) = (!self.weights.is_empty(), !self.weights.is_empty());
            for weights in &self.weights {
                let (sum, size) = along(weights, row);
                let least = UNDECIDED * (size + at.offset.abs());
                positive &= sum + at.offset > least;
                negative &= sum + at.offset < -least;
            }
            if positive || negative {
                return Ok(Some(usize::from(positive)));
            }
        }
        Ok(self.model.predict(row, at)?.class())
    }

    fn check(&self, row: Row<'_>, at: Observation) -> Result<(), ModelError> {
        check_row(row, self.model.inputs())?;
        check_offset(at.offset)?;
        at.size(Size::None)?;
        Ok(())
    }
}

/// `intercept + xᵀw`, and the sum of the sizes of its terms.
fn along(draw: &Draw, row: Row<'_>) -> (f64, f64) {
    const LANES: usize = 4;
    let (mut sums, mut sizes) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, term: f64| {
        sums[lane] += term;
        sizes[lane] += term.abs();
    };
    match row {
        Row::Dense(values) => {
            let (values, weights) = (values.chunks_exact(LANES), draw.weights.chunks_exact(LANES));
            let left = values.remainder().iter().zip(weights.remainder()).map(|(value, weight)| value * weight);
            left.for_each(|term| add(0, term));
            for (values, weights) in values.zip(weights) {
                for lane in 0..LANES {
                    add(lane, values[lane] * weights[lane]);
                }
            }
        }
        Row::Sparse { positions, values } => {
            positions.iter().zip(values).for_each(|(&j, value)| add(0, draw.weights[j] * value));
        }
    }
    (draw.intercept + sums.iter().sum::<f64>(), draw.intercept.abs() + sizes.iter().sum::<f64>())
}

impl<F: ScalarFamily> Engine<F> {
    /// The posterior mean of the weights.
    pub(super) fn mean_weights(&self) -> Draw {
        let levels = self.weights().into_iter().zip(&self.members);
        let level: f64 = levels.map(|(weight, member)| weight * self.family.level(&member.state).mean).sum();
        Draw::new(&self.design, &self.mean()).raised(level)
    }

    /// The posterior mean of the weights of each member; none where one cannot be computed.
    pub(super) fn means(&self) -> Vec<Draw> {
        let of = |member: &super::engine::Member<F::State>| {
            Some(Draw::new(&self.design, &member.mean().ok()?).raised(self.family.level(&member.state).mean))
        };
        self.members.iter().map(of).collect::<Option<_>>().unwrap_or_default()
    }
}

impl Model {
    /// The prediction at `row` if weights and noise were those of a draw: for the likelihood of a row under each of many draws, and for labels
    /// that belong to one.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`ModelError::Unsupported`] for kinds whose draws leave something of the label open: several classes, a
    /// learned spread of counts, excess zeros, heavy tails.
    pub fn predict_given(&self, draw: &Draw, row: Row<'_>, at: Observation) -> Result<Prediction, ModelError> {
        fn label<L: CountPrediction>(seen: [(f64, Projection); 1], own: L) -> Result<LabelPredicted<L>, ModelError> {
            LabelPredicted::new(&seen, vec![(1.0, seen[0].1, own)])
        }
        check_offset(at.offset)?;
        let mean = draw.score(row)? + at.offset;
        let seen = [(1.0, Projection { mean, variance: 0.0 })];
        Ok(match (self, draw.noise) {
            (Self::Number(model), Some(noise)) => {
                at.size(Size::None)?;
                let of = |variance: f64| {
                    Marginal::of_gaussians(&[(1.0, Projection { mean, variance })]).transformed(model.transform())
                };
                Prediction::Number(NumberPredicted { label: of(noise * noise), expectation: of(0.0) })
            }
            (Self::Two(_), _) => {
                at.size(Size::None)?;
                Prediction::Two(ProbabilityPredicted::new(&seen))
            }
            (Self::Probit(_), _) => {
                at.size(Size::None)?;
                Prediction::Probit(label(seen, BernoulliProbit)?)
            }
            (Self::Count(_), _) => Prediction::Count(label(seen, Poisson::new(at.size(Size::Exposure)?)?)?),
            (Self::Trials(_), _) => Prediction::Trials(label(seen, Binomial::new(at.size(Size::Trials)?)?)?),
            (Self::Spread(model), _) => {
                let own = NegativeBinomial::new(model.family().size)?.with_exposure(at.size(Size::Exposure)?)?;
                Prediction::Spread(label(seen, own)?)
            }
            _ => return Err(ModelError::Unsupported { what: "a label given one draw" }),
        })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::online::{Kind, Memory, OnlineSettings};

    fn learned(kind: Kind, settings: OnlineSettings, label: impl Fn(f64, &mut ChaCha8Rng) -> f64) -> Model {
        let (mut model, mut rng) = (Model::new(kind, 3, settings).unwrap(), ChaCha8Rng::seed_from_u64(5));
        for _ in 0..300 {
            let row = row(&mut rng);
            let label = label(0.5 + 0.8 * row[0] - 0.002 * (row[1] - 5000.0), &mut rng);
            model.update(Row::Dense(&row), Observation::new(label)).unwrap();
        }
        model
    }

    fn row(rng: &mut ChaCha8Rng) -> [f64; 3] {
        [rng.random::<f64>() * 4.0 - 2.0, 5000.0 + 900.0 * rng.random::<f64>(), rng.random()]
    }

    #[test]
    fn draws_average_to_the_prediction() {
        let number = |t: f64, rng: &mut ChaCha8Rng| 1e4 + 40.0 * t + 9.0 * rng.random::<f64>();
        let two = |t: f64, rng: &mut ChaCha8Rng| f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-t).exp()));
        let noise = (0.1, 1e-5);
        let models = [
            (
                learned(
                    Kind::Number { transform: Transform::Identity, noise },
                    Kind::Number { transform: Transform::Identity, noise }.default_settings(),
                    number,
                ),
                f64::NAN,
            ),
            (learned(Kind::Two, OnlineSettings::default(), two), 1.0),
            (learned(Kind::Probit, OnlineSettings::default(), two), 1.0),
            (learned(Kind::Count, OnlineSettings::default(), two), 1.0),
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        for (model, label) in &models {
            let (row, at) = (row(&mut rng), Observation::new(0.0).offset(0.3));
            let seen = model.predict(Row::Dense(&row), at).unwrap();
            let label = &seen.mean().filter(|mean| *mean > 100.0).unwrap_or(*label);
            let exact = seen.log_density(*label).unwrap().exp();
            let given: Vec<f64> = (0..4000)
                .map(|_| {
                    let draw = model.sample(&mut rng).unwrap().remove(0);
                    model.predict_given(&draw, Row::Dense(&row), at).unwrap().log_density(*label).unwrap().exp()
                })
                .collect();
            let n = given.len() as f64;
            let mean = given.iter().sum::<f64>() / n;
            let error = (given.iter().map(|own| (own - mean).powi(2)).sum::<f64>() / n / n).sqrt();
            // Six standard errors, and half a percent for the moment-matched probability.
            assert!((mean - exact).abs() < 6.0 * error + 0.005 * exact, "{}: {mean} {exact} {error}", model.name());
        }
        let robust = learned(
            Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) },
            OnlineSettings::default(),
            number,
        );
        let draw = robust.sample(&mut rng).unwrap().remove(0);
        let refused = robust.predict_given(&draw, Row::Dense(&[0.0; 3]), Observation::new(0.0));
        assert!(matches!(refused, Err(ModelError::Unsupported { .. })));
    }

    #[test]
    fn a_point_is_that_of_the_prediction() {
        let number = |t: f64, rng: &mut ChaCha8Rng| 1e4 + 40.0 * t + 9.0 * rng.random::<f64>();
        let two = |t: f64, rng: &mut ChaCha8Rng| f64::from(rng.random::<f64>() < 1.0 / (1.0 + (-t).exp()));
        let plain = OnlineSettings::default;
        let drifting = OnlineSettings { memory: Memory::Learned, ..plain() };
        let noise = (0.1, 1e-5);
        let models = [
            learned(
                Kind::Number { transform: Transform::Identity, noise },
                Kind::Number { transform: Transform::Identity, noise }.default_settings(),
                number,
            ),
            learned(
                Kind::Number { transform: Transform::Log, noise },
                Kind::Number { transform: Transform::Log, noise }.default_settings(),
                number,
            ),
            learned(Kind::Robust { transform: Transform::Identity, unit: (0.0, 1.0) }, plain(), number),
            learned(Kind::Two, plain(), two),
            learned(Kind::Two, drifting, two),
            learned(Kind::Probit, plain(), two),
            learned(Kind::Count, plain(), two),
            learned(Kind::Classes { classes: 2, joint: None }, plain(), two),
        ];
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        for model in &models {
            let points = model.points();
            for t in 0..200 {
                let row = row(&mut rng);
                let at = Observation::new(0.0).offset(if model.kind() == Kind::Two && t % 2 == 1 { 0.7 } else { 0.0 });
                let full = model.predict(Row::Dense(&row), at).unwrap();
                assert_eq!(points.class(Row::Dense(&row), at).unwrap(), full.class(), "{}", model.name());
                let mean = points.mean(Row::Dense(&row), at).unwrap();
                // The terms that the full prediction leaves out.
                let near = |a: f64, b: f64| (a - b).abs() <= 1e-5 * b.abs();
                assert!(mean.zip(full.mean()).is_none_or(|(a, b)| near(a, b)), "{} {mean:?}", model.name());
                assert_eq!(mean.is_some(), full.mean().is_some());
            }
        }
        let points = models[0].points();
        let at = Observation::new(0.0);
        assert!(points.mean(Row::Dense(&[0.0, f64::NAN, 1.0]), at).is_err());
        assert!(points.mean(Row::Dense(&[1e308, 1e308, 1e308]), at.offset(1e308)).is_err());
        assert!(points.mean(Row::Dense(&[0.0; 3]), at.trials(2.0)).is_err());
    }
}

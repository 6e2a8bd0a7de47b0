//! Predictions for a new row, and the posterior of the weights.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_core::special::{normal_cdf, normal_quantile};
use vi_core::{Belief, DenseGaussian, Mixture8, Projection, check, quadrature};
use vi_models::likelihood::Poisson;
use vi_models::predict::{CountsPredicted, LogisticPrediction, Predictive};
use vi_models::{Interval, ModelError};

use crate::{Family, GroupKey, LinearFit, PoolFit, Posterior, SumsError};

/// The prediction for one row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Predicted {
    /// The mean: of the label for numbers and counts, of the probability of label 1 for classes.
    pub mean: f64,
    /// The variance of the same quantity.
    pub variance: f64,
    /// The lower end of its central interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Predicted {
    pub(crate) fn new(mean: f64, variance: f64, interval: Interval) -> Self {
        Self { mean, variance, lower: interval.lower, upper: interval.upper }
    }
}

/// The posterior of one weight.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weight {
    /// Its posterior mean.
    pub mean: f64,
    /// Its posterior standard deviation.
    pub deviation: f64,
    /// The lower end of its central interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Weight {
    /// Mean, deviation, lower and upper end of the interval, in the order in which queries show them.
    #[must_use]
    pub fn numbers(&self) -> [f64; 4] {
        [self.mean, self.deviation, self.lower, self.upper]
    }
}

/// A posterior prepared for predictions: it is factored once, at `O(d³)`, and each answer then costs `O(d²)`.
///
/// ```
/// use vi_sums::{LinearPosterior, LinearPrior, Posterior, Predictor};
/// let mut fold = LinearPosterior::new(1, LinearPrior::default())?;
/// for (x, y) in [(0.0, 1.1), (1.0, 2.9), (2.0, 5.2), (3.0, 6.8)] {
///     fold.sums_mut().update(&[x], y)?;
/// }
/// let predictor = Predictor::new(&Posterior::from(fold))?;
/// let seen = predictor.predict(&[4.0], 0.9)?;
/// assert!(seen.lower < seen.mean && seen.mean < seen.upper);
/// assert_eq!(predictor.weights(0.9)?.len(), 2);
/// assert_eq!(predictor.sample(7)?, predictor.sample(7)?);
/// # Ok::<(), vi_sums::SumsError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Predictor {
    kind: Kind,
    inputs: usize,
}

#[derive(Debug, Clone)]
enum Kind {
    Linear(Box<LinearFit>),
    Glm { family: Family, belief: Box<DenseGaussian>, intercept: bool },
    Pool(Box<PoolFit>),
}

impl Predictor {
    /// Prepares a posterior. Cost `d³`, or that of [`Pool::fit`](crate::Pool::fit).
    ///
    /// # Errors
    /// Those of [`LinearPosterior::fit`](crate::LinearPosterior::fit), [`GlmPosterior::belief`](crate::GlmPosterior::belief) and [`Pool::fit`](crate::Pool::fit).
    pub fn new(posterior: &Posterior) -> Result<Self, SumsError> {
        let kind = match posterior {
            Posterior::Linear(own) => Kind::Linear(Box::new(own.fit()?)),
            Posterior::Glm(own) => Kind::Glm {
                family: own.family(),
                belief: Box::new(own.belief()?),
                intercept: own.prior().has_intercept(),
            },
            Posterior::Pool(own) => Kind::Pool(Box::new(own.fit()?)),
        };
        Ok(Self { kind, inputs: posterior.inputs() })
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The prediction at the row `x` (length `d`): mean, variance and central interval of `level`, of the label or of the
    /// probability of label 1; of a pool that of a new group.
    ///
    /// # Errors
    /// [`vi_core::Error::Dimension`], [`vi_core::Error::NonFinite`], [`vi_core::Error::Setting`] unless `0 < level < 1`; [`vi_core::Error::Overflow`], [`vi_core::Error::Quadrature`].
    pub fn predict(&self, x: &[f64], level: f64) -> Result<Predicted, SumsError> {
        check::length("x", self.inputs, x.len())?;
        check::finite("x", x)?;
        check::probability("level", level)?;
        let (family, belief, intercept) = match &self.kind {
            Kind::Linear(fit) => {
                let seen = fit.predict(x)?;
                return Ok(Predicted::new(seen.location(), seen.variance(), seen.interval(level)?));
            }
            Kind::Glm { family, belief, intercept } => (*family, belief, *intercept),
            Kind::Pool(fit) => return fit.predict(x, None, level),
        };
        let row: Vec<f64> = intercept.then_some(1.0).into_iter().chain(x.iter().copied()).collect();
        let seen = belief.predict(row.as_slice())?;
        match family {
            Family::Logistic => {
                let seen = LogisticPrediction::new(seen, &Mixture8);
                Ok(Predicted::new(seen.probability, seen.variance, seen.interval(level)?))
            }
            Family::Probit => probit(seen, level),
            Family::Poisson => {
                let seen = CountsPredicted::new(seen, Poisson::default());
                Ok(Predicted::new(seen.mean, seen.variance, seen.interval(level)?))
            }
            Family::NegativeBinomial(counts) => {
                let seen = CountsPredicted::new(seen, counts);
                Ok(Predicted::new(seen.mean, seen.variance, seen.interval(level)?))
            }
        }
    }

    /// As [`predict`](Self::predict) for a row of a group of a pool, or of a new one where the group is not given or not in the pool.
    ///
    /// # Errors
    /// As [`predict`](Self::predict); [`SumsError::Kind`] unless the posterior is a pool.
    pub fn predict_in(&self, x: &[f64], group: Option<&GroupKey>, level: f64) -> Result<Predicted, SumsError> {
        let found = match &self.kind {
            Kind::Pool(fit) => return fit.predict(x, group, level),
            Kind::Linear(_) => Posterior::LINEAR,
            Kind::Glm { .. } => Posterior::GLM,
        };
        Err(SumsError::Kind { expected: "vi-sums/pool, pooled groups", found: found.to_owned() })
    }

    /// The posterior of each weight, the intercept (if there is one) first, with central intervals of `level`.
    ///
    /// # Errors
    /// [`vi_core::Error::Setting`] unless `0 < level < 1`.
    pub fn weights(&self, level: f64) -> Result<Vec<Weight>, SumsError> {
        check::probability("level", level)?;
        match &self.kind {
            Kind::Linear(fit) => fit
                .weights()?
                .into_iter()
                .map(|weight| {
                    let Interval { lower, upper } = weight.interval(level)?;
                    Ok(Weight { mean: weight.location(), deviation: weight.standard_deviation(), lower, upper })
                })
                .collect(),
            Kind::Glm { belief, .. } => {
                let covariance = belief.covariance_lower();
                let weight = |(j, &mean): (usize, &f64)| {
                    let variance: f64 = covariance[(j, j)];
                    let Interval { lower, upper } = Interval::gaussian(mean, variance, level)?;
                    Ok(Weight { mean, deviation: variance.sqrt(), lower, upper })
                };
                belief.mean().iter().enumerate().map(weight).collect()
            }
            Kind::Pool(fit) => fit.weights(level),
        }
    }

    /// One draw of the intercept, if there is one, and the weights; the same seed gives the same draw, by ChaCha8. Cost `d³/3`.
    ///
    /// # Errors
    /// [`vi_core::Error::NotPositiveDefinite`]; [`vi_core::Error::Setting`] if the generator refuses the shape of the noise; `Unsupported` for a pool.
    pub fn sample(&self, seed: u64) -> Result<Vec<f64>, SumsError> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        match &self.kind {
            Kind::Linear(fit) => fit.draw(&mut rng),
            Kind::Glm { belief, .. } => {
                let mut weights = vec![0.0; belief.dim()];
                belief.draw_with(&belief.cholesky()?, &mut weights, &mut rng)?;
                Ok(weights)
            }
            Kind::Pool(_) => Err(ModelError::Unsupported { what: "draw of the weights of a pool" }.into()),
        }
    }
}

/// `E Φ(t)`, its variance, and the image of the predictor's interval.
fn probit(seen: Projection, level: f64) -> Result<Predicted, SumsError> {
    let Projection { mean: a, variance: nu } = seen;
    let probability = normal_cdf(a / (1.0 + nu).sqrt());
    let variance = quadrature::average(|t| (normal_cdf(t) - probability).powi(2), a, nu)?;
    let half = normal_quantile(0.5 * (1.0 + level)) * nu.sqrt();
    let interval = Interval { lower: normal_cdf(a - half), upper: normal_cdf(a + half) };
    Ok(Predicted::new(probability, variance, interval))
}

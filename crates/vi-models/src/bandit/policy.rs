//! Policies: choices among arms by the posteriors of their rewards.

use rand::{Rng, RngExt};
use vi_core::special::{normal_cdf, sigmoid};
use vi_core::{Error, Row, Rows};

use super::information_directed;
use crate::online::{Model, Observation};
use crate::{Marginal, ModelError, check};

/// The models of the arms' rewards at one context.
#[derive(Debug, Clone, Copy)]
pub enum Arms<'a> {
    /// A model for each arm, which has learned that arm's rewards alone; all are of one kind.
    Apart {
        /// The models.
        models: &'a [&'a Model],
        /// The context, a row of each model.
        context: Row<'a>,
    },
    /// One model of all arms.
    Together {
        /// The model.
        model: &'a Model,
        /// A row for each arm at this context.
        rows: Rows<'a>,
    },
}

/// A rule for the choice of an arm.
///
/// | policy | chooses | its regret |
/// |---|---|---|
/// | [`Directed`](Self::Directed), the default | by the cost of a choice against its information | least or nearly in ten of the twelve worlds of the [module](super) |
/// | [`Thompson`](Self::Thompson) | each arm as often as it is the best in the posterior | explores the most, and with many arms for too long |
/// | [`Bound`](Self::Bound) | the arm that may be the best | low with contexts that vary; without, it can settle on a wrong arm |
/// | [`Greedy`](Self::Greedy) | the arm with the highest expected predictor | settles on wrong arms: for models that learn no more |
///
/// ```
/// use rand::SeedableRng;
/// use vi_models::bandit::{Arms, Policy};
/// use vi_models::online::{Kind, Model, Observation, Row};
/// let mut models = vec![Model::new(Kind::Two, 1, Kind::Two.default_settings())?; 3];
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// for t in 0..300 {
///     let x = [f64::from(t % 7) / 3.0 - 1.0];
///     let arms: Vec<&Model> = models.iter().collect();
///     let arm = Policy::default().choose(Arms::Apart { models: &arms, context: Row::Dense(&x) }, &mut rng)?;
///     // The first arm is right below 0, the last above.
///     let reward = if (arm == 0 && x[0] < 0.0) || (arm == 2 && x[0] > 0.0) { 1.0 } else { 0.0 };
///     models[arm].update(Row::Dense(&x), Observation::new(reward))?;
/// }
/// let arms: Vec<&Model> = models.iter().collect();
/// let at = |x: &[f64]| Policy::Greedy.choose(Arms::Apart { models: &arms, context: Row::Dense(x) }, &mut rng.clone());
/// assert_eq!((at(&[-1.0])?, at(&[1.0])?), (0, 2));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// [`information_directed`] sampling by so many joint draws. Rewards are probabilities where they are 0 and 1, the logarithms of their means
    /// where they are counts.
    Directed {
        /// The number of draws, at least 1: 100 by default. An arm that is the best with a smaller probability than their inverse is hardly ever
        /// tried.
        draws: usize,
    },
    /// The best arm of one joint draw (Thompson 1933).
    Thompson,
    /// The arm with the highest upper end of the central interval of its linear predictor (upper confidence bound).
    Bound {
        /// The interval's mass, between 0 and 1.
        level: f64,
    },
    /// The arm with the highest expected linear predictor.
    Greedy,
}

impl Default for Policy {
    fn default() -> Self {
        Self::Directed { draws: 100 }
    }
}

impl Policy {
    /// The place of the chosen arm. Models of single arms that have learned nothing come first, and arms that are equal are decided
    /// between by chance.
    ///
    /// With `k` arms, `n` draws and rows that cost `c` each, a choice costs `k·c`, with draws `n·k` numbers more, and `k³/3 + n·k²` flops for one
    /// model of all arms.
    ///
    /// # Errors
    /// `Empty` for no arms; [`ModelError::Unlike`] for models of several kinds; [`ModelError::Unsupported`] for a model of classes; `Setting` for a level
    /// or a number of draws; those of the models for the rows.
    pub fn choose<R: Rng + ?Sized>(self, arms: Arms<'_>, rng: &mut R) -> Result<usize, ModelError> {
        if let Arms::Apart { models, .. } = arms {
            let Some(first) = models.first() else {
                return Err(Error::Empty { argument: "models" }.into());
            };
            if let Some(shard) = models.iter().position(|model| model.name() != first.name()) {
                return Err(ModelError::Unlike { shard, what: "its kind" });
            }
            let untried: Vec<usize> = (0..models.len()).filter(|&arm| models[arm].observations() == 0).collect();
            if !untried.is_empty() {
                return Ok(untried[rng.random_range(0..untried.len())]);
            }
        }
        match self {
            Self::Directed { draws } => {
                let (rewards, k) = arms.drawn(draws, rng)?;
                information_directed(&rewards, k, rng)
            }
            Self::Thompson => Ok(highest(&arms.drawn(1, rng)?.0, rng)),
            Self::Bound { level } => {
                check::probability("level", level)?;
                let found = arms.predictors()?;
                let ends: Result<Vec<_>, ModelError> = found.iter().map(|own| Ok(own.interval(level)?.upper)).collect();
                Ok(highest(&ends?, rng))
            }
            Self::Greedy => Ok(highest(&arms.predictors()?.iter().map(Marginal::mean).collect::<Vec<_>>(), rng)),
        }
    }
}

impl Arms<'_> {
    /// Joint draws of the arms' rewards, `draws × arms`, and the number of arms.
    fn drawn<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<(Vec<f64>, usize), ModelError> {
        match *self {
            Arms::Together { model, rows } => {
                let k = rows.count(model.inputs());
                if k == 0 {
                    return Err(Error::Empty { argument: "rows" }.into());
                }
                let scores = model.score_samples(rows, draws, rng)?;
                Ok((scores.into_iter().map(|score| reward(model, score)).collect(), k))
            }
            Arms::Apart { models, context } => {
                let k = models.len();
                let mut rewards = vec![0.0; check::room("draws", &[draws, k])?];
                for (arm, model) in models.iter().enumerate() {
                    let scores = match context {
                        // A row without inputs is told from no row by the starts alone.
                        Row::Dense([]) if model.inputs() == 0 => {
                            let none = Rows::Sparse { starts: &[0, 0], positions: &[], values: &[] };
                            model.score_samples(none, draws, rng)
                        }
                        Row::Dense(values) => {
                            check::length("context", model.inputs(), values.len())?;
                            model.score_samples(Rows::Dense(values), draws, rng)
                        }
                        Row::Sparse { positions, values } => {
                            let starts = [0, positions.len()];
                            model.score_samples(Rows::Sparse { starts: &starts, positions, values }, draws, rng)
                        }
                    }?;
                    for (own, score) in rewards[arm..].iter_mut().step_by(k).zip(scores) {
                        *own = reward(model, score);
                    }
                }
                Ok((rewards, k))
            }
        }
    }

    /// The posterior of each arm's linear predictor.
    fn predictors(&self) -> Result<Vec<Marginal>, ModelError> {
        let one = |model: &Model, row: Row<'_>| {
            if matches!(model, Model::Classes(_)) {
                return Err(ModelError::Unsupported {
                    what: "one score of a row whose label is one of several classes",
                });
            }
            model.predictors(row, Observation::new(0.0))
        };
        let found: Vec<Vec<Marginal>> = match *self {
            Arms::Apart { models, context } => {
                models.iter().map(|model| one(model, context)).collect::<Result<_, _>>()?
            }
            Arms::Together { model, rows } => {
                let (n, mut memory) = (rows.count(model.inputs()), Vec::new());
                let rows = rows.split(n, model.inputs(), &mut memory)?;
                rows.into_iter().map(|row| one(model, row)).collect::<Result<_, _>>()?
            }
        };
        if found.is_empty() {
            return Err(Error::Empty { argument: "rows" }.into());
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// The mean reward at a linear predictor, in a form that can be compared: a probability, the number itself, the logarithm of a count's mean, which has no overflow.
fn reward(model: &Model, score: f64) -> f64 {
    match model {
        Model::Two(_) | Model::Trials(_) => sigmoid(score),
        Model::Probit(_) => normal_cdf(score),
        _ => score,
    }
}

/// The place of the highest score; among equal ones by chance.
fn highest<R: Rng + ?Sized>(scores: &[f64], rng: &mut R) -> usize {
    let top = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let ties: Vec<usize> = (0..scores.len()).filter(|&arm| scores[arm] == top).collect();
    ties[rng.random_range(0..ties.len())]
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;
    use crate::online::{Kind, Observation};

    const POLICIES: [Policy; 4] =
        [Policy::Directed { draws: 100 }, Policy::Thompson, Policy::Bound { level: 0.9 }, Policy::Greedy];

    fn model(kind: Kind, labels: &[f64]) -> Model {
        let mut model = Model::new(kind, 1, kind.default_settings()).unwrap();
        for (t, label) in labels.iter().enumerate() {
            model.update(Row::Dense(&[(t % 5) as f64]), Observation::new(*label)).unwrap();
        }
        model
    }

    /// How often each arm is chosen.
    fn shares(policy: Policy, arms: Arms<'_>, k: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let mut counts = vec![0.0; k];
        for _ in 0..500 {
            counts[policy.choose(arms, &mut rng).unwrap()] += 1.0;
        }
        counts.iter().map(|count| count / 500.0).collect()
    }

    #[test]
    fn the_better_arm_is_chosen_and_an_unknown_one_explored() {
        let often = |share: usize, n: usize| (0..n).map(|t| f64::from(t % 10 < share)).collect::<Vec<_>>();
        let (good, bad) = (model(Kind::Two, &often(7, 2000)), model(Kind::Two, &often(3, 2000)));
        let known = Arms::Apart { models: &[&bad, &good], context: Row::Dense(&[2.0]) };
        for policy in POLICIES {
            assert_eq!(shares(policy, known, 2), [0.0, 1.0], "{policy:?}");
        }
        let young = model(Kind::Two, &[1.0, 0.0, 0.0, 1.0, 0.0, 1.0]);
        let open = Arms::Apart { models: &[&young, &good], context: Row::Dense(&[2.0]) };
        for policy in &POLICIES[..2] {
            let tried = shares(*policy, open, 2)[0];
            assert!(tried > 0.0 && tried < 0.95, "{policy:?} {tried}");
        }
        assert_eq!(shares(Policy::Bound { level: 0.95 }, open, 2), [1.0, 0.0]);
        assert_eq!(shares(Policy::Greedy, open, 2), [0.0, 1.0]);
    }

    #[test]
    fn thompson_chooses_an_arm_as_often_as_it_is_the_best() {
        let models = [model(Kind::Two, &[1.0, 0.0, 1.0, 1.0]), model(Kind::Two, &[1.0, 0.0, 0.0])];
        let arms = Arms::Apart { models: &[&models[0], &models[1]], context: Row::Dense(&[1.0]) };
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        let drawn = arms.drawn(20_000, &mut rng).unwrap().0;
        let better = drawn.chunks(2).filter(|own| own[0] > own[1]).count() as f64 / 20_000.0;
        // 5 standard errors of 500 choices.
        assert!((shares(Policy::Thompson, arms, 2)[0] - better).abs() < 0.11, "{better}");
    }

    #[test]
    fn arms_without_contexts_are_told_apart() {
        let of = |labels: &[f64]| {
            let mut model = Model::new(Kind::Two, 0, Kind::Two.default_settings()).unwrap();
            for label in labels {
                model.update(Row::Dense(&[]), Observation::new(*label)).unwrap();
            }
            model
        };
        let (good, bad) = (of(&[1.0; 40]), of(&[0.0; 40]));
        for policy in POLICIES {
            let arms = Arms::Apart { models: &[&bad, &good], context: Row::Dense(&[]) };
            assert_eq!(shares(policy, arms, 2), [0.0, 1.0], "{policy:?}");
        }
    }

    #[test]
    fn rows_of_one_model_are_drawn_together() {
        let mut shared = Model::new(Kind::Two, 2, Kind::Two.default_settings()).unwrap();
        for t in 0..200 {
            let x = [f64::from(t % 3), f64::from(t % 5)];
            shared.update(Row::Dense(&x), Observation::new(f64::from(x[0] > x[1]))).unwrap();
        }
        let rows = [0.0, 4.0, 2.0, 0.0, 2.0, 0.0];
        let arms = Arms::Together { model: &shared, rows: Rows::Dense(&rows) };
        for policy in POLICIES {
            let shares = shares(policy, arms, 3);
            assert!(shares[0] == 0.0, "{policy:?} {shares:?}");
        }
        // Two rows that are the same have the same draws.
        let drawn = arms.drawn(50, &mut ChaCha8Rng::seed_from_u64(1)).unwrap().0;
        assert!(drawn.chunks(3).all(|own| (own[1] - own[2]).abs() < 1e-6));
    }

    #[test]
    fn arms_without_observations_come_first_and_bad_input_is_named() {
        let (old, new) = (model(Kind::Two, &[1.0; 20]), model(Kind::Two, &[]));
        for policy in POLICIES {
            let chosen = shares(policy, Arms::Apart { models: &[&old, &new, &new], context: Row::Dense(&[1.0]) }, 3);
            assert!(chosen[0] == 0.0 && chosen[1] > 0.35 && chosen[2] > 0.35, "{policy:?} {chosen:?}");
        }
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let number = model(Kind::Count, &[1.0, 3.0]);
        let mixed = Arms::Apart { models: &[&old, &number], context: Row::Dense(&[1.0]) };
        assert_eq!(Policy::Greedy.choose(mixed, &mut rng), Err(ModelError::Unlike { shard: 1, what: "its kind" }));
        let classes = model(Kind::Classes { classes: 3, joint: None }, &[1.0, 2.0]);
        for policy in POLICIES {
            let none = Arms::Apart { models: &[], context: Row::Dense(&[1.0]) };
            assert!(matches!(policy.choose(none, &mut rng), Err(ModelError::Core(Error::Empty { .. }))), "{policy:?}");
            let none = Arms::Together { model: &old, rows: Rows::Dense(&[]) };
            assert!(matches!(policy.choose(none, &mut rng), Err(ModelError::Core(Error::Empty { .. }))), "{policy:?}");
            let long = Arms::Apart { models: &[&old], context: Row::Dense(&[1.0, 2.0]) };
            assert!(policy.choose(long, &mut rng).is_err(), "{policy:?}");
            let three = Arms::Apart { models: &[&classes], context: Row::Dense(&[1.0]) };
            assert!(matches!(policy.choose(three, &mut rng), Err(ModelError::Unsupported { .. })), "{policy:?}");
        }
        let arms = Arms::Apart { models: &[&old], context: Row::Dense(&[1.0]) };
        assert!(Policy::Directed { draws: 0 }.choose(arms, &mut rng).is_err());
        assert!(Policy::Bound { level: 1.0 }.choose(arms, &mut rng).is_err());
    }
}

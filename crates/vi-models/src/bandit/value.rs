//! The value of a policy, from a log of another's choices.

use vi_core::Error;

use super::Logged;
use super::logged::Weighed;
use crate::{Interval, ModelError, check};

/// An estimator of the value of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Estimator {
    /// Inverse propensity scores, the mean of `w·r` (Horvitz and Thompson 1952): unbiased, and the widest.
    Weighted,
    /// `Σ w·r / Σ w` (Swaminathan and Joachims 2015): a bias of order `1/n`; the same where a number is added to all rewards.
    SelfNormalised,
    /// The mean of `Σ_a π_a·r̂_a + w·(r − r̂)` with the predictions `r̂` of a model (Dudík, Langford and Li 2011, arXiv 1103.4601): unbiased
    /// whatever the model, and the narrower the better it predicts. Without predictions it is [`Weighted`](Self::Weighted).
    DoublyRobust,
}

/// An estimate of the mean reward of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Value {
    /// The estimate.
    pub estimate: f64,
    /// Its standard error.
    pub error: f64,
    /// The interval by the central limit theorem, `estimate ± z·error`: right for many rounds whose weights are not very unequal.
    pub interval: Interval,
    /// The number of rounds that, with equal weights, would tell as much: `(Σ w)²/Σ w²`. Below a few hundred the interval is too narrow.
    pub effective: f64,
}

/// The value of a policy by a log, with the weights `w = π(arm)/probability`.
///
/// Where the log never chooses an arm that the policy would, nothing is known of that arm's reward: the weighted estimate takes it as 0, the doubly
/// robust one as predicted. For an interval that holds whenever you look, see [`ValueSequence`](super::ValueSequence).
///
/// # Errors
/// `Empty` for less than two rounds; `Setting` for the level; `Entry` for a probability that is not above 0 and at most 1; `NonFinite`;
/// [`ModelError::Probability`] and [`ModelError::ProbabilitySum`] for the policy's; `Index` for the arm; `Dimension` for predictions of other arms
/// than the policy's; [`ModelError::Constant`] if the policy chooses none of the logged arms and the estimator is self-normalised; `Overflow`.
///
/// ```
/// use vi_models::bandit::{Estimator, Logged, value};
/// // Arms were chosen evenly; the second earns 1, the first 0. What would it earn to choose the second with probability 0.9?
/// let log: Vec<Logged> = (0..400)
///     .map(|t| Logged { arm: t % 2, probability: 0.5, reward: (t % 2) as f64, policy: &[0.1, 0.9], predicted: &[0.1, 0.8] })
///     .collect();
/// let plain = value(&log, Estimator::Weighted, 0.95)?;
/// let robust = value(&log, Estimator::DoublyRobust, 0.95)?;
/// assert!((plain.estimate - 0.9).abs() < 1e-12 && (robust.estimate - 0.9).abs() < 1e-12);
/// assert!(robust.error < 0.3 * plain.error);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn value(rounds: &[Logged<'_>], estimator: Estimator, level: f64) -> Result<Value, ModelError> {
    if rounds.len() < 2 {
        return Err(Error::Empty { argument: "what follows the first of the rounds" }.into());
    }
    check::probability("level", level)?;
    let weighed = |(i, round): (usize, &Logged<'_>)| match estimator {
        Estimator::DoublyRobust => round.weighed(i, (f64::NEG_INFINITY, f64::INFINITY)),
        Estimator::Weighted | Estimator::SelfNormalised => {
            Logged { predicted: &[], ..*round }.weighed(i, (f64::NEG_INFINITY, f64::INFINITY))
        }
    };
    let rounds: Vec<Weighed> = rounds.iter().enumerate().map(weighed).collect::<Result<_, _>>()?;
    let n = rounds.len() as f64;
    let weights: f64 = rounds.iter().map(|round| round.weight).sum();
    let mean = rounds.iter().map(Weighed::outcome).sum::<f64>() / n;
    let (estimate, squares) = if estimator == Estimator::SelfNormalised {
        if weights == 0.0 {
            return Err(ModelError::Constant { argument: "weights", value: 0.0 });
        }
        let estimate = mean * n / weights;
        let squares: f64 = rounds.iter().map(|round| (round.weight * (round.reward - estimate)).powi(2)).sum();
        (estimate, squares * (n / weights).powi(2))
    } else {
        (mean, rounds.iter().map(|round| (round.outcome() - mean).powi(2)).sum())
    };
    let variance = squares / (n * (n - 1.0));
    check::results("value of the policy", [estimate, variance].into_iter())?;
    let of_squares: f64 = rounds.iter().map(|round| round.weight.powi(2)).sum();
    Ok(Value {
        estimate,
        error: variance.sqrt(),
        interval: Interval::gaussian(estimate, variance, level)?,
        effective: if weights > 0.0 { weights.powi(2) / of_squares } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Estimator; 3] = [Estimator::Weighted, Estimator::SelfNormalised, Estimator::DoublyRobust];

    #[test]
    fn small_logs_have_the_values_worked_out_by_hand() {
        let round = |arm, probability, reward| Logged {
            arm,
            probability,
            reward,
            policy: &[0.25, 0.75],
            predicted: &[1.0, 2.0],
        };
        // Weights 1, 1 and 3.
        let log = [round(0, 0.25, 2.0), round(1, 0.75, 1.0), round(1, 0.25, 3.0)];
        let own = ALL.map(|estimator| value(&log, estimator, 0.95).unwrap());
        // Predictions under the policy have the mean 1.75.
        let outcomes = [1.75 + 1.0, 1.75 - 1.0, 1.75 + 3.0];
        let means = [12.0 / 3.0, 12.0 / 5.0, outcomes.iter().sum::<f64>() / 3.0];
        for (own, mean) in own.iter().zip(means) {
            assert!((own.estimate - mean).abs() < 4.0 * f64::EPSILON * mean, "{own:?}");
            assert!((own.effective - 25.0 / 11.0).abs() < 4.0 * f64::EPSILON * own.effective);
        }
        // (2 − 4)² + (1 − 4)² + (9 − 4)² = 38.
        assert!((own[0].error - (38.0_f64 / 6.0).sqrt()).abs() < 1e-14);
        // 0.4² + 1.4² + (3·0.6)² = 5.36, by (3/5)².
        assert!((own[1].error - (5.36_f64 * 0.36 / 6.0).sqrt()).abs() < 1e-14);
        let spread: f64 = outcomes.iter().map(|x| (x - means[2]).powi(2)).sum();
        assert!((own[2].error - (spread / 6.0).sqrt()).abs() < 1e-14);
    }

    #[test]
    fn bad_rounds_are_named() {
        let good = Logged { arm: 0, probability: 0.5, reward: 1.0, policy: &[0.5, 0.5], predicted: &[] };
        let of = |bad: Logged<'_>| value(&[good, bad], Estimator::DoublyRobust, 0.9).unwrap_err().to_string();
        assert_eq!(of(Logged { probability: 0.0, ..good }), "probabilities[1] = 0 must be above 0 and at most 1");
        assert!(of(Logged { probability: 1.5, ..good }).contains("probabilities[1]"));
        assert!(of(Logged { probability: f64::NAN, ..good }).contains("probabilities[1]"));
        assert!(of(Logged { reward: f64::NAN, ..good }).contains("rewards[1]"));
        assert!(of(Logged { policy: &[0.5, 0.4], ..good }).contains("the probabilities of row 1 sum to 0.9"));
        assert!(of(Logged { policy: &[1.5, -0.5], ..good }).contains("probabilities[0] = 1.5"));
        assert!(of(Logged { arm: 2, ..good }).contains("policy has no entry 2"));
        assert!(of(Logged { predicted: &[1.0], ..good }).contains("predicted"));
        assert!(of(Logged { predicted: &[1.0, f64::INFINITY], ..good }).contains("predicted[1]"));
        assert!(of(Logged { reward: f64::MAX, probability: 1e-300, ..good }).contains("value of the policy"));
        assert!(value(&[good], Estimator::Weighted, 0.9).is_err());
        assert!(value(&[good, good], Estimator::Weighted, 1.0).is_err());
        let never = Logged { policy: &[0.0, 1.0], ..good };
        assert_eq!(value(&[never; 3], Estimator::Weighted, 0.9).unwrap().estimate, 0.0);
        assert!(matches!(value(&[never; 3], Estimator::SelfNormalised, 0.9), Err(ModelError::Constant { .. })));
    }
}

//! A round of a log of choices.

use vi_core::Error;

use crate::{ModelError, check};

/// How far from 1 the probabilities of a policy may sum: what was written with six digits passes.
const ROUNDING: f64 = 1e-5;

/// A round of a log, with the probabilities of another policy.
///
/// The policy's probabilities are those for the context of this round alone; neither they nor the predictions may depend on the round's
/// reward. Predict before you learn it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Logged<'a> {
    /// The place of the arm that was chosen.
    pub arm: usize,
    /// The probability with which it was chosen, above 0 and at most 1.
    pub probability: f64,
    /// Its reward.
    pub reward: f64,
    /// The probability with which the policy in question chooses each arm.
    pub policy: &'a [f64],
    /// The reward that a model expects of each arm; empty without a model.
    pub predicted: &'a [f64],
}

/// Numbers of a round that estimators take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Weighed {
    /// The policy's probability of the chosen arm over the log's.
    pub(super) weight: f64,
    pub(super) reward: f64,
    /// The prediction of the chosen arm's reward.
    pub(super) predicted: f64,
    /// The mean prediction under the policy.
    pub(super) expected: f64,
}

impl Weighed {
    /// `x̂ + w(r − r̂)`, whose mean is the policy's value.
    pub(super) fn outcome(&self) -> f64 {
        self.expected + self.weight * (self.reward - self.predicted)
    }
}

impl Logged<'_> {
    /// The numbers of round `index`, checked; predictions are brought into a range.
    pub(super) fn weighed(&self, index: usize, (lowest, highest): (f64, f64)) -> Result<Weighed, ModelError> {
        if !(self.probability > 0.0 && self.probability <= 1.0) {
            let requirement = "above 0 and at most 1";
            return Err(Error::Entry { argument: "probabilities", index, value: self.probability, requirement }.into());
        }
        if !self.reward.is_finite() {
            return Err(Error::NonFinite { argument: "rewards", index, value: self.reward }.into());
        }
        if let Some(place) = self.policy.iter().position(|chance| !(0.0..=1.0 + ROUNDING).contains(chance)) {
            return Err(ModelError::Probability { index: place, value: self.policy[place] });
        }
        let sum: f64 = self.policy.iter().sum();
        if (sum - 1.0).abs() > ROUNDING {
            return Err(ModelError::ProbabilitySum { row: index, sum });
        }
        let Some(chance) = self.policy.get(self.arm) else {
            return Err(Error::Index { argument: "policy", index: self.arm, len: self.policy.len() }.into());
        };
        let own = Weighed { weight: chance / self.probability, reward: self.reward, predicted: 0.0, expected: 0.0 };
        if self.predicted.is_empty() {
            return Ok(own);
        }
        check::length("predicted", self.policy.len(), self.predicted.len())?;
        check::finite("predicted", self.predicted)?;
        let within = |value: f64| value.clamp(lowest, highest);
        let expected = self.policy.iter().zip(self.predicted).map(|(chance, value)| chance * within(*value)).sum();
        Ok(Weighed { predicted: within(self.predicted[self.arm]), expected, ..own })
    }
}

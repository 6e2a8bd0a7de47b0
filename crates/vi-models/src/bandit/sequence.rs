//! Intervals for the value of a policy that hold at all looks together.

use vi_core::Error;

use super::Logged;
use crate::{Interval, ModelError, check};

/// The largest bet on a round, of the 1 that could lose all: half, as Waudby-Smith and Ramdas take.
const MOST: f64 = 0.5;

/// An interval for the value of a policy that may be looked at after every round: with the probability `level` it holds at all rounds together.
///
/// Let `θ_t = x̂ + w(r − r̂)` with rewards brought to `[0, 1]`, so that its mean is the value `v`, and `θ_t ≥ 1 − s`. For bets `λ_t` in `[0, ½/s]` and guesses
/// `m_t ≤ 1` that know only earlier rounds,
///
/// ```text
/// ∏ exp(λ_t·(θ_t − v) − ψ(sλ_t)·((θ_t − m_t)/s)²),   ψ(u) = −log(1 − u) − u,
/// ```
///
/// is a supermartingale that begins at 1 (Fan, Grama and Liu 2015), which reaches `1/α` with probability `α` at most (Ville). Solved for `v` it gives the lower end, and
/// the same for rewards `1 − r` the upper: the empirical-Bernstein bound with predictable bets of Waudby-Smith and Ramdas (arXiv 2010.09686), for
/// weights as in Waudby-Smith, Wu, Ramdas and Mineiro (arXiv 2210.10768). Each end has half of `α = 1 − level`.
///
/// [`self_normalised`](ValueSequence::self_normalised) predicts the same reward of all arms, the self-normalised mean of the rounds before, so that a number that is added to
/// all rewards changes nothing.
///
/// Without predictions `s = 1`, whatever the weights are, and the interval holds too where the log never chooses some arms. With them
/// `s = 1 + 1/p` for the least probability `p` in the log, so that it begins wider and becomes narrower.
///
/// No number of rounds is needed and no normality; contexts may come in any order as long as the policy's expected reward, given all before, is
/// the same in every round. If it moves, the interval is one for its average weighted by `λ_t`.
///
/// ```
/// use vi_models::bandit::{Logged, ValueSequence};
/// let mut sequence = ValueSequence::new((0.0, 1.0), None, 0.95)?;
/// for t in 0..2000 {
///     let reward = if t % 2 == 1 && t % 10 != 1 { 1.0 } else { 0.0 };
///     sequence.update(&Logged { arm: t % 2, probability: 0.5, reward, policy: &[0.0, 1.0], predicted: &[] })?;
/// }
/// let interval = sequence.interval();
/// assert!(interval.contains(0.8) && interval.lower > 0.68 && interval.upper < 0.86);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ValueSequence {
    rewards: (f64, f64),
    /// The least probability in the log, where predictions are used.
    least: Option<f64>,
    /// The sums of the weights and of weights times rewards in `[0, 1]`, where these make the predictions.
    normalised: Option<(f64, f64)>,
    /// `log(1/α)` of each end.
    threshold: f64,
    lower: End,
    upper: End,
}

impl ValueSequence {
    /// Nothing seen yet, of rewards between two numbers. With `least`, the least probability that the log has in any round, predictions are used.
    ///
    /// # Errors
    /// `Setting` unless the first number is below the second and both are finite, the level is between 0 and 1, and `least` is above 0 and at
    /// most 1.
    pub fn new(rewards: (f64, f64), least: Option<f64>, level: f64) -> Result<Self, ModelError> {
        check::probability("level", level)?;
        if !(rewards.0 < rewards.1 && (rewards.1 - rewards.0).is_finite()) {
            let requirement = "a finite number below the highest reward";
            return Err(Error::Setting { name: "the lowest reward", value: rewards.0, requirement }.into());
        }
        if let Some(value) = least.filter(|least| !(*least > 0.0 && *least <= 1.0)) {
            return Err(Error::Setting { name: "least", value, requirement: "above 0 and at most 1" }.into());
        }
        let span = least.map_or(1.0, |least| 1.0 + 1.0 / least);
        check::results("largest weight", [span].into_iter())?;
        let end = End { span, ..End::default() };
        let threshold = -(0.5 * (1.0 - level)).ln();
        Ok(Self { rewards, least, normalised: None, threshold, lower: end, upper: end })
    }

    /// The same for the self-normalised estimate: instead of predictions all arms are expected to earn `Σ w·r/Σ w` of the rounds before. The log has to choose every
    /// arm that the policy does, each with the probability `least` or more.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    ///
    /// ```
    /// use vi_models::bandit::{Logged, ValueSequence};
    /// // Rewards of 100 and 101: what they have in common tells nothing of the policy.
    /// let mut sequence = ValueSequence::self_normalised((0.0, 200.0), 0.5, 0.95)?;
    /// for t in 0..4000 {
    ///     let reward = if t % 2 == 1 { 101.0 } else { 100.0 };
    ///     sequence.update(&Logged { arm: t % 2, probability: 0.5, reward, policy: &[0.1, 0.9], predicted: &[] })?;
    /// }
    /// let interval = sequence.interval();
    /// assert!(interval.contains(100.9) && interval.upper - interval.lower < 5.0);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn self_normalised(rewards: (f64, f64), least: f64, level: f64) -> Result<Self, ModelError> {
        Ok(Self { normalised: Some((0.0, 0.0)), ..Self::new(rewards, Some(least), level)? })
    }

    /// Takes in a round; after an error nothing has changed.
    ///
    /// # Errors
    /// As [`value`](super::value()), the index being the number of rounds before; `Entry` too for a reward outside the range, and for a probability
    /// below the least.
    pub fn update(&mut self, round: &Logged<'_>) -> Result<(), ModelError> {
        let (index, (lowest, highest)) = (self.lower.rounds, self.rewards);
        let predicted = if self.least.is_none() || self.normalised.is_some() { &[] } else { round.predicted };
        let own = Logged { predicted, ..*round }.weighed(index, self.rewards)?;
        if !(lowest..=highest).contains(&own.reward) {
            let requirement = "within the range of the rewards";
            return Err(Error::Entry { argument: "rewards", index, value: own.reward, requirement }.into());
        }
        if self.least.is_some_and(|least| round.probability < least) {
            let requirement = "at least the least probability";
            return Err(Error::Entry { argument: "probabilities", index, value: round.probability, requirement }.into());
        }
        let unit = |value: f64| (value - lowest) / (highest - lowest);
        // As if half a reward of 1 had come before.
        let mean = self.normalised.map(|(weights, earned)| (earned + 0.5) / (weights + 1.0));
        let (lower, upper) = if let Some(mean) = mean {
            let outcome = mean + own.weight * (unit(own.reward) - mean);
            (outcome, 1.0 - outcome)
        } else if !predicted.is_empty() {
            let outcome = unit(own.expected) + own.weight * (unit(own.reward) - unit(own.predicted));
            (outcome, 1.0 - outcome)
        } else {
            (own.weight * unit(own.reward), own.weight * (1.0 - unit(own.reward)))
        };
        let (mut next_lower, mut next_upper) = (self.lower, self.upper);
        next_lower.see(lower, self.threshold);
        next_upper.see(upper, self.threshold);
        check::results("sums of the sequence", [next_lower.squares, next_upper.squares].into_iter())?;
        (self.lower, self.upper) = (next_lower, next_upper);
        if let Some((weights, earned)) = &mut self.normalised {
            *weights += own.weight;
            *earned += own.weight * unit(own.reward);
        }
        Ok(())
    }

    /// The interval after the rounds so far; that of the rewards before the first.
    #[must_use]
    pub fn interval(&self) -> Interval {
        let (lowest, highest) = self.rewards;
        let span = highest - lowest;
        let [lower, upper] = [self.lower, self.upper].map(|end| end.bound(self.threshold));
        Interval { lower: lowest + span * lower, upper: highest - span * upper }
    }

    /// The number of rounds so far.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.lower.rounds as u64
    }
}

/// A lower bound of the mean of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct End {
    /// How far below 1 an outcome can be.
    span: f64,
    rounds: usize,
    /// Sums of the outcomes and of their squared distances from the guesses.
    outcomes: f64,
    squares: f64,
    /// Sums of the bets, of bets times outcomes, and of what the squares cost.
    bets: f64,
    won: f64,
    cost: f64,
}

impl End {
    fn see(&mut self, outcome: f64, threshold: f64) {
        let t = (self.rounds + 1) as f64;
        // As if outcomes 0 and 1 had come before: guesses of the value and of the variance by the earlier rounds alone.
        let guess = ((0.5 + self.outcomes) / t).clamp(0.0, 1.0);
        let variance = (0.25 + self.squares) / t;
        let bet = (2.0 * threshold / (variance * t * t.ln_1p())).sqrt().min(MOST / self.span);
        let share = self.span * bet;
        self.cost += (-(-share).ln_1p() - share) * ((outcome - guess) / self.span).powi(2);
        self.won += bet * outcome;
        self.bets += bet;
        self.outcomes += outcome;
        self.squares += (outcome - guess).powi(2);
        self.rounds += 1;
    }

    /// The bound, brought into `[0, 1]`.
    fn bound(&self, threshold: f64) -> f64 {
        if self.rounds == 0 { 0.0 } else { ((self.won - self.cost - threshold) / self.bets).clamp(0.0, 1.0) }
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn weights_without_bound_and_missing_arms_do_not_break_it() {
        // The first arm, which earns 0.9, is chosen once in 20 rounds; the third, which earns 0.5, never.
        let log = |t: u64| if t.is_multiple_of(20) { (0, 0.05) } else { (1, 0.95) };
        let mut sequence = ValueSequence::new((0.0, 1.0), None, 0.95).unwrap();
        for t in 0..20_000 {
            let (arm, probability) = log(t);
            let reward = if arm == 0 && (t / 20) % 10 != 9 { 1.0 } else { 0.0 };
            sequence.update(&Logged { arm, probability, reward, policy: &[0.5, 0.0, 0.5], predicted: &[] }).unwrap();
        }
        let interval = sequence.interval();
        assert!(interval.contains(0.7) && interval.lower > 0.25, "{interval:?}");
    }

    /// A log with rewards of probability ½ above a common level, of which the policy earns .5 more than that.
    fn logged(mut sequence: ValueSequence, level: f64, seed: u64) -> (ValueSequence, bool) {
        let (mut rng, mut held) = (ChaCha8Rng::seed_from_u64(seed), true);
        for _ in 0..1500 {
            let (arm, probability) = if rng.random::<f64>() < 0.2 { (0, 0.2) } else { (1, 0.8) };
            let reward = level + f64::from(u8::from(rng.random::<f64>() < if arm == 0 { 0.6 } else { 0.4 }));
            sequence.update(&Logged { arm, probability, reward, policy: &[0.5, 0.5], predicted: &[] }).unwrap();
            held &= sequence.interval().contains(level + 0.5);
        }
        (sequence, held)
    }

    #[test]
    fn self_normalised_intervals_hold_and_know_no_origin() {
        let runs = 200;
        let made = |range, level: f64| ValueSequence::self_normalised((level, level + range), 0.2, 0.9).unwrap();
        let missed = (0..runs).filter(|seed| !logged(made(1.0, 0.0), 0.0, *seed).1).count();
        // 10 % and three standard errors; the bound is not tight.
        assert!(missed as f64 <= 0.1 * runs as f64 + 3.0 * (0.09 * runs as f64).sqrt(), "{missed}");
        let width = |sequence: &ValueSequence| sequence.interval().upper - sequence.interval().lower;
        // Half of the range of the rewards is a level that they have in common.
        let wide = |level: f64| logged(ValueSequence::self_normalised((0.0, 4.0), 0.2, 0.9).unwrap(), level, 1).0;
        let plain = |level: f64| logged(ValueSequence::new((0.0, 4.0), Some(0.2), 0.9).unwrap(), level, 1).0;
        assert!(width(&wide(3.0)) < 1.2 * width(&wide(0.0)), "{} {}", width(&wide(3.0)), width(&wide(0.0)));
        assert!(width(&wide(3.0)) < 0.8 * width(&plain(3.0)), "{} {}", width(&wide(3.0)), width(&plain(3.0)));
    }

    #[test]
    fn bad_rounds_change_nothing() {
        let good = Logged { arm: 0, probability: 0.5, reward: 1.0, policy: &[0.5, 0.5], predicted: &[0.5, 0.5] };
        let mut sequence = ValueSequence::new((0.0, 1.0), Some(0.25), 0.9).unwrap();
        assert_eq!(sequence.interval(), Interval { lower: 0.0, upper: 1.0 });
        sequence.update(&good).unwrap();
        let before = sequence.clone();
        for (bad, told) in [
            (Logged { reward: 1.5, ..good }, "rewards[1] = 1.5 must be within the range of the rewards"),
            (Logged { reward: f64::NAN, ..good }, "rewards[1]"),
            (Logged { probability: 0.1, ..good }, "probabilities[1] = 0.1 must be at least the least probability"),
            (Logged { probability: 0.0, ..good }, "probabilities[1] = 0 must be above 0 and at most 1"),
            (Logged { policy: &[0.5, 0.0], ..good }, "the probabilities of row 1 sum to 0.5"),
        ] {
            let error = sequence.update(&bad).unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
            assert_eq!(sequence, before);
        }
        assert_eq!(sequence.rounds(), 1);
        for rewards in [(1.0, 1.0), (2.0, 1.0), (f64::NAN, 1.0), (-f64::MAX, f64::MAX)] {
            assert!(ValueSequence::new(rewards, None, 0.9).is_err());
        }
        assert!(ValueSequence::new((0.0, 1.0), Some(0.0), 0.9).is_err());
        assert!(ValueSequence::new((0.0, 1.0), None, 1.0).is_err());
    }
}

//! Intervals for the value of a policy hold as often as they say, on logs of which that value is known.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use vi_models::bandit::{Estimator, Logged, ValueSequence, value};

use crate::slow;

/// Chances of a click by context and arm, probabilities of the log, the policy in question, and what a model predicts.
struct World {
    chances: [[f64; 3]; 2],
    log: [[f64; 3]; 2],
    policy: [[f64; 3]; 2],
    predicted: [[f64; 3]; 2],
}

impl Default for World {
    fn default() -> Self {
        Self {
            chances: [[0.2, 0.5, 0.7], [0.6, 0.3, 0.1]],
            log: [[0.5, 0.3, 0.2], [0.2, 0.6, 0.2]],
            policy: [[0.1, 0.1, 0.8], [0.7, 0.2, 0.1]],
            predicted: [[0.3, 0.5, 0.6], [0.6, 0.2, 0.2]],
        }
    }
}

impl World {
    /// What the policy earns in a round, the contexts being equally likely.
    fn value(&self) -> f64 {
        let both = self.policy.iter().flatten().zip(self.chances.iter().flatten());
        both.map(|(chance, reward)| 0.5 * chance * reward).sum()
    }
}

/// Context, arm and reward of each round.
struct Log<'a> {
    world: &'a World,
    rounds: Vec<(usize, usize, f64)>,
}

impl<'a> Log<'a> {
    fn of(world: &'a World, rounds: usize, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let rounds = (0..rounds)
            .map(|_| {
                let (context, u) = (rng.random_range(0..2_usize), rng.random::<f64>());
                let chances = world.log[context];
                let arm = usize::from(u > chances[0]) + usize::from(u > chances[0] + chances[1]);
                (context, arm, f64::from(rng.random::<f64>() < world.chances[context][arm]))
            })
            .collect();
        Self { world, rounds }
    }

    fn rounds(&self) -> Vec<Logged<'_>> {
        let round = |&(context, arm, reward): &(usize, usize, f64)| Logged {
            arm,
            probability: self.world.log[context][arm],
            reward,
            policy: &self.world.policy[context],
            predicted: &self.world.predicted[context],
        };
        self.rounds.iter().map(round).collect()
    }
}

const ALL: [Estimator; 3] = [Estimator::Weighted, Estimator::SelfNormalised, Estimator::DoublyRobust];

#[test]
fn intervals_hold_as_often_as_they_say() {
    let world = World::default();
    let (runs, rounds) = if slow() { (20_000, 2000) } else { (1000, 800) };
    let mut held = [0.0; 3];
    let mut widths = [0.0; 3];
    for seed in 0..runs {
        let log = Log::of(&world, rounds, seed);
        for (i, estimator) in ALL.into_iter().enumerate() {
            let own = value(&log.rounds(), estimator, 0.95).unwrap();
            held[i] += f64::from(own.interval.contains(world.value()));
            widths[i] += own.interval.upper - own.interval.lower;
        }
    }
    let held = held.map(|count| count / runs as f64);
    // What was promised, and three standard errors of so many runs.
    let error = 3.0 * (0.95 * 0.05 / runs as f64).sqrt();
    assert!(held.iter().all(|share| (0.93 - error..0.97 + error).contains(share)), "{held:?}");
    assert!(widths[2] < widths[1] && widths[1] < widths[0], "{widths:?}");
}

/// The share of runs in which the interval ever misses the value, and its mean width at the end.
fn missed(least: Option<f64>, level: f64, runs: u64, rounds: usize) -> (f64, f64) {
    let world = World::default();
    let (mut missed, mut width) = (0.0, 0.0);
    for seed in 0..runs {
        let mut sequence = ValueSequence::new((0.0, 1.0), least, level).unwrap();
        let mut always = true;
        for round in Log::of(&world, rounds, seed).rounds() {
            sequence.update(&round).unwrap();
            always &= sequence.interval().contains(world.value());
        }
        missed += f64::from(!always);
        width += sequence.interval().upper - sequence.interval().lower;
    }
    (missed / runs as f64, width / runs as f64)
}

#[test]
fn at_all_looks_together_the_interval_holds() {
    let (runs, rounds) = if slow() { (4000, 5000) } else { (300, 1500) };
    for (level, least) in [(0.95, None), (0.95, Some(0.2)), (0.5, None), (0.5, Some(0.2))] {
        let (share, width) = missed(least, level, runs, rounds);
        let alpha = 1.0 - level;
        assert!(share <= alpha + 3.0 * (alpha * level / runs as f64).sqrt(), "{level} {least:?} {share}");
        assert!(width < 0.35, "{level} {least:?} {width}");
    }
}

#[test]
fn predictions_make_it_narrower() {
    let [(_, without), (_, with)] = [None, Some(0.2)].map(|least| missed(least, 0.95, 5, 20_000));
    assert!(with < without, "{with} {without}");
}

#[test]
fn units_do_not_matter() {
    let world = World::default();
    let log = Log::of(&world, 300, 1);
    let mut plain = ValueSequence::new((0.0, 1.0), Some(0.2), 0.9).unwrap();
    let mut moved = ValueSequence::new((-3.0, 5.0), Some(0.2), 0.9).unwrap();
    for round in log.rounds() {
        plain.update(&round).unwrap();
        let predicted: Vec<f64> = round.predicted.iter().map(|value| 8.0 * value - 3.0).collect();
        moved.update(&Logged { reward: 8.0 * round.reward - 3.0, predicted: &predicted, ..round }).unwrap();
    }
    let (plain, moved) = (plain.interval(), moved.interval());
    // Some ten roundings of a number below 5.
    assert!(
        (8.0 * plain.lower - 3.0 - moved.lower).abs() < 1e-12 && (8.0 * plain.upper - 3.0 - moved.upper).abs() < 1e-12
    );
}

//! The worlds: contexts, mean rewards of all arms, and the rewards that a choice would see.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, StudentT};
use vi_core::special::sigmoid;

use crate::BenchError;

/// The contexts and rewards of a world, the same for every policy.
pub(super) struct World {
    pub arms: usize,
    /// Inputs of a context.
    pub inputs: usize,
    /// Features of an arm; without any each arm has a model of its own.
    pub features: usize,
    /// True for rewards that are any numbers, false for 0 and 1.
    pub numbers: bool,
    pub rounds: usize,
    /// `rounds × inputs`.
    pub contexts: Vec<f64>,
    /// `arms × features`.
    pub of_arms: Vec<f64>,
    /// `rounds × arms`.
    pub means: Vec<f64>,
    /// `rounds × arms`.
    pub rewards: Vec<f64>,
}

/// A kind of world.
#[derive(Clone, Copy)]
pub(super) struct Kind {
    pub name: &'static str,
    pub about: &'static str,
    make: fn(&mut ChaCha8Rng) -> Result<World, BenchError>,
}

/// The default policy was chosen by these.
pub(super) const CHOOSING: [Kind; 6] = [
    kind("few", "4 arms, 5 inputs, clicks", |rng| Ok(linear(rng, (4, 5, 2000), Form::clicks(0.0, 0.0, 1.0)))),
    kind("many", "50 arms, 3 inputs, clicks", |rng| Ok(linear(rng, (50, 3, 3000), Form::clicks(-1.5, 0.7, 0.5)))),
    kind("numbers", "4 arms, 5 inputs, numbers", |rng| {
        Ok(linear(rng, (4, 5, 1000), Form::numbers(1.0, Noise::Normal)))
    }),
    kind("plain", "10 arms, no context, clicks", |rng| Ok(linear(rng, (10, 0, 3000), Form::clicks(0.0, 1.0, 0.0)))),
    kind("rare", "8 arms, 3 inputs, 1 % clicks", |rng| Ok(linear(rng, (8, 3, 6000), Form::clicks(-4.6, 0.4, 0.4)))),
    kind("drift", "4 arms, 5 inputs, clicks, half of the arms change every 1000 rounds", |rng| {
        Ok(linear(rng, (4, 5, 4000), Form { change: Some(1000), ..Form::clicks(0.0, 0.0, 1.0) }))
    }),
];

/// Kept for judging.
pub(super) const JUDGING: [Kind; 6] = [
    kind(
        "tastes",
        "7 articles, 2 people, 2 times of day, preferences change half way (Vowpal Wabbit's tutorial)",
        |rng| Ok(tastes(rng)),
    ),
    kind("news", "30 items of 4 features, 3 inputs, 3 % clicks", |rng| Ok(news(rng))),
    kind("digits", "10 classes as arms, 64 inputs, a click for the right one", digits),
    kind("waves", "5 arms, 4 inputs, numbers that are no linear function", |rng| Ok(waves(rng))),
    kind("sparse", "5 arms, 20 inputs of which 2 matter, clicks", |rng| {
        Ok(linear(rng, (5, 20, 3000), Form { matter: 2, ..Form::clicks(0.0, 0.0, 1.5) }))
    }),
    kind("heavy", "6 arms, 4 inputs, numbers with noise of 3 degrees of freedom", |rng| {
        Ok(linear(rng, (6, 4, 2000), Form::numbers(1.0, Noise::Heavy)))
    }),
];

const fn kind(name: &'static str, about: &'static str, make: fn(&mut ChaCha8Rng) -> Result<World, BenchError>) -> Kind {
    Kind { name, about, make }
}

impl Kind {
    /// The world of a seed.
    pub(super) fn world(self, seed: u64) -> Result<World, BenchError> {
        let own: u64 = self.name.bytes().map(u64::from).sum();
        (self.make)(&mut ChaCha8Rng::seed_from_u64(1000 * seed + own))
    }
}

impl World {
    fn empty(arms: usize, inputs: usize, features: usize, numbers: bool, rounds: usize) -> Self {
        let [contexts, of_arms, means, rewards] = [const { Vec::new() }; 4];
        Self { arms, inputs, features, numbers, rounds, contexts, of_arms, means, rewards }
    }

    fn click(&mut self, chance: f64, rng: &mut ChaCha8Rng) {
        self.means.push(chance);
        self.rewards.push(f64::from(rng.random::<f64>() < chance));
    }

    /// The inputs of a model: the context or, of arms with features, both and their products.
    pub(super) fn width(&self) -> usize {
        if self.features == 0 { self.inputs } else { self.inputs + self.features + self.inputs * self.features }
    }

    pub(super) fn context(&self, round: usize) -> &[f64] {
        &self.contexts[round * self.inputs..(round + 1) * self.inputs]
    }

    /// The row of an arm with features.
    pub(super) fn row(&self, round: usize, arm: usize) -> Vec<f64> {
        let (context, own) = (self.context(round), &self.of_arms[arm * self.features..(arm + 1) * self.features]);
        let crossed = context.iter().flat_map(|x| own.iter().map(move |z| x * z));
        context.iter().copied().chain(own.iter().copied()).chain(crossed).collect()
    }
}

fn normal(rng: &mut ChaCha8Rng) -> f64 {
    StandardNormal.sample(rng)
}

#[derive(Clone, Copy, PartialEq)]
enum Noise {
    /// Rewards are clicks.
    Click,
    Normal,
    Heavy,
}

/// Weights and rewards of a world in which each arm is linear in the context.
#[derive(Clone, Copy)]
struct Form {
    intercept: (f64, f64),
    /// Standard deviation of the weights, and how many of each arm are not 0.
    weight: f64,
    matter: usize,
    noise: Noise,
    change: Option<usize>,
}

impl Form {
    fn clicks(intercept: f64, spread: f64, weight: f64) -> Self {
        Self { intercept: (intercept, spread), weight, matter: usize::MAX, noise: Noise::Click, change: None }
    }

    fn numbers(weight: f64, noise: Noise) -> Self {
        Self { noise, ..Self::clicks(0.0, 0.0, weight) }
    }

    fn weights(&self, rng: &mut ChaCha8Rng, inputs: usize) -> Vec<f64> {
        let first = self.intercept.0 + self.intercept.1 * normal(rng);
        let slope = |j| if j < self.matter { self.weight * normal(rng) } else { 0.0 };
        std::iter::once(first).chain((0..inputs).map(slope)).collect()
    }
}

fn linear(rng: &mut ChaCha8Rng, (arms, inputs, rounds): (usize, usize, usize), form: Form) -> World {
    let mut world = World::empty(arms, inputs, 0, form.noise != Noise::Click, rounds);
    let mut weights: Vec<Vec<f64>> = (0..arms).map(|_| form.weights(rng, inputs)).collect();
    for round in 0..rounds {
        if form.change.is_some_and(|every| round > 0 && round % every == 0) {
            for own in &mut weights {
                if rng.random::<f64>() < 0.5 {
                    *own = form.weights(rng, inputs);
                }
            }
        }
        let context: Vec<f64> = (0..inputs).map(|_| normal(rng)).collect();
        for own in &weights {
            let score = own[0] + own[1..].iter().zip(&context).map(|(w, x)| w * x).sum::<f64>();
            match form.noise {
                Noise::Click => world.click(sigmoid(score), rng),
                Noise::Normal | Noise::Heavy => {
                    let noise = if form.noise == Noise::Normal { normal(rng) } else { 0.7 * student(rng) };
                    world.means.push(score);
                    world.rewards.push(score + noise);
                }
            }
        }
        world.contexts.extend(context);
    }
    world
}

/// A draw of Student's distribution with three degrees of freedom.
fn student(rng: &mut ChaCha8Rng) -> f64 {
    StudentT::new(3.0).map_or(f64::NAN, |own| own.sample(rng))
}

/// Two people, in the morning and in the afternoon, click on the articles of one topic alone; half way each prefers other topics.
fn tastes(rng: &mut ChaCha8Rng) -> World {
    let mut world = World::empty(7, 4, 0, false, 4000);
    let preferred = [[0, 1, 2, 3], [4, 0, 5, 6]];
    for round in 0..world.rounds {
        let (person, time) = (rng.random_range(0..2_usize), rng.random_range(0..2_usize));
        let liked = preferred[usize::from(round >= world.rounds / 2)][2 * person + time];
        // One input for each pair, as crossing the two in the tutorial makes them.
        world.contexts.extend((0..4).map(|pair| f64::from(pair == 2 * person + time)));
        for article in 0..world.arms {
            world.click(f64::from(article == liked), rng);
        }
    }
    world
}

/// Items with features, of which readers like different ones.
fn news(rng: &mut ChaCha8Rng) -> World {
    let mut world = World::empty(30, 3, 4, false, 5000);
    world.of_arms = (0..world.arms * world.features).map(|_| normal(rng)).collect();
    let common: Vec<f64> = (0..4).map(|_| 0.3 * normal(rng)).collect();
    let crossed: Vec<f64> = (0..12).map(|_| 0.3 * normal(rng)).collect();
    for _ in 0..world.rounds {
        let context: Vec<f64> = (0..3).map(|_| normal(rng)).collect();
        for arm in 0..world.arms {
            let own =
                |i: usize| common[i] + crossed[3 * i..3 * i + 3].iter().zip(&context).map(|(w, x)| w * x).sum::<f64>();
            let score = (0..4).map(|i| own(i) * world.of_arms[4 * arm + i]).sum::<f64>();
            world.click(sigmoid(score - 4.0), rng);
        }
        world.contexts.extend(context);
    }
    world
}

/// Pictures of digits in a random order: which digit is it?
fn digits(rng: &mut ChaCha8Rng) -> Result<World, BenchError> {
    let data = vi_data::digits()?;
    let mut order: Vec<usize> = (0..data.n()).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, rng.random_range(0..=last));
    }
    let rows: Vec<(&[f64], f64)> = data.observations().collect();
    let mut world = World::empty(10, data.d(), 0, false, data.n());
    for i in order {
        let (x, label) = rows[i];
        world.contexts.extend(x);
        for digit in 0..10 {
            world.click(f64::from(f64::from(digit) == label), rng);
        }
    }
    Ok(world)
}

/// Mean rewards are sums of six waves.
fn waves(rng: &mut ChaCha8Rng) -> World {
    let mut world = World::empty(5, 4, 0, true, 3000);
    let waves: Vec<[f64; 6]> = (0..30).map(|_| std::array::from_fn(|_| normal(rng))).collect();
    let slopes: Vec<[f64; 4]> = (0..5).map(|_| std::array::from_fn(|_| 0.3 * normal(rng))).collect();
    for _ in 0..world.rounds {
        let context: [f64; 4] = std::array::from_fn(|_| normal(rng));
        let along = |w: &[f64]| w.iter().zip(&context).map(|(w, x)| w * x).sum::<f64>();
        for arm in 0..world.arms {
            let own = waves[6 * arm..6 * arm + 6].iter().map(|w| 0.8 * w[0] * (w[1] + along(&w[2..])).sin());
            let mean = own.sum::<f64>() + along(&slopes[arm]);
            world.means.push(mean);
            world.rewards.push(mean + normal(rng));
        }
        world.contexts.extend(context);
    }
    world
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worlds_have_the_shapes_they_tell() {
        for kind in CHOOSING.iter().chain(&JUDGING) {
            let world = kind.world(0).unwrap();
            assert_eq!(world.contexts.len(), world.rounds * world.inputs, "{}", kind.name);
            assert_eq!(world.of_arms.len(), world.arms * world.features, "{}", kind.name);
            assert_eq!(
                (world.means.len(), world.rewards.len()),
                (world.rounds * world.arms, world.rounds * world.arms)
            );
            assert!(world.means.iter().chain(&world.rewards).all(|value| value.is_finite()), "{}", kind.name);
            if world.features > 0 {
                assert_eq!(world.row(3, 1).len(), world.width());
            }
        }
    }
}

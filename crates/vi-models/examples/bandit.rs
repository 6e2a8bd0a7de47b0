//! A bandit that learns which of four offers to show to whom, by Thompson sampling: draw weights, act as if they were the truth.
//!
//! `cargo run --example bandit`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_models::ModelError;
use vi_models::online::{OnlineLogistic, OnlineSettings, Standardise};

const OFFERS: usize = 4;
const INPUTS: usize = 3;
const VISITORS: usize = 3000;

/// The truth, which the bandit never sees: how each offer's appeal depends on the visitor.
struct Truth {
    weights: [[f64; INPUTS + 1]; OFFERS],
}

impl Truth {
    fn chance(&self, offer: usize, x: &[f64; INPUTS]) -> f64 {
        let [intercept, weights @ ..] = &self.weights[offer];
        let score = intercept + weights.iter().zip(x).map(|(w, x)| w * x).sum::<f64>();
        1.0 / (1.0 + (-score).exp())
    }
}

/// Index of the largest value.
fn best(values: &[f64]) -> usize {
    (0..values.len()).max_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap_or(0)
}

/// One model for each offer, and which offer it would show.
struct Bandit {
    offers: Vec<OnlineLogistic>,
}

impl Bandit {
    fn new() -> Result<Self, ModelError> {
        // Inputs are on one scale already. With so few weights every default is left as it is.
        let settings = OnlineSettings { standardise: Standardise::Never, ..OnlineSettings::default() };
        let offer = |_| OnlineLogistic::with_settings(INPUTS, settings.clone());
        Ok(Self { offers: (0..OFFERS).map(offer).collect::<Result<_, _>>()? })
    }

    /// A draw of each offer's weights; the offer that these promise most.
    fn choose(&self, x: &[f64; INPUTS], rng: &mut impl Rng) -> Result<usize, ModelError> {
        let promise = self.offers.iter().map(|offer| offer.sample(rng)?.score(x)).collect::<Result<Vec<_>, _>>()?;
        Ok(best(&promise))
    }
}

/// Plays the bandit and prints its regret.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let truth = Truth { weights: std::array::from_fn(|_| std::array::from_fn(|_| StandardNormal.sample(&mut rng))) };
    let mut bandit = Bandit::new()?;
    // Regret: how many more would have said yes, had the best offer been shown. Beside it, that of showing any offer at random.
    let (mut regret, mut at_random) = (0.0, 0.0);
    let mut curve = Vec::new();
    for t in 1..=VISITORS {
        let x: [f64; INPUTS] = std::array::from_fn(|_| StandardNormal.sample(&mut rng));
        let chances: [f64; OFFERS] = std::array::from_fn(|offer| truth.chance(offer, &x));
        let shown = bandit.choose(&x, &mut rng)?;
        let yes = rng.random::<f64>() < chances[shown];
        bandit.offers[shown].update(&x, f64::from(yes))?;

        let most = chances[best(&chances)];
        regret += most - chances[shown];
        at_random += most - chances.iter().sum::<f64>() / OFFERS as f64;
        if t % 300 == 0 {
            curve.push((t, regret, at_random));
        }
    }

    println!("visitors    regret   at random");
    for (t, regret, at_random) in &curve {
        let bar: String = (1..).take_while(|&length| f64::from(length) <= *regret).map(|_| '#').collect();
        println!("{t:>8} {regret:>9.1} {at_random:>11.1}   {bar}");
    }

    // A bandit that learns flattens: late visitors cost little. The bound is loose for chance, and random choice is far beyond it.
    let half = curve[curve.len() / 2 - 1].1;
    println!("the second half cost {:.1} of {regret:.1} in all; random choice cost {at_random:.1}", regret - half);
    if regret > 0.1 * at_random || regret - half > half {
        return Err("regret should stay below a tenth of that of random choice, and grow ever more slowly".into());
    }
    Ok(())
}

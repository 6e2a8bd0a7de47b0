//! A shelf of fifty offers for each visitor, a million hashed weights: Thompson sampling from joint draws of scores, no draw of the
//! weights.
//!
//! `cargo run --example shelf`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings, PriorScale, Rows, Standardise};

const PLACES: usize = 1 << 20;
const VISITORS: usize = 4000;
const OFFERS: usize = 200;
const CANDIDATES: usize = 50;
const CATEGORIES: usize = 10;
const TASTES: usize = 12;
const WORDS: usize = 8;

/// A place for a feature, the same in every run (FNV-1a).
fn place(feature: &str) -> usize {
    let hash = feature.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize % PLACES
}

/// The truth, which the model never sees: what each taste thinks of each category, and how good each offer is.
struct Truth {
    taste: Vec<[f64; CATEGORIES]>,
    quality: Vec<f64>,
}

impl Truth {
    fn new(rng: &mut impl Rng) -> Self {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        let taste = (0..TASTES).map(|_| std::array::from_fn(|_| 1.2 * normal())).collect();
        Self { taste, quality: (0..OFFERS).map(|_| 0.5 * normal()).collect() }
    }

    fn chance(&self, taste: usize, offer: usize) -> f64 {
        1.0 / (1.0 + (1.5 - self.taste[taste][offer % CATEGORIES] - self.quality[offer]).exp())
    }
}

/// Words of a visitor: a taste shows in words that go together, and never by its name.
fn words(taste: usize, rng: &mut impl Rng) -> Vec<String> {
    (0..WORDS).map(|_| format!("word {taste} {}", rng.random_range(0..20))).collect()
}

/// The offer, its category, and each word with the category.
fn features(words: &[String], offer: usize) -> Vec<usize> {
    let category = offer % CATEGORIES;
    let mut places = vec![place(&format!("offer {offer}")), place(&format!("category {category}"))];
    places.extend(words.iter().map(|word| place(&format!("{word} × {category}"))));
    places.sort_unstable();
    places.dedup();
    places
}

/// Index of the largest value.
fn best(values: &[f64]) -> usize {
    (0..values.len()).max_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap_or(0)
}

/// Plays the shelf and prints its regret.
///
/// # Errors
/// Those of the model, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let truth = Truth::new(&mut rng);
    // Words of one taste come together, so their weights are known together or not at all: a low rank keeps that, a diagonal does not.
    let settings = OnlineSettings {
        belief: BeliefKind::LowRank { rank: 8 },
        prior_scale: PriorScale::Given(0.4),
        standardise: Standardise::Never,
        ..OnlineSettings::default()
    };
    let mut model = OnlineLogistic::with_settings(PLACES, settings)?;
    let ones = [1.0; WORDS + 2];
    let (mut regret, mut at_random, mut curve) = (0.0, 0.0, Vec::new());
    for t in 1..=VISITORS {
        let taste = rng.random_range(0..TASTES);
        let words = words(taste, &mut rng);
        let offers: Vec<usize> = (0..CANDIDATES).map(|_| rng.random_range(0..OFFERS)).collect();
        let (mut starts, mut positions) = (vec![0], Vec::new());
        for &offer in &offers {
            positions.extend(features(&words, offer));
            starts.push(positions.len());
        }
        let values = vec![1.0; positions.len()];
        let candidates = Rows::Sparse { starts: &starts, positions: &positions, values: &values };
        // One draw of all fifty scores: what drawing a million weights and scoring each offer by them would give.
        let drawn = model.sample_scores(candidates, &mut rng)?;

        let shown = offers[best(&drawn)];
        let chances: Vec<f64> = offers.iter().map(|&offer| truth.chance(taste, offer)).collect();
        let yes = rng.random::<f64>() < truth.chance(taste, shown);
        let row = features(&words, shown);
        model.update((&row, &ones[..row.len()]), f64::from(yes))?;

        let most = chances[best(&chances)];
        regret += most - truth.chance(taste, shown);
        at_random += most - chances.iter().sum::<f64>() / CANDIDATES as f64;
        if t % (VISITORS / 8) == 0 {
            curve.push((t, regret, at_random));
        }
    }
    println!("visitors    regret   at random");
    for (t, regret, at_random) in &curve {
        println!("{t:>8} {regret:>9.1} {at_random:>11.1}");
    }
    let (first, last) = (curve[1].1, regret - curve[5].1);
    println!("the first quarter cost {first:.1}, the last {last:.1}");
    if regret > 0.6 * at_random || last > 0.7 * first {
        return Err("regret should stay below that of random choice, and grow ever more slowly".into());
    }
    Ok(())
}

//! A million weights, a dozen of them in each row: words hashed to 2²⁰ places, with a variance for each weight.
//!
//! `cargo run --example sparse_million`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use vi_models::metrics::{log_loss, log_loss_from_log};
use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings};

const PLACES: usize = 1 << 20;
const ROWS: usize = 30_000;
const TESTS: usize = 3_000;
const WORDS: usize = 12;

/// A place for a word, the same in every run (FNV-1a). Two words may share one; with a million places few do.
fn place(word: &str) -> usize {
    let hash = word.bytes().fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    hash as usize % PLACES
}

/// What the word of a rank says of the class: every seventh speaks for it, every seventh against.
fn says(rank: f64) -> f64 {
    match rank % 7.0 {
        0.0 => 1.5,
        1.0 => -1.5,
        _ => 0.0,
    }
}

/// A text of a dozen words, common ones more often than rare ones: its places, and how likely it is of the class.
fn text(rng: &mut impl Rng) -> (Vec<usize>, f64) {
    let (mut places, mut score) = (Vec::new(), 0.0);
    for _ in 0..WORDS {
        // The rank of a word is log-uniform, as by Zipf's law.
        let word = (rng.random::<f64>() * f64::ln(50_000.0)).exp().floor();
        score += says(word);
        places.push(place(&format!("word {word}")));
    }
    places.sort_unstable();
    places.dedup();
    (places, 1.0 / (1.0 + f64::exp(-score)))
}

/// Learns thirty thousand texts and predicts three thousand others.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    // A diagonal belief keeps a variance for each weight and touches only the entries of a row. Many inputs, most of
    // them 0, are taken as they come.
    let settings = OnlineSettings { belief: BeliefKind::Diagonal, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(PLACES, settings)?;
    let ones = [1.0; WORDS];
    for _ in 0..ROWS {
        let (places, chance) = text(&mut rng);
        let label = f64::from(rng.random::<f64>() < chance);
        model.update((&places, &ones[..places.len()]), label)?;
    }

    let (mut labels, mut stated, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..TESTS {
        let (places, chance) = text(&mut rng);
        let label = f64::from(rng.random::<f64>() < chance);
        stated.push(model.predict((&places, &ones[..places.len()]))?.probability);
        truth.push(if label == 1.0 { chance } else { 1.0 - chance }.ln());
        labels.push(label);
    }
    let (found, floor) = (log_loss(&stated, &labels)?, log_loss_from_log(&truth)?);
    println!("{ROWS} texts learned, {PLACES} weights; log loss on {TESTS} others, in nats:");
    println!("  {:.3} for stating one half\n  {found:.3} by the model\n  {floor:.3} by the truth itself", f64::ln(2.0));

    // A word that was hardly seen keeps the prior's doubt. That of common words is too small: a diagonal belief forgets that words hang together.
    println!("what is believed of a word, and the truth:");
    for word in [7.0, 8.0, 9.0, 49_000.0] {
        let weight = model.weight(place(&format!("word {word}")))?;
        let (mean, doubt) = (weight.mean(), weight.standard_deviation());
        println!("  word {word:<6} {mean:>5.2} ± {doubt:.2} {:>6.1}", says(word));
    }
    if found - floor > 0.4 * (f64::ln(2.0) - floor) {
        return Err("the model should learn three fifths of what can be known".into());
    }
    Ok(())
}

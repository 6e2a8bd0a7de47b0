//! Click-through of advertisements in a world that drifts: one model forgets nothing, one learns how fast to forget.
//!
//! `cargo run --example clicks`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::{Rng, RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_models::ModelError;
use vi_models::online::{Memory, OnlineLogistic, OnlineSettings};

const INPUTS: usize = 6;
const ROWS: usize = 12_000;

/// The taste of the public: one weight for each input. It wanders a little with every visitor, and changes in a moment after half of them.
struct World {
    taste: [f64; INPUTS],
}

impl World {
    fn new(rng: &mut impl Rng) -> Self {
        Self { taste: std::array::from_fn(|_| StandardNormal.sample(rng)) }
    }

    /// The next visitor: who looks at what, and how likely a click is.
    fn visit(&mut self, t: usize, rng: &mut impl Rng) -> ([f64; INPUTS], f64) {
        if t == ROWS / 2 {
            *self = Self::new(rng);
        }
        for weight in &mut self.taste {
            let step: f64 = StandardNormal.sample(rng);
            *weight += 0.01 * step;
        }
        let x: [f64; INPUTS] = std::array::from_fn(|_| StandardNormal.sample(rng));
        let score: f64 = -1.0 + x.iter().zip(&self.taste).map(|(x, w)| x * w).sum::<f64>();
        (x, 1.0 / (1.0 + (-score).exp()))
    }
}

/// What a stated probability costs when the truth comes out: `−log p`, in nats.
fn loss(probability: f64, clicked: bool) -> f64 {
    -if clicked { probability.ln() } else { (-probability).ln_1p() }
}

/// Runs the stream and prints the losses.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let mut world = World::new(&mut rng);
    let model = |memory| -> Result<OnlineLogistic, ModelError> {
        OnlineLogistic::with_settings(INPUTS, OnlineSettings { memory, ..OnlineSettings::default() })
    };
    let (mut still, mut moving) = (model(Memory::Everything)?, model(Memory::Learned)?);

    println!("     rows   forgets nothing   learned memory   who knows the truth   (nats a row)");
    let (mut sums, mut total) = ([0.0; 3], [0.0; 3]);
    for t in 0..ROWS {
        let (x, chance) = world.visit(t, &mut rng);
        let clicked = rng.random::<f64>() < chance;
        // Predict first, learn afterwards: every loss is that of a row not seen before.
        let stated = [still.predict(&x)?.probability, moving.predict(&x)?.probability, chance];
        for (sum, p) in sums.iter_mut().zip(stated) {
            *sum += loss(p, clicked);
        }
        still.update(&x, f64::from(clicked))?;
        moving.update(&x, f64::from(clicked))?;
        if (t + 1) % 2000 == 0 {
            let [a, b, c] = sums.map(|sum| sum / 2000.0);
            println!("{:>9} {a:>17.3} {b:>16.3} {c:>21.3}", t + 1);
            for (total, sum) in total.iter_mut().zip(&mut sums) {
                *total += std::mem::take(sum) / ROWS as f64;
            }
        }
    }

    let info = moving.info();
    let seen =
        info.last_change.map_or("no abrupt change".to_owned(), |row| format!("its last abrupt change at row {row}"));
    println!("the learned memory saw {seen}; the truth changed at {}", ROWS / 2 + 1);
    for (lambda, share) in info.memories {
        let rows =
            if lambda < 1.0 { format!("the last {:.0} rows", 1.0 / (1.0 - lambda)) } else { "everything".into() };
        println!("  {:>3.0} % of its answer is that of a model that remembers {rows}", 100.0 * share);
    }

    // What not knowing the truth costs, beyond the noise of the clicks themselves.
    let (everything, learned) = (total[0] - total[2], total[1] - total[2]);
    println!("excess loss a row: {everything:.3} with everything remembered, {learned:.3} with the learned memory");
    if learned > 0.5 * everything {
        return Err("the learned memory should save at least half of the excess loss".into());
    }
    Ok(())
}

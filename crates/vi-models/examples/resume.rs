//! A learner that crashes and goes on: after the crash it ends with the same bits as one that never fell.
//!
//! `cargo run --example resume`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use vi_models::online::OnlineLogistic;

const ROWS: u64 = 1000;

/// Row `t` of the stream. A source that can be read again from a row number is what going on needs: a file, a log, a queue with offsets.
fn row(t: u64) -> ([f64; 3], f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(t);
    let x: [f64; 3] = std::array::from_fn(|_| rng.random_range(-1.0..1.0));
    let chance = 1.0 / (1.0 + f64::exp(x[1] - 2.0 * x[0]));
    (x, f64::from(rng.random::<f64>() < chance))
}

/// What is stored: the model, and how many rows it has learned, together, so that neither can be ahead of the other.
#[derive(Serialize, Deserialize)]
struct Checkpoint {
    rows: u64,
    model: OnlineLogistic,
}

impl Checkpoint {
    /// Written beside, then renamed: whoever reads finds the old one or the whole of the next.
    fn store(&self, path: &Path) -> Result<(), Box<dyn Error>> {
        let part = path.with_extension("part");
        fs::write(&part, serde_json::to_vec(self)?)?;
        Ok(fs::rename(part, path)?)
    }

    /// The stored one, or a model that has seen nothing.
    fn load(path: &Path) -> Result<Self, Box<dyn Error>> {
        if path.exists() {
            return Ok(serde_json::from_slice(&fs::read(path)?)?);
        }
        Ok(Self { rows: 0, model: OnlineLogistic::new(3)? })
    }

    /// Learns on, storing every 100 rows; a crash comes before row `crash`, and what was not stored is lost.
    fn learn(mut self, path: &Path, crash: Option<u64>) -> Result<Option<OnlineLogistic>, Box<dyn Error>> {
        while self.rows < ROWS {
            if crash == Some(self.rows) {
                return Ok(None);
            }
            let (x, y) = row(self.rows);
            self.model.update(&x, y)?;
            self.rows += 1;
            if self.rows.is_multiple_of(100) {
                self.store(path)?;
            }
        }
        Ok(Some(self.model))
    }
}

/// A folder of this run's own.
fn folder() -> Result<PathBuf, Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("resume-example-{}", std::process::id()));
    fs::create_dir_all(&folder)?;
    Ok(folder)
}

/// Learns with and without crashes and compares.
///
/// # Errors
/// Those of the models and of the disk, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn Error>> {
    let folder = folder()?;
    let straight = Checkpoint::load(&folder.join("a.json"))?.learn(&folder.join("a.json"), None)?;

    let path = folder.join("b.json");
    for crash in [30, 271, 828] {
        let begun = Checkpoint::load(&path)?;
        println!("begins at row {}, crashes before row {crash}", begun.rows);
        begun.learn(&path, Some(crash))?;
    }
    let last = Checkpoint::load(&path)?;
    println!("begins at row {}, ends at row {ROWS}", last.rows);
    let resumed = last.learn(&path, None)?;

    // Floats are written so that they come back to the bit (serde_json's feature `float_roundtrip`).
    let same = serde_json::to_vec(&straight)? == serde_json::to_vec(&resumed)?;
    // A file that lost its end is an error, not a model.
    let whole = fs::read(&path)?;
    let torn = serde_json::from_slice::<Checkpoint>(&whole[..whole.len() / 2]).is_err();
    fs::remove_dir_all(folder)?;
    println!("the same model to the bit: {same}; a torn file is refused: {torn}");
    if !(same && torn) {
        return Err("a resumed model should be that of an uninterrupted run, and a torn file no model".into());
    }
    Ok(())
}

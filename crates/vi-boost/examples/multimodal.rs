//! Where is the transmitter? Two stations measure their distance to it, and it may stand on either side of the line between them:
//! a posterior with two modes, which no single Gaussian has.
//!
//! `cargo run --example multimodal`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_boost::{FitSettings, LogDensity, fit};

/// Places of the stations (east, north), the distances that they measured, and the error of one measurement, all in km.
struct Stations {
    places: [[f64; 2]; 2],
    measured: [f64; 2],
    error: f64,
}

impl LogDensity for Stations {
    fn dim(&self) -> usize {
        2
    }

    /// The prior `N(0, 3²I)` and two measurements; constants matter for the evidence, so none is left out.
    fn log_density(&self, at: &[f64]) -> f64 {
        let normal = |z: f64, sd: f64| -0.5 * (z / sd).powi(2) - (sd * f64::sqrt(std::f64::consts::TAU)).ln();
        let mut sum = normal(at[0], 3.0) + normal(at[1], 3.0);
        for (place, measured) in self.places.iter().zip(self.measured) {
            sum += normal(f64::hypot(at[0] - place[0], at[1] - place[1]) - measured, self.error);
        }
        sum
    }
}

/// `log ∫ f` by the sum over a fine grid: in two dimensions the truth can be had this way.
fn log_evidence(target: &Stations) -> f64 {
    let (reach, cells) = (12.0, 1200);
    let side = 2.0 * reach / f64::from(cells);
    let centre = |i: i32| -reach + side * (f64::from(i) + 0.5);
    let column = |i| (0..cells).map(|j| target.log_density(&[centre(i), centre(j)]).exp()).sum::<f64>();
    ((0..cells).map(column).sum::<f64>() * side * side).ln()
}

/// Finds the transmitter and holds what was found against a grid.
///
/// # Errors
/// Those of the fit, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let target = Stations { places: [[-2.0, 0.0], [2.0, 0.0]], measured: [2.7, 2.9], error: 0.25 };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let found = fit(&target, &FitSettings::default(), &mut rng)?;

    println!("a mixture of {} Gaussians:", found.mixture.len());
    for (weight, part) in found.mixture.weights().iter().zip(found.mixture.components()) {
        println!("  {:>5.1} % about {:.2} km east, {:.2} km north", 100.0 * weight, part.mean()[0], part.mean()[1]);
    }
    println!("diagnosis: {:?}, {:.4} nats left", found.diagnosis.verdict, found.diagnosis.kl);

    let truth = log_evidence(&target);
    println!("log evidence {:.3}; by a grid of 1.44 million points {truth:.3}", found.diagnosis.log_evidence);
    // The stations stand on a line through 0, so both sides are equally likely.
    let draws = found.mixture.draw(10_000, &mut rng);
    let north = (0..draws.nrows()).filter(|&i| draws[(i, 1)] > 0.0).count() as f64 / draws.nrows() as f64;
    println!("north of the line: {:.1} %; by symmetry 50 %", 100.0 * north);
    // One Gaussian sits on one side and knows nothing of the other.
    println!("the best single Gaussian is about {:.2} km north", found.gaussian.mean()[1]);

    if (found.diagnosis.log_evidence - truth).abs() > 0.05 || (north - 0.5).abs() > 0.05 {
        return Err("both modes should be found, in equal parts, and the evidence should be that of the grid".into());
    }
    Ok(())
}

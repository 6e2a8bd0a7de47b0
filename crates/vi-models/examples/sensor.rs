//! Calibrating sensors whose noise nobody knows: intervals that hold as often as they say.
//!
//! `cargo run --example sensor`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal, Uniform};
use vi_models::metrics::coverage;
use vi_models::online::{OnlineLinear, OnlineSettings};

/// A pressure sensor: its voltage depends on the pressure and a little on the temperature, and each has its own quirks.
struct Sensor {
    offset: f64,
    gain: f64,
    warmth: f64,
    noise: f64,
}

impl Sensor {
    fn new(rng: &mut impl Rng) -> Self {
        let mut normal = || -> f64 { StandardNormal.sample(rng) };
        Self { offset: normal(), gain: 20.0 + normal(), warmth: 0.1 * normal(), noise: (0.5 * normal() - 1.0).exp() }
    }

    /// What is read, (volts, °C), and the true pressure in kPa.
    fn read(&self, rng: &mut impl Rng) -> Result<([f64; 2], f64), rand_distr::uniform::Error> {
        let volts = Uniform::new(0.5, 4.5)?.sample(rng);
        let celsius = Uniform::new(-10.0, 40.0)?.sample(rng);
        let noise: f64 = StandardNormal.sample(rng);
        let pressure = self.offset + self.gain * volts + self.warmth * celsius + self.noise * noise;
        Ok(([volts, celsius], pressure))
    }
}

/// Calibrates one sensor in words, then four hundred by count.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let settings = OnlineSettings { names: vec!["volts".into(), "celsius".into()], ..OnlineLinear::default_settings() };
    let new = || OnlineLinear::with_settings(2, settings.clone(), 1e-2, 1e-4);

    // One sensor, twenty readings beside a reference instrument.
    let sensor = Sensor::new(&mut rng);
    let mut model = new()?;
    for _ in 0..20 {
        let (x, pressure) = sensor.read(&mut rng)?;
        model.update(&x, pressure)?;
    }
    println!("            estimate   90 % interval        truth");
    let truth = [sensor.offset, sensor.gain, sensor.warmth];
    for (coefficient, truth) in model.coefficients()?.iter().zip(truth) {
        let interval = coefficient.belief.interval(0.9)?;
        let mean = coefficient.belief.mean();
        println!(
            "{:<10} {mean:>9.3}   {:>8.3} to {:<8.3} {truth:>8.3}",
            coefficient.name, interval.lower, interval.upper
        );
    }
    let (shape, rate) = model.noise();
    println!("noise      {:>9.3} {:>31.3}", (rate / (shape - 1.0)).sqrt(), sensor.noise);

    // Four hundred sensors, twenty readings each, and one reading in the field that the calibration has not seen.
    let (mut intervals, mut pressures) = (Vec::new(), Vec::new());
    for _ in 0..400 {
        let (sensor, mut model) = (Sensor::new(&mut rng), new()?);
        for _ in 0..20 {
            let (x, pressure) = sensor.read(&mut rng)?;
            model.update(&x, pressure)?;
        }
        let (x, pressure) = sensor.read(&mut rng)?;
        intervals.push(model.predict(&x)?.interval(0.9)?);
        pressures.push(pressure);
    }
    let held = coverage(&intervals, &pressures)?;
    // The count of 400 independent successes at 0.9 has this standard error.
    let error = (0.9 * 0.1 / 400.0_f64).sqrt();
    println!(
        "90 % intervals of the pressure held {:.1} % of 400 field readings (± {:.1})",
        100.0 * held,
        100.0 * error
    );
    if (held - 0.9).abs() > 3.0 * error {
        return Err("a 90 % interval should hold 90 % within three standard errors".into());
    }
    Ok(())
}

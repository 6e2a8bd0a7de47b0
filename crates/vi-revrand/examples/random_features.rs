//! Two half moons: a linear model is lost, and the same model on random features is a kernel machine, still learned row by row.
//!
//! `cargo run --example random_features`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_data::synthetic::TwoMoonsSettings;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_models::metrics::{accuracy, log_loss};
use vi_models::online::{OnlineLogistic, OnlineSettings, PriorScale, Standardise};
use vi_revrand::Basis;
use vi_revrand::basis::{Kernel, LengthScale, RandomFourier};

/// The share of rows that a model gets right and its log loss, after one pass over `x`, `y`, on `x_new`, `y_new`.
fn scores(
    x: &Mat<f64>,
    y: &[f64],
    x_new: &Mat<f64>,
    y_new: &[f64],
    settings: OnlineSettings,
) -> Result<(OnlineLogistic, f64, f64), Box<dyn std::error::Error>> {
    let mut model = OnlineLogistic::with_settings(x.ncols(), settings)?;
    model.update_batch(x, y)?;
    let stated: Vec<f64> = model.predict_batch(x_new)?.iter().map(|predicted| predicted.probability).collect();
    let (right, loss) = (accuracy(&stated, y_new)?, log_loss(&stated, y_new)?);
    Ok((model, right, loss))
}

/// Learns the moons with and without features.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let moons = TwoMoonsSettings { n: 1000, noise_sd: 0.15 };
    let (known, new) = (moons.draw(&mut rng)?, moons.draw(&mut rng)?);

    // Waves of random frequency: their inner products are the kernel exp(−‖x−x′‖²/2l²) up to noise of 1/√60.
    let basis = RandomFourier::new(Kernel::Rbf, 2, 60, LengthScale::Shared(0.5), &mut rng)?;
    let waves = |x: MatRef<'_, f64>| basis.features(&basis.start(), x, Par::Seq);
    let (features, features_new) = (waves(known.x())?, waves(new.x())?);

    let plain = OnlineSettings::default();
    // Features are on one scale. The prior scale of their weights is that of the function itself: logits of some ± 5.
    let on_waves =
        OnlineSettings { standardise: Standardise::Never, prior_scale: PriorScale::Given(5.0), ..plain.clone() };
    let (_, linear, linear_loss) = scores(&known.x().to_owned(), known.y(), &new.x().to_owned(), new.y(), plain)?;
    let (machine, right, loss) = scores(&features, known.y(), &features_new, new.y(), on_waves)?;
    println!("right of 1000 rows not seen:  {:.1} % linear, log loss {linear_loss:.3}", 100.0 * linear);
    println!("                              {:.1} % on random features, log loss {loss:.3}", 100.0 * right);

    // The moons as the model sees them: # and . where it is sure, ? where it is not, among them all places far from any row.
    let (columns, lines) = (60, 20);
    for line in 0..lines {
        let at = |column: usize| [-2.5 + 6.0 * column as f64 / 60.0, 2.0 - 3.5 * f64::from(line) / 20.0];
        let places = Mat::from_fn(columns, 2, |column, k| at(column)[k]);
        let seen = machine.predict_batch(&waves(places.as_ref())?)?;
        let signs = seen.iter().map(|predicted| match predicted.probability {
            p if p > 0.9 => '#',
            p if p < 0.1 => '.',
            _ => '?',
        });
        println!("  {}", signs.collect::<String>());
    }
    if right < 0.97 || linear > 0.92 {
        return Err("random features should tell the moons apart, where no line can".into());
    }
    Ok(())
}

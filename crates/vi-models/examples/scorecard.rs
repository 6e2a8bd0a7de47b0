//! A scorecard: a logistic model as points that anyone can add up, each with the doubt that it carries.
//!
//! `cargo run --example scorecard`
#![allow(clippy::print_stdout, reason = "an example shows what it finds")]

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use vi_models::metrics::{auc, log_loss};
use vi_models::online::{OnlineLogistic, OnlineSettings, RefineSettings};

/// So many points double the odds.
const POINTS_FOR_DOUBLE: f64 = 20.0;

/// Fits tumours, prints the card and holds it against tumours that it has not seen.
///
/// # Errors
/// Those of the models, and a message where the promise of the last lines is broken.
pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    // 683 tumours, nine scores each from 1 to 10, here mapped onto [−1, 1]; 1 is malignant. Two thirds to learn from.
    let tumours = vi_data::breast_cancer()?.shuffled(&mut rng);
    let learned = 2 * tumours.n() / 3;
    let settings = OnlineSettings { names: tumours.columns().to_vec(), keep_rows: true, ..OnlineSettings::default() };
    let mut model = OnlineLogistic::with_settings(tumours.d(), settings)?;
    for (x, y) in tumours.observations().take(learned) {
        model.update(x, y)?;
    }
    // Rows are few and were kept, so the best Gaussian costs a blink; the diagnosis says whether a Gaussian will do.
    model.refine(&RefineSettings::default())?;
    println!("{learned} tumours learned; {}\n", model.diagnose(4000, &mut rng)?.advice);

    // A point is the change of the log odds by log 2 / 20. One step of a score, of nine, is 2/9 of the mapped range.
    let point = f64::ln(2.0) / POINTS_FOR_DOUBLE;
    let step = 2.0 / 9.0;
    println!("points for each step of a score            90 % interval");
    let (mut card, mut sure) = (Vec::new(), 0);
    for coefficient in model.coefficients()?.iter().skip(1) {
        let points = (coefficient.belief.mean() * step / point).round();
        let interval = coefficient.belief.interval(0.9)?;
        let (low, high) = (interval.lower * step / point, interval.upper * step / point);
        sure += usize::from(low > 0.0 || high < 0.0);
        println!("{:<25} {points:>6.0}            {low:>5.0} to {high:<5.0}", coefficient.name);
        card.push(points);
    }
    println!("the sign of {sure} of {} is sure at that level\n", card.len());

    // The card is the model with its weights rounded to whole points and its doubt thrown away.
    let (mut labels, mut stated, mut sums) = (Vec::new(), Vec::new(), Vec::new());
    for (x, y) in tumours.observations().skip(learned) {
        labels.push(y);
        stated.push(model.predict(x)?.probability);
        sums.push(x.iter().zip(&card).map(|(x, points)| points * x / step).sum::<f64>());
    }
    let (by_model, by_card, loss) = (auc(&stated, &labels)?, auc(&sums, &labels)?, log_loss(&stated, &labels)?);
    println!(
        "{} tumours not seen: area under the curve {by_model:.4} by the model, {by_card:.4} by the points",
        labels.len()
    );
    println!("log loss {loss:.3} nats by the model (always stating the share of malignant ones: 0.65)");
    if by_card < by_model - 0.01 || loss > 0.2 {
        return Err("points should rank nearly as well as the model, and the model should predict well".into());
    }
    Ok(())
}

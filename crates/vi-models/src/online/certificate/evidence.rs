//! Evidence that labels are held more or less often than they should be, valid at every row.

use serde::{Deserialize, Serialize};

use super::{Certificate, LEVELS};

/// Odds of a miss that are bet on, as factors of those that should be.
const MORE: [f64; 6] = [1.1, 1.25, 1.5, 2.0, 3.0, 5.0];
const FEWER: [f64; 6] = [1.0 / 1.1, 1.0 / 1.25, 1.0 / 1.5, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 5.0];
/// Odds of a label far out that are bet on.
const FAR_ODDS: [f64; 4] = [10.0, 100.0, 1000.0, 10_000.0];
/// Deviations from the median beyond which a label is far out.
pub(super) const FAR: f64 = 4.0;
/// `P(|N(0, 1)| > 4)`.
const FAR_SHARE: f64 = 6.334_248_366_623_996e-5;

/// Whether a model's own intervals hold as often as they say.
///
/// Where each label is drawn from its own prediction, each interval of level `l` holds its label with the probability `l`, whatever came before. Bets that misses have other
/// odds multiply, so that for a factor `f` of the odds
///
/// ```text
/// E = (q/m)^missed·((1 − q)/(1 − m))^held,   m = 1 − l,   q = fm/(1 − m + fm)
/// ```
///
/// is an e-value; the mean over five levels and twelve factors from 1/5 to 5 is one too. It ever reaches `1/α` with probability `α` at most. A count or a class is
/// held at least as often as its level says, so for these the bets are on more misses alone.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Calibration {
    /// The log of the evidence that shares are not what they should be, in nats.
    pub log_e_value: f64,
    /// The level whose bets have won most.
    pub level: f64,
    /// Misses at that level, as a factor of those that there should be: above 1 where the model's own intervals are too narrow.
    pub misses: f64,
}

/// Labels more than four deviations from the median of their prediction.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Outliers {
    /// How many there were.
    pub labels: u64,
    /// The last of them, counted from 1.
    pub last: u64,
    /// How many there would be at most if predictions were right: `6.3·10⁻⁵` of the labels.
    pub expected: f64,
    /// The log of the evidence that there are more, in nats: bets as in [`Calibration`], with odds of 10 to 10⁴ times.
    pub log_e_value: f64,
}

/// Labels far out, as they are kept.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Far {
    pub(super) labels: u64,
    pub(super) last: u64,
}

/// The log of what a bet on `factor` times the odds has won, of an event of probability `p` that came `came` times of `rows`.
fn won(came: u64, rows: u64, p: f64, factor: f64) -> f64 {
    let q = factor * p / (1.0 - p + factor * p);
    came as f64 * (q / p).ln() + (rows - came) as f64 * ((1.0 - q) / (1.0 - p)).ln()
}

/// The log of the mean of exponentials.
fn log_mean_exp(logs: &[f64]) -> f64 {
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + (logs.iter().map(|log| (log - most).exp()).sum::<f64>() / logs.len() as f64).ln()
}

impl Certificate {
    /// Whether the model's own intervals hold as often as they say; `None` without a label.
    ///
    /// ```
    /// use vi_models::online::{Certificate, OnlineLinear, Prediction};
    ///
    /// let (mut model, mut certificate) = (OnlineLinear::new(1)?, Certificate::default());
    /// for t in 0..600 {
    ///     let (x, noise) = ([f64::from(t % 10)], f64::from((7 * t) % 11) - 5.0);
    ///     let y = if t < 300 { noise } else { 4.0 * noise }; // the model has learned a smaller noise
    ///     certificate.add(&Prediction::Number(model.predict(&x)?), y)?;
    ///     model.update(&x, y)?;
    /// }
    /// let own = certificate.calibration().unwrap();
    /// assert!(own.log_e_value > 20_f64.ln() && own.misses > 1.1); // too narrow, at a level of 5 % whenever you look
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    #[must_use]
    pub fn calibration(&self) -> Option<Calibration> {
        let Self { rows, own, .. } = *self;
        let factors = if self.sizes.is_some() || self.whole { &[&MORE[..]][..] } else { &[&MORE[..], &FEWER[..]][..] };
        let of_level = |(level, held): (f64, u64)| {
            let all = factors.iter().copied().flatten();
            let logs: Vec<f64> = all.map(|factor| won(rows - held, rows, 1.0 - level, *factor)).collect();
            (level, held, log_mean_exp(&logs))
        };
        let levels: Vec<(f64, u64, f64)> = LEVELS.into_iter().zip(own).map(of_level).collect();
        let logs: Vec<f64> = levels.iter().map(|(.., log)| *log).collect();
        let (level, held, _) = levels.into_iter().max_by(|a, b| a.2.total_cmp(&b.2)).filter(|_| rows > 0)?;
        let misses = (rows - held) as f64 / (rows as f64 * (1.0 - level));
        Some(Calibration { log_e_value: log_mean_exp(&logs), level, misses })
    }

    /// Labels far from what was predicted, of numbers and counts; `None` without one.
    #[must_use]
    pub fn outliers(&self) -> Option<Outliers> {
        let Far { labels, last } = self.far?;
        let logs = FAR_ODDS.map(|factor| won(labels, self.rows, FAR_SHARE, factor));
        Some(Outliers { labels, last, expected: FAR_SHARE * self.rows as f64, log_e_value: log_mean_exp(&logs) })
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;
    use vi_core::special::normal_cdf;

    use super::super::place::Place;
    use super::*;

    /// A record of labels at these places.
    fn record(rows: u64, mut place: impl FnMut(u64) -> (f64, f64)) -> Certificate {
        let mut certificate = Certificate::default();
        for t in 0..rows {
            let (low, high) = place(t);
            certificate.count(&Place::Number { low, high });
        }
        certificate
    }

    fn normal(rng: &mut ChaCha8Rng, spread: f64) -> (f64, f64) {
        let z = spread * rng.sample::<f64, _>(StandardNormal);
        (z, z)
    }

    #[test]
    fn every_bet_is_fair() {
        // The mean over all sequences of ten rows, by how often the event came.
        let (rows, mut choose) = (10, vec![1.0]);
        for _ in 0..rows {
            choose = (0..=choose.len())
                .map(|k| choose.get(k).unwrap_or(&0.0) + if k > 0 { choose[k - 1] } else { 0.0 })
                .collect();
        }
        let of_far = FAR_ODDS.map(|factor| (FAR_SHARE, factor));
        let of_levels =
            LEVELS.into_iter().flat_map(|level| MORE.into_iter().chain(FEWER).map(move |factor| (1.0 - level, factor)));
        for (p, factor) in of_levels.chain(of_far) {
            let mean: f64 = (0..=rows)
                .map(|k| {
                    let came = k as f64;
                    let share = p.powf(came) * (1.0 - p).powf(10.0 - came);
                    choose[usize::try_from(k).unwrap()] * share * won(k, rows, p, factor).exp()
                })
                .sum();
            // Eleven products of ten factors, each good to rounding.
            assert!((mean - 1.0).abs() < 11.0 * 20.0 * f64::EPSILON, "{p} {factor}: {mean}");
        }
        assert!((FAR_SHARE - 2.0 * normal_cdf(-FAR)).abs() < 1e-12 * FAR_SHARE);
    }

    #[test]
    fn right_predictions_are_called_right_and_wrong_ones_wrong() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let alarm = 20_f64.ln();
        // At 5 % and 200 runs at most 10 are expected, whenever one looks: here at the end.
        let wrong =
            (0..200).filter(|_| record(1000, |_| normal(&mut rng, 1.0)).calibration().unwrap().log_e_value > alarm);
        assert!(wrong.count() <= 10);
        for (spread, narrow) in [(1.5, true), (0.7, false)] {
            let own = record(1000, |_| normal(&mut rng, spread)).calibration().unwrap();
            assert!(own.log_e_value > alarm && (own.misses > 1.1) == narrow && (own.misses < 0.9) != narrow, "{own:?}");
        }
        // Counts are held more often than their levels say, which is no fault.
        let counts = record(1000, |t| if t % 2 == 0 { (-1.0, 0.5) } else { (0.5, 2.0) }).calibration().unwrap();
        assert!(counts.log_e_value < 0.0, "{counts:?}");
        assert_eq!(Certificate::default().calibration(), None);
    }

    #[test]
    fn labels_far_out_are_counted_and_judged() {
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let far = |t: u64| if t % 1000 == 700 { (-5.0, -5.0) } else { (0.1, 0.1) };
        let found = record(3000, far).outliers().unwrap();
        assert_eq!((found.labels, found.last), (3, 2701));
        assert!(found.log_e_value > 20_f64.ln() && (found.expected - 3000.0 * FAR_SHARE).abs() < 1e-12, "{found:?}");
        // As many as there should be are no evidence.
        let few =
            record(60_000, |t| if t % 15_000 == 9 { (4.5, 4.5) } else { normal(&mut rng, 0.5) }).outliers().unwrap();
        assert!(few.labels == 4 && few.log_e_value < 1.0, "{few:?}");
        assert_eq!(record(500, |_| (3.9, 3.9)).outliers(), None);
        let mut both = record(3000, far);
        both.merge(&record(1000, |t| if t > 997 { (9.0, 9.0) } else { (0.0, 0.0) }));
        let found = both.outliers().unwrap();
        assert_eq!((found.labels, found.last), (5, 2701));
    }
}

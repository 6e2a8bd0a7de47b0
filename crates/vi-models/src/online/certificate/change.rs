//! A test of change in the places of labels in their predictions, valid at every row.

use serde::{Deserialize, Serialize};
use vi_core::special::normal_quantile;

/// Scores lie between `±FARTHEST`, `PER_UNIT` bins to a unit.
const FARTHEST: f64 = 4.0;
const PER_UNIT: f64 = 8.0;
/// Bins of scores, the outer ones without an end.
const BINS: usize = 66;
/// Shifts that are bet on, up and down, in deviations; each twice the one before.
const SHIFTS: [f64; 4] = [0.25, 0.5, 1.0, 2.0];
/// Spreads that are bet on.
const SPREADS: [f64; 4] = [0.5, 0.7, 1.5, 2.5];
/// The bets: shifts up, shifts down, spreads.
const BETS: usize = 12;
/// First labels, while a model learns too fast for its scores to be swapped.
const LEARNING: u64 = 300;
/// Scores from which the ranks of others are taken before any bet.
const FEWEST: u64 = 200;
/// Rows of a still world to each false alarm, at the least on average.
const RARE: f64 = 1e6;
/// Evidence below which labels fall again as before.
const CALM: f64 = 10.0;
/// Labels after an alarm in which the way of the change is judged again.
const JUDGED: u64 = 100;
/// Irrational steps, for ranks among equal scores.
const STEPS: [f64; 2] = [0.618_033_988_749_894_9, 0.414_213_562_373_095_1];

/// An alarm: labels fell elsewhere for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Alarm {
    /// The label at which it was raised, counted from 1.
    pub at: u64,
    /// The label from which on the change shows: the last one before which the winning bet had won nothing.
    pub since: u64,
    /// The label from which on they fall again as before; none while they do not.
    pub until: Option<u64>,
    /// How labels fall meanwhile.
    pub towards: Towards,
}

/// How labels fall in their predictions after a change, against before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Towards {
    /// Larger, or a later class.
    Higher,
    /// Smaller, or an earlier class.
    Lower,
    /// Nearer to the middle.
    Narrower,
    /// Farther out.
    Wider,
}

impl Towards {
    fn of_bet(bet: usize) -> Self {
        match bet {
            k if k < SHIFTS.len() => Self::Higher,
            k if k < 2 * SHIFTS.len() => Self::Lower,
            k if SPREADS[k - 2 * SHIFTS.len()] < 1.0 => Self::Narrower,
            _ => Self::Wider,
        }
    }
}

/// A record that tells when labels no longer fall where they used to fall in their predictions.
///
/// The score of a label is its place `z` in its own prediction. In a world that does not change, with a model that learns no more, scores can be swapped, so the
/// rank `p` of a score among those before is uniform, whatever their distribution is (a conformal p-value, ranks among equal scores drawn). Bets on shifts `δ` and
/// spreads `s` of `x = Φ⁻¹(p)`, of expectation 1 then, multiply:
///
/// ```text
/// b_δ = exp(δx − δ²/2),   b_s = exp(x²(1 − s⁻²)/2)/s,   W_k ← max(W_k, 1)·b_k,   alarm where the mean of W_k ≥ 10⁶
/// ```
///
/// `W` is at most the Shiryaev–Roberts sum, so a still world has on average at least 10⁶ rows to an alarm. An alarm lasts until the mean is below 10 again: until the
/// model has followed the change. Meanwhile ranks are taken among the scores before, and another change is not told apart. The first 300 labels are left out and the
/// next 200 only ranked, since a model that learns fast has scores that cannot be swapped.
///
/// Source: e-detectors (Shin, Ramdas and Rinaldo 2022), on conformal ranks (Vovk 2021). Cost: some 0.1 µs a label.
///
/// ```
/// use vi_models::online::{Certificate, OnlineLinear, Prediction, Towards};
///
/// let (mut model, mut certificate) = (OnlineLinear::new(1)?, Certificate::default());
/// for t in 0..3000 {
///     let (x, noise) = ([f64::from(t % 10)], f64::from((7 * t) % 11));
///     let y = 2.0 * x[0] + noise + if t < 2000 { 0.0 } else { 9.0 };
///     certificate.add(&Prediction::Number(model.predict(&x)?), y)?;
///     model.update(&x, y)?;
/// }
/// let alarm = certificate.change().last().unwrap();
/// assert!(alarm.towards == Towards::Higher && alarm.since.abs_diff(2001) < 5 && alarm.at < 2060);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// All labels.
    labels: u64,
    /// How many scores of each bin there were, without those of alarms.
    scores: Vec<u64>,
    /// `max(W, 1)` of each bet, at most `10⁶` each in an alarm, and the label before which it was 1.
    won: [f64; BETS],
    since: [u64; BETS],
    alarms: u64,
    last: Option<Alarm>,
}

impl Default for Change {
    fn default() -> Self {
        Self { labels: 0, scores: vec![0; BINS], won: [1.0; BETS], since: [1; BETS], alarms: 0, last: None }
    }
}

/// `0 < share < 1`, evenly over many labels.
fn even(label: u64, step: f64) -> f64 {
    (label as f64 * step).fract().clamp(f64::EPSILON, 1.0 - f64::EPSILON)
}

/// What each bet pays at `x`.
fn pays(x: f64) -> [f64; BETS] {
    let mut pays = [0.0; BETS];
    let (mut factor, mut cost) = ((SHIFTS[0] * x).exp(), (-0.5 * SHIFTS[0] * SHIFTS[0]).exp());
    for k in 0..SHIFTS.len() {
        (pays[k], pays[SHIFTS.len() + k]) = (cost * factor, cost / factor);
        factor *= factor;
        cost = cost.powi(4);
    }
    for (pay, spread) in pays[2 * SHIFTS.len()..].iter_mut().zip(SPREADS) {
        *pay = (0.5 * x * x * (1.0 - (spread * spread).recip())).exp() / spread;
    }
    pays
}

impl Change {
    /// Whether there are enough scores for bets.
    #[must_use]
    pub fn is_watching(&self) -> bool {
        self.scores.iter().sum::<u64>() >= FEWEST
    }

    /// Whether the last alarm lasts.
    #[must_use]
    pub fn lasts(&self) -> bool {
        self.last.is_some_and(|alarm| alarm.until.is_none())
    }

    /// How many alarms there were.
    #[must_use]
    pub fn alarms(&self) -> u64 {
        self.alarms
    }

    /// The last alarm.
    #[must_use]
    pub fn last(&self) -> Option<Alarm> {
        self.last
    }

    /// What the bets have won, an e-value of a change that has begun: at most one in `v` rows of a still world sees as much as `v`.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.won.iter().sum::<f64>() / BETS as f64
    }

    /// Adds a label by its `score` at a share of the way between the ends of its place.
    pub(super) fn add(&mut self, score: impl FnOnce(f64) -> f64) {
        self.labels += 1;
        if self.labels <= LEARNING {
            return;
        }
        let place = score(even(self.labels, STEPS[0]));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the bins")]
        let bin = ((place + FARTHEST) * PER_UNIT + 1.0).clamp(0.0, (BINS - 1) as f64) as usize;
        let all: u64 = self.scores.iter().sum();
        if all >= FEWEST {
            let before: u64 = self.scores[..bin].iter().sum();
            let equal = even(self.labels, STEPS[1]) * (self.scores[bin] + 1) as f64;
            self.bet(normal_quantile((before as f64 + equal) / (all + 1) as f64));
        }
        if self.lasts() {
            self.won.iter_mut().for_each(|won| *won = won.min(RARE));
            self.judge();
            if self.evidence() < CALM {
                self.end();
            }
        } else {
            self.scores[bin] += 1;
            if self.evidence() >= RARE {
                self.alarm();
            }
        }
    }

    /// Ends an alarm; bets begin anew.
    fn end(&mut self) {
        let next = self.labels + 1;
        (self.won, self.since) = ([1.0; BETS], [next; BETS]);
        if let Some(alarm) = &mut self.last {
            alarm.until.get_or_insert(next);
        }
    }

    fn bet(&mut self, x: f64) {
        for ((won, since), pay) in self.won.iter_mut().zip(&mut self.since).zip(pays(x)) {
            *won *= pay;
            if *won <= 1.0 {
                (*won, *since) = (1.0, self.labels + 1);
            }
        }
    }

    fn alarm(&mut self) {
        let best = self.best(0..BETS);
        self.last =
            Some(Alarm { at: self.labels, since: self.since[best], until: None, towards: Towards::of_bet(best) });
        self.alarms += 1;
    }

    /// The bet that has won most, the first of equal ones.
    fn best(&self, bets: impl Iterator<Item = usize>) -> usize {
        bets.reduce(|best, k| if self.won[k] > self.won[best] { k } else { best }).unwrap_or(0)
    }

    /// Which way labels fall, judged again soon after an alarm: a few of them may have looked like another change.
    fn judge(&mut self) {
        let best = self.best(0..BETS);
        let Some(alarm) = self.last.filter(|alarm| self.labels - alarm.at <= JUDGED) else { return };
        let told = self.best((0..BETS).filter(|k| Towards::of_bet(*k) == alarm.towards));
        if self.won[best] > self.won[told] {
            let since = self.since[best].min(alarm.at);
            self.last = Some(Alarm { since, towards: Towards::of_bet(best), ..alarm });
        }
    }

    /// Adds the record of other rows: alarms are summed and end, the last is that with the most labels of its own record before it, and bets begin anew.
    pub(super) fn merge(&mut self, other: &Self) {
        if other.labels == 0 {
            return;
        }
        if self.labels == 0 {
            self.clone_from(other);
            return;
        }
        let mut other = other.clone();
        self.end();
        other.end();
        self.scores.iter_mut().zip(other.scores).for_each(|(own, other)| *own += other);
        self.last = self.last.max(other.last);
        self.labels += other.labels;
        self.alarms += other.alarms;
        self.since = [self.labels + 1; BETS];
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use vi_core::special::normal_cdf;

    use super::super::place::at_share;
    use super::*;

    fn normal(rng: &mut ChaCha8Rng) -> f64 {
        normal_quantile(rng.random_range(f64::EPSILON..1.0))
    }

    /// Alarms in `rows` labels whose probabilities below are `of`.
    fn watched(rows: u64, seed: u64, mut of: impl FnMut(u64, &mut ChaCha8Rng) -> (f64, f64)) -> Change {
        let (mut change, mut rng) = (Change::default(), ChaCha8Rng::seed_from_u64(seed));
        for t in 0..rows {
            let (low, high) = of(t, &mut rng);
            change.add(|share| at_share((low, high), share));
        }
        change
    }

    #[test]
    fn every_bet_is_fair() {
        // The trapezium rule on a smooth integrand that ends at 0: to rounding.
        let mut means = [0.0; BETS];
        for k in -800..=800 {
            let x = f64::from(k) / 20.0;
            let density = (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt() / 20.0;
            means.iter_mut().zip(pays(x)).for_each(|(mean, pay)| *mean += density * pay);
        }
        assert!(means.iter().all(|mean| (mean - 1.0).abs() < 1e-12), "{means:?}");
    }

    #[test]
    fn a_still_world_is_still_whatever_the_model_says() {
        let rows = 40_000;
        let point = |u: f64| (u, u);
        for seed in 0..5 {
            // Predictions that are right, far too narrow, off by a deviation, of heavy tails; two classes, one of them rare.
            let worlds = [
                watched(rows, seed, |_, rng| point(rng.random())),
                watched(rows, seed, |_, rng| point(normal_cdf(5.0 * normal(rng)))),
                watched(rows, seed, |_, rng| point(normal_cdf(1.0 + normal(rng)))),
                watched(rows, seed, |_, rng| point(normal_cdf(normal(rng) / rng.random::<f64>()))),
                watched(rows, seed, |_, rng| if rng.random::<f64>() < 0.02 { (0.7, 1.0) } else { (0.0, 0.7) }),
            ];
            for (k, change) in worlds.iter().enumerate() {
                assert!(change.alarms() == 0 && change.evidence() < RARE, "{k}: {:?}", change.last());
            }
        }
    }

    #[test]
    fn a_change_is_found_soon_and_where_it_began() {
        let (still, mut latest, mut wrong, mut away) = (5000, 0, 0, Vec::new());
        for seed in 0..20 {
            for (towards, shift, spread) in [
                (Towards::Higher, 1.0, 1.0),
                (Towards::Lower, -1.0, 1.0),
                (Towards::Wider, 0.0, 2.0),
                (Towards::Narrower, 0.0, 0.4),
            ] {
                let change = watched(still + 400, seed, |t, rng| {
                    let z = normal(rng);
                    let u = normal_cdf(if t < still { z } else { shift + spread * z });
                    (u, u)
                });
                let alarm = change.last().unwrap();
                assert!(change.alarms() == 1 && alarm.at > still, "{alarm:?}");
                wrong += u64::from(alarm.towards != towards);
                latest = latest.max(alarm.at - still);
                away.push(alarm.since.abs_diff(still + 1));
            }
        }
        // Chance may have favoured the winning bet before the change too, now and then for long, and may favour another after it.
        away.sort_unstable();
        assert!(latest < 200 && wrong <= 4 && away[40] < 10 && away[72] < 60, "{latest}, {wrong}, {away:?}");
    }

    #[test]
    fn parts_are_counted_together_and_stored() {
        let of = |from: f64| {
            move |t: u64, rng: &mut ChaCha8Rng| {
                let u = normal_cdf(normal(rng) + if t < 3000 { 0.0 } else { from });
                (u, u)
            }
        };
        let (mut first, second) = (watched(4000, 1, of(0.0)), watched(4000, 2, of(2.0)));
        first.merge(&second);
        assert_eq!((first.alarms(), first.labels), (second.alarms(), 8000));
        assert!(second.lasts() && second.alarms() == 1);
        assert_eq!(first.last(), Some(Alarm { until: Some(4001), ..second.last().unwrap() }));
        let text = serde_json::to_string(&first).unwrap();
        assert_eq!(serde_json::from_str::<Change>(&text).unwrap(), first);
    }
}

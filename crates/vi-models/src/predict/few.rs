//! Small counts: the probabilities of all of them at once.
//!
//! In many families `P(Y = y+1 | t) = P(Y = y | t)·q(t)·s(y)`, so at each of some points `t` of the predictor the probabilities
//! of 0, 1, 2, … take a multiplication each, and their average under `t ~ N(a, ν)` is a sum over equal steps of `t`, which
//! converges at once if the steps are half the width of the density and of the likelihood together. The sum over every second
//! step tells how accurate it is. A quantile is where the sum over `y` passes its level; both ends of an interval are found on
//! the way.

use super::{CountPrediction, CountsPredicted, Mixture, Predictive};
use crate::{Interval, ModelError, check};

/// The most counts, and the most points of one prediction on either side of its middle.
const MOST_COUNTS: f64 = 256.0;
const MOST_HALF: f64 = 511.0;
/// Where the density of the predictor ends, in standard deviations: 2.6e-12 lie beyond.
const END: f64 = 7.0;
/// The step, in widths of density and likelihood together.
const STEP: f64 = 0.5;
/// How near the sum over every second point must be: halving the step squares the error.
const NEAR: f64 = 3e-6;
/// A level this close to the cumulative probability of a count is decided by the [distribution function](CountsPredicted::cdf),
/// which is as accurate as that.
const UNDECIDED: f64 = 1e-9;

/// The smallest labels `y` with `P(Y ≤ y) ≥ level` under the mixture of `parts`, for `levels` in increasing order. Returns `None`
/// if counts are large, the family has no recurrence, or the points are too few. Error of the probabilities below 1e-10.
pub(super) fn quantiles<'a, L, P, const N: usize>(parts: P, levels: [f64; N]) -> Option<[f64; N]>
where
    L: CountPrediction + 'a,
    P: Iterator<Item = (f64, &'a CountsPredicted<L>)> + Clone,
{
    let largest = parts.clone().map(|(_, part)| bound(part, levels[N - 1])).fold(0.0, f64::max);
    // The bound is far away where the predictor is uncertain.
    if !(largest <= MOST_COUNTS || reached(parts.clone())? > levels[N - 1]) {
        return None;
    }
    let largest = largest.min(MOST_COUNTS);
    let (mut walks, mut excess) = (Vec::new(), 0.0);
    for (weight, part) in parts {
        walks.push(Walk::new(weight, part, largest)?);
        excess += weight * part.likelihood().excess();
    }
    let (mut found, mut k) = ([0.0; N], 0);
    let (mut y, mut even, mut odd) = (0.0, 0.5 * excess, 0.5 * excess);
    while k < N {
        if y > MOST_COUNTS {
            return None;
        }
        for walk in &mut walks {
            let [more_even, more_odd] = walk.mass();
            even += more_even;
            odd += more_odd;
        }
        let below = even + odd;
        if (even - odd).abs() > NEAR {
            return None;
        }
        while k < N && below >= levels[k] - UNDECIDED {
            if below < levels[k] + UNDECIDED {
                return None;
            }
            (found[k], k) = (y, k + 1);
        }
        for walk in &mut walks {
            walk.advance(y);
        }
        y += 1.0;
    }
    Some(found)
}

impl<L: CountPrediction> Mixture<CountsPredicted<L>> {
    /// As [`quantile`](Predictive::quantile), computed at once if counts are small.
    pub(crate) fn label_quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("level", p)?;
        match quantiles(self.weighted(), [p]) {
            Some([y]) => Ok(y),
            None => self.quantile(p),
        }
    }

    /// As [`interval`](Predictive::interval), computed at once if counts are small.
    pub(crate) fn label_interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let tail = 0.5 * (1.0 - level);
        match quantiles(self.weighted(), [tail, 1.0 - tail]) {
            Some([lower, upper]) => Ok(Interval { lower, upper }),
            None => self.interval(level),
        }
    }
}

/// `P(Y ≤ y)` at the most counts; `None` where it cannot be computed.
fn reached<'a, L: CountPrediction + 'a>(parts: impl Iterator<Item = (f64, &'a CountsPredicted<L>)>) -> Option<f64> {
    parts.map(|(weight, part)| part.cdf(MOST_COUNTS).ok().map(|below| weight * below)).sum()
}

/// An upper bound of the quantile: by Cantelli's inequality it is no further from the mean than `√(p/(1−p))` standard deviations.
fn bound<L: CountPrediction>(part: &CountsPredicted<L>, level: f64) -> f64 {
    let deviations = (level / (1.0 - level)).sqrt();
    (part.mean + deviations * part.variance.sqrt() + 1.0).min(part.likelihood().largest() + 1.0)
}

/// The probabilities of one count after another, at points of the predictor.
struct Walk<'a, L> {
    likelihood: &'a L,
    /// `weight·P(Y = y | t)` and `q(t)` at every second point, beginning with the middle one, and at those between.
    points: [Points; 2],
}

#[derive(Default)]
struct Points {
    masses: Vec<f64>,
    ratios: Vec<f64>,
}

impl<'a, L: CountPrediction> Walk<'a, L> {
    fn new(weight: f64, part: &'a CountsPredicted<L>, largest: f64) -> Option<Self> {
        let likelihood = part.likelihood();
        let (a, nu) = (part.projection.mean, part.projection.variance);
        let step = STEP / (1.0 + nu * likelihood.most_information(largest)).sqrt();
        let half = (END / step).ceil();
        if half.is_nan() || half > MOST_HALF {
            return None;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number up to the most")]
        let half = half as usize;
        let log_height = (weight * step / std::f64::consts::TAU.sqrt()).ln();
        let sigma = nu.sqrt();
        let mut points = [Points::default(), Points::default()];
        let (mut exp_t, growth) = ((a - sigma * step * half as f64).exp(), (sigma * step).exp());
        for k in 0..=2 * half {
            let z = step * (k as f64 - half as f64);
            let (log_first, ratio) = likelihood.recurrence(exp_t)?;
            let mass = (log_height - 0.5 * z * z + log_first).exp();
            // If the probability of 0 underflows, so do those of all counts up to the most that are taken here.
            if mass > 0.0 {
                let points = &mut points[(k + half) % 2];
                points.masses.push(mass);
                points.ratios.push(ratio);
            }
            exp_t *= growth;
        }
        Some(Self { likelihood, points })
    }

    /// `weight·P(Y = y)`, by either half of the points.
    fn mass(&self) -> [f64; 2] {
        self.points.each_ref().map(|points| points.masses.iter().sum())
    }

    /// Advances from `y` to `y + 1`.
    fn advance(&mut self, y: f64) {
        let step = self.likelihood.recurrence_step(y);
        for Points { masses, ratios } in &mut self.points {
            for (mass, ratio) in masses.iter_mut().zip(ratios) {
                *mass *= *ratio * step;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use vi_core::Projection;

    use super::*;
    use crate::likelihood::{BernoulliProbit, Binomial, NegativeBinomial, Offset, Poisson, ZeroInflated};
    use crate::predict::count_quantile;

    const LEVELS: [f64; 5] = [0.005, 0.05, 0.3, 0.95, 0.995];

    /// Quantiles at once beside those that search on the distribution function, which knows nothing of recurrences.
    fn beside_the_search<L: CountPrediction + Clone>(likelihood: &L) -> usize {
        let mut found = 0;
        for mean in [-6.0, -1.0, 0.4, 2.0, 3.5] {
            for variance in [0.0, 1e-6, 0.01, 0.2, 1.5] {
                let part = CountsPredicted::new(Projection { mean, variance }, likelihood.clone());
                let Some(at_once) = quantiles(std::iter::once((1.0, &part)), LEVELS) else { continue };
                found += 1;
                for (level, y) in LEVELS.into_iter().zip(at_once) {
                    let searched =
                        count_quantile::search(likelihood, level, (mean, variance), |y| part.cdf(y)).unwrap();
                    assert_eq!(y, searched, "{mean} {variance} {level}");
                }
            }
        }
        found
    }

    #[test]
    fn quantiles_at_once_are_those_of_the_distribution_function() {
        let families = [
            beside_the_search(&Poisson::default()),
            beside_the_search(&Offset::new(Poisson::new(3.0).unwrap(), -0.4).unwrap()),
            beside_the_search(&Binomial::new(1.0).unwrap()),
            beside_the_search(&Binomial::new(40.0).unwrap()),
            beside_the_search(&NegativeBinomial::new(0.3).unwrap()),
            beside_the_search(&NegativeBinomial::new(12.0).unwrap().with_exposure(0.5).unwrap()),
            beside_the_search(&ZeroInflated::new(0.3, NegativeBinomial::new(2.0).unwrap()).unwrap()),
        ];
        // Of 25 each; the others have many counts.
        assert!(families.into_iter().all(|found| found >= 15), "{families:?}");
        let many = CountsPredicted::new(Projection { mean: 9.0, variance: 0.1 }, Poisson::default());
        assert!(quantiles(std::iter::once((1.0, &many)), [0.5]).is_none());
        let other = CountsPredicted::new(Projection { mean: 0.0, variance: 0.1 }, BernoulliProbit);
        assert!(quantiles(std::iter::once((1.0, &other)), [0.5]).is_none());
    }

    #[test]
    fn a_mixture_is_one_walk() {
        let parts = [(0.1, 0.02), (1.2, 0.3), (3.0, 0.001)].map(|(mean, variance)| {
            CountsPredicted::new(Projection { mean, variance }, NegativeBinomial::new(4.0).unwrap())
        });
        let mixture = Mixture::new(parts.to_vec(), vec![0.5, 0.3, 0.2]).unwrap();
        assert!(quantiles(mixture.weighted(), LEVELS).is_some());
        for level in LEVELS {
            assert_eq!(mixture.label_quantile(level).unwrap(), mixture.quantile(level).unwrap(), "{level}");
        }
        assert_eq!(mixture.label_interval(0.9).unwrap(), mixture.interval(0.9).unwrap());
        assert!(mixture.label_quantile(1.0).is_err() && mixture.label_interval(f64::NAN).is_err());
    }

    #[test]
    fn a_predictor_that_is_all_but_unknown_is_left_to_the_search() {
        for (mean, variance) in [(-300.0, 1e300), (0.0, f64::MAX), (-700.0, 1e3)] {
            let part = CountsPredicted::new(Projection { mean, variance }, Binomial::new(3.0).unwrap());
            assert!(quantiles(std::iter::once((1.0, &part)), [0.05, 0.95]).is_none(), "{mean} {variance}");
        }
    }

    #[test]
    fn a_level_that_a_probability_meets_is_left_to_the_distribution_function() {
        let half = CountsPredicted::new(Projection { mean: 0.0, variance: 0.0 }, Binomial::new(1.0).unwrap());
        assert!(quantiles(std::iter::once((1.0, &half)), [0.5]).is_none());
        assert_eq!(half.quantile(0.5).unwrap(), 0.0);
    }
}

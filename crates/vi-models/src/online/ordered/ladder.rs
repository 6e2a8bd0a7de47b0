//! The probability of each of several classes that are told in steps.
//!
//! The predictors `f_k` of the steps are jointly Gaussian. With `p_k = E s(f_k)` under the Gaussian that has the moments of
//! `N(f)·Π_{j<k} s(f_j)`, each factor replaced after the one before,
//!
//! ```text
//! P(y = k) = (1 − p_k)·Π_{j<k} p_j,
//! ```
//!
//! which is how the steps of a row are learned. The variances of the probabilities come of `E P²` by the same rule with the squared factors.

use vi_core::expectation::{LogisticExpectation, LogisticMoments};
use vi_core::{Error, GaussianExpectation, Mixture8, Projection, Site};

use super::Ordered;
use crate::likelihood::Binomial;
use crate::online::Observation;
use crate::online::engine::{StepsSeen, site_of};
use crate::softmax::SoftmaxPrediction;

/// A product of probabilities below this has no share in any answer.
const NOTHING: f64 = 1e-150;

/// Below this a probability is computed directly, not from that of the other outcome.
const FEW_DIGITS: f64 = 1e-3;

/// `E s(t)` and `E s(−t)`, the smaller to all its digits.
fn outcomes(Projection { mean, variance }: Projection) -> [f64; 2] {
    let (probability, _) = Mixture8.sigmoid(mean, variance);
    if probability < FEW_DIGITS {
        let own = Mixture8.log_sigmoid_mean(mean, variance).exp();
        [own, 1.0 - own]
    } else if 1.0 - probability < FEW_DIGITS {
        let other = Mixture8.log_sigmoid_mean(-mean, variance).exp();
        [1.0 - other, other]
    } else {
        [probability, 1.0 - probability]
    }
}

/// `E s(t)²` and `E s(−t)²`, and the site of the factor `s(t)²`: since `s² = s − s′`, derivatives of `E s` tell them where they are not small.
///
/// # Errors
/// Those of the quadrature that tells them elsewhere.
fn squares(Projection { mean, variance }: Projection) -> Result<([f64; 2], Site), Error> {
    let LogisticMoments { sigmoid, first, second, third, .. } = Mixture8.moments(mean, variance);
    let [own, other] = [(sigmoid - first).max(0.0), (1.0 - sigmoid - first).max(0.0)];
    if own < FEW_DIGITS {
        let tilted = Binomial::new(2.0)?.tilted(2.0, mean, variance)?;
        return Ok(([tilted.log_normaliser.exp(), other], tilted.site(variance)));
    }
    let slope = (first - second) / own;
    let bend = (second - third) / own - slope * slope;
    // The share of the variance that the factor leaves.
    let kept = 1.0 + variance * bend;
    Ok(([own, other], Site { slope: slope / kept, curvature: -bend / kept }))
}

/// The probability of each class and its variance, good to 1e-7. Cost `C³` flops.
///
/// # Errors
/// Those of the sites.
pub(super) fn classes(family: &Ordered, steps: &StepsSeen) -> Result<SoftmaxPrediction, Error> {
    let count = steps.means.len();
    let (mut probabilities, mut variances) = (vec![0.0; count + 1], vec![0.0; count + 1]);
    let (mut first, mut second) = (steps.clone(), steps.clone());
    let (mut left, mut left_squared) = (1.0, 1.0);
    for k in 0..count {
        let seen = first.seen(k);
        let [beyond, stops] = outcomes(seen);
        let ([beyond_squared, stops_squared], site) = squares(second.seen(k))?;
        probabilities[k] = left * stops;
        variances[k] = (left_squared * stops_squared - probabilities[k].powi(2)).max(0.0);
        left *= beyond;
        left_squared *= beyond_squared;
        if left < NOTHING {
            return Ok(SoftmaxPrediction { probabilities, variances });
        }
        if k + 1 < count {
            first.learn(k, site_of(family, &(), &Observation::new(1.0), seen)?.0);
            second.learn(k, site);
        }
    }
    probabilities[count] = left;
    variances[count] = (left_squared - left * left).max(0.0);
    Ok(SoftmaxPrediction { probabilities, variances })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;
    use vi_core::special::sigmoid;

    use super::*;

    /// Mean and variance of each probability over draws of the predictors.
    fn drawn(root: &[[f64; 3]; 3], means: [f64; 3], n: usize) -> [(f64, f64); 4] {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut sums = [(0.0, 0.0); 4];
        for _ in 0..n {
            let z: [f64; 3] = std::array::from_fn(|_| rng.sample(StandardNormal));
            let mut left = 1.0;
            for k in 0..4 {
                let f = |k: usize| means[k] + (0..3).map(|j| root[k][j] * z[j]).sum::<f64>();
                let beyond = if k < 3 { sigmoid(f(k)) } else { 0.0 };
                let own = left * (1.0 - beyond);
                sums[k] = (sums[k].0 + own / n as f64, sums[k].1 + own * own / n as f64);
                left *= beyond;
            }
        }
        sums.map(|(mean, square)| (mean, square - mean * mean))
    }

    #[test]
    fn probabilities_are_the_averages_of_draws() {
        for (size, means) in [(0.4, [0.5, 0.0, -1.0]), (1.5, [1.0, -0.5, 0.2])] {
            let root = [[size, 0.0, 0.0], [0.8 * size, 0.6 * size, 0.0], [0.7 * size, 0.1 * size, 0.7 * size]];
            let at = |i: usize, j: usize| (0..3).map(|k| root[i][k] * root[j][k]).sum::<f64>();
            let covariance = (0..3).map(|i| (0..3).map(|j| at(i, j)).collect()).collect();
            let family = Ordered { classes: 4 };
            let found = classes(&family, &StepsSeen { means: means.to_vec(), covariance }).unwrap();
            assert!((found.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-14);
            let n = 200_000;
            for (k, (mean, variance)) in drawn(&root, means, n).into_iter().enumerate() {
                // Five standard errors, and what a Gaussian misses of a product of logistic functions.
                let error = 5.0 * (variance / n as f64).sqrt() + 2e-3 * size;
                assert!((found.probabilities[k] - mean).abs() < error, "{k}: {found:?} {mean}");
                assert!((found.variances[k] - variance).abs() < 0.05 * variance + 1e-4, "{k}: {found:?} {variance}");
            }
        }
    }

    /// Derivatives of the mean say of the squared factor what quadrature does.
    #[test]
    fn squares_are_those_of_two_trials() {
        for mean in [-1.5, -0.2, 0.7, 4.0] {
            for variance in [1e-3, 0.3, 2.0, 25.0] {
                let seen = Projection { mean, variance };
                let two = Binomial::new(2.0).unwrap();
                let tilted = two.tilted(2.0, mean, variance).unwrap();
                let ([own, other], site) = squares(seen).unwrap();
                assert!((own - tilted.log_normaliser.exp()).abs() < 1e-7, "{seen:?}");
                assert!((other - two.tilted(0.0, mean, variance).unwrap().log_normaliser.exp()).abs() < 1e-7);
                let found = tilted.site(variance);
                assert!((site.gain(variance) - found.gain(variance)).abs() < 1e-4 * found.gain(variance), "{seen:?}");
                let (kept, exact) = (1.0 - variance * site.shrinkage(variance), tilted.variance / variance);
                assert!((kept - exact).abs() < 1e-3 * exact, "{seen:?} {kept} {exact}");
            }
        }
    }

    #[test]
    fn what_is_all_but_impossible_has_a_probability() {
        let covariance = vec![vec![0.3; 2]; 2];
        for (means, impossible) in [([60.0, 1.0], 0), ([-60.0, 1.0], 2), ([3.0, -60.0], 2)] {
            let steps = StepsSeen { means: means.to_vec(), covariance: covariance.clone() };
            let found = classes(&Ordered { classes: 3 }, &steps).unwrap().probabilities;
            assert!(found[impossible] > 0.0 && found[impossible] < 1e-24, "{found:?}");
        }
        let steps = StepsSeen { means: vec![-1e4, 0.0], covariance };
        assert_eq!(classes(&Ordered { classes: 3 }, &steps).unwrap().probabilities, [1.0, 0.0, 0.0]);
    }
}

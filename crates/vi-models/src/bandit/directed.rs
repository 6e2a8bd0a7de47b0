//! Information-directed sampling: the cost of a choice against its information about the best arm.

use rand::{Rng, RngExt};
use vi_core::Error;

use crate::{ModelError, check};

/// The arm that information-directed sampling chooses by joint draws of the arms' mean rewards (Russo and Van Roy 2018, arXiv 1403.5556, §6.3,
/// "variance-based").
///
/// With the draws `r`, of which each has a best arm `A*`, arm `a` has
///
/// ```text
/// gap           Δ_a = E max_b r_b − E r_a
/// information   v_a = Var E[r_a | A*] = Σ_b P(A* = b)·(E[r_a | A* = b] − E r_a)²
/// ```
///
/// and the arm is drawn from the distribution `π` that makes `(πᵀΔ)²/(πᵀv)` least, which has at most two arms. Where all draws have one best
/// arm nothing more can be learned that matters, and that arm is chosen. Arms whose draws are alike tell of each other.
///
/// `draws` has the arms' rewards draw after draw, `draws × arms`. Their scale and origin do not matter, their shape does: of rewards 0 and 1 the
/// probabilities. Cost `O(draws·arms + arms²)`.
///
/// # Errors
/// `Setting` for no arms; `Empty` for no draws; `Dimension` unless the numbers are whole draws; `NonFinite`.
///
/// ```
/// use rand::SeedableRng;
/// use vi_models::bandit::information_directed;
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// // The second arm is better by 1 or by 3, the third never the best: nothing is gained by trying it, however little is known of it.
/// let draws = [0.0, 1.0, -9.0, 0.0, 3.0, 0.9];
/// assert_eq!(information_directed(&draws, 3, &mut rng)?, 1);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn information_directed<R: Rng + ?Sized>(draws: &[f64], arms: usize, rng: &mut R) -> Result<usize, ModelError> {
    check::count("arms", arms)?;
    if draws.is_empty() {
        return Err(Error::Empty { argument: "draws" }.into());
    }
    check::length("draws", draws.len().next_multiple_of(arms), draws.len())?;
    check::finite("draws", draws)?;
    let Mix { first, second, share } = Mix::of_least_ratio(&front(&worths(draws, arms)));
    Ok(if rng.random::<f64>() < share { second } else { first })
}

/// Cost and information of the choice of an arm.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Worth {
    arm: usize,
    gap: f64,
    information: f64,
}

/// Gap and information of each arm.
fn worths(draws: &[f64], arms: usize) -> Vec<Worth> {
    let n = (draws.len() / arms) as f64;
    // Rewards are taken from those of the first draw, so that their origin costs no digits.
    let origin = &draws[..arms];
    let (mut sums, mut counts, mut top) = (vec![0.0; arms * arms], vec![0.0; arms], 0.0);
    for draw in draws.chunks_exact(arms) {
        let best = (0..arms).fold(0, |best, arm| if draw[arm] > draw[best] { arm } else { best });
        counts[best] += 1.0;
        top += draw[best] - origin[0];
        for ((sum, value), origin) in sums[best * arms..(best + 1) * arms].iter_mut().zip(draw).zip(origin) {
            *sum += value - origin;
        }
    }
    let seen: Vec<usize> = (0..arms).filter(|&best| counts[best] > 0.0).collect();
    let worth = |arm: usize| {
        let mean = seen.iter().map(|best| sums[best * arms + arm]).sum::<f64>() / n;
        let spread = |&best: &usize| counts[best] / n * (sums[best * arms + arm] / counts[best] - mean).powi(2);
        Worth {
            arm,
            gap: (top / n - mean - (origin[arm] - origin[0])).max(0.0),
            information: seen.iter().map(spread).sum(),
        }
    };
    if seen.len() == 1 {
        return vec![Worth { arm: seen[0], gap: 0.0, information: 0.0 }];
    }
    (0..arms).map(worth).collect()
}

/// The arms to which none other is preferred in both gap and information, by rising gap and information.
fn front(worths: &[Worth]) -> Vec<Worth> {
    let mut sorted = worths.to_vec();
    sorted.sort_by(|a, b| a.gap.total_cmp(&b.gap).then(b.information.total_cmp(&a.information)));
    let mut kept: Vec<Worth> = Vec::new();
    for worth in sorted {
        if kept.last().is_none_or(|last| worth.information > last.information) {
            kept.push(worth);
        }
    }
    kept
}

/// Two arms, and the probability of the second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Mix {
    first: usize,
    second: usize,
    share: f64,
}

impl Mix {
    /// The mixture of two arms of the front with the least squared gap over information.
    fn of_least_ratio(front: &[Worth]) -> Self {
        let mut found = Self { first: front[0].arm, second: front[0].arm, share: 0.0 };
        let mut least = f64::INFINITY;
        for (i, a) in front.iter().enumerate() {
            for b in &front[i..] {
                let (gap, information) = (b.gap - a.gap, b.information - a.information);
                // Where the ratio's slope along the mixture is 0; it is convex.
                let between = a.gap / gap - 2.0 * a.information / information;
                let share = if between.is_nan() { 0.0 } else { between.clamp(0.0, 1.0) };
                let ratio = (a.gap + share * gap).powi(2) / (a.information + share * information);
                if ratio < least {
                    (least, found) = (ratio, Self { first: a.arm, second: b.arm, share });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Draws of independent Gaussian arms.
    fn gaussian(arms: &[(f64, f64)], n: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..n)
            .flat_map(|_| {
                arms.iter().map(|(mean, deviation)| mean + deviation * rng_normal(&mut rng)).collect::<Vec<_>>()
            })
            .collect()
    }

    fn rng_normal(rng: &mut ChaCha8Rng) -> f64 {
        StandardNormal.sample(rng)
    }

    #[test]
    fn gap_and_information_of_two_arms_are_those_in_closed_form() {
        // X and Y are N(0, 1): E max = 1/√π, and given that X is the larger its mean is 1/√π.
        let found = worths(&gaussian(&[(5.0, 1.0), (5.0, 1.0)], 400_000, 3), 2);
        for worth in found {
            assert!((worth.gap - 0.564).abs() < 0.01, "{worth:?}");
            assert!((worth.information - 1.0 / std::f64::consts::PI).abs() < 0.01, "{worth:?}");
        }
    }

    #[test]
    fn the_mixture_is_the_best_of_all_on_a_grid() {
        for seed in 0..40 {
            let arms: Vec<(f64, f64)> =
                gaussian(&[(0.0, 1.0), (0.7, 0.5)], 6, seed).chunks(2).map(|own| (own[0], own[1].abs())).collect();
            let worths = worths(&gaussian(&arms, 200, seed), arms.len());
            if worths.len() == 1 {
                continue;
            }
            let ratio = |a: &Worth, b: &Worth, q: f64| {
                (a.gap + q * (b.gap - a.gap)).powi(2) / (a.information + q * (b.information - a.information))
            };
            let mut least = f64::INFINITY;
            for a in &worths {
                for b in &worths {
                    for step in 0..=1000 {
                        least = least.min(ratio(a, b, f64::from(step) / 1000.0));
                    }
                }
            }
            let Mix { first, second, share } = Mix::of_least_ratio(&front(&worths));
            assert!(ratio(&worths[first], &worths[second], share) <= least * (1.0 + 1e-12), "{seed}");
        }
    }

    #[test]
    fn scale_and_origin_of_the_rewards_do_not_matter() {
        let draws = gaussian(&[(0.0, 1.0), (0.3, 0.5), (0.2, 2.0), (-4.0, 0.1)], 100, 5);
        let moved: Vec<f64> = draws.iter().map(|value| 1e6 + 1e-3 * value).collect();
        for seed in 0..50 {
            let choice = |draws: &[f64]| information_directed(draws, 4, &mut ChaCha8Rng::seed_from_u64(seed)).unwrap();
            assert_eq!(choice(&draws), choice(&moved));
            assert_ne!(choice(&draws), 3);
        }
    }

    #[test]
    fn bad_draws_are_named() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!(matches!(information_directed(&[1.0], 0, &mut rng), Err(ModelError::Core(Error::Setting { .. }))));
        assert!(matches!(information_directed(&[], 2, &mut rng), Err(ModelError::Core(Error::Empty { .. }))));
        assert!(matches!(information_directed(&[1.0; 3], 2, &mut rng), Err(ModelError::Core(Error::Dimension { .. }))));
        let error = information_directed(&[1.0, f64::NAN], 2, &mut rng);
        assert!(matches!(error, Err(ModelError::Core(Error::NonFinite { index: 1, .. }))));
    }
}

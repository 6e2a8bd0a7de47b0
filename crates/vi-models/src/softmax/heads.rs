//! The softmax of logits that are independent of each other, with sites and probabilities at a cost linear in the number of
//! classes.
//!
//! Each of the `C` classes has weights of its own, and a row sees `C` independent logits `t_c ~ N(a_c, ν_c)`. The expectation of
//! `log Σ_c e^(t_c)` has the bound (Knowles and Minka 2011, "tilted")
//!
//! ```text
//! E log Σ e^t ≤ ½·Σ α_c²ν_c + log Σ exp(a_c + (1−2α_c)ν_c/2),   least at α = softmax(a + (1−2α)ν/2),
//! ```
//!
//! whose derivatives are `α_c` by `a_c` and `½α_c(1−α_c)` by `ν_c`. So the Gaussians that maximise the bound of one row of class
//! `y` and weight `w`, less their divergence from those before it, solve
//!
//! ```text
//! a′ = a + w·ν(y − α),   1/ν′ = 1/ν + w·α(1−α),   α = softmax(a′ + (1−2α)ν′/2):
//! ```
//!
//! every `α_c` is a falling function of the one number `log Σ exp(…)`, which is found by Newton's method between bounds.

use pulp::{Arch, Simd, WithSimd};
use vi_core::special::{lanes, normal_quantile};
use vi_core::{Error, Projection, Site, check};

use super::nodes::LANES;

/// The number of pairs of nodes, `z` and `−z`.
const PAIRS: usize = 128;

/// The probability below which digits may be lost at nodes where it underflows.
const LEAST_PROBABILITY: f64 = 1e-200;

/// The most steps of a search that halves its interval where Newton's method would leave it.
const STEPS: usize = 200;

/// The sites of a row of class `class` and weight `weight`, one for each class.
///
/// # Errors
/// [`Error::Overflow`] if a logit would not be finite.
pub(crate) fn sites(seen: &[Projection], class: usize, weight: f64, out: &mut Vec<Site>) -> Result<(), Error> {
    out.clear();
    let alpha = alphas(seen, class, weight)?;
    // 1 − α without cancellation.
    let rest = |c: usize| -> f64 { (0..alpha.len()).filter(|&k| k != c).map(|k| alpha[k]).sum() };
    let most = (0..alpha.len()).max_by(|&a, &b| alpha[a].total_cmp(&alpha[b])).unwrap_or(0);
    let rest_of_most = rest(most);
    for (c, seen) in seen.iter().enumerate() {
        let other = if c == most { rest_of_most } else { 1.0 - alpha[c] };
        let curvature = weight * alpha[c] * other;
        let gain = weight * if c == class { other } else { -alpha[c] };
        out.push(Site { slope: gain * (1.0 + curvature * seen.variance), curvature });
    }
    Ok(())
}

/// The `α` of the module's equations.
fn alphas(seen: &[Projection], class: usize, weight: f64) -> Result<Vec<f64>, Error> {
    let psi = |c: usize, alpha: f64| Psi { seen: seen[c], own: f64::from(u8::from(c == class)), weight }.at(alpha);
    for c in 0..seen.len() {
        check::result("logit after the row", psi(c, 0.0).0 - psi(c, 1.0).0)?;
    }
    let bound = |alpha: f64| log_sum(&(0..seen.len()).map(|c| psi(c, alpha).0).collect::<Vec<_>>());
    let (low, high) = (bound(1.0), bound(0.0));
    let mut alpha = vec![0.0_f64; seen.len()];
    search((low, high), high, |lambda| {
        let (mut sum, mut slope) = (0.0, 0.0);
        for (c, alpha) in alpha.iter_mut().enumerate() {
            let (lowest, highest) = (psi(c, 1.0).0 - lambda, (psi(c, 0.0).0 - lambda).min(0.0));
            let start = if *alpha > 0.0 { alpha.ln() } else { highest };
            let log = search((lowest.min(highest), highest), start, |v| {
                let (value, derivative) = psi(c, v.exp());
                (v + lambda - value, 1.0 - derivative * v.exp())
            });
            *alpha = log.exp();
            sum += *alpha;
            slope += *alpha / (1.0 - psi(c, *alpha).1 * *alpha);
        }
        // This function rises in λ.
        (-sum.ln(), slope / sum)
    });
    let sum: f64 = alpha.iter().sum();
    for alpha in &mut alpha {
        *alpha /= sum;
    }
    Ok(alpha)
}

/// `ψ(α) = a + w·ν(y − α) + (1−2α)ν′/2`, which falls as `α` rises.
#[derive(Clone, Copy)]
struct Psi {
    seen: Projection,
    own: f64,
    weight: f64,
}

impl Psi {
    /// The value and the derivative at `alpha`.
    fn at(self, alpha: f64) -> (f64, f64) {
        let Self { seen: Projection { mean, variance }, own, weight } = self;
        let tilt = 1.0 - 2.0 * alpha;
        let after = variance / (1.0 + weight * variance * alpha * (1.0 - alpha));
        let value = mean + weight * variance * (own - alpha) + 0.5 * tilt * after;
        (value, -weight * variance - after - 0.5 * weight * tilt * tilt * after * after)
    }
}

/// The root of a rising function between two bounds, from its values and derivatives.
fn search((mut low, mut high): (f64, f64), start: f64, mut f: impl FnMut(f64) -> (f64, f64)) -> f64 {
    let mut x = start.max(low).min(high);
    for _ in 0..STEPS {
        let (value, derivative) = f(x);
        if value > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let newton = x - value / derivative;
        let next = if newton >= low && newton <= high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= 4.0 * f64::EPSILON * (1.0 + x.abs()) {
            f(next);
            return next;
        }
        x = next;
    }
    x
}

fn log_sum(values: &[f64]) -> f64 {
    let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    largest + values.iter().map(|value| (value - largest).exp()).sum::<f64>().ln()
}

/// Nodes over `C` independent logits: `z` and `−z`, each coordinate having the same 128 quantiles of the half-normal in an order
/// and with signs of its own (a Latin hypercube), of variance 1. They depend only on `C`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeadNodes {
    classes: usize,
    /// Pairs of nodes side by side, [`LANES`] of them for each of the `C` coordinates, then the next.
    blocks: Vec<[f64; LANES]>,
}

/// The expectations of a row.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HeadMoments {
    /// `E π`.
    pub(crate) probabilities: Vec<f64>,
    /// `Var π`.
    pub(crate) variances: Vec<f64>,
    /// `log E π_yʷ`, in nats.
    pub(crate) log_predictive: f64,
}

impl HeadNodes {
    pub(crate) fn new(classes: usize) -> Self {
        let quantiles: Vec<f64> =
            (0..PAIRS).map(|i| normal_quantile(0.5 + (i as f64 + 0.5) / (2 * PAIRS) as f64)).collect();
        let scale = (quantiles.iter().map(|z| z * z).sum::<f64>() / PAIRS as f64).sqrt().recip();
        let mut blocks = vec![[0.0; LANES]; PAIRS / LANES * classes];
        let mut state = 0_u64;
        for c in 0..classes {
            let mut order: Vec<usize> = (0..PAIRS).collect();
            for i in (1..PAIRS).rev() {
                order.swap(i, usize::try_from(bits(&mut state) % (i as u64 + 1)).unwrap_or(0));
            }
            for (s, k) in order.into_iter().enumerate() {
                let sign = if bits(&mut state) & 1 == 0 { 1.0 } else { -1.0 };
                blocks[s / LANES * classes + c][s % LANES] = sign * scale * quantiles[k];
            }
        }
        Self { classes, blocks }
    }

    pub(crate) fn classes(&self) -> usize {
        self.classes
    }

    /// The expectations of a row; `class` and `weight` are those at which the density is asked for. Cost `256·C` exponentials.
    pub(crate) fn moments(&self, seen: &[Projection], class: usize, weight: f64) -> HeadMoments {
        Arch::new().dispatch(Average { nodes: self, seen, class, weight })
    }
}

/// The next sixty-four bits of a pseudo-random sequence (`SplitMix64`, Steele, Lea and Flood 2014).
fn bits(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

struct Average<'a> {
    nodes: &'a HeadNodes,
    seen: &'a [Projection],
    class: usize,
    weight: f64,
}

impl WithSimd for Average<'_> {
    type Output = HeadMoments;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> HeadMoments {
        let Self { nodes: HeadNodes { classes, blocks }, seen, class, weight } = self;
        let deviations: Vec<f64> = seen.iter().map(|seen| seen.variance.max(0.0).sqrt()).collect();
        let (mut first, mut second) = (vec![[0.0; LANES]; *classes], vec![[0.0; LANES]; *classes]);
        let mut pi = vec![[0.0; LANES]; *classes];
        let mut own = Vec::with_capacity(2 * PAIRS);
        for z in blocks.chunks_exact(*classes) {
            for sign in [1.0, -1.0] {
                let mut largest = [f64::NEG_INFINITY; LANES];
                for c in 0..*classes {
                    let (mean, deviation) = (seen[c].mean, sign * deviations[c]);
                    for k in 0..LANES {
                        pi[c][k] = mean + deviation * z[c][k];
                        largest[k] = if pi[c][k] > largest[k] { pi[c][k] } else { largest[k] };
                    }
                }
                let mut sum = [0.0; LANES];
                let mut logit = [0.0; LANES];
                for c in 0..*classes {
                    for k in 0..LANES {
                        pi[c][k] -= largest[k];
                    }
                    if c == class {
                        logit = pi[c];
                    }
                    lanes::update(simd, [], &mut pi[c], &lanes::Exp);
                    for k in 0..LANES {
                        sum[k] += pi[c][k];
                    }
                }
                let scale = sum.map(f64::recip);
                for c in 0..*classes {
                    for k in 0..LANES {
                        let p = pi[c][k] * scale[k];
                        first[c][k] += p;
                        second[c][k] += p * p;
                    }
                }
                own.extend((0..LANES).map(|k| (logit[k], sum[k])));
            }
        }
        let share = ((2 * PAIRS) as f64).recip();
        let mean = |lanes: &[f64; LANES]| share * lanes.iter().sum::<f64>();
        let probabilities: Vec<f64> = first.iter().map(|lanes| mean(lanes).min(1.0)).collect();
        let variances = second.iter().zip(&probabilities).map(|(lanes, p)| (mean(lanes) - p * p).max(0.0)).collect();
        let log_predictive = if weight == 1.0 && probabilities[class] > LEAST_PROBABILITY {
            probabilities[class].ln()
        } else {
            let scores: Vec<f64> = own.iter().map(|(logit, sum)| weight * (logit - sum.ln())).collect();
            log_sum(&scores) + share.ln()
        };
        HeadMoments { probabilities, variances, log_predictive }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(parts: &[(f64, f64)]) -> Vec<Projection> {
        parts.iter().map(|&(mean, variance)| Projection { mean, variance }).collect()
    }

    /// The bound of one row less the divergence, at Gaussians `(a′, ν′)`.
    fn objective(before: &[Projection], after: &[Projection], class: usize, weight: f64) -> f64 {
        let mut alpha = vec![1.0 / after.len() as f64; after.len()];
        for _ in 0..2000 {
            let logits: Vec<f64> =
                after.iter().zip(&alpha).map(|(t, a)| t.mean + (1.0 - 2.0 * a) * t.variance / 2.0).collect();
            let total = log_sum(&logits);
            alpha.iter_mut().zip(&logits).for_each(|(a, logit)| *a = 0.5 * *a + 0.5 * (logit - total).exp());
        }
        let logits: Vec<f64> =
            after.iter().zip(&alpha).map(|(t, a)| t.mean + (1.0 - 2.0 * a) * t.variance / 2.0).collect();
        let half: f64 = after.iter().zip(&alpha).map(|(t, a)| 0.5 * a * a * t.variance).sum();
        let divergence: f64 = before
            .iter()
            .zip(after)
            .map(|(p, q)| {
                0.5 * ((q.mean - p.mean).powi(2) / p.variance + q.variance / p.variance
                    - 1.0
                    - (q.variance / p.variance).ln())
            })
            .sum();
        weight * (after[class].mean - half - log_sum(&logits)) - divergence
    }

    #[test]
    fn sites_maximise_the_bound_of_their_row() {
        for parts in [
            vec![(0.3, 0.5), (-1.0, 2.0), (0.8, 0.1)],
            vec![(0.0, 1.0), (0.0, 1.0)],
            vec![(5.0, 9.0), (-3.0, 4.0), (0.0, 0.01), (1.0, 1.0), (2.0, 0.3)],
        ] {
            for weight in [1.0, 0.3, 2.0] {
                let before = seen(&parts);
                let mut found = Vec::new();
                sites(&before, 1, weight, &mut found).unwrap();
                let after: Vec<Projection> = before
                    .iter()
                    .zip(&found)
                    .map(|(p, site)| Projection {
                        mean: p.mean + p.variance * site.gain(p.variance),
                        variance: p.variance / (1.0 + site.curvature * p.variance),
                    })
                    .collect();
                let best = objective(&before, &after, 1, weight);
                for c in 0..parts.len() {
                    for (by_mean, by_variance) in [(1e-3, 1.0), (-1e-3, 1.0), (0.0, 1.003), (0.0, 0.997)] {
                        let mut moved = after.clone();
                        moved[c].mean += by_mean;
                        moved[c].variance *= by_variance;
                        // A maximum: second order in 1e-3, never better beyond the rounding of the objective.
                        let lost = best - objective(&before, &moved, 1, weight);
                        assert!(lost > -1e-12 && lost < 1e-3, "{parts:?} {weight} {c} {by_mean} {lost}");
                    }
                }
            }
        }
    }

    #[test]
    fn certain_logits_have_the_slopes_of_the_softmax() {
        let before = seen(&[(0.3, 0.0), (-1.0, 0.0), (0.8, 0.0)]);
        let mut found = Vec::new();
        sites(&before, 2, 1.0, &mut found).unwrap();
        let total = log_sum(&[0.3, -1.0, 0.8]);
        for (c, site) in found.iter().enumerate() {
            let pi = (before[c].mean - total).exp();
            assert!((site.slope - (f64::from(u8::from(c == 2)) - pi)).abs() < 1e-14, "{c}");
            assert!((site.curvature - pi * (1.0 - pi)).abs() < 1e-14, "{c}");
        }
        sites(&seen(&[(1.0, 3.0), (2.0, 4.0)]), 0, 0.0, &mut found).unwrap();
        assert!(found.iter().all(|site| site.slope == 0.0 && site.curvature == 0.0));
    }

    #[test]
    fn logits_that_leave_the_floats_are_refused() {
        for far in [(1e308, 1e308), (-1e308, 1.7e308), (0.0, 1e308)] {
            let found = sites(&seen(&[far, (0.0, 1.0), (1.0, 1e308)]), 1, 3.0, &mut Vec::new());
            assert!(matches!(found, Err(Error::Overflow { .. })), "{far:?}: {found:?}");
        }
    }

    #[test]
    fn far_and_wide_logits_leave_proper_sites() {
        for parts in [
            vec![(0.0, 1e8); 5],
            vec![(1e6, 1.0), (-1e6, 1e4), (0.0, 1e-300)],
            vec![(-700.0, 25.0), (700.0, 25.0)],
            vec![(0.0, 4.0); 100],
        ] {
            let before = seen(&parts);
            for class in 0..2 {
                let mut found = Vec::new();
                sites(&before, class, 1.0, &mut found).unwrap();
                for (site, seen) in found.iter().zip(&before) {
                    assert!(site.curvature >= 0.0 && site.check(seen.variance).is_ok(), "{parts:?}: {site:?}");
                }
                // What all logits share, no row tells of.
                let gains: f64 = found.iter().zip(&before).map(|(site, seen)| site.gain(seen.variance)).sum();
                assert!(gains.abs() < 1e-9, "{parts:?}: {gains}");
            }
        }
    }

    #[test]
    fn probabilities_are_those_of_a_fine_grid() {
        let before = seen(&[(0.5, 0.8), (-0.3, 1.5)]);
        let found = HeadNodes::new(2).moments(&before, 0, 1.0);
        // t₀ − t₁ ~ N(0.8, 2.3).
        let grid = (-4000..=4000).map(|i| f64::from(i) * 2e-3);
        let (mean, square) = grid.fold((0.0, 0.0), |(mean, square), z: f64| {
            let mass = 2e-3 * vi_core::special::normal_density(z);
            let p = vi_core::special::sigmoid(0.8 + 2.3_f64.sqrt() * z);
            (mean + mass * p, square + mass * p * p)
        });
        // 256 nodes of a Latin hypercube with mirrors: a few thousandths.
        assert!((found.probabilities[0] - mean).abs() < 5e-3, "{} {mean}", found.probabilities[0]);
        assert!((found.variances[0] - (square - mean * mean)).abs() < 5e-3);
        let almost = HeadNodes::new(2).moments(&before, 0, 1.0 + f64::EPSILON);
        // Two ways to the same sum of 256 terms.
        assert!((found.log_predictive - almost.log_predictive).abs() < 256.0 * f64::EPSILON);
        assert!((found.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-14);
    }
}

//! Expectations over one or two logits: one in closed form given the other.
//!
//! Of three classes `i, j, k` let `v = η_i − η_j ~ N(μ, σ²)` and `u = η_k − η_j`, which given `v` is `N(a + β(v−μ), s²)`. With `A = u −
//! softplus(v)`
//!
//! ```text
//! log Σ e^η = η_j + softplus(v) + softplus(A),   π_k = s(A),   π_i = s(v)s(−A),   π_j = s(−v)s(−A),
//! ```
//!
//! the average over `u` is one of the logistic function of a Gaussian, [`Mixture8Lanes`], and a sum over nodes along `v` is left.
//! Value, slopes and curvatures at a node are derivatives of each other, so the sums are too.
//!
//! [`Line`] chooses the nodes.

use pulp::{Arch, Simd, WithSimd};
use vi_core::expectation::{LogisticExpectation, Mixture8Lanes};
use vi_core::special::{lanes, log_sigmoid, log_sum_exp};
use vi_core::{Exact, Mixture8};

use super::line::Line;
use super::logits::Logits;
use super::nodes::LANES;

/// `E π`, `E π_iπ_j` of the pairs 01, 02, 12 and `E log π`, of two or three classes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Averages {
    pub(super) probabilities: [f64; 3],
    pub(super) pairs: [f64; 3],
    pub(super) logs: [f64; 3],
}

/// The averages over one or two logits.
pub(super) fn averages(logits: &Logits) -> Averages {
    if logits.dim() == 1 {
        let (a, nu) = (logits.mean[0], logits.variance(0));
        let (up, down) = (Mixture8.moments(a, nu), Mixture8.moments(-a, nu));
        return Averages {
            probabilities: [down.sigmoid, up.sigmoid, 0.0],
            pairs: [up.first, 0.0, 0.0],
            logs: [-up.softplus, -down.softplus, 0.0],
        };
    }
    Arch::new().dispatch(Sums(&Line::fewest_nodes(logits)))
}

/// `log E π_c`, in nats, however small: by [`Exact`] at each node.
pub(super) fn log_probability(logits: &Logits, class: usize) -> f64 {
    if logits.dim() == 1 {
        let sign = if class == 1 { 1.0 } else { -1.0 };
        return Exact.log_sigmoid_mean(sign * logits.mean[0], logits.variance(0));
    }
    let line = towards(class, logits, Line::fewest_nodes(logits));
    let [_, _, k] = line.classes;
    let (mut total, mut logs) = (0.0, Vec::with_capacity(line.nodes));
    for (v, weight) in line.each() {
        let a = line.mean_at(v);
        let own = match class {
            c if c == k => Exact.log_sigmoid_mean(a, line.rest),
            c if c == line.classes[0] => log_sigmoid(v) + Exact.log_sigmoid_mean(-a, line.rest),
            _ => log_sigmoid(-v) + Exact.log_sigmoid_mean(-a, line.rest),
        };
        total += weight;
        logs.push(weight.ln() + own);
    }
    log_sum_exp(logs.iter().copied()) - f64::ln(total)
}

/// `line`, extended as far as the mass of `π_class` reaches: where the logarithm of `π_class` is at least its mean, the Gaussian
/// is no lower than the square of that mean in standard deviations.
pub(super) fn towards(class: usize, logits: &Logits, line: Line) -> Line {
    line.leaning((-2.0 * averages(logits).logs[class]).sqrt())
}

/// `s(v)`, `s(−v)`, `softplus(−v)` and `softplus(v)`, all to full precision.
pub(super) struct Sides<V> {
    pub(super) of_i: V,
    pub(super) of_j: V,
    log_i: V,
    pub(super) log_j: V,
}

impl<V: Copy> Sides<V> {
    #[inline(always)]
    pub(super) fn of<S: Simd<f64s = V>>(simd: S, v: V) -> Self {
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let (plus, minus) = (simd.max_f64s(v, zero), simd.max_f64s(simd.neg_f64s(v), zero));
        let e = lanes::exp(simd, simd.neg_f64s(simd.abs_f64s(v)));
        let (log, share) = (lanes::ln_1p(simd, e), simd.div_f64s(one, simd.add_f64s(one, e)));
        let (positive, small) = (simd.greater_than_f64s(v, zero), simd.mul_f64s(e, share));
        Self {
            of_i: lanes::select(simd, positive, share, small),
            of_j: lanes::select(simd, positive, small, share),
            log_i: simd.add_f64s(minus, log),
            log_j: simd.add_f64s(plus, log),
        }
    }
}

/// Sums over the nodes of a line.
struct Sums<'a>(&'a Line);

impl WithSimd for Sums<'_> {
    type Output = Averages;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Averages {
        let Self(line) = self;
        let given = Mixture8Lanes::new(line.rest);
        let (zero, one) = (simd.splat_f64s(0.0), simd.splat_f64s(1.0));
        let mut sums = [zero; 10];
        for block in 0..line.nodes / LANES {
            let (v, weights) = line.block(simd, block);
            for (v, weight) in S::as_simd_f64s(&v).0.iter().zip(S::as_simd_f64s(&weights).0) {
                let Sides { of_i, of_j, log_i, log_j } = Sides::of(simd, *v);
                let a = line.means_at(simd, *v, log_j);
                let seen = given.at(simd, a);
                let log_rest = simd.mul_add_e_f64s(a, seen.sigmoid, seen.spread);
                let log_k = simd.sub_f64s(seen.spread, simd.mul_f64s(a, seen.complement));
                // E s(−A)², lifted to 0 if the mixture's error makes it negative.
                let both = simd.max_f64s(simd.sub_f64s(seen.complement, seen.first), zero);
                let terms = [
                    one,
                    simd.mul_f64s(of_i, seen.complement),
                    simd.mul_f64s(of_j, seen.complement),
                    seen.sigmoid,
                    simd.mul_f64s(simd.mul_f64s(of_i, of_j), both),
                    simd.mul_f64s(of_i, seen.first),
                    simd.mul_f64s(of_j, seen.first),
                    simd.add_f64s(log_i, log_rest),
                    simd.add_f64s(log_j, log_rest),
                    log_k,
                ];
                for (sum, term) in sums.iter_mut().zip(terms) {
                    *sum = simd.mul_add_e_f64s(*weight, term, *sum);
                }
            }
        }
        let mut totals = [0.0; 10];
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = simd.reduce_sum_f64s(sum);
        }
        let [total, totals @ ..] = totals;
        let [p_i, p_j, p_k, ij, ik, jk, log_i, log_j, log_k] = totals.map(|sum| sum / total);
        let [i, j, k] = line.classes;
        let mut found = Averages::default();
        for (c, p, log) in [(i, p_i, log_i), (j, p_j, log_j), (k, p_k, log_k)] {
            (found.probabilities[c], found.logs[c]) = (p, -log);
        }
        // The sums of the pairs 01, 02, 12 are those of the classes minus 1.
        for (a, b, pair) in [(i, j, ij), (i, k, ik), (j, k, jk)] {
            found.pairs[a + b - 1] = pair;
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use vi_core::special::normal_density;
    use vi_linalg::faer::mat;

    use super::super::line::{ERROR, MOST, REACH};
    use super::*;

    fn logits(mean: [f64; 2], deviations: [f64; 2], correlation: f64) -> Logits {
        let [s1, s2] = deviations;
        let covariance = mat![[s1 * s1, 0.0], [correlation * s1 * s2, s2 * s2]];
        Logits::new(mean.to_vec(), covariance.as_ref(), 0.0).unwrap()
    }

    /// `E π`, `E π_iπ_j`, `E log π` as [`Averages`] has them, at known logits.
    fn known(first: f64, second: f64) -> [f64; 9] {
        let largest = first.max(second).max(0.0);
        let eta = [-largest, first - largest, second - largest];
        let e = eta.map(f64::exp);
        let sum: f64 = e.iter().sum();
        let (p, log) = (e.map(|e| e / sum), eta.map(|eta| eta - sum.ln()));
        [p[0], p[1], p[2], p[0] * p[1], p[0] * p[2], p[1] * p[2], log[0], log[1], log[2]]
    }

    fn all(found: &Averages) -> Vec<f64> {
        found.probabilities.iter().chain(&found.pairs).chain(&found.logs).copied().collect()
    }

    /// A fine trapezoid sum over the two standard normals behind the logits: steps of 0.6 in every logit, 8 standard deviations.
    fn dense(logits: &Logits) -> [f64; 9] {
        let [l, below, right] = [(0, 0), (1, 0), (1, 1)].map(|at| logits.root[at]);
        let half = |widest: f64| (widest.abs() * 8.0 / 0.6).ceil().max(24.0);
        let (across, along) = (half(l.abs().max(below.abs()).max((below - l).abs())), half(right));
        let (mut sum, mut i) = ([0.0; 9], -across);
        while i <= across {
            let x = 8.0 * i / across;
            let mut j = -along;
            while j <= along {
                let y = 8.0 * j / along;
                let weight = 64.0 / (across * along) * normal_density(x) * normal_density(y);
                let terms = known(logits.mean[0] + l * x, logits.mean[1] + below * x + right * y);
                sum.iter_mut().zip(terms).for_each(|(sum, term)| *sum += weight * term);
                j += 1.0;
            }
            i += 1.0;
        }
        sum
    }

    /// The mixture's error of `E s`, `E s′` and `E softplus`, ten times that of a sum over nodes for what it multiplies, and for logarithms
    /// the mass beyond the last nodes, which they grow over.
    fn tolerance(which: usize, logits: &Logits) -> f64 {
        let widest = (0..2).map(|i| logits.variance(i).sqrt()).sum::<f64>();
        match which {
            0..3 => 2.2e-9 + 10.0 * ERROR,
            3..6 => 2.1e-8 + 10.0 * ERROR,
            _ => 8.1e-9 + 10.0 * ERROR + 2.0 * widest * normal_density(REACH),
        }
    }

    #[test]
    fn averages_are_those_of_a_fine_grid() {
        for mean in [[0.0, 0.0], [0.3, -2.0], [-6.0, 5.0], [30.0, 29.0], [-30.0, 12.0]] {
            for deviations in
                [[1e-3, 1e-3], [0.2, 1.0], [2.0, 3.0], [8.0, 0.01], [9.0, 7.0], [1e-3, 30.0], [30.0, 25.0]]
            {
                for correlation in [-1.0, -0.98, 0.0, 0.6, 0.999, 1.0] {
                    let logits = logits(mean, deviations, correlation);
                    let (found, expected) = (all(&averages(&logits)), dense(&logits));
                    for (k, (found, expected)) in found.iter().zip(expected).enumerate() {
                        let off = (found - expected).abs();
                        assert!(off < tolerance(k, &logits), "{mean:?} {deviations:?} {correlation} {k}: {off}");
                    }
                }
            }
        }
    }

    /// The change of `Σ y_c·E log π_c` along a path is the integral of its derivatives, `E∂` by the means and half of `E∂²` by the covariance:
    /// what a search for the optimum lives on.
    #[test]
    fn values_are_integrals_of_slopes_and_curvatures() {
        let y = [0.2, 1.0, 0.7];
        let path = |t: f64, width: f64| {
            let logits = logits([3.0 * t - 1.0, 2.0 - 4.0 * t], [width * (1.0 + t), width * (2.0 - t)], 0.8 * t - 0.3);
            let found = averages(&logits);
            (logits.mean.clone(), logits.covariance(), found)
        };
        for width in [0.05, 0.7, 2.0, 6.0, 20.0] {
            let value = |t: f64| path(t, width).2.logs.iter().zip(y).map(|(log, y)| y * log).sum::<f64>();
            let rate = |t: f64| {
                // The path's own derivative; a quadratic in t but for the correlation.
                let step = 1e-4;
                let ((up, n_up, _), (down, n_down, _)) = (path(t + step, width), path(t - step, width));
                let found = path(t, width).2;
                let (p, pairs, total) = (found.probabilities, found.pairs, y.iter().sum::<f64>());
                let slope = [y[1] - total * p[1], y[2] - total * p[2]];
                let curvature = [[pairs[0] + pairs[2], -pairs[2]], [-pairs[2], pairs[1] + pairs[2]]];
                let mut rate = 0.0;
                for i in 0..2 {
                    rate += slope[i] * (up[i] - down[i]) / (2.0 * step);
                    for j in 0..2 {
                        rate -= 0.5 * total * curvature[i][j] * (n_up[(i, j)] - n_down[(i, j)]) / (2.0 * step);
                    }
                }
                rate
            };
            // Simpson's rule of 200 panels: (1/200)⁴/2880 of a fourth derivative of up to width².
            let panels = 200;
            let integral: f64 = (0..panels)
                .map(|k| {
                    let at = |part: f64| rate((f64::from(k) + part) / f64::from(panels));
                    (at(0.0) + 4.0 * at(0.5) + at(1.0)) / (6.0 * f64::from(panels))
                })
                .sum();
            let off = (value(1.0) - value(0.0) - integral).abs();
            // Each average has its error, curvatures times the change of variances.
            let allowed = (y.iter().sum::<f64>()) * (1e-8 * width + 2.1e-8 * 3.0 * width * width) + 1e-8;
            assert!(off < allowed, "{width}: {off}");
        }
    }

    #[test]
    fn certain_logits_are_the_plain_softmax() {
        for mean in [[0.0, 0.0], [1.5, -0.3], [-40.0, 3.0], [700.0, 699.0], [-1e6, 1e6]] {
            let logits = logits(mean, [0.0, 0.0], 0.0);
            for (k, (found, expected)) in all(&averages(&logits)).iter().zip(known(mean[0], mean[1])).enumerate() {
                // The mixture's errors alone, 2.1e-9 to two figures; logarithms are rounded.
                let allowed = [2.15e-9, 2.1e-8, 8.1e-9][k / 3] + 4.0 * f64::EPSILON * expected.abs();
                assert!((found - expected).abs() < allowed, "{mean:?} {k}: {found} {expected}");
            }
        }
    }

    #[test]
    fn small_probabilities_keep_their_logarithms() {
        for (mean, deviations, correlation) in [
            ([-20.0, 0.5], [1.0, 2.0], 0.3),
            ([-60.0, -50.0], [3.0, 0.1], -0.9),
            ([-30.0, 8.0], [4.0, 5.0], 1.0),
            ([12.0, -6.0], [0.01, 2.0], 0.0),
            ([40.0, 0.0], [9.0, 6.0], 0.5),
        ] {
            let logits = logits(mean, deviations, correlation);
            let expected = dense(&logits);
            for class in 0..3 {
                let off = log_probability(&logits, class) - expected[class].ln();
                // The dense sum's own reach of 8 standard deviations is short of e^(−30) by this much.
                assert!(off.abs() < 1e-6, "{mean:?} {deviations:?} {class}: {off}");
            }
        }
        let far = log_probability(&logits([-2000.0, 3.0], [1.0, 1.0], 0.0), 1);
        assert!(far < -1990.0 && far > -2010.0, "{far}");
    }

    #[test]
    fn nodes_are_few_and_extremes_stay_finite() {
        let nodes = |deviations, correlation| Line::fewest_nodes(&logits([1.0, -0.5], deviations, correlation)).nodes;
        assert_eq!(nodes([0.1, 0.2], 0.5), 16);
        assert!(nodes([1.0, 1.0], 0.5) <= 32 && nodes([5.0, 5.0], 0.5) <= 40 && nodes([30.0, 40.0], 0.5) <= 56);
        assert!(nodes([30.0, 30.0], -1.0) < MOST);
        for deviations in [[0.0, 1e150], [1e150, 1e150], [1e-160, 1e-300], [1e5, 1e-5]] {
            for mean in [[0.0, 0.0], [1e150, -1e150], [-1e300, 1e8]] {
                for correlation in [-1.0, 0.0, 1.0] {
                    let found = averages(&logits(mean, deviations, correlation));
                    assert!(all(&found).iter().all(|value| value.is_finite()), "{mean:?} {deviations:?}: {found:?}");
                    assert!((found.probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
                }
            }
        }
    }
}

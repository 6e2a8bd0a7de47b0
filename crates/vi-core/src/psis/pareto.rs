//! The generalised Pareto distribution, fitted by Zhang and Stephens' method.

/// The number of grid points besides those that grow with the sample.
const LEAST_GRID: usize = 30;
/// The prior's weight, in observations, and its shape (Vehtari et al. 2024, Appendix G).
const PRIOR_COUNT: f64 = 10.0;
const PRIOR_SHAPE: f64 = 0.5;

/// `P(X > x) = (1 + k·x/σ)^(−1/k)` for `x ≥ 0`: heavy tails have `k > 0`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GeneralisedPareto {
    /// `k`.
    pub(super) shape: f64,
    /// `σ`.
    pub(super) scale: f64,
}

impl GeneralisedPareto {
    /// The fit averaged with ten further observations whose shape is ½.
    pub(super) fn with_weak_prior(self, count: usize) -> Self {
        let n = count as f64;
        Self { shape: (n * self.shape + PRIOR_COUNT * PRIOR_SHAPE) / (n + PRIOR_COUNT), ..self }
    }

    /// The `x` with `P(X ≤ x) = p`: `σ/k·((1−p)^(−k) − 1)`.
    pub(super) fn quantile(self, p: f64) -> f64 {
        let log = -(-p).ln_1p();
        if self.shape.abs() < f64::EPSILON {
            self.scale * log
        } else {
            self.scale * (self.shape * log).exp_m1() / self.shape
        }
    }
}

/// The fit to positive numbers in increasing order: the posterior mean of `θ = −k/σ` under a data-based prior, on a grid
/// (Zhang and Stephens 2009).
pub(super) fn fit(sorted: &[f64]) -> GeneralisedPareto {
    let n = sorted.len();
    let (Some(&last), Some(&quartile)) = (sorted.last(), sorted.get((n + 2) / 4 - 1)) else {
        return GeneralisedPareto { shape: f64::NAN, scale: f64::NAN };
    };
    let grid = LEAST_GRID + n.isqrt();
    let thetas: Vec<f64> =
        (1..=grid).map(|j| 1.0 / last + (1.0 - (grid as f64 / (j as f64 - 0.5)).sqrt()) / (3.0 * quartile)).collect();
    // log-likelihood profiled over k: n·[log(−θ/k) − k − 1] with k = −mean log(1−θx) in Zhang and Stephens' sign.
    let shape_at = |theta: f64| sorted.iter().map(|x| (-theta * x).ln_1p()).sum::<f64>() / n as f64;
    let logs: Vec<f64> = thetas
        .iter()
        .map(|&theta| {
            let k = shape_at(theta);
            n as f64 * ((-theta / k).ln() - k - 1.0)
        })
        .collect();
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut theta, mut total) = (0.0, 0.0);
    for (&at, log) in thetas.iter().zip(&logs) {
        let weight = (log - largest).exp();
        if weight.is_finite() {
            theta += weight * at;
            total += weight;
        }
    }
    theta /= total;
    let shape = shape_at(theta);
    GeneralisedPareto { shape, scale: -shape / theta }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_quantiles_are_fitted_and_quantiles_invert() {
        for (shape, scale) in [(-0.5, 2.0), (-0.1, 1.0), (0.2, 0.5), (0.7, 3.0), (1.3, 1.0)] {
            let truth = GeneralisedPareto { shape, scale };
            let n = 500_u32;
            let sample: Vec<f64> = (0..n).map(|i| truth.quantile((f64::from(i) + 0.5) / f64::from(n))).collect();
            let found = fit(&sample);
            // Bias of order 1/n and the grid's prior.
            assert!((found.shape - shape).abs() < 0.03 * (1.0 + shape.abs()), "{shape}: {found:?}");
            assert!((found.scale / scale - 1.0).abs() < 0.05, "{scale}: {found:?}");
            for p in [0.1, 0.5, 0.99] {
                let x = truth.quantile(p);
                assert!(((1.0 + shape * x / scale).powf(-1.0 / shape) - (1.0 - p)).abs() < 1e-12);
            }
        }
        let exponential = GeneralisedPareto { shape: 0.0, scale: 2.0 };
        assert!((exponential.quantile(0.5) - 2.0 * f64::ln(2.0)).abs() < 1e-15);
    }

    #[test]
    fn the_fit_is_that_of_arviz() {
        // ArviZ 0.19.0's _gpdfit, weak prior included, of the quantiles of a unit exponential at (i − ½)/20.
        let sample: Vec<f64> = (1..=20).map(|i| -f64::ln(1.0 - (f64::from(i) - 0.5) / 20.0)).collect();
        let found = fit(&sample).with_weak_prior(20);
        assert!((found.shape - 0.2275576462537698).abs() < 1e-12, "{found:?}");
        assert!((found.scale - 0.9035570538605131).abs() < 1e-12, "{found:?}");
    }
}

//! The prior of the components of variance, and the coordinates `φ` in which they are learned.
//!
//! `Λ = diag(s)·C` with `CCᵀ` a correlation matrix: the effects have standard deviations `s` and correlations `CCᵀ`. Coordinates are `log s_i`
//! and, for `i > j`, `z_ij = artanh ρ_ij` of the partial correlations `ρ` by which `C` is built row by row (Lewandowski, Kurowicka and
//! Joe 2009). Any `φ` is a covariance. Prior: `log s_i ~ N(log centre, spread²)`, and the correlation matrix uniform:
//!
//! ```text
//! p(z_ij) = (1 − ρ_ij²)^α_j/B(½, α_j),   α_j = 1 + (q − 2 − j)/2
//! ```

use vi_core::special::HALF_LN_2PI;
use vi_linalg::faer::Mat;

/// The prior of the standard deviations of effects of standardised columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ComponentPrior {
    pub(super) centre: f64,
    pub(super) spread: f64,
}

/// The coordinates of the components of `q` effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Coordinates {
    pub(super) q: usize,
    /// Whether the effects of a group are correlated.
    pub(super) correlated: bool,
}

impl Coordinates {
    /// The number of coordinates.
    pub(super) fn len(self) -> usize {
        self.q + if self.correlated { self.q * (self.q - 1) / 2 } else { 0 }
    }

    /// `Λ`.
    pub(super) fn root(self, phi: &[f64]) -> Mat<f64> {
        let mut root = Mat::zeros(self.q, self.q);
        let mut partial = phi[self.q..].iter();
        for i in 0..self.q {
            let mut left = phi[i].exp();
            for j in 0..i {
                let z = if self.correlated { partial.next().copied().unwrap_or(0.0) } else { 0.0 };
                root[(i, j)] = left * z.tanh();
                left /= z.cosh();
            }
            root[(i, i)] = left;
        }
        root
    }

    /// The slope by `φ` of a function whose slope by `Λ` is `slope`. A coordinate scales what stands to its right in its row:
    ///
    /// ```text
    /// ∂Λ_ij/∂log s_i = Λ_ij,   ∂Λ_ij/∂z_ij = s_i·Π_{k<j} sech z_ik·sech² z_ij,   ∂Λ_il/∂z_ij = −tanh z_ij·Λ_il for l > j
    /// ```
    pub(super) fn pull_back(self, phi: &[f64], slope: &Mat<f64>) -> Vec<f64> {
        let root = self.root(phi);
        let mut along = vec![0.0; self.q];
        let mut partial = phi[self.q..].iter();
        for i in 0..self.q {
            let from = |j: usize| (j..=i).map(|l| slope[(i, l)] * root[(i, l)]).sum::<f64>();
            along[i] = from(0);
            let mut left = phi[i].exp();
            for (j, z) in (0..i).zip(&mut partial) {
                left /= z.cosh();
                along.push(slope[(i, j)] * left / z.cosh() - z.tanh() * from(j + 1));
            }
        }
        along
    }

    fn exponent(self, j: usize) -> f64 {
        1.0 + 0.5 * (self.q as f64 - 2.0 - j as f64)
    }

    /// The column of each partial correlation, in the order of the coordinates.
    fn columns(self) -> impl Iterator<Item = usize> {
        let q = if self.correlated { self.q } else { 0 };
        (0..q).flat_map(|i| 0..i)
    }

    /// The log density of the prior at `φ`, its slopes, and minus its second derivatives, which are those of its own curvature.
    pub(super) fn log_prior(self, prior: ComponentPrior, phi: &[f64]) -> (f64, Vec<f64>) {
        let (mut value, mut slopes) = (0.0, Vec::with_capacity(phi.len()));
        for u in &phi[..self.q] {
            let away = (u - prior.centre.ln()) / prior.spread;
            value -= 0.5 * away * away + prior.spread.ln() + HALF_LN_2PI;
            slopes.push(-away / prior.spread);
        }
        for (z, j) in phi[self.q..].iter().zip(self.columns()) {
            let alpha = self.exponent(j);
            let beta = libm::lgamma(0.5) + libm::lgamma(alpha) - libm::lgamma(alpha + 0.5);
            // log(1 − tanh² z), also where cosh overflows.
            let log = -2.0 * (z.abs() - std::f64::consts::LN_2 + (-2.0 * z.abs()).exp().ln_1p());
            value += alpha * log - beta;
            slopes.push(-2.0 * alpha * z.tanh());
        }
        (value, slopes)
    }

    /// The prior's mode.
    pub(super) fn start(self, prior: ComponentPrior) -> Vec<f64> {
        let mut phi = vec![0.0; self.len()];
        phi[..self.q].fill(prior.centre.ln());
        phi
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_the_deviations_and_correlations_of_its_coordinates() {
        let three = Coordinates { q: 3, correlated: true };
        let phi = [0.1, -0.4, 0.7, 0.3, -0.8, 0.5];
        let root = three.root(&phi);
        let covariance = &root * root.transpose();
        for i in 0..3 {
            // A few roundings.
            assert!((covariance[(i, i)].sqrt() - phi[i].exp()).abs() < 1e-14);
        }
        let correlation = covariance[(1, 0)] / (covariance[(0, 0)] * covariance[(1, 1)]).sqrt();
        assert!((correlation - 0.3_f64.tanh()).abs() < 1e-14);
        let apart = Coordinates { q: 2, correlated: false };
        assert!(apart.len() == 2 && apart.root(&[0.0, 1.0])[(1, 0)] == 0.0);
    }

    #[test]
    fn slopes_by_coordinates_are_differences() {
        let (three, phi, h) = (Coordinates { q: 3, correlated: true }, [0.1, -0.4, 0.7, 0.3, -0.8, 0.5], 1e-5);
        let slope = Mat::from_fn(3, 3, |i, j| 1.0 + f64::from(u8::try_from(3 * i + j).unwrap()).sin());
        let value = |k: usize, away: f64| {
            let mut moved = phi;
            moved[k] += away;
            let root = three.root(&moved);
            (0..3).flat_map(|i| (0..=i).map(move |j| (i, j))).map(|at| slope[at] * root[at]).sum::<f64>()
        };
        for (k, along) in three.pull_back(&phi, &slope).into_iter().enumerate() {
            // Differences of smooth functions of order 1: h², and a rounding over h.
            assert!((along - (value(k, h) - value(k, -h)) / (2.0 * h)).abs() < 1e-9, "{k}");
        }
        let apart = Coordinates { q: 2, correlated: false };
        assert_eq!(apart.pull_back(&[0.0, 1.0], &Mat::from_fn(2, 2, |_, _| 1.0)), [1.0, 1.0_f64.exp()]);
    }

    #[test]
    fn the_prior_is_a_density_and_its_slopes_are_differences() {
        let (two, prior) = (Coordinates { q: 2, correlated: true }, ComponentPrior { centre: 0.5, spread: 1.5 });
        let at = |z: f64| two.log_prior(prior, &[0.2, -0.3, z]).0;
        // Trapezoids of a smooth density that falls off exponentially: exact beyond rounding. The others' densities are factors.
        let others = -0.5 * (((0.2 + 2.0_f64.ln()) / 1.5).powi(2) + ((-0.3 + 2.0_f64.ln()) / 1.5).powi(2))
            - 2.0 * (1.5_f64.ln() + HALF_LN_2PI);
        let total: f64 = (-2000..=2000).map(|k| 0.01 * (at(0.01 * f64::from(k)) - others).exp()).sum();
        assert!((total - 1.0).abs() < 1e-10, "{total}");
        let (phi, h) = ([0.2, -0.3, 0.6], 1e-5);
        let (_, slopes) = two.log_prior(prior, &phi);
        for k in 0..3 {
            let moved = |h: f64| {
                let mut moved = phi;
                moved[k] += h;
                two.log_prior(prior, &moved).0
            };
            assert!((slopes[k] - (moved(h) - moved(-h)) / (2.0 * h)).abs() < 1e-9);
        }
    }
}

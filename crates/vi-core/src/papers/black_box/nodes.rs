//! Points and weights for expectations under a standard normal in `d` dimensions.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::special::gauss_hermite;

/// Points `z_k ∈ ℝᵈ` and weights `w_k` with `Σ_k w_k·f(z_k) ≈ E[f(z)]`, `z ~ N(0, I)`.
#[derive(Debug, Clone)]
pub struct Nodes {
    points: Mat<f64>,
    weights: Vec<f64>,
}

/// The number of points above which a rule is refused as a mistake.
const MOST_POINTS: f64 = 1e7;
/// The number of coordinates above which a rule is refused, since they would take over 8 GB.
const MOST_NUMBERS: f64 = 1e9;

impl Nodes {
    /// The product Gauss-Hermite rule with `order` points in each of `d` dimensions: exact for polynomials of
    /// degree `2·order − 1` in each coordinate, `orderᵈ` points.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `1 ≤ order ≤ 64` and `d ≥ 1`, or when there would be over 10⁷ points.
    ///
    /// ```
    /// let nodes = vi_core::papers::black_box::Nodes::gauss_hermite(2, 3)?;
    /// assert_eq!(nodes.points().ncols(), 9);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn gauss_hermite(d: usize, order: usize) -> Result<Self, Error> {
        if !(1..=64).contains(&order) {
            return Err(Error::Setting { name: "order", value: order as f64, requirement: "between 1 and 64" });
        }
        let count = (order as f64).powf(d as f64);
        if d == 0 || count > MOST_POINTS || count * d as f64 > MOST_NUMBERS {
            return Err(Error::Setting {
                name: "d", value: d as f64, requirement: "such that 1 ≤ d and orderᵈ ≤ 10⁷"
            });
        }
        let rule = gauss_hermite(order);
        let digit = |k: usize, i: usize| (k / order.pow(u32::try_from(i).unwrap_or(0))) % order;
        let total = order.pow(u32::try_from(d).unwrap_or(0));
        Ok(Self {
            points: Mat::from_fn(d, total, |i, k| rule[digit(k, i)].0),
            weights: (0..total).map(|k| (0..d).map(|i| rule[digit(k, i)].1).product()).collect(),
        })
    }

    /// A rule of `pairs` pairs of antithetic draws `±z` with equal weights: odd moments vanish exactly.
    ///
    /// # Errors
    /// [`Error::Setting`] for `d = 0`, no pairs, or over 10⁹ coordinates.
    pub fn antithetic_draws<R: Rng + ?Sized>(d: usize, pairs: usize, rng: &mut R) -> Result<Self, Error> {
        let numbers = 2.0 * d as f64 * pairs as f64;
        if !(numbers > 0.0 && numbers <= MOST_NUMBERS) {
            return Err(Error::Setting {
                name: "2·d·pairs", value: numbers, requirement: "positive and at most 10⁹"
            });
        }
        let mut points = Mat::zeros(d, 2 * pairs);
        for k in 0..pairs {
            for i in 0..d {
                let z: f64 = StandardNormal.sample(rng);
                points[(i, 2 * k)] = z;
                points[(i, 2 * k + 1)] = -z;
            }
        }
        Ok(Self { points, weights: vec![0.5 / pairs as f64; 2 * pairs] })
    }

    /// The points, one in each column (`d × K`).
    #[must_use]
    pub fn points(&self) -> MatRef<'_, f64> {
        self.points.as_ref()
    }

    /// The weights, which sum to 1.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gauss_hermite_integrates_its_polynomials() {
        for n in [1, 2, 3, 5, 10, 20, 40, 64] {
            let nodes = Nodes::gauss_hermite(1, n).unwrap();
            let mut moment = 1.0; // E z^(2k) = (2k−1)!!
            for k in 0..i32::try_from(n.min(12)).unwrap() {
                let even: f64 = (0..n).map(|i| nodes.weights[i] * nodes.points[(0, i)].powi(2 * k)).sum();
                // Relative rounding of n terms, each with a power of 2k.
                let tolerance = 8.0 * (n as f64 + f64::from(2 * k)) * f64::EPSILON * moment;
                assert!((even - moment).abs() <= tolerance, "n = {n}, moment {}", 2 * k);
                moment *= f64::from(2 * k + 1);
            }
        }
    }

    #[test]
    fn product_rule_has_the_covariance_of_a_standard_normal() {
        let nodes = Nodes::gauss_hermite(3, 4).unwrap();
        for i in 0..3 {
            for j in 0..3 {
                let moment: f64 = (0..nodes.weights.len())
                    .map(|k| nodes.weights[k] * nodes.points[(i, k)] * nodes.points[(j, k)])
                    .sum();
                assert!((moment - f64::from(u8::from(i == j))).abs() < 64.0 * f64::EPSILON);
            }
        }
    }

    #[test]
    fn impossible_rules_are_refused() {
        assert!(matches!(Nodes::gauss_hermite(0, 3), Err(Error::Setting { name: "d", .. })));
        assert!(matches!(Nodes::gauss_hermite(2, 0), Err(Error::Setting { name: "order", .. })));
        assert!(matches!(Nodes::gauss_hermite(40, 3), Err(Error::Setting { name: "d", .. })));
    }
}

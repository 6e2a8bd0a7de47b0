//! The Gaussian of two numbers that are `N(0, I)` at first.

use serde::{Deserialize, Serialize};
use vi_core::{Error, Projection};

use crate::marginal::log_sum_exp;

/// `z ~ N(mean, C)`, no wider in any direction than `N(0, I)`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pair {
    pub(super) mean: [f64; 2],
    /// `C₀₀`, `C₁₀`, `C₁₁`.
    pub(super) covariance: [f64; 3],
}

/// The eigenvalues of `[[a, b], [b, c]]`, the larger one first.
fn eigenvalues([a, b, c]: [f64; 3]) -> [f64; 2] {
    let (middle, away) = (0.5 * (a + c), (0.5 * (a - c)).hypot(b));
    [middle + away, middle - away]
}

/// The matrix with the eigenvectors of `matrix` and with its eigenvalues moved by `to`.
pub(super) fn with_eigenvalues(matrix: [f64; 3], to: impl Fn(f64) -> f64) -> [f64; 3] {
    let [a, b, c] = matrix;
    let [large, small] = eigenvalues(matrix);
    let [to_large, to_small] = [to(large), to(small)];
    let (middle, scale) =
        (0.5 * (to_large + to_small), if large > small { (to_large - to_small) / (large - small) } else { 0.0 });
    let away = 0.5 * (a - c) * scale;
    [middle + away, b * scale, middle - away]
}

pub(super) fn inverse([a, b, c]: [f64; 3]) -> [f64; 3] {
    let determinant = a * c - b * b;
    [c / determinant, -b / determinant, a / determinant]
}

pub(super) fn times([a, b, c]: [f64; 3], [x, y]: [f64; 2]) -> [f64; 2] {
    [a * x + b * y, b * x + c * y]
}

impl Pair {
    /// `N(0, I)`.
    pub(super) const BEFORE: Self = Self { mean: [0.0; 2], covariance: [1.0, 0.0, 1.0] };

    /// A point.
    pub(super) fn at(mean: [f64; 2]) -> Self {
        Self { mean, covariance: [0.0; 3] }
    }

    /// Checks what is stored.
    ///
    /// # Errors
    /// `Setting` for a mean that is not finite, or a covariance that is not positive definite or is wider than the identity.
    pub(super) fn check(&self) -> Result<(), Error> {
        crate::check::values("mean of size and share", &self.mean)?;
        let [large, small] = eigenvalues(self.covariance);
        // Eigenvalues that were moved to 1 round.
        if small > 0.0 && large <= 1.0 + 1e-9 {
            return Ok(());
        }
        let requirement = "positive definite, and at most the prior's";
        Err(Error::Setting { name: "covariance of size and share", value: small, requirement })
    }

    /// `(weight, z)` of the product of a rule for `N(0, 1)` with itself, along the columns of the Cholesky factor of `C`.
    pub(super) fn nodes<const K: usize>(self, rule: [(f64, f64); K]) -> impl Iterator<Item = (f64, [f64; 2])> {
        let [a, b, c] = self.covariance;
        let first = a.sqrt();
        let across = if first > 0.0 { b / first } else { 0.0 };
        let second = (c - across * across).max(0.0).sqrt();
        rule.into_iter().flat_map(move |(u, weight)| {
            rule.into_iter().map(move |(v, other)| {
                (weight * other, [self.mean[0] + first * u, self.mean[1] + across * u + second * v])
            })
        })
    }

    /// The Gaussian with the moments of the points `(log mass, z)`, no wider than before any row, nor narrower than the variance `least`; and the
    /// log of the total mass.
    pub(super) fn of(masses: &[(f64, [f64; 2])], least: f64) -> (Self, f64) {
        let total = log_sum_exp(masses.iter().map(|(log, _)| *log));
        let average =
            |of: &dyn Fn([f64; 2]) -> f64| masses.iter().map(|(log, z)| (log - total).exp() * of(*z)).sum::<f64>();
        let mean = [average(&|z| z[0]), average(&|z| z[1])];
        let moment = |i: usize, j: usize| average(&|z| (z[i] - mean[i]) * (z[j] - mean[j]));
        let covariance = with_eigenvalues([moment(0, 0), moment(1, 0), moment(1, 1)], |own| own.clamp(least, 1.0));
        (Self { mean, covariance }, total)
    }

    /// The Gaussian of number `i` alone.
    pub(super) fn marginal(&self, i: usize) -> Projection {
        Projection { mean: self.mean[i], variance: self.covariance[2 * i] }
    }

    /// The variance of `cᵀz`.
    pub(super) fn variance_along(&self, c: [f64; 2]) -> f64 {
        let [x, y] = times(self.covariance, c);
        x * c[0] + y * c[1]
    }

    /// The least variance in any direction.
    pub(super) fn least_variance(&self) -> f64 {
        eigenvalues(self.covariance)[1]
    }

    /// The precision `Λ = C⁻¹`, and `η = Λ·mean`.
    pub(super) fn natural(self) -> Natural {
        let precision = inverse(self.covariance);
        Natural { precision, first: times(precision, self.mean) }
    }

    /// `log N(z)`, without the constant `−log 2π`.
    pub(super) fn log_density(&self, z: [f64; 2]) -> f64 {
        let away = [z[0] - self.mean[0], z[1] - self.mean[1]];
        let [a, b, c] = self.covariance;
        let [x, y] = times(inverse(self.covariance), away);
        -0.5 * (x * away[0] + y * away[1] + (a * c - b * b).ln())
    }
}

/// `exp(ηᵀz − ½zᵀΛz)`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Natural {
    precision: [f64; 3],
    first: [f64; 2],
}

impl Natural {
    /// `own·x + other·y` of the natural parameters.
    pub(super) fn combined(self, own: f64, other: Self, by: f64) -> Self {
        let sum = |x: f64, y: f64| own * x + by * y;
        Self {
            precision: std::array::from_fn(|i| sum(self.precision[i], other.precision[i])),
            first: std::array::from_fn(|i| sum(self.first[i], other.first[i])),
        }
    }

    /// `log ∫ exp(ηᵀz − ½zᵀΛz) dz`, without the constant `log 2π`.
    pub(super) fn log_mass(self) -> f64 {
        let [a, b, c] = self.precision;
        let mean = times(inverse(self.precision), self.first);
        0.5 * (mean[0] * self.first[0] + mean[1] * self.first[1] - (a * c - b * b).ln())
    }

    /// The Gaussian, no wider than before any row.
    pub(super) fn pair(self) -> Pair {
        let covariance = inverse(with_eigenvalues(self.precision, |own| own.max(1.0)));
        Pair { mean: times(covariance, self.first), covariance }
    }
}

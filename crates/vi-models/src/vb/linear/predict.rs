//! Predictions of a linear fit: Student's t (23).

use libm::lgamma;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::MatRef;

use super::LinearFit;
use crate::interval::two_sided;
use crate::{Interval, ModelError, check};

/// The predictive density of `y` at one row: Student's t with mean `xᵀw_N`, precision `(1+xᵀV_Nx)⁻¹·a_N/b_N` and `2a_N`
/// degrees of freedom (23).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StudentPrediction {
    /// The mean of `y` and of `xᵀw`, `xᵀw_N`.
    pub mean: f64,
    /// The squared scale of `y`, `(1+xᵀV_Nx)·b_N/a_N`: the inverse of the note's precision. Smaller than the variance.
    pub squared_scale: f64,
    /// The squared scale of `xᵀw` alone, `xᵀV_Nx·b_N/a_N`: what more data would shrink.
    pub weight_squared_scale: f64,
    /// The degrees of freedom `2a_N`.
    pub degrees: f64,
}

impl StudentPrediction {
    /// The note's precision `(1+xᵀV_Nx)⁻¹·a_N/b_N`.
    #[must_use]
    pub fn precision(&self) -> f64 {
        1.0 / self.squared_scale
    }

    /// The variance `(1+xᵀV_Nx)·b_N/(a_N−1)` of `y`; infinite for two degrees of freedom or fewer.
    #[must_use]
    pub fn variance(&self) -> f64 {
        self.inflate(self.squared_scale)
    }

    /// The variance `xᵀV_Nx·b_N/(a_N−1)` of `xᵀw`; infinite for two degrees of freedom or fewer.
    #[must_use]
    pub fn weight_variance(&self) -> f64 {
        self.inflate(self.weight_squared_scale)
    }

    fn inflate(&self, squared_scale: f64) -> f64 {
        if self.degrees > 2.0 { squared_scale * self.degrees / (self.degrees - 2.0) } else { f64::INFINITY }
    }

    /// The log density of `y` at `value`, in nats.
    #[must_use]
    pub fn log_density(&self, value: f64) -> f64 {
        let nu = self.degrees;
        let square = (value - self.mean) * (value - self.mean) / self.squared_scale;
        lgamma(0.5 * (nu + 1.0))
            - lgamma(0.5 * nu)
            - 0.5 * (nu * std::f64::consts::PI * self.squared_scale).ln()
            - 0.5 * (nu + 1.0) * (square / nu).ln_1p()
    }

    /// The central interval that holds a new `y` with probability `level`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.central(level, self.squared_scale)
    }

    /// The central interval that holds `xᵀw` with probability `level`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn mean_interval(&self, level: f64) -> Result<Interval, ModelError> {
        self.central(level, self.weight_squared_scale)
    }

    fn central(&self, level: f64, squared_scale: f64) -> Result<Interval, ModelError> {
        let half = student_two_sided(level, self.degrees)? * squared_scale.sqrt();
        Ok(Interval { lower: self.mean - half, upper: self.mean + half })
    }
}

impl LinearFit {
    /// The predictive densities at every row of `x` (`m × d`). Cost `md²` or `2mnd` flops.
    ///
    /// # Errors
    /// Those of [`WeightDistribution::project`](super::WeightDistribution::project).
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<StudentPrediction>, ModelError> {
        let (a, b) = (self.noise.shape, self.noise.rate);
        let seen = self.weights.project(x)?;
        let prediction = |mean, variance: f64| StudentPrediction {
            mean,
            squared_scale: (1.0 + variance) * b / a,
            weight_squared_scale: variance * b / a,
            degrees: 2.0 * a,
        };
        Ok(seen.into_iter().map(|seen| prediction(seen.mean, seen.variance)).collect())
    }

    /// The central interval of each weight, a Student's t with `2a_N` degrees of freedom. Length `d`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn weight_intervals(&self, level: f64) -> Result<Vec<Interval>, ModelError> {
        let (a, b) = (self.noise.shape, self.noise.rate);
        let t = student_two_sided(level, 2.0 * a)?;
        let interval = |(mean, variance): (&f64, f64)| {
            let half = t * (variance * b / a).sqrt();
            Interval { lower: mean - half, upper: mean + half }
        };
        Ok(self.weights.mean().iter().zip(self.weights.variances()).map(interval).collect())
    }
}

/// Degrees of freedom from which three terms of Cornish and Fisher's expansion are exact to 1e-11.
const NEARLY_NORMAL: f64 = 1e5;

/// `t` with `level` of the mass of Student's t with `nu` degrees of freedom in `[−t, t]`.
fn student_two_sided(level: f64, nu: f64) -> Result<f64, ModelError> {
    check::level(level)?;
    let z = two_sided(level)?;
    let z2 = z * z;
    let near_normal = z * (1.0 + (z2 + 1.0) / (4.0 * nu) + ((5.0 * z2 + 16.0) * z2 + 3.0) / (96.0 * nu * nu));
    if nu >= NEARLY_NORMAL {
        return Ok(near_normal);
    }
    // Newton on the log of the tail in log t, in which it is nearly straight, inside a bracket.
    let goal = (1.0 - level).ln();
    let (mut low, mut high) = (0.0, f64::INFINITY);
    let mut t = near_normal;
    for _ in 0..200 {
        let tail = regularised_beta(nu / (nu + t * t), 0.5 * nu, 0.5);
        let excess = tail.ln() - goal;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let log_density = lgamma(0.5 * (nu + 1.0))
            - lgamma(0.5 * nu)
            - 0.5 * (nu * std::f64::consts::PI).ln()
            - 0.5 * (nu + 1.0) * (t * t / nu).ln_1p();
        let slope = 2.0 * t * (log_density - tail.ln()).exp();
        let newton = t * (excess / slope).exp();
        let next = if newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            2.0 * t
        };
        if (next - t).abs() <= 4.0 * f64::EPSILON * t {
            return Ok(next);
        }
        t = next;
    }
    Ok(t)
}

/// `I_x(a, b)` by Lentz's continued fraction, `x ∈ [0, 1]`.
fn regularised_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    let front = (lgamma(a + b) - lgamma(a) - lgamma(b) + a * x.ln() + b * (-x).ln_1p()).exp();
    if x < (a + 1.0) / (a + b + 2.0) {
        front * beta_fraction(x, a, b) / a
    } else {
        1.0 - front * beta_fraction(1.0 - x, b, a) / b
    }
}

fn beta_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / away(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    // About √max(a, b) terms.
    for m in 1..10_000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        d = 1.0 / away(1.0 + even * d);
        c = away(1.0 + even / c);
        value *= d * c;
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        d = 1.0 / away(1.0 + odd * d);
        c = away(1.0 + odd / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 4.0 * f64::EPSILON {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_closed_forms_and_tables() {
        // ν = 1: tan(πL/2); ν = 2: L·√(2/(1−L²)); then 40-digit arithmetic.
        for level in [0.1, 0.5, 0.9, 0.99] {
            let cauchy = (std::f64::consts::FRAC_PI_2 * level).tan();
            assert!((student_two_sided(level, 1.0).unwrap() / cauchy - 1.0).abs() < 1e-12, "{level}");
            let two = level * (2.0 / (1.0 - level * level)).sqrt();
            assert!((student_two_sided(level, 2.0).unwrap() / two - 1.0).abs() < 1e-12, "{level}");
        }
        for (nu, level, expected) in [
            (5.0, 0.95, 2.570581835636314),
            (50.02, 0.9, 1.675_892_5),
            (NEARLY_NORMAL * (1.0 - 1e-9), 0.95, student_two_sided(0.95, NEARLY_NORMAL).unwrap()),
        ] {
            assert!((student_two_sided(level, nu).unwrap() / expected - 1.0).abs() < 1e-7, "{nu}");
        }
        assert!(student_two_sided(1.0, 3.0).is_err());
    }

    #[test]
    fn a_density_has_mass_one_and_its_variance() {
        let student = StudentPrediction { mean: 0.3, squared_scale: 2.0, weight_squared_scale: 0.5, degrees: 9.0 };
        let (mut mass, mut square) = (0.0, 0.0);
        let step = 0.01;
        for i in -20_000..20_000 {
            let y = 0.3 + step * f64::from(i);
            let density = step * student.log_density(y).exp();
            mass += density;
            square += density * (y - 0.3) * (y - 0.3);
        }
        assert!((mass - 1.0).abs() < 1e-12, "{mass}");
        // The tail beyond 200 holds 1e-14 of it.
        assert!((square / student.variance() - 1.0).abs() < 1e-10, "{square}");
    }
}

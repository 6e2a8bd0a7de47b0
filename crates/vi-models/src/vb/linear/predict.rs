//! Predictions of a linear fit: Student's t distributions (23).

use serde::{Deserialize, Serialize};
use vi_linalg::faer::MatRef;

use super::LinearFit;
use crate::vb::{Gamma, WeightDistribution};
use crate::{Interval, ModelError, Student};

/// The predictive density of `y` at one row: Student's t with mean `xᵀw_N`, precision `(1+xᵀV_Nx)⁻¹·a_N/b_N` and `2a_N`
/// degrees of freedom (23).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StudentPrediction {
    /// The mean of `y` and of `xᵀw`, `xᵀw_N`.
    pub mean: f64,
    /// The squared scale of `y`, `(1+xᵀV_Nx)·b_N/a_N`: the inverse of the note's precision. Smaller than the variance.
    pub squared_scale: f64,
    /// The squared scale of `xᵀw` alone, `xᵀV_Nx·b_N/a_N`, which more data would reduce.
    pub weight_squared_scale: f64,
    /// The degrees of freedom `2a_N`.
    pub degrees: f64,
}

impl StudentPrediction {
    /// (23) at every row of `x`, for weights `N(w, V/τ)` with `τ ~ noise`.
    pub(in crate::vb) fn of(
        weights: &WeightDistribution,
        noise: Gamma,
        x: MatRef<'_, f64>,
    ) -> Result<Vec<Self>, ModelError> {
        let squared_scale = noise.rate / noise.shape;
        let prediction = |mean, variance: f64| Self {
            mean,
            squared_scale: (1.0 + variance) * squared_scale,
            weight_squared_scale: variance * squared_scale,
            degrees: 2.0 * noise.shape,
        };
        Ok(weights.project(x)?.into_iter().map(|seen| prediction(seen.mean, seen.variance)).collect())
    }

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

    /// The distribution of `y`, as a [`Student`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` if the scale has underflowed.
    pub fn distribution(&self) -> Result<Student, ModelError> {
        Student::new(self.mean, self.squared_scale.sqrt(), self.degrees)
    }

    /// The log density of `y` at `value`, in nats.
    ///
    /// # Errors
    /// Those of [`distribution`](Self::distribution).
    pub fn log_density(&self, value: f64) -> Result<f64, ModelError> {
        Ok(self.distribution()?.log_density(value))
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
        let half = two_sided(level, self.degrees)? * squared_scale.sqrt();
        Ok(Interval { lower: self.mean - half, upper: self.mean + half })
    }
}

/// The `t` for which `[−t, t]` holds `level` of the mass of Student's t with `degrees` of freedom.
fn two_sided(level: f64, degrees: f64) -> Result<f64, ModelError> {
    Ok(Student::new(0.0, 1.0, degrees)?.interval(level)?.upper)
}

impl LinearFit {
    /// The predictive densities at every row of `x` (`m × d`). Cost `md²` or `2mnd` flops.
    ///
    /// # Errors
    /// Those of [`WeightDistribution::project`].
    pub fn predict(&self, x: MatRef<'_, f64>) -> Result<Vec<StudentPrediction>, ModelError> {
        StudentPrediction::of(&self.weights, self.noise, x)
    }

    /// The central interval of each weight, a Student's t with `2a_N` degrees of freedom. Length `d`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn weight_intervals(&self, level: f64) -> Result<Vec<Interval>, ModelError> {
        self.weights.intervals(self.noise, level)
    }
}

impl WeightDistribution {
    /// The central interval of each weight, `V` being in units of a noise variance with `1/σ² ~ noise`.
    pub(in crate::vb) fn intervals(&self, noise: Gamma, level: f64) -> Result<Vec<Interval>, ModelError> {
        let t = two_sided(level, 2.0 * noise.shape)?;
        let interval = |(mean, variance): (&f64, f64)| {
            let half = t * (variance * noise.rate / noise.shape).sqrt();
            Interval { lower: mean - half, upper: mean + half }
        };
        Ok(self.mean().iter().zip(self.variances()).map(interval).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_density_has_mass_one_and_its_variance() {
        let student = StudentPrediction { mean: 0.3, squared_scale: 2.0, weight_squared_scale: 0.5, degrees: 9.0 };
        let (mut mass, mut square) = (0.0, 0.0);
        let step = 0.01;
        for i in -20_000..20_000 {
            let y = 0.3 + step * f64::from(i);
            let density = step * student.log_density(y).unwrap().exp();
            mass += density;
            square += density * (y - 0.3) * (y - 0.3);
        }
        assert!((mass - 1.0).abs() < 1e-12, "{mass}");
        // The tail beyond 200 holds 1e-14 of it.
        assert!((square / student.variance() - 1.0).abs() < 1e-10, "{square}");
    }
}

//! Newton's method on `f(z) = −Σ log p(yᵢ|tᵢ) + ½‖z‖²`, `t = Xμ₀ + Az`.

use vi_core::{Error, Likelihood, Stop};
use vi_linalg::Cholesky;

use super::LaplaceSettings;
use crate::ModelError;
use crate::whitened::{Whitened, product, squared_norm};

/// The share of the predicted decrease that a step must achieve (Armijo).
const SUFFICIENT: f64 = 1e-4;
/// The number of halvings after which the line search gives up.
const MAX_HALVINGS: usize = 100;
/// Below this decrement Newton's method converges quadratically: if the decrement no longer halves, the rest is rounding error.
const QUADRATIC: f64 = 1e-4;

/// The point at which the search ended.
pub(super) struct Mode {
    pub(super) point: Point,
    pub(super) iterations: usize,
    pub(super) stop: Stop,
}

/// A point `z` with gradient, curvature and decrement there.
pub(super) struct Point {
    pub(super) z: Vec<f64>,
    /// The predictors `t`.
    t: Vec<f64>,
    pub(super) objective: Objective,
    /// `∇f = z − Aᵀ∂`.
    pub(super) gradient: Vec<f64>,
    /// The factor of `B = ∇²f = I + AᵀWA`.
    pub(super) precision: Cholesky,
    /// `√(∇fᵀB⁻¹∇f)`.
    pub(super) decrement: f64,
    /// The rounding error of `f` here: that of its sum, and that of each `tᵢ` times its slope.
    rounding: f64,
}

/// `f`, and the size of the terms it was summed from.
#[derive(Clone, Copy)]
pub(super) struct Objective {
    pub(super) value: f64,
    size: f64,
}

impl Objective {
    fn new<L: Likelihood>(likelihood: &L, y: &[f64], t: impl Iterator<Item = f64>, z_squared: f64) -> Self {
        let mut sum = Self { value: 0.5 * z_squared, size: 0.5 * z_squared };
        for (&y, t) in y.iter().zip(t) {
            let log_density = likelihood.log_density(y, t);
            sum.value -= log_density;
            sum.size += log_density.abs();
        }
        sum
    }
}

impl Point {
    fn at<L: Likelihood>(model: &Whitened, likelihood: &L, y: &[f64], z: Vec<f64>) -> Result<Self, ModelError> {
        let t = model.predictors(&z);
        let objective = Objective::new(likelihood, y, t.iter().copied(), squared_norm(&z));
        if !objective.value.is_finite() {
            let argument = "log joint density";
            return Err(Error::NonFinite { argument, index: 0, value: -objective.value }.into());
        }
        let slopes: Vec<f64> = y.iter().zip(&t).map(|(&y, &t)| likelihood.slope(y, t)).collect();
        let weights: Vec<f64> = y.iter().zip(&t).map(|(&y, &t)| likelihood.curvature(y, t)).collect();
        let pull = model.transpose_product(&slopes);
        let gradient: Vec<f64> = z.iter().zip(&pull).map(|(z, pull)| z - pull).collect();
        let precision = model.precision(&weights)?;
        let decrement = precision.quadratic_form_inverse(&gradient)?.sqrt();
        let length = squared_norm(&z).sqrt();
        let predictor_size = |i: usize| model.offset[i].abs() + length * model.row_norms[i];
        let from_t: f64 = slopes.iter().enumerate().map(|(i, slope)| slope.abs() * predictor_size(i)).sum();
        let rounding = 4.0 * f64::EPSILON * (objective.size + from_t);
        Ok(Self { z, t, objective, gradient, precision, decrement, rounding })
    }

    /// `z − 2⁻ʲ·B⁻¹∇f` for the least `j` that lowers `f` enough, up to its rounding error.
    fn step<L: Likelihood>(&self, model: &Whitened, likelihood: &L, y: &[f64]) -> Result<Option<Vec<f64>>, ModelError> {
        let mut direction = self.gradient.clone();
        self.precision.solve_vec_in_place(&mut direction)?;
        let direction_t = product(model.rows.as_ref(), &direction);
        let mut length = 1.0;
        for _ in 0..MAX_HALVINGS {
            let z: Vec<f64> = self.z.iter().zip(&direction).map(|(z, step)| z - length * step).collect();
            let t = self.t.iter().zip(&direction_t).map(|(t, step)| t - length * step);
            let there = Objective::new(likelihood, y, t, squared_norm(&z));
            let gain = SUFFICIENT * length * self.decrement * self.decrement;
            if there.value <= self.objective.value - gain + self.rounding {
                return Ok(Some(z));
            }
            length *= 0.5;
        }
        Ok(None)
    }
}

/// Minimises `f` from `z = 0`, the prior mean.
pub(super) fn minimise<L: Likelihood>(
    model: &Whitened,
    likelihood: &L,
    y: &[f64],
    settings: &LaplaceSettings,
) -> Result<Mode, ModelError> {
    let mut point = Point::at(model, likelihood, y, vec![0.0; model.rows.ncols()])?;
    let mut last_decrement = f64::INFINITY;
    let mut iterations = 0;
    loop {
        if point.decrement <= settings.tolerance {
            return polished(point, iterations, model, likelihood, y);
        }
        let stop = if last_decrement < QUADRATIC && point.decrement > 0.5 * last_decrement {
            Some(Stop::Improvement)
        } else if iterations == settings.max_iterations {
            Some(Stop::Iterations)
        } else {
            None
        };
        if let Some(stop) = stop {
            return Ok(Mode { point, iterations, stop });
        }
        let Some(z) = point.step(model, likelihood, y)? else {
            return Ok(Mode { point, iterations, stop: Stop::Improvement });
        };
        last_decrement = point.decrement;
        point = Point::at(model, likelihood, y, z)?;
        iterations += 1;
    }
}

/// Makes one further step: convergence being quadratic, it ends at rounding. It is kept if the decrement falls.
fn polished<L: Likelihood>(
    point: Point,
    iterations: usize,
    model: &Whitened,
    likelihood: &L,
    y: &[f64],
) -> Result<Mode, ModelError> {
    let stop = Stop::Converged;
    if let Some(z) = point.step(model, likelihood, y)? {
        let next = Point::at(model, likelihood, y, z)?;
        if next.decrement < point.decrement {
            return Ok(Mode { point: next, iterations: iterations + 1, stop });
        }
    }
    Ok(Mode { point, iterations, stop })
}

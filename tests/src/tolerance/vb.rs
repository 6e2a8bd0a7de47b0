//! Variational Bayesian regression: rounding grows with the condition number and with how slowly the iteration contracts.

use vi_linalg::faer::MatRef;
use vi_models::ModelError;
use vi_models::vb::VbSettings;

/// A run to be reproduced iteration by iteration.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// `κ(V⁻¹)`.
    pub condition: f64,
    /// Iterations.
    pub iterations: usize,
    /// What a change of the inputs by `ε` does to the parameters, measured: an iteration far from its fixed point can amplify it.
    pub sensitivity: f64,
}

impl Run {
    /// Parameters: each iteration adds `ε·κ`, two runs are compared, and nothing is asked below 1e-12; or the measured sensitivity,
    /// by the factor by which one draw of rounding errors may miss another.
    #[must_use]
    pub fn parameters(&self) -> f64 {
        let rounding = 2.0 * f64::EPSILON * self.condition * self.iterations as f64;
        1e-12 + rounding.max(16.0 * self.sensitivity)
    }

    /// ℒ.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.parameters()
    }

    /// The terms of ℒ.
    #[must_use]
    pub fn terms(&self) -> f64 {
        self.parameters()
    }
}

/// A stored fixed point whose last change is below this has been reached; the reference's own rule.
pub const REACHED: f64 = 1e-10;

/// A bound that is better by more than this, relatively, belongs to another optimum.
pub const OTHER_OPTIMUM: f64 = 1e-8;

/// The stored `ξ` at the maximum: where a search on a flat top stopped.
pub const STORED_XI: f64 = 1e-6;

/// A stored integral of the logistic under a Gaussian: by an adaptive rule that aims at 1.5e-8 and, against 30-digit arithmetic, has been seen
/// to miss by 7e-8. The eight-term mixture, off by 2.1e-9 at most, is within it.
pub const STORED_INTEGRAL: f64 = 5e-7;

/// How our own fixed points are found.
///
/// # Errors
/// None.
pub fn settings() -> Result<VbSettings, ModelError> {
    VbSettings::new(1e-12, 20_000)
}

/// Parameters at a fixed point that the file reached in `iterations`, the last of which changed them by `last_change`.
///
/// The file's changes fell from order one to 1e-12, a factor `e^28`, so the iteration contracts by `1 − 28/iterations` and what is left is
/// `iterations/28` changes; rounding of `ε·κ` adds up likewise.
#[must_use]
pub fn fixed_point(condition: f64, iterations: usize, last_change: f64) -> f64 {
    let sum = 1.0 + iterations as f64 / 28.0;
    1e-12 + 4.0 * sum * (last_change + 1e-12 + f64::EPSILON * condition)
}

/// The condition number of `LLᵀ` from the diagonal of its factor, from below.
#[must_use]
pub fn factor_condition(factor: MatRef<'_, f64>) -> f64 {
    let diagonal = (0..factor.nrows()).map(|j| factor[(j, j)] * factor[(j, j)]);
    let (low, high) = diagonal.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
    high / low
}

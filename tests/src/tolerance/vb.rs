//! Variational Bayesian regression: rounding grows with the condition number and with how slowly the iteration contracts.

use vi_linalg::Cholesky;
use vi_linalg::faer::MatRef;
use vi_models::ModelError;
use vi_models::vb::VbSettings;

/// A run to be reproduced iteration by iteration.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Dimension `d`.
    pub dim: usize,
    /// The condition number of `V⁻¹` with its diagonal brought to 1: factorisations do not see the columns' units (van der Sluis).
    pub condition: f64,
    /// What a change of the inputs by `ε` does to the parameters, measured: an iteration far from its fixed point can amplify it.
    pub sensitivity: f64,
}

impl Run {
    /// Parameters: `32d·ε·κ` for two runs that factor, solve and project, or the measured sensitivity by the factor by which one draw of rounding errors may miss another;
    /// nothing is asked below 1e-11.
    #[must_use]
    pub fn parameters(&self) -> f64 {
        let rounding = 32.0 * self.dim as f64 * f64::EPSILON * self.condition;
        1e-11 + rounding.max(16.0 * self.sensitivity)
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
pub const SETTINGS: VbSettings = VbSettings { tolerance: Some(1e-12), max_iterations: 20_000 };

/// Parameters at a fixed point that the file reached in `iterations`, the last of which changed them by `last_change`.
///
/// The file's changes fell from order one to 1e-12, a factor `e^28`, so the iteration contracts by `1 − 28/iterations` and what is left is
/// `iterations/28` changes; rounding adds up likewise.
#[must_use]
pub fn fixed_point(run: Run, iterations: usize, last_change: f64) -> f64 {
    let sum = 1.0 + iterations as f64 / 28.0;
    1e-11 + 4.0 * sum * (last_change + 1e-12 + f64::EPSILON * run.dim as f64 * run.condition)
}

/// The condition number of a covariance, from above: `‖V‖·‖V⁻¹‖` in the Frobenius norm. Of `V` as it is: downdates of a covariance, unlike
/// factorisations, do see the columns' units.
///
/// # Errors
/// [`ModelError`] where the matrix is not positive definite.
pub fn condition(covariance: MatRef<'_, f64>) -> Result<f64, ModelError> {
    let factor = Cholesky::new(covariance)?;
    let norm = (factor.factor() * factor.factor().transpose()).norm_l2();
    Ok(norm * factor.inverse().norm_l2())
}

//! Targets: unnormalised log-densities, perhaps with derivatives.

mod banana;
mod cauchy;
pub mod difference;
mod function;
mod funnel;
mod glm;
mod probe;

pub use banana::Banana;
pub use cauchy::Cauchy;
pub use function::{Function, FunctionWithGradient};
pub use funnel::Funnel;
pub use glm::GlmTarget;
pub(crate) use probe::{Faults, Probe, fault};

pub use vi_core::LogDensity;
use vi_linalg::faer::MatRef;

pub(crate) fn copy_row(points: MatRef<'_, f64>, i: usize, theta: &mut [f64]) {
    for (j, value) in theta.iter_mut().enumerate() {
        *value = points[(i, j)];
    }
}

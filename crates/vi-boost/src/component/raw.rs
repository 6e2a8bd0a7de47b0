//! Derivatives of an objective by a component's own numbers.

use vi_linalg::faer::Mat;
use vi_linalg::kernels::dot;

use super::{Component, Family};
use crate::block::Block;

/// `∂F/∂μ`, and the derivative by the spread's numbers:
///
/// | kind | `spread` |
/// |---|---|
/// | full | `∂F/∂L`, `d × d`, lower triangle |
/// | diagonal | `∂F/∂σ`, `d × 1` |
/// | low rank | `∂F/∂σ` and `∂F/∂V` side by side, `d × (1 + r)` |
#[derive(Debug, Clone)]
pub(crate) struct Raw {
    pub(crate) mean: Vec<f64>,
    pub(crate) spread: Mat<f64>,
}

impl Raw {
    pub(crate) fn zeros(component: &Component) -> Self {
        Self { mean: vec![0.0; component.dim()], spread: component.spread().zero_gradient() }
    }

    /// Adds the derivative of `Σ_i g_iᵀθ_i`, `θ_i = μ + A·z_i`.
    pub(crate) fn add_sample(&mut self, component: &Component, z: &Block, g: &Block) {
        for (j, mean) in self.mean.iter_mut().enumerate() {
            *mean += g.col(j).iter().sum::<f64>();
        }
        component.spread().pull_sample(z, g, &mut self.spread);
    }

    /// Adds the derivative of `Σ_i ρ_i·log N(θ_i)`, `s_i = Σ⁻¹(θ_i−μ)`, at fixed points.
    pub(crate) fn add_density(&mut self, component: &Component, s: &Block, rho: &[f64]) {
        for (j, mean) in self.mean.iter_mut().enumerate() {
            *mean += dot(s.col(j), rho);
        }
        component.spread().pull_density(s, rho, &mut self.spread);
    }
}

/// The number of parameters of a component of `family` in `d` dimensions.
pub(crate) fn parameters(family: Family, d: usize) -> usize {
    d + match family {
        Family::Full => d * (d + 1) / 2,
        Family::Diagonal => d,
        Family::LowRank { rank } => d * (1 + rank),
    }
}

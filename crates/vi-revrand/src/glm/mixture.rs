//! The posterior: a mixture of diagonal Gaussians.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::{Deserialize, Serialize};
use vi_core::special::{HALF_LN_2PI, log_sum_exp};
use vi_linalg::faer::MatRef;

use super::entropy;
use crate::{RevrandError, check};

/// `q(w) = 1/K·Σₖ N(w | mₖ, diag Cₖ)` over `D` weights (report (20), where the product should be a sum).
///
/// ```
/// use vi_linalg::faer::mat;
/// use vi_revrand::glm::Mixture;
/// // Two weights, one component.
/// let q = Mixture::new(mat![[1.0], [-1.0]].as_ref(), mat![[0.5], [2.0]].as_ref())?;
/// assert_eq!(q.mean(0), [1.0, -1.0]);
/// // ½·log|2πeC| less (D/2)(1 − log 2): what the bound is known to lose.
/// let entropy = (2.0 * std::f64::consts::PI).ln() + 1.0;
/// assert!((q.entropy_bound() + q.entropy_offset() - entropy).abs() < 1e-15);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Stored")]
pub struct Mixture {
    dimension: usize,
    components: usize,
    /// The means, component by component.
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl Mixture {
    /// The mixture whose means are the columns of `means` (`D × K`) and whose variances are those of `variances` (`D × K`, the
    /// diagonals).
    ///
    /// # Errors
    /// `Empty` for no weights or no components; `Dimension`; `NonFinite` for a mean, `Entry` for a variance that is not positive
    /// and finite (the index counts down the columns).
    pub fn new(means: MatRef<'_, f64>, variances: MatRef<'_, f64>) -> Result<Self, RevrandError> {
        check::length("rows of the variances", means.nrows(), variances.nrows())?;
        check::length("columns of the variances", means.ncols(), variances.ncols())?;
        let flat = |a: MatRef<'_, f64>| a.col_iter().flat_map(|column| column.iter().copied()).collect();
        let (dimension, components) = means.shape();
        Self::try_from(Stored { dimension, components, means: flat(means), variances: flat(variances) })
    }

    /// A mixture from parts whose lengths agree.
    pub(super) fn from_parts(components: usize, means: Vec<f64>, variances: Vec<f64>) -> Self {
        Self { dimension: means.len() / components, components, means, variances }
    }

    /// The number `D` of weights.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number `K` of components.
    #[must_use]
    pub fn components(&self) -> usize {
        self.components
    }

    /// The mean `mₖ` (`D`).
    ///
    /// # Panics
    /// If there is no component `k`.
    #[must_use]
    pub fn mean(&self, k: usize) -> &[f64] {
        &self.means[k * self.dimension..][..self.dimension]
    }

    /// The variances `Cₖ` (`D`).
    ///
    /// # Panics
    /// If there is no component `k`.
    #[must_use]
    pub fn variance(&self, k: usize) -> &[f64] {
        &self.variances[k * self.dimension..][..self.dimension]
    }

    /// All means, component by component.
    pub(super) fn means(&self) -> &[f64] {
        &self.means
    }

    /// All variances, component by component.
    pub(super) fn variances(&self) -> &[f64] {
        &self.variances
    }

    /// Means and variances, to be overwritten by valid numbers.
    pub(super) fn parts_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.means, &mut self.variances)
    }

    /// The log-density `log q(w)`. Cost `D·K`.
    ///
    /// # Errors
    /// `Dimension` unless `w` has `D` entries, `NonFinite` for one of them, `Overflow` if the log-density is not finite.
    pub fn log_density(&self, w: &[f64]) -> Result<f64, RevrandError> {
        check::length("w", self.dimension, w.len())?;
        check::finite("w", w)?;
        let component = |k| {
            let each = self.mean(k).iter().zip(self.variance(k)).zip(w);
            each.map(|((m, c), w)| -HALF_LN_2PI - 0.5 * (c.ln() + (w - m) * (w - m) / c)).sum()
        };
        let logs: Vec<f64> = (0..self.components).map(component).collect();
        let log = log_sum_exp(logs.iter().copied()) - (self.components as f64).ln();
        check::result("the posterior's log density", log)?;
        Ok(log)
    }

    /// A draw from component `k` (`D` weights).
    ///
    /// # Panics
    /// If there is no component `k`.
    pub(super) fn draw_component<R: Rng + ?Sized>(&self, k: usize, rng: &mut R) -> Vec<f64> {
        let mut one = |(m, c): (&f64, &f64)| {
            let z: f64 = rng.sample(StandardNormal);
            m + c.sqrt() * z
        };
        self.mean(k).iter().zip(self.variance(k)).map(&mut one).collect()
    }

    /// A draw from the mixture (`D` weights).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Vec<f64> {
        let k = rng.random_range(0..self.components);
        self.draw_component(k, rng)
    }

    /// Jensen's lower bound of the entropy, which the objective contains: `−1/K·Σₖ log Σⱼ N(mₖ | mⱼ, Cₖ + Cⱼ) + log K` (report
    /// (22), with `+ log K` for the printed `− log K`). Cost `D·K²`.
    #[must_use]
    pub fn entropy_bound(&self) -> f64 {
        entropy::bound(self)
    }

    /// By how much [`entropy_bound`](Self::entropy_bound) is below the entropy: `(D/2)(1 − log 2)` for one component, for
    /// components that coincide and for components that are far apart. In between the gap differs from this; an estimate of the
    /// entropy by draws ([`Glm::elbo`](super::Glm::elbo)) shows by how much.
    #[must_use]
    pub fn entropy_offset(&self) -> f64 {
        0.5 * self.dimension as f64 * (1.0 - std::f64::consts::LN_2)
    }
}

/// The stored form.
#[derive(Debug, Clone, Deserialize)]
struct Stored {
    dimension: usize,
    components: usize,
    means: Vec<f64>,
    variances: Vec<f64>,
}

impl TryFrom<Stored> for Mixture {
    type Error = RevrandError;

    fn try_from(Stored { dimension, components, means, variances }: Stored) -> Result<Self, RevrandError> {
        check::not_empty("weights", dimension)?;
        check::not_empty("components", components)?;
        check::length("means", dimension.saturating_mul(components), means.len())?;
        check::length("variances", means.len(), variances.len())?;
        check::finite("means", &means)?;
        check::positive_entries("variances", &variances)?;
        Ok(Self { dimension, components, means, variances })
    }
}

//! Mixtures of Gaussians.

mod checkpoint;
mod density;
mod moments;
mod parts;

pub(crate) use density::{Scratch, log_sum_exp, responsibilities};
pub(crate) use moments::MOST_REACH;

use rand::{Rng, RngExt};
use vi_core::{DenseGaussian, check};
use vi_linalg::faer::Mat;

use crate::BoostError;
use crate::block::{self, Block};
use crate::component::Component;

/// A Gaussian mixture `q(θ) = Σ_k w_k·N(θ | μ_k, Σ_k)`, of `K` components in `d` dimensions.
///
/// ```
/// use vi_boost::{Component, GaussianMixture};
/// let left = Component::diagonal(&[-2.0], &[1.0])?;
/// let right = Component::diagonal(&[2.0], &[1.0])?;
/// let q = GaussianMixture::new(vec![left, right], &[0.25, 0.75])?;
/// assert_eq!(q.mean(), [1.0]);
/// assert!((q.covariance()?[(0, 0)] - 4.0).abs() < 1e-14);
/// assert!(q.log_density(&[2.0])? > q.log_density(&[-2.0])?);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
#[derive(Debug, Clone)]
pub struct GaussianMixture {
    components: Vec<Component>,
    log_weights: Vec<f64>,
}

/// How far from 1 the weights may sum: what is lost by writing them with ten digits.
const SUM_TOLERANCE: f64 = 1e-8;

impl GaussianMixture {
    /// The mixture of `components` with `weights`, which are divided by their sum.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Empty`, `Dimension` (lengths, or components of different dimensions), `NonFinite`,
    /// `Entry` (a negative weight), or `Setting` (weights whose sum is further than 1e-8 from 1).
    pub fn new(components: Vec<Component>, weights: &[f64]) -> Result<Self, BoostError> {
        let Some(first) = components.first() else {
            return Err(vi_core::Error::Empty { argument: "components" }.into());
        };
        check::length("weights", components.len(), weights.len())?;
        for component in &components {
            check::length("component", first.dim(), component.dim())?;
        }
        check::finite("weights", weights)?;
        if let Some(index) = weights.iter().position(|weight| *weight < 0.0) {
            let requirement = "at least 0";
            return Err(vi_core::Error::Entry { argument: "weights", index, value: weights[index], requirement }.into());
        }
        let sum: f64 = weights.iter().sum();
        if (sum - 1.0).abs() > SUM_TOLERANCE {
            return Err(crate::error::setting("sum of the weights", sum, "1"));
        }
        Ok(Self { components, log_weights: weights.iter().map(|w| (w / sum).ln()).collect() })
    }

    /// The mixture of one Gaussian.
    #[must_use]
    pub fn single(component: Component) -> Self {
        Self { components: vec![component], log_weights: vec![0.0] }
    }

    /// A mixture from valid parts; `exp(log_weights)` need not sum to one exactly.
    pub(crate) fn from_parts(components: Vec<Component>, log_weights: Vec<f64>) -> Self {
        Self { components, log_weights }
    }

    /// The mixture with a further component: `(1−α)·q + α·h`.
    pub(crate) fn with(&self, component: Component, alpha: f64) -> Self {
        let rest = (-alpha).ln_1p();
        let mut components = self.components.clone();
        components.push(component);
        let log_weights = self.log_weights.iter().map(|w| w + rest).chain([alpha.ln()]).collect();
        Self { components, log_weights }
    }

    /// The mixture of the same components with other weights.
    pub(crate) fn reweighted(&self, weights: &[f64]) -> Self {
        Self { components: self.components.clone(), log_weights: weights.iter().map(|w| w.ln()).collect() }
    }

    /// Drops the components of weight below `least` and scales the others up; the largest always stays. Returns which ones
    /// stayed.
    pub(crate) fn prune(&mut self, least: f64) -> Vec<bool> {
        let weights = self.weights();
        let largest = weights.iter().fold(0.0_f64, |a, b| a.max(*b));
        let keep: Vec<bool> = weights.iter().map(|w| *w >= least.min(largest)).collect();
        let total: f64 = weights.iter().zip(&keep).filter(|(_, keep)| **keep).map(|(w, _)| w).sum();
        let mut stays = keep.iter();
        self.components.retain(|_| stays.next().copied().unwrap_or(true));
        let kept = weights.iter().zip(&keep).filter(|(_, keep)| **keep);
        self.log_weights = kept.map(|(w, _)| (w / total).ln()).collect();
        keep
    }

    /// Dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.components.first().map_or(0, Component::dim)
    }

    /// Number of components `K`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.components.len()
    }

    /// Whether there are no components, which [`new`](Self::new) excludes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.components.is_empty()
    }

    /// The components.
    #[must_use]
    pub fn components(&self) -> &[Component] {
        &self.components
    }

    /// Weights and components as beliefs of `vi-core`, the form in which a model can answer from them
    /// (`vi_models::online::OnlineLogistic::mixture`, for instance). Components of weight 0 are left out. Cost `K·d³`.
    ///
    /// # Errors
    /// As [`Component::to_belief`].
    pub fn beliefs(&self) -> Result<Vec<(f64, DenseGaussian)>, BoostError> {
        let parts = self.weights().into_iter().zip(&self.components).filter(|(weight, _)| *weight > 0.0);
        parts.map(|(weight, component)| Ok((weight, component.to_belief()?))).collect()
    }

    /// The weights `w`, which sum to 1 up to rounding.
    #[must_use]
    pub fn weights(&self) -> Vec<f64> {
        self.log_weights.iter().map(|w| w.exp()).collect()
    }

    pub(crate) fn log_weights(&self) -> &[f64] {
        &self.log_weights
    }

    /// `n` independent draws, one a row (`n × d`). Cost `n·d²` for full components.
    #[must_use]
    pub fn draw<R: Rng + ?Sized>(&self, n: usize, rng: &mut R) -> Mat<f64> {
        let mut out = Mat::zeros(n, self.dim());
        let (mut x, mut theta) = (Block::default(), vec![0.0; self.dim()]);
        for i in 0..n {
            let component = self.pick(rng);
            let z = block::random(1, component.latent_dim(), rng);
            for z in &z {
                component.map(z, &mut x);
                x.row(0, &mut theta);
                for (j, value) in theta.iter().enumerate() {
                    out[(i, j)] = *value;
                }
            }
        }
        out
    }

    /// A component, drawn by weight.
    fn pick<R: Rng + ?Sized>(&self, rng: &mut R) -> &Component {
        let mut left = rng.random::<f64>() * self.weights().iter().sum::<f64>();
        for (component, weight) in self.components.iter().zip(self.weights()) {
            left -= weight;
            if left < 0.0 {
                return component;
            }
        }
        &self.components[self.len() - 1]
    }

    /// `n` independent draws in blocks.
    pub(crate) fn draw_blocks<R: Rng + ?Sized>(&self, n: usize, rng: &mut R) -> Vec<Block> {
        block::blocks(self.draw(n, rng).as_ref())
    }
}

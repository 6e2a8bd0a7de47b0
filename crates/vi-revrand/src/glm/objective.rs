//! The objective (22), corrected, and its gradient in everything that is learned.

use std::ops::Range;

use vi_linalg::faer::{Mat, MatRef};

use super::expectation::{Component, Draws, Labels, Local, Moments};
use super::rows::check_labels;
use super::{Expectation, Mixture, entropy, kernels, prior};
use crate::likelihood::GlmLikelihood;
use crate::{RevrandError, check};

/// The objective, to be maximised, by its terms:
///
/// ```text
/// ℒ = N/M·1/K·Σₖ Σₙ E_{N(mₖ,Cₖ)} log p(yₙ|φₙᵀw)    likelihood, over the M rows of a batch
///   + 1/K·Σₖ E_{N(mₖ,Cₖ)} log N(w | 0, Λ)           prior
///   − 1/K·Σₖ log Σⱼ N(mₖ | mⱼ, Cₖ + Cⱼ) + log K      entropy
/// ```
///
/// It is `N/M` times the objective of (5), in which the terms without data get their share `M/N` of the batch; the printed (22)
/// has `− log K`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// The expected log-likelihood, computed as [`Expectation`] says.
    pub likelihood: f64,
    /// The expected log prior, exact.
    pub prior: f64,
    /// Jensen's bound of the entropy, [`Mixture::entropy_bound`].
    pub entropy: f64,
}

impl Terms {
    /// The value of the objective.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.likelihood + self.prior + self.entropy
    }
}

/// The gradient of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient {
    /// The gradient in the means (`D × K`).
    pub means: Mat<f64>,
    /// The gradient in the variances (`D × K`).
    pub variances: Mat<f64>,
    /// The gradient in the prior variances, one a part.
    pub regularisers: Vec<f64>,
    /// The gradient in the likelihood's parameters.
    pub likelihood: Vec<f64>,
    /// The gradient in the features (`n × D`): that in a parameter `θ` of the basis is `Σ ∂ℒ/∂Φ ∘ ∂Φ/∂θ`.
    pub features: Mat<f64>,
}

/// A batch whose features are known.
#[derive(Debug, Clone, Copy)]
pub struct Featured<'a> {
    /// Features `Φ` (`M × D`).
    pub features: MatRef<'a, f64>,
    /// Labels (`M`).
    pub y: &'a [f64],
    /// Trials (`M`), if the likelihood counts them.
    pub trials: Option<&'a [f64]>,
    /// The ratio `N/M` of all rows to those of the batch.
    pub magnification: f64,
}

/// The prior `N(0, Λ)`: `Λ` is constant on each part of the weights.
#[derive(Debug, Clone, Copy)]
pub struct Prior<'a> {
    /// The prior variance of each part.
    pub variances: &'a [f64],
    /// The weights of each part; they follow one another and cover `0..D`.
    pub parts: &'a [Range<usize>],
}

/// The objective and its gradient at a point, for known features. `normals` are the standard normal draws, component by component
/// (`K × draws × D` for [`Expectation::Weights`]; `K × M × draws` for fresh [`Expectation::Predictors`], `K × draws` for fixed
/// ones; otherwise empty).
///
/// [`Glm`](super::Glm) computes the same at each step, without allocating.
///
/// # Errors
/// `Dimension`, `NonFinite`, `Entry` (a prior variance), `Setting` (`magnification`, nodes, draws),
/// [`RevrandError::Trials`], `Row` with `Label`, `Overflow` (the objective or the gradient is not finite).
///
/// ```
/// use vi_linalg::faer::mat;
/// use vi_revrand::glm::{Expectation, Featured, Mixture, Prior, objective};
/// use vi_revrand::likelihood::Bernoulli;
///
/// let q = Mixture::new(mat![[0.5], [-0.2]].as_ref(), mat![[0.3], [0.4]].as_ref())?;
/// let phi = mat![[1.0, 0.3], [1.0, -0.7], [1.0, 1.1]];
/// let batch = Featured { features: phi.as_ref(), y: &[1.0, 0.0, 1.0], trials: None, magnification: 2.0 };
/// let prior = Prior { variances: &[1.5], parts: &[0..2] };
/// let (exact, gradient) = objective(&q, prior, &Bernoulli, batch, Expectation::Quadrature { nodes: 20 }, &[])?;
/// let (taylor, _) = objective(&q, prior, &Bernoulli, batch, Expectation::SecondOrder, &[])?;
/// assert!((exact.value() - taylor.value()).abs() < 0.05);
/// assert_eq!(gradient.means.shape(), (2, 1));
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub fn objective<L: GlmLikelihood>(
    q: &Mixture,
    prior: Prior<'_>,
    likelihood: &L,
    batch: Featured<'_>,
    expectation: Expectation,
    normals: &[f64],
) -> Result<(Terms, Gradient), RevrandError> {
    let (n, d, k) = (batch.y.len(), q.dimension(), q.components());
    expectation.check()?;
    check::not_empty("y", n)?;
    check::length("rows of the features", n, batch.features.nrows())?;
    check::length("columns of the features", d, batch.features.ncols())?;
    check::matrix("features", batch.features)?;
    check_labels(batch.y, batch.trials, likelihood)?;
    check::positive_entries("prior variances", prior.variances)?;
    check::length("parts of the prior", prior.variances.len(), prior.parts.len())?;
    let mut covered = 0;
    for part in prior.parts {
        check::length("start of a part of the prior", covered, part.start)?;
        covered = part.end.max(part.start);
    }
    check::length("weights with a prior", d, covered)?;
    check::length("normals", k.saturating_mul(expectation.normals(n, d)), normals.len())?;
    expectation.check_room(k, n, d)?;
    check::finite("normals", normals)?;
    check::positive("magnification", batch.magnification)?;

    let mut work = Workspace::new(expectation, (k, d, prior.variances.len(), likelihood.parameters().len()));
    work.resize(n, true);
    let ones = vec![1.0; n];
    let labels = Labels { y: batch.y, trials: batch.trials.unwrap_or(&ones) };
    let phi = kernels::rows(batch.features);
    let terms = work.evaluate((&phi, labels), q, prior, likelihood, batch.magnification, normals);
    check::result("the objective", terms.value())?;
    for part in [&work.means, &work.variances, &work.regularisers, &work.likelihood, &work.by_features] {
        check::results("the gradient of the objective", part.iter().copied())?;
    }
    let gradient = Gradient {
        means: Mat::from_fn(d, k, |i, j| work.means[j * d + i]),
        variances: Mat::from_fn(d, k, |i, j| work.variances[j * d + i]),
        features: Mat::from_fn(n, d, |i, j| work.by_features[i * d + j]),
        regularisers: work.regularisers,
        likelihood: work.likelihood,
    };
    Ok((terms, gradient))
}

/// The numbers of components `K`, of weights `D`, of prior variances and of likelihood parameters.
pub(super) type Sizes = (usize, usize, usize, usize);

/// Everything that an evaluation writes; sized once, so that steps allocate nothing.
#[derive(Debug, Clone)]
pub(super) struct Workspace {
    expectation: Expectation,
    dimension: usize,
    /// `a`, `v`, `∂/∂a`, `∂/∂v` of one component (`n` each).
    moments: [Vec<f64>; 4],
    local: Local,
    draws: Draws,
    entropy: entropy::Scratch,
    /// The gradient; `by_features` is empty if it is not wanted.
    pub(super) means: Vec<f64>,
    pub(super) variances: Vec<f64>,
    pub(super) regularisers: Vec<f64>,
    pub(super) likelihood: Vec<f64>,
    pub(super) by_features: Vec<f64>,
}

impl Workspace {
    pub(super) fn new(expectation: Expectation, (k, d, regularisers, parameters): Sizes) -> Self {
        let rule = match expectation {
            Expectation::Quadrature { nodes } => vi_core::special::gauss_hermite(nodes),
            _ => Vec::new(),
        };
        Self {
            expectation,
            dimension: d,
            moments: Default::default(),
            local: Local::new(rule),
            draws: Draws::default(),
            entropy: entropy::Scratch::default(),
            means: vec![0.0; d * k],
            variances: vec![0.0; d * k],
            regularisers: vec![0.0; regularisers],
            likelihood: vec![0.0; parameters],
            by_features: Vec::new(),
        }
    }

    /// Whether this memory has room for these sizes.
    pub(super) fn fits(&self, expectation: Expectation, (k, d, regularisers, parameters): Sizes) -> bool {
        self.expectation == expectation
            && self.dimension == d
            && self.means.len() == d * k
            && self.regularisers.len() == regularisers
            && self.likelihood.len() == parameters
    }

    /// Makes room for `n` rows.
    pub(super) fn resize(&mut self, n: usize, features_wanted: bool) {
        self.by_features.resize(if features_wanted { n * self.dimension } else { 0 }, 0.0);
        for moment in &mut self.moments {
            moment.resize(n, 0.0);
        }
    }

    /// The objective on a batch and its gradient; `phi` are the features (`n × D`, row by row).
    pub(super) fn evaluate<L: GlmLikelihood>(
        &mut self,
        (phi, labels): (&[f64], Labels<'_>),
        q: &Mixture,
        prior: Prior<'_>,
        likelihood: &L,
        magnification: f64,
        normals: &[f64],
    ) -> Terms {
        let (d, k_all) = (q.dimension(), q.components());
        let scale = magnification / k_all as f64;
        for gradient in [&mut self.means, &mut self.variances, &mut self.likelihood, &mut self.by_features] {
            gradient.fill(0.0);
        }
        let per_component = normals.len() / k_all;
        let mut expected = 0.0;
        for k in 0..k_all {
            let (mean, variance) = (q.mean(k), q.variance(k));
            let by_mean = &mut self.means[k * d..][..d];
            let by_variance = &mut self.variances[k * d..][..d];
            let normals = &normals[k * per_component..][..per_component];
            if let Expectation::Weights { .. } = self.expectation {
                let component = Component { mean, variance, by_mean, by_variance };
                let features = (phi, self.by_features.as_mut_slice());
                let draws = (normals, scale);
                expected += self.draws.expect(likelihood, labels, features, component, draws, &mut self.likelihood);
                continue;
            }
            let [a, v, by_a, by_v] = &mut self.moments;
            kernels::project(phi, mean, variance, a, v);
            let moments = Moments { a, v, by_mean: by_a, by_variance: by_v };
            let value = self.local.expect(self.expectation, likelihood, labels, moments, normals, &mut self.likelihood);
            expected += scale * value;
            for gradient in by_a.iter_mut().chain(by_v.iter_mut()) {
                *gradient *= scale;
            }
            kernels::back_project(phi, by_a, by_v, by_mean, by_variance);
            if !self.by_features.is_empty() {
                kernels::back_features(phi, by_a, by_v, mean, variance, &mut self.by_features);
            }
        }
        for gradient in &mut self.likelihood {
            *gradient *= scale;
        }
        let (means, variances) = (&mut self.means, &mut self.variances);
        Terms {
            likelihood: expected,
            prior: prior::expected(q, prior, means, variances, &mut self.regularisers),
            entropy: entropy::bound_and_gradient(q, &mut self.entropy, means, variances),
        }
    }
}

//! The generalised linear model and what it has learned.

use std::ops::Range;

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;

use super::{GlmSettings, Mixture, Prior};
use crate::basis::{Basis, Bound};
use crate::likelihood::GlmLikelihood;
use crate::sgd::Descent;
use crate::{RevrandError, check, lanes};

/// A Bayesian generalised linear model on the features of a basis. Its likelihood is `p(y|φ(x)ᵀw, γ)`, the prior `N(0, λ_part·I)`
/// on the weights of each part of the basis (report (18)-(19)), the posterior a mixture of diagonal Gaussians. Weights, prior
/// variances `λ`, likelihood parameters `γ` and basis parameters `θ` are learned together by stochastic gradients.
///
/// The steps change one unconstrained vector: means, logarithms of variances, and `λ`, `γ`, `θ` each through its [`Bound`]. It is
/// kept with the state of the update rule, so training can continue where it ended, also after storing.
///
/// ```
/// use rand::SeedableRng;
/// use vi_linalg::faer::{Mat, Par};
/// use vi_revrand::basis::{Kernel, LengthScale, RandomFourier};
/// use vi_revrand::glm::{Glm, GlmSettings, Rows};
/// use vi_revrand::likelihood::Gaussian;
///
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let x = Mat::from_fn(60, 1, |i, _| 0.1 * i as f64);
/// let y: Vec<f64> = (0..60).map(|i| f64::sin(0.1 * i as f64)).collect();
/// let basis = RandomFourier::new(Kernel::Rbf, 1, 10, LengthScale::Shared(1.0), rng)?;
/// let mut model = Glm::new(basis, Gaussian::new(0.1)?, GlmSettings::default(), rng)?;
/// let run = model.fit(Rows::new(x.as_ref(), &y), rng)?;
/// assert!(run.trace[9999] > run.trace[0]);
/// let predicted = model.predict(x.as_ref(), None, Par::Seq)?.means(Par::Seq)?;
/// assert!(predicted.iter().zip(&y).all(|(p, y)| (p - y).abs() < 0.3));
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Stored<B, L>")]
#[serde(bound(
    deserialize = "B: Basis + Serialize + Deserialize<'de>, L: GlmLikelihood + Serialize + Deserialize<'de>"
))]
pub struct Glm<B, L> {
    pub(super) basis: B,
    pub(super) likelihood: L,
    pub(super) settings: GlmSettings,
    pub(super) descent: Descent,
    /// Means, log variances, `λ`, `γ`, `θ`, all unconstrained.
    pub(super) free: Vec<f64>,
    /// The fixed draws, once they are made; empty before.
    pub(super) normals: Vec<f64>,
    /// The numbers that follow from `free`.
    pub(super) known: Known,
}

/// The constrained numbers that belong to the unconstrained vector, and its layout.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Known {
    pub(super) posterior: Mixture,
    pub(super) regularisers: Vec<f64>,
    pub(super) parts: Vec<Range<usize>>,
    /// The likelihood's parameters `γ`.
    pub(super) gamma: Vec<f64>,
    /// The parameters of the basis.
    pub(super) theta: Vec<f64>,
    /// The bounds of `λ`, `γ`, `θ`.
    pub(super) bounds: Vec<Bound>,
}

impl Known {
    /// The initial values: prior variances, `γ` and `θ` as in basis and likelihood, and an initial posterior from the settings.
    fn start(basis: &impl Basis, likelihood: &impl GlmLikelihood, components: usize) -> Result<Self, RevrandError> {
        let regularisers = basis.regularisers();
        let dimension = basis.width();
        check::not_empty("features", dimension)?;
        // The means and variances; the entropy compares all pairs of components.
        let numbers = check::room("components", &[components, dimension, 2])? / 2;
        check::room("components", &[components, components])?;
        let parts: Vec<Range<usize>> = regularisers.iter().map(|part| part.features.clone()).collect();
        let variances = regularisers.iter().map(|part| part.variance);
        let parameters: Vec<_> = variances.chain(likelihood.parameters()).chain(basis.parameters()).collect();
        for (index, parameter) in parameters.iter().enumerate() {
            parameter.bound.check(parameter.name, index, parameter.start)?;
        }
        let starts =
            |range: Range<usize>| parameters[range].iter().map(|parameter| parameter.start).collect::<Vec<_>>();
        let (r, g) = (parts.len(), likelihood.parameters().len());
        Ok(Self {
            posterior: Mixture::from_parts(components, vec![0.0; numbers], vec![1.0; numbers]),
            regularisers: starts(0..r),
            gamma: starts(r..r + g),
            theta: starts(r + g..parameters.len()),
            bounds: parameters.iter().map(|parameter| parameter.bound).collect(),
            parts,
        })
    }

    /// The length of the unconstrained vector.
    pub(super) fn len(&self) -> usize {
        2 * self.posterior.means().len() + self.bounds.len()
    }

    /// `λ`, `γ`, `θ`.
    fn hyper(&mut self) -> impl Iterator<Item = &mut f64> {
        self.regularisers.iter_mut().chain(&mut self.gamma).chain(&mut self.theta)
    }

    /// The unconstrained vector of `λ`, `γ`, `θ`.
    fn free_hyper(&mut self) -> Vec<f64> {
        let bounds = self.bounds.clone();
        self.hyper().zip(bounds).map(|(value, bound)| bound.freed(*value)).collect()
    }

    /// Checks that the posterior just read is valid.
    fn check_posterior(&self) -> Result<(), RevrandError> {
        check::results("a mean of the weights", self.posterior.means().iter().copied())?;
        match self.posterior.variances().iter().find(|c| !(**c > 0.0 && c.is_finite())) {
            None => Ok(()),
            Some(&value) => Err(vi_core::Error::Overflow { quantity: "a variance of the weights", value }.into()),
        }
    }

    /// Sets the constrained numbers from the unconstrained vector.
    pub(super) fn read(&mut self, free: &[f64]) {
        let weights = self.posterior.means().len();
        let (means, variances) = self.posterior.parts_mut();
        means.copy_from_slice(&free[..weights]);
        lanes::exp(&free[weights..2 * weights], variances);
        let Self { regularisers, gamma, theta, bounds, .. } = self;
        let values = regularisers.iter_mut().chain(gamma).chain(theta);
        for ((value, bound), free) in values.zip(bounds).zip(&free[2 * weights..]) {
            *value = bound.bounded(*free);
        }
    }
}

impl<B: Basis, L: GlmLikelihood> Glm<B, L> {
    /// A model before training. Prior variances, likelihood and basis parameters have the values of `basis` and `likelihood`;
    /// means are drawn about 0.
    ///
    /// # Errors
    /// `Setting` (no components, an empty batch, no steps, nodes, draws, initial values); [`RevrandError::OutOfBounds`] for an
    /// initial value that is not between its bounds; `Overflow` if initial values times prior variances are not finite.
    pub fn new<R: Rng + ?Sized>(
        basis: B,
        likelihood: L,
        settings: GlmSettings,
        rng: &mut R,
    ) -> Result<Self, RevrandError> {
        settings.check()?;
        let mut known = Known::start(&basis, &likelihood, settings.components)?;
        settings.check_room(basis.width())?;
        let mut free = vec![0.0; known.len()];
        let (d, weights) = (basis.width(), basis.width() * settings.components);
        for (variance, part) in known.regularisers.iter().zip(&known.parts) {
            for k in 0..settings.components {
                for i in part.clone() {
                    let z: f64 = rng.sample(StandardNormal);
                    free[k * d + i] = settings.start_means * variance.sqrt() * z;
                    free[weights + k * d + i] = (settings.start_variances * variance).ln();
                }
            }
        }
        free[2 * weights..].copy_from_slice(&known.free_hyper());
        check::results("the start", free.iter().copied())?;
        known.read(&free);
        known.check_posterior()?;
        let descent = Descent::new(settings.descent(), free.len())?;
        Ok(Self { basis, likelihood, settings, descent, free, normals: Vec::new(), known })
    }

    /// This model with other settings for further training; what it has learned stays. The update rule forgets earlier steps only
    /// if it is replaced by another rule (another rate is the same rule), and fixed draws are made anew for another expectation.
    /// Initial values no longer matter.
    ///
    /// # Errors
    /// Those of [`new`](Self::new) for the settings; `Setting` for another number of components.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_revrand::basis::Linear;
    /// use vi_revrand::glm::{Glm, GlmSettings};
    /// use vi_revrand::likelihood::Bernoulli;
    /// use vi_revrand::sgd::Updater;
    ///
    /// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let model = Glm::new(Linear::new(2)?, Bernoulli, GlmSettings::default(), rng)?;
    /// // A shorter rate to end with.
    /// let finer = GlmSettings { updater: Updater::adam(0.001)?, ..model.settings().clone() };
    /// let model = model.with_settings(finer)?;
    /// let more = GlmSettings { components: 2, ..model.settings().clone() };
    /// assert!(model.with_settings(more).is_err());
    /// # Ok::<(), vi_revrand::RevrandError>(())
    /// ```
    pub fn with_settings(self, settings: GlmSettings) -> Result<Self, RevrandError> {
        settings.check()?;
        if settings.components != self.settings.components {
            let (value, requirement) = (settings.components as f64, "the number that the model has");
            return Err(vi_core::Error::Setting { name: "components", value, requirement }.into());
        }
        settings.check_room(self.basis.width())?;
        let normals = if settings.expectation == self.settings.expectation { self.normals } else { Vec::new() };
        let descent = self.descent.with_settings(settings.descent())?;
        Ok(Self { settings, descent, normals, ..self })
    }

    /// The likelihood, with its learned parameters.
    #[must_use]
    pub fn likelihood(&self) -> &L {
        &self.likelihood
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &GlmSettings {
        &self.settings
    }

    /// The posterior over the weights.
    #[must_use]
    pub fn posterior(&self) -> &Mixture {
        &self.known.posterior
    }

    /// The prior variances `λ`, one for each part of the basis.
    #[must_use]
    pub fn regularisers(&self) -> &[f64] {
        &self.known.regularisers
    }

    /// The basis parameters `θ`.
    #[must_use]
    pub fn basis_parameters(&self) -> &[f64] {
        &self.known.theta
    }

    /// The number of steps taken.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.descent.steps()
    }

    pub(super) fn prior(&self) -> Prior<'_> {
        Prior { variances: &self.known.regularisers, parts: &self.known.parts }
    }
}

/// The stored form.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<B, L> {
    seal: Seal,
    basis: B,
    likelihood: L,
    settings: GlmSettings,
    descent: Descent,
    free: Vec<f64>,
    normals: Vec<f64>,
}

impl<B: Serialize, L: Serialize> Serialize for Glm<B, L> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut stored = Stored {
            seal: Seal::default(),
            basis: &self.basis,
            likelihood: &self.likelihood,
            settings: self.settings.clone(),
            descent: self.descent.clone(),
            free: self.free.clone(),
            normals: self.normals.clone(),
        };
        stored.seal = Seal::of(&stored).map_err(S::Error::custom)?;
        stored.serialize(serializer)
    }
}

impl<B: Basis + Serialize, L: GlmLikelihood + Serialize> TryFrom<Stored<B, L>> for Glm<B, L> {
    type Error = RevrandError;

    fn try_from(mut stored: Stored<B, L>) -> Result<Self, RevrandError> {
        std::mem::take(&mut stored.seal).check(&stored)?;
        let Stored { basis, mut likelihood, settings, descent, free, normals, .. } = stored;
        settings.check()?;
        let mut known = Known::start(&basis, &likelihood, settings.components)?;
        settings.check_room(basis.width())?;
        check::length("free", known.len(), free.len())?;
        check::finite("free", &free)?;
        check::length("the state of the update rule", free.len(), descent.parameters())?;
        let per_component = settings.expectation.normals(0, basis.width());
        let expected = if settings.expectation.is_fixed() { settings.components * per_component } else { 0 };
        if !normals.is_empty() {
            check::length("normals", expected, normals.len())?;
            check::finite("normals", &normals)?;
        }
        known.read(&free);
        known.check_posterior()?;
        likelihood.set_parameters(&known.gamma);
        Ok(Self { basis, likelihood, settings, descent, free, normals, known })
    }
}

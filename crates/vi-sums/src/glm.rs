//! Posteriors of generalised linear models: what the rows have added to the natural parameters of the prior.
//!
//! ```text
//! q(θ) ∝ p₀(θ)·exp(c + ηᵀθ − ½θᵀGθ)       η = Λμ,  G = Λ − Λ₀ = Σ hᵢ·xᵢxᵢᵀ
//! log Z = c + A(η, Λ₀+G) − A(0, Λ₀),      A(η, Λ) = ½ηᵀΛ⁻¹η − ½log|Λ|
//! ```
//!
//! `G`, `η` and `c` are sums over the Gaussian factors that replace the rows' likelihoods, so two posteriors are merged by adding
//! them, and one is removed by subtracting it; the evidence of a merge follows from them too. With the exact factors of a linear
//! model the merge would be exact; here each part chose its factors without knowing the others.

mod newton;
mod one_pass;
mod pass;

pub use newton::Newton;
pub use one_pass::OnePass;
pub use pass::{At, PassSums};

use serde::{Deserialize, Serialize};
use vi_core::NaturalParameters;
use vi_core::batch::InformationGaussian;
use vi_core::{Belief, DenseGaussian, Error, check};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use crate::linear::{check_count, check_inputs, count};
use crate::posterior::check_like;
use crate::{Family, SumsError, packed};

/// The number of entries before the sums in the flat form.
const HEAD: usize = 4;

/// The prior of a generalised linear model: `w_j ~ N(0, s²)`, intercept `~ N(0, κ²)`.
///
/// Scale inputs to about unit size first, or set `scale`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GlmPrior {
    /// The prior standard deviation `s` of each weight.
    pub scale: f64,
    /// The prior standard deviation `κ` of the intercept; 0 for a model without one.
    pub intercept: f64,
}

impl Default for GlmPrior {
    /// The default is `s` = 2.5, `κ` = 10.
    fn default() -> Self {
        Self { scale: 2.5, intercept: 10.0 }
    }
}

impl GlmPrior {
    /// Checks the prior; every function that takes one calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the scale is positive and finite, its square too, and the intercept's not negative.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("scale", self.scale)?;
        check::positive("scale²", self.scale * self.scale)?;
        if self.intercept == 0.0 {
            return Ok(());
        }
        check::positive("intercept", self.intercept)?;
        check::positive("intercept²", self.intercept * self.intercept)
    }

    /// Whether the model has an intercept.
    #[must_use]
    pub(crate) fn has_intercept(&self) -> bool {
        self.intercept > 0.0
    }

    /// The number of parameters of a model with `inputs` inputs.
    pub(crate) fn parameters(&self, inputs: usize) -> usize {
        inputs.saturating_add(usize::from(self.has_intercept()))
    }

    /// The variance of each parameter, that of the intercept first.
    fn variances(&self, inputs: usize) -> impl Iterator<Item = f64> {
        let intercept = self.has_intercept().then_some(self.intercept * self.intercept);
        intercept.into_iter().chain(std::iter::repeat_n(self.scale * self.scale, inputs))
    }

    /// The prior as a belief over the intercept, if there is one, and the weights.
    ///
    /// # Errors
    /// Those of [`check`](Self::check); [`Error::Empty`] for no inputs.
    pub fn belief(&self, inputs: usize) -> Result<DenseGaussian, Error> {
        self.check()?;
        check_inputs(inputs)?;
        let variances: Vec<f64> = self.variances(inputs).collect();
        let m = variances.len();
        let covariance = Mat::from_fn(m, m, |i, j| if i == j { variances[i] } else { 0.0 });
        DenseGaussian::new(&vec![0.0; m], covariance.as_ref())
    }

    /// `−A(0, Λ₀) = ½log|Λ₀|`.
    fn half_log_det(&self, inputs: usize) -> f64 {
        -0.5 * self.variances(inputs).map(f64::ln).sum::<f64>()
    }
}

/// The posterior of a generalised linear model, kept as its prior and the sums of what rows have added to it.
///
/// Its flat form is: rows, skipped rows, runs (passes that were merged), `c`, `η`, the lower triangle of `G` row by row.
///
/// ```
/// use vi_sums::{Family, GlmPrior, OnePass};
/// let mut one = OnePass::new(Family::Logistic, GlmPrior::default(), 1)?;
/// let mut two = one.clone();
/// for (x, y) in [(-1.0, 0.0), (0.3, 1.0), (-0.4, 0.0), (1.5, 1.0)] {
///     one.update(&[x], y)?;
///     two.update(&[x - 0.1], y)?;
/// }
/// let mut both = one.posterior()?;
/// both.merge(&two.posterior()?)?;
/// assert_eq!((both.rows(), both.runs()), (8, 2));
/// assert!(both.belief()?.covariance()[(1, 1)] < one.posterior()?.belief()?.covariance()[(1, 1)]);
/// both.subtract(&two.posterior()?)?;
/// assert_eq!(both.rows(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct GlmPosterior {
    family: Family,
    prior: GlmPrior,
    inputs: usize,
    state: Vec<f64>,
}

impl GlmPosterior {
    /// The posterior before any row, which is the prior.
    ///
    /// # Errors
    /// Those of [`GlmPrior::belief`].
    pub fn new(family: Family, prior: GlmPrior, inputs: usize) -> Result<Self, SumsError> {
        prior.check()?;
        check_inputs(inputs)?;
        let state = vec![0.0; Self::flat_len(prior, inputs)];
        Ok(Self { family, prior, inputs, state })
    }

    /// The posterior that is the Gaussian `belief` (over the intercept, if there is one, and weights) of `rows` rows, with its
    /// log evidence or a bound on it.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NotPositiveDefinite`], [`Error::NonFinite`] for the evidence.
    pub fn of_belief(
        family: Family,
        prior: GlmPrior,
        belief: &DenseGaussian,
        log_evidence: f64,
        (rows, skipped): (u64, u64),
    ) -> Result<Self, SumsError> {
        let inputs = belief.dim() - usize::from(prior.has_intercept()).min(belief.dim());
        let mut posterior = Self::new(family, prior, inputs)?;
        (posterior.state[0], posterior.state[1]) = (rows as f64, skipped as f64);
        if rows == 0 {
            return Ok(posterior);
        }
        check::finite("log evidence", &[log_evidence])?;
        let eta = NaturalParameters::of(belief)?;
        let m = belief.dim();
        posterior.state[2] = 1.0;
        posterior.state[HEAD..HEAD + m].copy_from_slice(&eta.first);
        let start: Vec<f64> = prior.variances(inputs).map(f64::recip).collect();
        for i in 0..m {
            for j in 0..=i {
                let own = if i == j { start[i] } else { 0.0 };
                posterior.state[HEAD + m + packed::len(i) + j] = -2.0 * eta.second[(i, j)] - own;
            }
        }
        posterior.state[3] = log_evidence - (posterior.partition()? + prior.half_log_det(inputs));
        Ok(posterior)
    }

    /// This posterior counted as that of `runs` merged passes.
    pub(crate) fn of_runs(mut self, runs: u64) -> Self {
        if self.state[0] > 0.0 {
            self.state[2] = runs as f64;
        }
        self
    }

    /// The number of floats in the flat form.
    #[must_use]
    pub fn flat_len(prior: GlmPrior, inputs: usize) -> usize {
        let m = prior.parameters(inputs);
        HEAD + m + packed::len(m)
    }

    /// The flat form, which [`from_flat`](Self::from_flat) reads.
    #[must_use]
    pub fn flat(&self) -> &[f64] {
        &self.state
    }

    /// Reads the posterior from its flat form.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Setting`] for invalid counts.
    pub fn from_flat(family: Family, prior: GlmPrior, inputs: usize, flat: &[f64]) -> Result<Self, SumsError> {
        prior.check()?;
        check_inputs(inputs)?;
        check::length("sums", Self::flat_len(prior, inputs), flat.len())?;
        check::finite("sums", flat)?;
        check_count("rows", flat[0])?;
        check_count("skipped", flat[1])?;
        check_count("runs", flat[2])?;
        Ok(Self { family, prior, inputs, state: flat.to_vec() })
    }

    /// The family of the labels.
    #[must_use]
    pub fn family(&self) -> Family {
        self.family
    }

    /// The prior of the model.
    #[must_use]
    pub fn prior(&self) -> &GlmPrior {
        &self.prior
    }

    /// The number `d` of inputs.
    #[must_use]
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u64 {
        count(self.state[0])
    }

    /// The number of rows that were left out.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        count(self.state[1])
    }

    /// The number of passes from the prior that were merged.
    #[must_use]
    pub fn runs(&self) -> u64 {
        count(self.state[2])
    }

    /// Adds what the rows of another posterior have added to the same prior.
    ///
    /// # Errors
    /// [`SumsError::Unlike`]; [`Error::Overflow`].
    pub fn merge(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        let sum = |(a, b): (&f64, &f64)| a + b;
        check::results("sum", self.state.iter().zip(&other.state).map(sum))?;
        for (entry, more) in self.state.iter_mut().zip(&other.state) {
            *entry += more;
        }
        Ok(())
    }

    /// Removes what the rows of another posterior have added: the factors of these rows as they are in `other`.
    ///
    /// # Errors
    /// [`SumsError::Unlike`]; [`SumsError::NotContained`] if what is left cannot be a sum of factors.
    pub fn subtract(&mut self, other: &Self) -> Result<(), SumsError> {
        self.check_like(other)?;
        if other.state[..3].iter().zip(&self.state).any(|(part, whole)| part > whole) {
            return Err(SumsError::NotContained { what: "it has more rows" });
        }
        let m = self.prior.parameters(self.inputs);
        let mut next: Vec<f64> = self.state.iter().zip(&other.state).map(|(a, b)| a - b).collect();
        packed::settle(&mut next[HEAD + m..], &self.state[HEAD + m..], m)?;
        if next[0] == 0.0 {
            if next[HEAD + m..].iter().any(|entry| *entry != 0.0) {
                return Err(SumsError::NotContained { what: "as many rows, but others" });
            }
            next[2..].fill(0.0);
        } else if next[2] < 1.0 {
            // If rows of one pass are removed from it, what is left is still one pass.
            next[2] = 1.0;
        }
        self.state = next;
        Ok(())
    }

    fn check_like(&self, other: &Self) -> Result<(), SumsError> {
        check_like("family", &self.family, &other.family)?;
        check_like("number of inputs", &self.inputs, &other.inputs)?;
        check_like("prior", &self.prior, &other.prior)
    }

    fn natural(&self) -> NaturalParameters {
        let m = self.prior.parameters(self.inputs);
        let (first, gain) = self.state[HEAD..].split_at(m);
        let start: Vec<f64> = self.prior.variances(self.inputs).map(f64::recip).collect();
        let entry = |i: usize, j: usize| gain[packed::len(i.max(j)) + i.min(j)] + if i == j { start[i] } else { 0.0 };
        NaturalParameters { first: first.to_vec(), second: Mat::from_fn(m, m, |i, j| -0.5 * entry(i, j)) }
    }

    /// `A(η, Λ₀+G)`.
    fn partition(&self) -> Result<f64, Error> {
        let m = self.prior.parameters(self.inputs);
        Ok(self.natural().log_partition()? - m as f64 * vi_core::special::HALF_LN_2PI)
    }

    /// The posterior as a Gaussian over the intercept (first, if there is one) and the weights. Cost `d³`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub fn belief(&self) -> Result<DenseGaussian, SumsError> {
        if self.state[0] == 0.0 {
            return Ok(self.prior.belief(self.inputs)?);
        }
        Ok(self.natural().to_belief()?)
    }

    /// The posterior as a Gaussian given by its precision. Cost `2d³/3`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub(crate) fn information(&self) -> Result<InformationGaussian, SumsError> {
        let NaturalParameters { first, second } = self.natural();
        let m = first.len();
        let precision = Mat::from_fn(m, m, |i, j| -2.0 * second[(i, j)]);
        let mut mean = first;
        Cholesky::new(precision.as_ref())?.solve_vec_in_place(&mut mean)?;
        Ok(InformationGaussian::new(mean, precision)?)
    }

    /// The log evidence `log Z` in nats that follows from the factors: for a single pass the sum of its log predictive densities,
    /// for a batch optimum its bound, for a merge that of the product of the factors.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::Overflow`].
    pub fn log_evidence(&self) -> Result<f64, SumsError> {
        if self.state[0] == 0.0 {
            return Ok(0.0);
        }
        Ok(check::result("log evidence", self.state[3] + self.partition()? + self.prior.half_log_det(self.inputs))?)
    }
}

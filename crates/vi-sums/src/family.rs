//! The families of labels whose posteriors can be summed.

use vi_core::filter::{self, Scratch, StepInfo};
use vi_core::{DenseGaussian, Error, GaussianExpectation, Likelihood, MomentMatching, batch};
use vi_linalg::faer::{MatRef, Par};
use vi_models::likelihood::NegativeBinomial;

/// The distribution of a label, given the linear predictor `t`.
///
/// ```
/// use vi_sums::Family;
/// assert_eq!(Family::Poisson.name(), "poisson");
/// assert!(Family::negative_binomial(0.0).is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Family {
    /// A label 0 or 1, with probability `s(t) = 1/(1 + e⁻ᵗ)` of 1.
    Logistic,
    /// A label 0 or 1, with probability `Φ(t)` of 1.
    Probit,
    /// A count with mean `eᵗ`.
    Poisson,
    /// A count with mean `m = eᵗ` and variance `m + m²/r`.
    NegativeBinomial(NegativeBinomial),
}

/// Calls `$body` with the likelihood of a family, whatever its type.
macro_rules! with_likelihood {
    ($family:expr, $likelihood:ident => $body:expr) => {
        match $family {
            $crate::Family::Logistic => {
                let $likelihood = vi_core::BernoulliLogit(vi_core::Mixture8);
                $body
            }
            $crate::Family::Probit => {
                let $likelihood = vi_models::likelihood::BernoulliProbit;
                $body
            }
            $crate::Family::Poisson => {
                let $likelihood = vi_models::likelihood::Poisson::default();
                $body
            }
            $crate::Family::NegativeBinomial($likelihood) => $body,
        }
    };
}

impl Family {
    /// The negative binomial of size `r`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `r` is positive and finite.
    pub fn negative_binomial(size: f64) -> Result<Self, Error> {
        Ok(Self::NegativeBinomial(NegativeBinomial::new(size)?))
    }

    /// The name of the family in a description of a model.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Logistic => "logistic",
            Self::Probit => "probit",
            Self::Poisson => "poisson",
            Self::NegativeBinomial(_) => "negative_binomial",
        }
    }

    /// The code and the parameter of the stored form.
    pub(crate) fn to_code(self) -> (u32, f64) {
        match self {
            Self::Logistic => (1, 0.0),
            Self::Probit => (2, 0.0),
            Self::Poisson => (3, 0.0),
            Self::NegativeBinomial(counts) => (4, counts.size()),
        }
    }

    pub(crate) fn from_code(code: u32, parameter: f64) -> Result<Self, Error> {
        // The bits are kept: what was read is written again unchanged.
        match (code, parameter.to_bits()) {
            (1, 0) => Ok(Self::Logistic),
            (2, 0) => Ok(Self::Probit),
            (3, 0) => Ok(Self::Poisson),
            (4, _) => Self::negative_binomial(parameter),
            _ => {
                Err(Error::Setting { name: "family", value: f64::from(code), requirement: "a family of this version" })
            }
        }
    }

    /// Checks a label.
    ///
    /// # Errors
    /// [`Error::Label`], [`Error::NonFinite`].
    pub(crate) fn check_label(self, y: f64) -> Result<(), Error> {
        with_likelihood!(self, likelihood => likelihood.check_label(y))
    }

    /// Makes one step of the filter, by moment matching.
    pub(crate) fn step(
        self,
        belief: &mut DenseGaussian,
        x: &[f64],
        y: f64,
        scratch: &mut Scratch<DenseGaussian>,
    ) -> Result<StepInfo, Error> {
        with_likelihood!(self, likelihood => filter::step(belief, &MomentMatching(likelihood), x, y, scratch))
    }

    /// The log predictive density `log E[p(y|t)]`, `t ~ N(a, ν)`.
    pub(crate) fn log_predictive(self, y: f64, a: f64, nu: f64) -> f64 {
        with_likelihood!(self, likelihood => likelihood.log_predictive(y, a, nu))
    }

    /// The statistics of the batch optimum.
    pub(crate) fn statistics(
        self,
        q: &batch::InformationGaussian,
        x: MatRef<'_, f64>,
        y: &[f64],
    ) -> Result<batch::Statistics, Error> {
        with_likelihood!(self, likelihood => batch::Statistics::at(q, x, y, &likelihood, Par::Seq))
    }
}

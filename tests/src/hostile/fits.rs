//! The fits that can be stored as documents, behind one type.

use serde::de::DeserializeOwned;
use vi_linalg::faer::{MatRef, Par};
use vi_models::vb::{VbLinear, VbLogit};
use vi_revrand::basis::Linear;
use vi_revrand::likelihood::{Bernoulli, Poisson};
use vi_revrand::{Glm, Slm};

use super::examples::Failure;

/// A fit of any kind.
#[derive(Debug, Clone)]
pub enum AnyFit {
    /// Linear regression.
    VbLinear(VbLinear),
    /// Logistic regression.
    VbLogit(VbLogit),
    /// A linear model of random features.
    Slm(Box<Slm>),
    /// Counts by stochastic gradients.
    GlmCounts(Box<Glm<Linear, Poisson>>),
    /// Classes by stochastic gradients.
    GlmClasses(Box<Glm<Linear, Bernoulli>>),
}

/// Does the same with the fit inside.
macro_rules! each {
    ($any:expr, $fit:ident => $do:expr) => {
        match $any {
            AnyFit::VbLinear($fit) => $do,
            AnyFit::VbLogit($fit) => $do,
            AnyFit::Slm($fit) => $do,
            AnyFit::GlmCounts($fit) => $do,
            AnyFit::GlmClasses($fit) => $do,
        }
    };
}

impl AnyFit {
    /// How many kinds there are.
    pub const KINDS: usize = 5;

    /// The kind's number.
    #[must_use]
    pub fn kind(&self) -> usize {
        match self {
            Self::VbLinear(_) => 0,
            Self::VbLogit(_) => 1,
            Self::Slm(_) => 2,
            Self::GlmCounts(_) => 3,
            Self::GlmClasses(_) => 4,
        }
    }

    /// The fit as a document.
    ///
    /// # Errors
    /// What `serde_json` says of a fit that cannot be stored.
    pub fn text(&self) -> Result<String, serde_json::Error> {
        each!(self, fit => serde_json::to_string(fit))
    }

    /// The fit of kind `kind` in a document.
    ///
    /// # Errors
    /// What `serde_json` says.
    pub fn read(kind: usize, text: &str) -> Result<Self, serde_json::Error> {
        fn boxed<T: DeserializeOwned>(text: &str) -> Result<Box<T>, serde_json::Error> {
            serde_json::from_str(text).map(Box::new)
        }
        Ok(match kind {
            0 => Self::VbLinear(serde_json::from_str(text)?),
            1 => Self::VbLogit(serde_json::from_str(text)?),
            2 => Self::Slm(boxed(text)?),
            3 => Self::GlmCounts(boxed(text)?),
            _ => Self::GlmClasses(boxed(text)?),
        })
    }

    /// The expected label at a row.
    ///
    /// # Errors
    /// Those of the fit.
    pub fn predict(&self, row: &[f64]) -> Result<Vec<f64>, Failure> {
        let x = MatRef::from_row_major_slice(row, 1, row.len());
        Ok(match self {
            Self::VbLinear(fit) => fit.predict(row)?.iter().map(|seen| seen.mean).collect(),
            Self::VbLogit(fit) => fit.predict(row)?.iter().map(|seen| seen.probability).collect(),
            Self::Slm(fit) => fit.predict(x, Par::Seq)?.iter().map(|seen| seen.mean).collect(),
            Self::GlmCounts(fit) => fit.predict(x, None, Par::Seq)?.means(Par::Seq)?,
            Self::GlmClasses(fit) => fit.predict(x, None, Par::Seq)?.means(Par::Seq)?,
        })
    }
}

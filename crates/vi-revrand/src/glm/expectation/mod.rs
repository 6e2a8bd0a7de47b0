//! The ways to compute `E_q log p(y|f)`: by a Taylor series, a quadrature, or draws.
//!
//! A row sees the weights only through `f = φᵀw`, which under component `k` is `N(a, v)` with `a = φᵀmₖ`, `v = Σ φᵢ²Cₖᵢ`. So all
//! but one of the ways below take two numbers and return three, the expectation and its derivatives by `a` and `v`; the gradients
//! in means, variances and features follow from these by two products. [`Expectation::Weights`] draws the weights themselves.

mod local;
mod weights;

use serde::{Deserialize, Serialize};

pub(super) use local::{Labels, Local, Moments};
pub(super) use weights::{Component, Draws};

use crate::{RevrandError, check};

/// How the expected log-likelihood is computed.
///
/// | | value | evaluations of the likelihood a step |
/// |---|---|---|
/// | `SecondOrder` | exact for Gaussian noise; else biased, and no longer a bound | `M·K` |
/// | `Quadrature` | exact for smooth likelihoods; only batches add noise | `M·K·nodes` |
/// | `Predictors` | unbiased, of lower variance than `Weights` | `M·K·draws` |
/// | `Weights` | unbiased | `M·K·draws`, and `D·K·draws` normal draws |
///
/// with `M` rows in a batch and `K` components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Expectation {
    /// `log p(y|a) + ½v·(log p)″(a)`: the second-order Taylor series of (21)-(22). Its gradient has third derivatives.
    SecondOrder,
    /// Gauss-Hermite quadrature.
    Quadrature {
        /// The number of nodes, from 1 to [`Expectation::MOST_NODES`].
        nodes: usize,
    },
    /// `f = a + √v·ε` with standard normal `ε` for each row and component (Kingma, Salimans and Welling 2015): the same
    /// expectation as `Weights`, and a gradient of lower variance.
    Predictors {
        /// The number of draws for each row and component.
        draws: usize,
        /// Whether the draws are kept.
        kept: Kept,
    },
    /// `w = m + √C∘ε` with standard normal `ε` for each component, shared by the rows of a batch: what version 1.0 of the
    /// published library does.
    Weights {
        /// The number of draws for each component.
        draws: usize,
        /// Whether the draws are kept.
        kept: Kept,
    },
}

/// Whether draws are kept from step to step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kept {
    /// New draws at every step: gradients are unbiased.
    Fresh,
    /// Draws made once: the objective is a fixed function, biased by its draws.
    Fixed,
}

impl Expectation {
    /// The most nodes of [`Expectation::Quadrature`].
    pub const MOST_NODES: usize = 64;

    /// Checks the number of nodes or draws.
    ///
    /// # Errors
    /// `Setting`.
    pub(super) fn check(self) -> Result<(), RevrandError> {
        let (name, count, most, requirement) = match self {
            Self::SecondOrder => return Ok(()),
            Self::Quadrature { nodes } => ("nodes", nodes, Self::MOST_NODES, "from 1 to 64"),
            Self::Predictors { draws, .. } | Self::Weights { draws, .. } => ("draws", draws, usize::MAX, "at least 1"),
        };
        if (1..=most).contains(&count) {
            Ok(())
        } else {
            Err(vi_core::Error::Setting { name, value: count as f64, requirement }.into())
        }
    }

    /// Checks that memory holds the draws of `components` components for a batch of `rows` rows and `dimension` weights.
    ///
    /// # Errors
    /// `Setting`.
    pub(super) fn check_room(self, components: usize, rows: usize, dimension: usize) -> Result<(), RevrandError> {
        match self {
            Self::SecondOrder | Self::Quadrature { .. } => Ok(()),
            Self::Predictors { draws, .. } | Self::Weights { draws, .. } => {
                check::room("draws", &[draws, components, rows.max(dimension)])?;
                Ok(())
            }
        }
    }

    /// The number of standard normal variates for one component, for a batch of `rows` rows and `dimension` weights.
    pub(super) fn normals(self, rows: usize, dimension: usize) -> usize {
        match self {
            Self::SecondOrder | Self::Quadrature { .. } => 0,
            Self::Predictors { draws, kept: Kept::Fresh } => rows.saturating_mul(draws),
            // The same for every row, since batches differ in size.
            Self::Predictors { draws, kept: Kept::Fixed } => draws,
            Self::Weights { draws, .. } => draws.saturating_mul(dimension),
        }
    }

    /// Whether the draws are made once.
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Self::Predictors { kept: Kept::Fixed, .. } | Self::Weights { kept: Kept::Fixed, .. })
    }
}

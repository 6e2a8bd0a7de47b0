//! Fit and predict on plain slices: rows one after another, an intercept and units taken care of.

mod advice;
mod linear;
mod logit;
mod scaling;

pub use linear::{VbLinear, VbLinearSettings};
pub use logit::{VbLogit, VbLogitSettings};

use serde::{Deserialize, Serialize};

use super::VbInfo;

/// How a fit from plain slices went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitInfo {
    /// How the iterations went.
    pub iterations: VbInfo,
    /// What to do about it, in a line.
    pub advice: String,
}

/// The weights in the units of the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Coefficients {
    /// The mean of the intercept; 0 without one.
    pub intercept: f64,
    /// The means of the weights, one for each column.
    pub weights: Vec<f64>,
    /// The standard deviations of the weights.
    pub standard_deviations: Vec<f64>,
}

//! Fit and predict on plain slices: rows one after another, an intercept and units taken care of.

mod advice;
mod linear;
mod logit;
mod scaling;
mod stored;

pub use linear::{VbLinear, VbLinearSettings};
pub use logit::{VbLogit, VbLogitSettings};

use serde::{Deserialize, Serialize};
use vi_core::Error;

use self::scaling::Scaling;
use super::VbInfo;
use crate::online::Draw;

/// How a fit from plain slices went.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitInfo {
    /// How the iterations went; its `condition` is that of the posterior precision, shrinkage included.
    pub iterations: VbInfo,
    /// Columns of one value only (of zeros, without an intercept): centred, not scaled.
    pub constant_columns: Vec<usize>,
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
    /// The standard deviations of the weights; infinite for a linear fit to one or two rows, whose noise has no variance.
    pub standard_deviations: Vec<f64>,
}

impl Coefficients {
    /// `deviations` are infinite, rightly, where the noise has no variance.
    ///
    /// # Errors
    /// `Overflow` where a weight in the units of the data is no float.
    fn check(&self, deviations: bool) -> Result<(), Error> {
        let deviations = self.standard_deviations.iter().filter(|_| deviations);
        let all = self.weights.iter().chain(deviations).chain(std::iter::once(&self.intercept));
        match all.copied().find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Error::Overflow { quantity: "a weight in the units of the data", value }),
        }
    }
}

/// Weights of scaled columns in the units of the data, the target's being `unit`; `centre` is the predictor at the centre of the columns.
///
/// # Errors
/// `Overflow` where one is no float.
fn drawn(centre: f64, unit: f64, weights: impl Iterator<Item = f64>, scaling: &Scaling) -> Result<Draw, Error> {
    let weights: Vec<f64> = weights.zip(&scaling.scales).map(|(weight, scale)| weight * (unit / scale)).collect();
    let shift: f64 = weights.iter().zip(&scaling.centres).map(|(weight, centre)| weight * centre).sum();
    let intercept = centre - shift;
    let broken = weights.iter().chain([&intercept]).copied().find(|value| !value.is_finite());
    match broken {
        None => Ok(Draw { intercept, weights }),
        Some(value) => Err(Error::Overflow { quantity: "a drawn weight in the units of the data", value }),
    }
}

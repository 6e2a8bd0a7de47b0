//! Fit and predict on plain slices: rows one after another, an intercept and units taken care of.

#[macro_use]
mod numbers;

mod advice;
mod collinear;
mod linear;
mod logit;
mod posterior;
mod scaling;
mod sparse;
mod stored;

pub use linear::{VbLinear, VbLinearSettings};
pub use logit::{VbLogit, VbLogitSettings};
pub use sparse::{VbSparse, VbSparseSettings};

use serde::{Deserialize, Serialize};
use vi_core::Error;

use self::collinear::Collinearity;
use self::scaling::Scaling;
use super::VbInfo;
use crate::online::Draw;

/// How a fit from plain slices went.
///
/// ```
/// use vi_models::vb::{VbLinear, VbLinearSettings};
/// // The third column is twice the first.
/// let x = [1.0, 5.0, 2.0, 2.0, 3.0, 4.0, 3.0, 9.0, 6.0, 4.0, 1.0, 8.0, 5.0, 4.0, 10.0];
/// let model = VbLinear::fit(&x, 3, &[23.1, 25.9, 29.0, 32.2, 34.8], &VbLinearSettings::default())?;
/// let info = model.info();
/// assert_eq!((info.design_condition, &info.collinear_columns[..]), (f64::INFINITY, &[0, 2][..]));
/// println!("{}", info.advice);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitInfo {
    /// How the iterations went; its `condition` is that of the posterior precision, shrinkage included.
    pub iterations: VbInfo,
    /// `λ_max/λ_min` of `XᵀX`, the columns as the fit sees them (an intercept of its own included) but of unit length, those of zeros and
    /// the constant ones left out: no shrinkage in it. Infinite beyond `1/(dε)`, and where there are more columns than the rows can
    /// tell apart.
    #[serde(with = "infinite")]
    pub design_condition: f64,
    /// The columns that make `design_condition` exceed 10⁸: those with a part in the directions that the rows hardly see. Empty where
    /// there are more columns than the rows can tell apart, as all have.
    pub collinear_columns: Vec<usize>,
    /// Columns of one value only (of zeros, without an intercept): centred, not scaled.
    pub constant_columns: Vec<usize>,
    /// PSIS `k̂` of the weights' posterior, that of the last [`VbLogit::diagnose`]: see [`metrics::psis`](crate::metrics::psis). A stored
    /// model does not keep it.
    #[serde(skip)]
    pub k_hat: Option<f64>,
    /// The share of its draws that the reweighted ones were worth. A stored model does not keep it.
    #[serde(skip)]
    pub effective_share: Option<f64>,
    /// What to do about it, in a line.
    pub advice: String,
}

impl FitInfo {
    fn new(iterations: &VbInfo, design: Collinearity, columns: &Scaling, advice: String) -> Self {
        Self {
            iterations: iterations.clone(),
            design_condition: design.condition,
            collinear_columns: design.columns,
            constant_columns: columns.constant.clone(),
            k_hat: None,
            effective_share: None,
            advice,
        }
    }
}

/// An infinite number as nothing: not every format has one.
mod infinite {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands out references")]
    pub(super) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.is_finite().then_some(*value).serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(deserializer)?.unwrap_or(f64::INFINITY))
    }
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

//! Fitting and predicting with plain slices: rows one after another, with an intercept and units taken care of.

mod advice;
mod collinear;
mod horseshoe;
mod linear;
mod logit;
mod posterior;
mod scaling;
mod stored;

pub use horseshoe::{DrawnProbability, HorseshoeInfo, HorseshoeLinear, HorseshoeLogit, HorseshoeSettings};
pub use linear::{VbLinear, VbLinearSettings};
pub use logit::{VbLogit, VbLogitSettings};

use serde::{Deserialize, Serialize};
use vi_core::Error;

use self::collinear::Collinearity;
use self::scaling::Scaling;
use super::VbInfo;
use crate::online::Draw;

/// A report of a fit from plain slices, with advice.
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
    /// The report of the iterations; its `condition` is that of the posterior precision, shrinkage included.
    pub iterations: VbInfo,
    /// The condition number `λ_max/λ_min` of `XᵀX`, without shrinkage, for the columns as the fit sees them (an intercept of its
    /// own included), scaled to unit length, without columns of zeros and constant ones. Infinite beyond `1/(dε)`, and if there
    /// are more columns than the rows can distinguish.
    #[serde(with = "infinite")]
    pub design_condition: f64,
    /// The columns that make `design_condition` exceed 10⁸: those with a part in the directions that hardly occur in the rows.
    /// Empty if there are more columns than the rows can distinguish, since all are then involved.
    pub collinear_columns: Vec<usize>,
    /// Columns with a single value (or with zeros only, without an intercept): they are centred, not scaled.
    pub constant_columns: Vec<usize>,
    /// PSIS `k̂` of the weights' posterior, from the last [`VbLogit::diagnose`]: see [`metrics::psis`](crate::metrics::psis). It
    /// is not stored with the model.
    #[serde(skip)]
    pub k_hat: Option<f64>,
    /// The effective sample size of the reweighted draws as a share of their number. It is not stored with the model.
    #[serde(skip)]
    pub effective_share: Option<f64>,
    /// Advice on what to do next, in one line.
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

/// Stores an infinite number as `None`, since not every format has infinities.
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
    /// Checks that the numbers are finite; `deviations` may be infinite if the noise has no variance.
    ///
    /// # Errors
    /// `Overflow` if a weight in the units of the data is not finite.
    fn check(&self, deviations: bool) -> Result<(), Error> {
        let deviations = self.standard_deviations.iter().filter(|_| deviations);
        let all = self.weights.iter().chain(deviations).chain(std::iter::once(&self.intercept));
        match all.copied().find(|value| !value.is_finite()) {
            None => Ok(()),
            Some(value) => Err(Error::Overflow { quantity: "a weight in the units of the data", value }),
        }
    }
}

/// Converts weights of scaled columns to the units of the data; `unit` is that of the target, `centre` the predictor at the
/// centre of the columns.
///
/// # Errors
/// `Overflow` if a weight is not finite.
fn drawn(centre: f64, unit: f64, weights: impl Iterator<Item = f64>, scaling: &Scaling) -> Result<Draw, Error> {
    let weights: Vec<f64> = weights.zip(&scaling.scales).map(|(weight, scale)| weight * (unit / scale)).collect();
    let shift: f64 = weights.iter().zip(&scaling.centres).map(|(weight, centre)| weight * centre).sum();
    let intercept = centre - shift;
    let broken = weights.iter().chain([&intercept]).copied().find(|value| !value.is_finite());
    match broken {
        None => Ok(Draw { intercept, weights, noise: None }),
        Some(value) => Err(Error::Overflow { quantity: "a drawn weight in the units of the data", value }),
    }
}

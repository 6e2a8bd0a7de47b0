//! The stored form of a weight distribution: plain numbers, checked when read.

use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use super::{Form, WeightDistribution};
use crate::{ModelError, check};

#[derive(Serialize, Deserialize)]
pub(super) struct Stored {
    mean: Vec<f64>,
    log_det: f64,
    energy: f64,
    form: StoredForm,
}

#[derive(Serialize, Deserialize)]
enum StoredForm {
    /// The lower triangle of the factor, by columns.
    Primal { factor: Vec<f64> },
    /// The variances, and the rows of `Z` by columns.
    Dual { variances: Vec<f64>, loss: Vec<f64> },
}

impl From<WeightDistribution> for Stored {
    fn from(weights: WeightDistribution) -> Self {
        let form = match weights.form {
            Form::Primal(precision) => {
                let factor = precision.factor();
                let d = factor.nrows();
                StoredForm::Primal { factor: (0..d).flat_map(|j| (j..d).map(move |i| factor[(i, j)])).collect() }
            }
            Form::Dual { variances, loss } => {
                let (n, d) = loss.shape();
                let loss = (0..d).flat_map(|j| (0..n).map(move |i| (i, j))).map(|at| loss[at]).collect();
                StoredForm::Dual { variances, loss }
            }
        };
        Self { mean: weights.mean, log_det: weights.log_det, energy: weights.energy, form }
    }
}

impl TryFrom<Stored> for WeightDistribution {
    type Error = ModelError;

    fn try_from(stored: Stored) -> Result<Self, ModelError> {
        let Stored { mean, log_det, energy, form } = stored;
        let d = mean.len();
        check::values("mean", &mean)?;
        check::values("log_det and energy", &[log_det, energy])?;
        let form = match form {
            StoredForm::Primal { factor } => {
                check::length("factor", d * (d + 1) / 2, factor.len())?;
                let mut lower = Mat::zeros(d, d);
                let mut values = factor.iter();
                for j in 0..d {
                    for (i, value) in (j..d).zip(&mut values) {
                        lower[(i, j)] = *value;
                    }
                }
                Form::Primal(Cholesky::from_factor(lower)?)
            }
            StoredForm::Dual { variances, loss } => {
                check::length("variances", d, variances.len())?;
                check::values("variances", &variances)?;
                check::values("loss", &loss)?;
                if let Some(index) = variances.iter().position(|&variance| variance <= 0.0) {
                    let requirement = "positive";
                    return Err(
                        Error::Entry { argument: "variances", index, value: variances[index], requirement }.into()
                    );
                }
                let n = loss.len() / d;
                check::length("loss", n * d, loss.len())?;
                Form::Dual { variances, loss: Mat::from_fn(n, d, |i, j| loss[j * n + i]) }
            }
        };
        Ok(Self { mean, log_det, energy, form })
    }
}

//! Linear regression with few columns that matter, on plain slices.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::Par;

use super::posterior::LinearPosterior;
use super::scaling::{ScaledRegression, Scaling};
use super::{Coefficients, FitInfo, advice};
use crate::ModelError;
use crate::online::Draw;
use crate::vb::sparse::{SparseFit, check_stop, fit};
use crate::vb::{LinearPrior, StudentPrediction, VbSettings};

/// The settings of [`VbSparse`]; start from [`default`](Self::default).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VbSparseSettings {
    /// Whether there is an intercept, with a flat prior, integrated out exactly: predictions then do not depend on where 0 is.
    pub intercept: bool,
    /// Whether columns and `y` are first scaled to unit size, so that one slab suits all columns.
    pub standardise: bool,
    /// The prior of the noise, `a₀` and `b₀`; the shrinkage's `c₀` and `d₀` are not used.
    pub prior: LinearPrior,
    /// When to stop: the tolerance is on the weights, in standard errors.
    pub stop: VbSettings,
}

impl Default for VbSparseSettings {
    /// The default is an intercept, standardisation, the vague prior of the noise, and iteration to convergence.
    fn default() -> Self {
        Self { intercept: true, standardise: true, prior: LinearPrior::default(), stop: VbSettings::default() }
    }
}

impl VbSparseSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting`, as [`VbSettings::check`], and for the authors' stopping rule.
    pub fn check(&self) -> Result<(), ModelError> {
        check_stop(&self.stop).map(drop)
    }
}

/// A linear regression with unknown noise that finds the few columns that matter, fitted to rows in a plain slice.
///
/// It suits many columns, even more than rows: each weight is either 0 or not (see
/// [`linear_sparse`](super::super::linear_sparse)). If all columns matter a little, [`VbLinear`](super::VbLinear) predicts
/// better.
///
/// ```
/// use vi_models::vb::{VbSparse, VbSparseSettings};
///
/// // 12 rows of 20 columns; y ≈ 5 + 2·x₇.
/// let x: Vec<f64> = (0..12 * 20).map(|k| ((k * k + 3 * k) as f64).sin()).collect();
/// let y: Vec<f64> = (0..12).map(|i| 5.0 + 2.0 * x[20 * i + 7] + 0.05 * (i as f64).cos()).collect();
/// let model = VbSparse::fit(&x, 20, &y, &VbSparseSettings::default())?;
/// assert!(model.inclusion()[7] > 0.9);
/// assert!((model.coefficients().weights[7] - 2.0).abs() < 0.2);
/// let predicted = model.predict(&x[..20])?;
/// assert!(predicted[0].interval(0.9)?.contains(y[0]));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "super::stored::StoredNumber<VbSparseSettings, SparseFit>")]
pub struct VbSparse {
    pub(super) settings: VbSparseSettings,
    pub(super) rows: usize,
    pub(super) scaling: Scaling,
    pub(super) target: Scaling,
    pub(super) fit: SparseFit,
    pub(super) info: FitInfo,
}

impl VbSparse {
    /// Fits `y` (length `n`) to the rows of `x`: `n` rows of `columns` numbers, one after another.
    ///
    /// It costs as much as [`linear_sparse`](super::super::linear_sparse), a copy of the rows, and the eigenvalues of the
    /// columns' Gram matrix for [`FitInfo`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` (`columns = 0`, the authors' stopping rule), `Empty`, `Dimension` (length of `x` or
    /// `y`), `Row` with `NonFinite`, `Overflow`, `NotPositiveDefinite`.
    pub fn fit(x: &[f64], columns: usize, y: &[f64], settings: &VbSparseSettings) -> Result<Self, ModelError> {
        let VbSparseSettings { intercept, standardise, prior, stop } = *settings;
        let data = ScaledRegression::new(x, columns, y, intercept, standardise)?;
        let observations = data.observations as f64;
        let fit = fit(data.x.as_ref(), &data.y, observations, prior, &stop, Par::Seq)?;
        let design = data.collinearity()?;
        let line = advice::sparse(fit.info(), fit.inclusion().iter().sum(), observations);
        let advice = line.unwrap_or_else(|| advice::NOTHING.to_owned());
        let info = FitInfo::new(fit.info(), design, &data.columns, advice);
        let model = Self { settings: *settings, rows: y.len(), scaling: data.columns, target: data.target, fit, info };
        model.coefficients().check(model.fit.noise().mean_inverse().is_finite())?;
        Ok(model)
    }

    /// For each column the probability that its weight is not 0.
    #[must_use]
    pub fn inclusion(&self) -> &[f64] {
        self.fit.inclusion()
    }
}

fitted_numbers!(VbSparse, VbSparseSettings, SparseFit);

//! Linear regression on plain slices.

use rand::Rng;
use rand_distr::{Distribution, Gamma, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{MatRef, Par};

use super::super::linear::{LinearFit, StudentPrediction, fit};
use super::super::{LinearPrior, Relevance, VbSettings};
use super::collinear::Collinearity;
use super::scaling::{Scaling, rows};
use super::{Coefficients, FitInfo, advice, drawn};
use crate::online::Draw;
use crate::{ModelError, check};

/// How [`VbLinear`] fits; start from [`default`](Self::default).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct VbLinearSettings {
    /// A shrinkage for each column (relevance determination) instead of one for all.
    pub ard: bool,
    /// An intercept with a flat prior, integrated out exactly: predictions do not depend on where 0 is.
    pub intercept: bool,
    /// Columns and `y` brought to unit scale first: predictions do not depend on units, and the hyper-priors are about scaled data.
    pub standardise: bool,
    /// The hyper-priors.
    pub prior: LinearPrior,
    /// When to stop.
    pub stop: VbSettings,
}

impl Default for VbLinearSettings {
    /// One shrinkage, an intercept, standardised, the authors' hyper-priors, iterated to convergence.
    fn default() -> Self {
        Self {
            ard: false,
            intercept: true,
            standardise: true,
            prior: LinearPrior::default(),
            stop: VbSettings::default(),
        }
    }
}

/// A linear regression with unknown noise and shrinkage, fitted to rows in a plain slice.
///
/// ```
/// use vi_models::vb::{VbLinear, VbLinearSettings};
///
/// // y ≈ 20 + 3·x₁, two columns.
/// let x = [1.0, 5.0, 2.0, 3.0, 3.0, 9.0, 4.0, 1.0, 5.0, 4.0];
/// let y = [23.1, 25.9, 29.0, 32.2, 34.8];
/// let model = VbLinear::fit(&x, 2, &y, VbLinearSettings::default())?;
/// let predicted = model.predict(&[6.0, 2.0])?;
/// assert!(predicted[0].interval(0.9)?.contains(38.0));
/// assert!((model.coefficients().weights[0] - 3.0).abs() < 0.2);
/// println!("{}", model.info().advice);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "super::stored::StoredLinear")]
pub struct VbLinear {
    pub(super) settings: VbLinearSettings,
    pub(super) rows: usize,
    pub(super) scaling: Scaling,
    pub(super) target: Scaling,
    pub(super) fit: LinearFit,
    pub(super) info: FitInfo,
}

impl VbLinear {
    /// Fits `y` (length `n`) to the rows of `x`: `n` rows of `columns` numbers, one after another.
    ///
    /// Cost that of [`linear`](super::super::linear()) or [`linear_ard`](super::super::linear_ard) and a copy of the rows, and the eigenvalues of the columns' Gram matrix for [`FitInfo`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` (`columns = 0`), `Empty`, `Dimension` (length of `x` or `y`), `Row` with `NonFinite`, `Overflow`,
    /// `NotPositiveDefinite`.
    pub fn fit(x: &[f64], columns: usize, y: &[f64], settings: VbLinearSettings) -> Result<Self, ModelError> {
        let x = rows(x, columns)?;
        let n = x.nrows();
        check::length("y", n, y.len())?;
        if let Some(row) = y.iter().position(|y| !y.is_finite()) {
            return Err(Error::NonFinite { argument: "y", index: row, value: y[row] }.at_row(row).into());
        }
        let VbLinearSettings { ard, intercept, standardise, prior, stop } = settings;
        let scaling = Scaling::of(x, intercept, standardise)?;
        let column = MatRef::from_column_major_slice(y, n, 1);
        let target = Scaling::of(column, intercept, standardise)?;
        let square = target.scales[0] * target.scales[0];
        if !square.is_normal() {
            return Err(Error::Overflow { quantity: "the variance of y", value: square }.into());
        }
        let scaled = scaling.apply(x, false)?;
        let labels: Vec<f64> = target.apply(column, false)?.col(0).iter().copied().collect();
        // A flat intercept takes one observation's worth of noise with it.
        let observations = if intercept { (n - 1) as f64 } else { n as f64 };
        let fit = fit(scaled.as_ref(), &labels, observations, ard, prior, stop, Par::Seq)?;
        // Centred rows sum to 0.
        let rank = if intercept { n - 1 } else { n };
        let design = Collinearity::of(scaled.as_ref(), rank, &scaling.constant)?;
        let line = advice::general(fit.info(), &design, n, columns, ard);
        let advice = line.unwrap_or_else(|| "Converged: nothing to do.".to_owned());
        let info = FitInfo {
            iterations: fit.info().clone(),
            design_condition: design.condition,
            collinear_columns: design.columns,
            constant_columns: scaling.constant.clone(),
            k_hat: None,
            effective_share: None,
            advice,
        };
        let model = Self { settings, rows: n, scaling, target, fit, info };
        model.coefficients().check(model.fit.noise_variance().is_finite())?;
        Ok(model)
    }

    /// The predictive density at every row of `x`, rows one after another: mean, variance, intervals, in the units of `y`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<StudentPrediction>, ModelError> {
        let scaled = self.scaling.apply(rows(x, self.scaling.scales.len())?, false)?;
        let scale = self.target.scales[0];
        // The intercept's own variance, in units of the noise's.
        let intercept = if self.settings.intercept { 1.0 / self.rows as f64 } else { 0.0 };
        let noise = 1.0 / self.fit.noise().mean();
        let mut predicted = self.fit.predict(scaled.as_ref())?;
        for (row, prediction) in predicted.iter_mut().enumerate() {
            prediction.mean = self.target.centres[0] + scale * prediction.mean;
            prediction.squared_scale = scale * scale * (prediction.squared_scale + intercept * noise);
            prediction.weight_squared_scale = scale * scale * (prediction.weight_squared_scale + intercept * noise);
            for value in [prediction.mean, prediction.squared_scale] {
                if !value.is_finite() {
                    return Err(Error::Overflow { quantity: "a prediction of y", value }.at_row(row).into());
                }
            }
        }
        Ok(predicted)
    }

    /// The weights in the units of the data.
    #[must_use]
    pub fn coefficients(&self) -> Coefficients {
        let scale = self.target.scales[0];
        let weights = self.fit.weights();
        let of = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&self.scaling.scales).map(|(value, column)| value * (scale / column)).collect()
        };
        let deviations: Vec<f64> =
            weights.variances().iter().map(|variance| (variance * self.fit.noise_variance()).sqrt()).collect();
        let means = of(weights.mean());
        let shift: f64 = means.iter().zip(&self.scaling.centres).map(|(mean, centre)| mean * centre).sum();
        Coefficients { intercept: self.target.centres[0] - shift, standard_deviations: of(&deviations), weights: means }
    }

    /// A draw of noise and weights from the posterior, in the units of the data: act as if it were the truth. The draw of the noise is not
    /// returned.
    ///
    /// ```text
    /// τ ~ Gam(a_N, b_N),   w ~ N(w_N, V_N/τ),   intercept at the centre of the columns ~ N(ȳ, 1/(nτ))
    /// ```
    ///
    /// The intercept of the draw is the linear predictor where all inputs are 0; it is 0 without one. Cost that of
    /// [`samples`](Self::samples) for one.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Overflow` for a noise or a weight beyond a float.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLinear, VbLinearSettings};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
    /// let model = VbLinear::fit(&x, 1, &y, VbLinearSettings::default())?;
    /// let truth = model.sample(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// assert!((truth.weights[0] - 3.0).abs() < 0.5 && (truth.score(&[6.0])? - 38.0).abs() < 1.0);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        self.draw(self.fit.weights().draw_deviations(1, rng)?.col(0).iter(), rng)
    }

    /// Many draws, as [`sample`](Self::sample) makes one. Cost `d²` flops a draw for `d` columns, or, with no more rows than columns,
    /// `n²d` and an eigendecomposition of `n × n` once and `4nd` a draw.
    ///
    /// # Errors
    /// Those of [`sample`](Self::sample).
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLinear, VbLinearSettings};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
    /// let model = VbLinear::fit(&x, 1, &y, VbLinearSettings::default())?;
    /// let draws = model.samples(1000, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// let mean = draws.iter().map(|draw| draw.weights[0]).sum::<f64>() / 1000.0;
    /// assert!((mean - model.coefficients().weights[0]).abs() < 0.02);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        let deviations = self.fit.weights().draw_deviations(draws, rng)?;
        deviations.col_iter().map(|deviation| self.draw(deviation.iter(), rng)).collect()
    }

    /// The draw whose weights deviate so, in units of the noise.
    fn draw<'a, R: Rng + ?Sized>(
        &self,
        deviation: impl Iterator<Item = &'a f64>,
        rng: &mut R,
    ) -> Result<Draw, ModelError> {
        let noise = self.fit.noise();
        let overflow = |value| Error::Overflow { quantity: "drawn noise variance", value };
        let precisions = Gamma::new(noise.shape, 1.0 / noise.rate).map_err(|_| overflow(1.0 / noise.rate))?;
        let precision: f64 = precisions.sample(rng);
        let sigma = precision.recip().sqrt();
        if !sigma.is_finite() {
            return Err(overflow(sigma * sigma).into());
        }
        let scale = self.target.scales[0];
        let means = self.fit.weights().mean();
        let weights = means.iter().zip(deviation).map(|(mean, deviation)| mean + sigma * deviation);
        let mut centre = self.target.centres[0];
        if self.settings.intercept {
            let z: f64 = StandardNormal.sample(rng);
            centre += scale * sigma * z / (self.rows as f64).sqrt();
        }
        Ok(drawn(centre, scale, weights, &self.scaling)?)
    }

    /// The columns by relevance, the most relevant first.
    #[must_use]
    pub fn relevance(&self) -> Vec<Relevance> {
        self.fit.relevance()
    }

    /// The fit to the scaled rows, with ℒ: comparable between models of the same `y` and settings.
    #[must_use]
    pub fn scaled_fit(&self) -> &LinearFit {
        &self.fit
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> VbLinearSettings {
        self.settings
    }

    /// How the fit went, and a line of advice.
    #[must_use]
    pub fn info(&self) -> &FitInfo {
        &self.info
    }
}

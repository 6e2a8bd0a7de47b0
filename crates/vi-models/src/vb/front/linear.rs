//! Linear regression on plain slices.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_linalg::faer::Par;

use super::super::linear::{LinearFit, StudentPrediction, fit};
use super::super::{LinearPrior, Relevance, VbSettings};
use super::posterior::LinearPosterior;
use super::scaling::{ScaledRegression, Scaling};
use super::{Coefficients, FitInfo, advice};
use crate::ModelError;
use crate::online::Draw;

/// The settings of [`VbLinear`]; start from [`default`](Self::default).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VbLinearSettings {
    /// Whether each column has its own shrinkage (relevance determination) instead of one for all.
    pub ard: bool,
    /// Whether there is an intercept, with a flat prior, integrated out exactly: predictions then do not depend on where 0 is.
    pub intercept: bool,
    /// Whether columns and `y` are first scaled to unit size: predictions then do not depend on units, and the hyper-priors are
    /// about scaled data.
    pub standardise: bool,
    /// The hyper-priors.
    pub prior: LinearPrior,
    /// When to stop the iterations.
    pub stop: VbSettings,
}

impl Default for VbLinearSettings {
    /// The default is one shrinkage, an intercept, standardisation, the authors' hyper-priors, and iteration to convergence.
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

impl VbLinearSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting`, as [`VbSettings::check`].
    pub fn check(&self) -> Result<(), ModelError> {
        self.stop.check()
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
/// let model = VbLinear::fit(&x, 2, &y, &VbLinearSettings::default())?;
/// let predicted = model.predict(&[6.0, 2.0])?;
/// assert!(predicted[0].interval(0.9)?.contains(38.0));
/// assert!((model.coefficients().weights[0] - 3.0).abs() < 0.2);
/// println!("{}", model.info().advice);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
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
    /// It costs as much as [`linear`](super::super::linear()) or [`linear_ard`](super::super::linear_ard), a copy of the rows,
    /// and the eigenvalues of the columns' Gram matrix for [`FitInfo`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` (`columns = 0`), `Empty`, `Dimension` (length of `x` or `y`), `Row` with `NonFinite`, `Overflow`,
    /// `NotPositiveDefinite`.
    pub fn fit(x: &[f64], columns: usize, y: &[f64], settings: &VbLinearSettings) -> Result<Self, ModelError> {
        let VbLinearSettings { ard, intercept, standardise, prior, stop } = *settings;
        let data = ScaledRegression::new(x, columns, y, intercept, standardise)?;
        let fit = fit(data.x.as_ref(), &data.y, data.observations as f64, ard, prior, &stop, Par::Seq)?;
        let design = data.collinearity()?;
        let line = advice::general(
            fit.info(),
            &design,
            y.len(),
            columns,
            ard,
            "a horseshoe prior (`HorseshoeLinear`; in Python `ard=True`)",
        );
        let determined = || fit.relevance().iter().map(|column| column.determined).sum();
        let line = line.or_else(|| ard.then(|| advice::relevance(determined(), data.observations as f64)).flatten());
        let advice = line.unwrap_or_else(|| advice::NOTHING.to_owned());
        let mut info = FitInfo::new(fit.info(), design, &data.columns, advice);
        info.iterations.bounds.iter_mut().for_each(|bound| *bound += data.evidence_offset());
        let model = Self { settings: *settings, rows: y.len(), scaling: data.columns, target: data.target, fit, info };
        model.coefficients().check(model.fit.noise_variance().is_finite())?;
        Ok(model)
    }

    /// The bound ℒ on the log evidence `log p(y)` in nats, in the units of `y`: labels multiplied by `c` lower it by `n·ln c`. The bounds of
    /// [`info`](Self::info) are so too; those of [`scaled_fit`](Self::scaled_fit) are of the scaled rows.
    #[must_use]
    pub fn evidence(&self) -> f64 {
        self.info.iterations.bounds.last().copied().unwrap_or(f64::NEG_INFINITY)
    }

    /// The columns by relevance, the most relevant first.
    #[must_use]
    pub fn relevance(&self) -> Vec<Relevance> {
        self.fit.relevance()
    }

    /// The predictive density at every row of `x`, rows one after another: mean, variance, intervals, in the units of `y`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<StudentPrediction>, ModelError> {
        self.posterior().predict(x)
    }

    /// The weights in the units of the data.
    #[must_use]
    pub fn coefficients(&self) -> Coefficients {
        self.posterior().coefficients()
    }

    /// A draw of noise and weights from the posterior, in the units of the data: act as if it were the truth. The draw of the noise is
    /// not returned.
    ///
    /// ```text
    /// τ ~ Gam(a_N, b_N),   w ~ N(w_N, V_N/τ),   intercept at the centre of the columns ~ N(ȳ, 1/(nτ))
    /// ```
    ///
    /// The intercept of the draw is the linear predictor where all inputs are 0; it is 0 without one. Cost that of [`samples`](Self::samples) for one.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Overflow` for a noise or a weight beyond a float.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLinear, VbLinearSettings};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
    /// let model = VbLinear::fit(&x, 1, &y, &VbLinearSettings::default())?;
    /// let truth = model.sample(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// assert!((truth.weights[0] - 3.0).abs() < 0.5 && (truth.score(&[6.0])? - 38.0).abs() < 1.0);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        self.posterior().sample(rng)
    }

    /// Many draws, as [`sample`](Self::sample) makes one. Cost `d²` flops a draw for `d` columns, or, with few rows for them, `n²d` and
    /// an eigendecomposition of `n × n` once and `4nd` a draw.
    ///
    /// # Errors
    /// Those of [`sample`](Self::sample).
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLinear, VbLinearSettings};
    /// let x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    /// let y = [23.1, 25.9, 29.0, 32.2, 34.8, 38.1];
    /// let model = VbLinear::fit(&x, 1, &y, &VbLinearSettings::default())?;
    /// let draws = model.samples(1000, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// let mean = draws.iter().map(|draw| draw.weights[0]).sum::<f64>() / 1000.0;
    /// assert!((mean - model.coefficients().weights[0]).abs() < 0.02);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        self.posterior().samples(draws, rng)
    }

    fn posterior(&self) -> LinearPosterior<'_> {
        LinearPosterior {
            weights: self.fit.weights(),
            noise: self.fit.noise(),
            columns: &self.scaling,
            target: &self.target,
            intercept_variance: if self.settings.intercept { 1.0 / self.rows as f64 } else { 0.0 },
        }
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

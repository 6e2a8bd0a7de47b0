//! Logistic regression on plain slices.

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::special::log_sigmoid;
use vi_linalg::faer::Par;

use super::super::logit::{Grouping, LogitFit, check_data, fit};
use super::super::{LogitBound, LogitPrior, Relevance, VbSettings};
use super::collinear::Collinearity;
use super::scaling::{Scaling, rows};
use super::{Coefficients, FitInfo, advice, drawn};
use crate::ModelError;
use crate::metrics::{Psis, gaussian_psis_of};
use crate::online::Draw;
use crate::predict::LogisticPrediction;

/// The settings of [`VbLogit`]; start from [`default`](Self::default).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VbLogitSettings {
    /// Whether each column has its own shrinkage (relevance determination) instead of one for all.
    pub ard: bool,
    /// Whether there is an intercept, with a shrinkage of its own.
    pub intercept: bool,
    /// Whether columns are first centred (with an intercept) and scaled to unit size: predictions then depend neither on where 0
    /// is nor on units.
    pub standardise: bool,
    /// Which bound is maximised.
    pub bound: LogitBound,
    /// The hyper-prior.
    pub prior: LogitPrior,
    /// When to stop the iterations.
    pub stop: VbSettings,
}

impl Default for VbLogitSettings {
    /// The default is one shrinkage, an intercept, standardisation, [`LogitBound::Softplus`], the authors' hyper-prior, and
    /// iteration to convergence.
    fn default() -> Self {
        Self {
            ard: false,
            intercept: true,
            standardise: true,
            bound: LogitBound::Softplus,
            prior: LogitPrior::default(),
            stop: VbSettings::default(),
        }
    }
}

impl VbLogitSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting`, as [`VbSettings::check`].
    pub fn check(&self) -> Result<(), ModelError> {
        self.stop.check()
    }

    pub(super) fn grouping(&self) -> Grouping {
        match (self.ard, self.intercept) {
            (true, _) => Grouping::Each,
            (false, true) => Grouping::FirstApart,
            (false, false) => Grouping::One,
        }
    }
}

/// A logistic regression with unknown shrinkage, fitted to rows in a plain slice.
///
/// ```
/// use vi_models::vb::{VbLogit, VbLogitSettings};
///
/// let x = [0.5, 1.2, -0.3, 2.2, -1.5, 0.1, 3.0, -2.2, 1.9, -0.7];
/// let y = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
/// let model = VbLogit::fit(&x, 1, &y, &VbLogitSettings::default())?;
/// let predicted = model.predict(&[-3.0, 3.0])?;
/// assert!(predicted[0].probability < 0.2 && predicted[1].probability > 0.8);
/// println!("{}", model.info().advice);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "super::stored::StoredLogit")]
pub struct VbLogit {
    pub(super) settings: VbLogitSettings,
    pub(super) scaling: Scaling,
    pub(super) fit: LogitFit,
    pub(super) info: FitInfo,
}

impl VbLogit {
    /// Fits the labels `y`, 0 or 1 (length `n`), to the rows of `x`: `n` rows of `columns` numbers, one after another.
    ///
    /// It costs as much as [`logit`](super::super::logit()) or [`logit_ard`](super::super::logit_ard), a copy of the rows, and
    /// the eigenvalues of the columns' Gram matrix for [`FitInfo`].
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` (`columns = 0`), `Empty`, `Dimension` (length of `x` or `y`), `Row` with `NonFinite` or `Label`,
    /// `Overflow`, `NotPositiveDefinite`.
    pub fn fit(x: &[f64], columns: usize, y: &[f64], settings: &VbLogitSettings) -> Result<Self, ModelError> {
        let x = rows(x, columns)?;
        check_data(x, y)?;
        let VbLogitSettings { ard, intercept, standardise, bound, prior, stop } = *settings;
        let grouping = settings.grouping();
        let scaling = Scaling::of(x, intercept && standardise, standardise)?;
        let scaled = scaling.apply(x, intercept)?;
        let fit = fit(scaled.as_ref(), y, grouping, prior, bound, &stop, Par::Seq)?;
        let first = usize::from(intercept);
        let constant: Vec<usize> = scaling.constant.iter().map(|j| j + first).collect();
        let found = Collinearity::of(scaled.as_ref(), x.nrows(), &constant)?;
        let inputs = found.columns.iter().filter_map(|j| j.checked_sub(first)).collect();
        let design = Collinearity { columns: inputs, ..found };
        let advice = advice::general(
            fit.info(),
            &design,
            x.nrows(),
            columns,
            ard,
            "a horseshoe prior (`HorseshoeLogit`; in Python `ard=True`)",
        )
        .unwrap_or_else(|| match bound {
            LogitBound::JaakkolaJordan => {
                "Converged, but intervals under the quadratic bound are too short: prefer `LogitBound::Softplus`."
                    .to_owned()
            }
            LogitBound::Softplus => advice::UNDIAGNOSED.to_owned(),
        });
        let info = FitInfo::new(fit.info(), design, &scaling, advice);
        let model = Self { settings: *settings, scaling, fit, info };
        model.coefficients().check(true)?;
        Ok(model)
    }

    /// The prediction at every row of `x`, rows one after another: probability of class 1, its variance and intervals.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<LogisticPrediction>, ModelError> {
        let scaled = self.scaling.apply(rows(x, self.scaling.scales.len())?, self.settings.intercept)?;
        self.fit.predict(scaled.as_ref())
    }

    /// Measures how near the posterior of the weights is to the true one at the shrinkage that was found: PSIS `k̂` and the
    /// effective share of the draws, from the rows of the fit; [`info`](Self::info) reports them from then on. Cost `draws·n·d`.
    ///
    /// # Errors
    /// Those of [`fit`](Self::fit) for the rows; `Setting` for fewer than 25 draws; `NotPositiveDefinite`.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLogit, VbLogitSettings};
    /// let x: Vec<f64> = (0..60).map(|i| f64::from(i * 37 % 60) / 30.0 - 1.0).collect();
    /// let y: Vec<f64> = x.iter().enumerate().map(|(i, x)| f64::from(x + f64::from(i as u8 % 3) > 1.0)).collect();
    /// let mut model = VbLogit::fit(&x, 1, &y, &VbLogitSettings::default())?;
    /// let psis = model.diagnose(&x, &y, 1000, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// assert!(psis.effective_draws() > 500.0);
    /// assert_eq!(model.info().k_hat, Some(psis.k_hat));
    /// assert_eq!(model.info().advice, "Converged, and the posterior is near the true one.");
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn diagnose<R: Rng + ?Sized>(
        &mut self,
        x: &[f64],
        y: &[f64],
        draws: usize,
        rng: &mut R,
    ) -> Result<Psis, ModelError> {
        let x = rows(x, self.scaling.scales.len())?;
        check_data(x, y)?;
        let scaled = self.scaling.apply(x, self.settings.intercept)?;
        let shrinkage = self.fit.shrinkage_of_weights();
        let psis = gaussian_psis_of(&self.fit.weights().belief()?, draws, rng, |w| {
            let mut log_joint: f64 = w.iter().zip(&shrinkage).map(|(w, alpha)| -0.5 * alpha * w * w).sum();
            for (i, label) in y.iter().enumerate() {
                let t: f64 = scaled.row(i).iter().zip(w).map(|(x, w)| x * w).sum();
                log_joint += log_sigmoid(if *label == 1.0 { t } else { -t });
            }
            Ok(log_joint)
        })?;
        let share = psis.effective_draws() / draws as f64;
        self.info.k_hat = Some(psis.k_hat);
        self.info.effective_share = Some(share);
        advice::after_diagnosis(&mut self.info.advice, share, psis.k_hat, shrinkage.len());
        Ok(psis)
    }

    /// The weights in the units of the data.
    #[must_use]
    pub fn coefficients(&self) -> Coefficients {
        let first = usize::from(self.settings.intercept);
        let weights = self.fit.weights();
        let of = |values: &[f64]| -> Vec<f64> {
            values[first..].iter().zip(&self.scaling.scales).map(|(value, column)| value / column).collect()
        };
        let deviations: Vec<f64> = weights.variances().iter().map(|variance| variance.sqrt()).collect();
        let means = of(weights.mean());
        let shift: f64 = means.iter().zip(&self.scaling.centres).map(|(mean, centre)| mean * centre).sum();
        let at_centre = if first == 1 { weights.mean()[0] } else { 0.0 };
        Coefficients { intercept: at_centre - shift, standard_deviations: of(&deviations), weights: means }
    }

    /// A draw of the weights from the posterior `N(w, V)`, in the units of the data: act as if it were the truth.
    ///
    /// The intercept of the draw is the log odds at all inputs 0; it is 0 without an intercept. It costs as much as
    /// [`samples`](Self::samples) of one draw.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Overflow` if a weight is not finite.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLogit, VbLogitSettings};
    /// let x = [0.5, 1.2, -0.3, 2.2, -1.5, 0.1, 3.0, -2.2, 1.9, -0.7];
    /// let y = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
    /// let model = VbLogit::fit(&x, 1, &y, &VbLogitSettings::default())?;
    /// let truth = model.sample(&mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// assert!(truth.score(&[10.0])? > truth.score(&[-10.0])?);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        self.draw(self.fit.weights().draw_deviations(1, rng)?.col(0).iter())
    }

    /// Many draws, each as from [`sample`](Self::sample). Cost `d²` flops a draw for `d` weights or, if there are no more rows
    /// than weights, `n²d` and an eigendecomposition of `n × n` once and `4nd` a draw.
    ///
    /// # Errors
    /// Those of [`sample`](Self::sample).
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_models::vb::{VbLogit, VbLogitSettings};
    /// let x = [0.5, 1.2, -0.3, 2.2, -1.5, 0.1, 3.0, -2.2, 1.9, -0.7];
    /// let y = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
    /// let model = VbLogit::fit(&x, 1, &y, &VbLogitSettings::default())?;
    /// let draws = model.samples(1000, &mut rand_chacha::ChaCha8Rng::seed_from_u64(1))?;
    /// let mean = draws.iter().map(|draw| draw.weights[0]).sum::<f64>() / 1000.0;
    /// let told = model.coefficients();
    /// assert!((mean - told.weights[0]).abs() < 0.2 * told.standard_deviations[0]);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        let deviations = self.fit.weights().draw_deviations(draws, rng)?;
        deviations.col_iter().map(|deviation| self.draw(deviation.iter())).collect()
    }

    /// The draw with these deviations of the weights, the intercept's first.
    fn draw<'a>(&self, deviation: impl Iterator<Item = &'a f64>) -> Result<Draw, ModelError> {
        let means = self.fit.weights().mean();
        let mut weights = means.iter().zip(deviation).map(|(mean, deviation)| mean + deviation);
        let centre = if self.settings.intercept { weights.next().unwrap_or(0.0) } else { 0.0 };
        Ok(drawn(centre, 1.0, weights, &self.scaling)?)
    }

    /// The columns by relevance, the most relevant first; an intercept is left out.
    #[must_use]
    pub fn relevance(&self) -> Vec<Relevance> {
        let first = usize::from(self.settings.intercept);
        let ranking = self.fit.relevance().into_iter().filter(|column| column.index >= first);
        ranking.map(|column| Relevance { index: column.index - first, ..column }).collect()
    }

    /// The fit to the scaled rows (the intercept first), with ℒ, which can be compared between models of the same rows and
    /// settings.
    #[must_use]
    pub fn scaled_fit(&self) -> &LogitFit {
        &self.fit
    }

    /// The settings of the fit.
    #[must_use]
    pub fn settings(&self) -> VbLogitSettings {
        self.settings
    }

    /// The report of the fit, with a line of advice.
    #[must_use]
    pub fn info(&self) -> &FitInfo {
        &self.info
    }
}

//! Two classes.

use rand::Rng;
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::checkpoint::Seal;
use vi_core::special::sigmoid;

use super::sampler::Response;
use super::{Draws, HorseshoeInfo, HorseshoeSettings, Stored, central, horseshoe};
use crate::online::Draw;
use crate::vb::Coefficients;
use crate::vb::front::scaling::{Scaling, rows};
use crate::vb::logit::check_data;
use crate::{Interval, ModelError, check};

/// A logistic regression with a scale of its own for each weight (relevance determination), by Gibbs sampling.
///
/// ```text
/// P(y = 1) = s(α + xᵀw)   w_j ~ N(0, τ²λ_j²)·N(0, 5²)   λ_j, τ ~ C⁺(0, 1)   α ~ N(0, 5²)     (columns centred and scaled to unit size)
/// ```
///
/// The likelihood becomes Gaussian given one Pólya-Gamma variable for each row, so that the draws are of the exact posterior.
///
/// ```
/// use rand::SeedableRng;
/// use vi_models::vb::{HorseshoeLogit, HorseshoeSettings};
///
/// let x = [0.5, 1.2, -0.3, 2.2, -1.5, 0.1, 3.0, -2.2, 1.9, -0.7];
/// let y = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0];
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let model = HorseshoeLogit::fit(&x, 1, &y, &HorseshoeSettings::default(), &mut rng)?;
/// let predicted = model.predict(&[-3.0, 3.0])?;
/// assert!(predicted[0].probability() < 0.2 && predicted[1].probability() > 0.8);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Stored")]
pub struct HorseshoeLogit {
    pub(super) draws: Draws,
}

/// What is believed of the probability of class 1 at one row: a value for each draw of the weights.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnProbability {
    /// Rising.
    draws: Vec<f64>,
}

impl DrawnProbability {
    /// The predictive probability of class 1: the mean of the draws.
    #[must_use]
    pub fn probability(&self) -> f64 {
        (self.draws.iter().sum::<f64>() / self.draws.len() as f64).clamp(0.0, 1.0)
    }

    /// The variance of the draws.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let mean = self.probability();
        self.draws.iter().map(|p| (p - mean).powi(2)).sum::<f64>() / self.draws.len() as f64
    }

    /// The central interval that holds the probability with probability `level`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless `0 < level < 1`.
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        Ok(central(&self.draws, level))
    }
}

impl HorseshoeLogit {
    /// Fits the labels `y`, 0 or 1 (length `n`), to the rows of `x`: `n` rows of `columns` numbers, one after another.
    ///
    /// The same `rng` gives the same bits. Cost a sweep: a Pólya-Gamma draw for each row and `8nd` flops, and in every tenth `nd² + d³/3` or `n²d`;
    /// memory for `draws·d` numbers.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting`, `Empty`, `Dimension` (length of `x` or `y`), `Row` with `NonFinite` or `Label`, `Overflow`.
    pub fn fit<R: Rng + ?Sized>(
        x: &[f64],
        columns: usize,
        y: &[f64],
        settings: &HorseshoeSettings,
        rng: &mut R,
    ) -> Result<Self, ModelError> {
        settings.check()?;
        let x = rows(x, columns)?;
        check_data(x, y)?;
        let scaling = Scaling::of(x, settings.intercept, true)?;
        let scaled = scaling.apply(x, settings.intercept)?;
        let response = Response::Classes { signs: y.iter().map(|y| 2.0 * y - 1.0).collect() };
        let target = Scaling { centres: vec![0.0], scales: vec![1.0], constant: Vec::new() };
        let seen = (scaled.as_ref(), response, usize::from(settings.intercept));
        let model = Self { draws: Draws::sampled(*settings, seen, (scaling, target), rng)? };
        model.coefficients()?;
        Ok(model)
    }

    /// What is believed of the probability at every row of `x`, rows one after another. Cost `draws·d` a row.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<DrawnProbability>, ModelError> {
        self.draws.predict(x, |seen| {
            let mut draws: Vec<f64> = seen.into_iter().map(sigmoid).collect();
            check::results("a probability", draws.iter().copied())?;
            draws.sort_by(f64::total_cmp);
            Ok(DrawnProbability { draws })
        })
    }
}

// Few labels leave a weight near 0 or far from it: by the median the scales of half of these would be next to nothing.
horseshoe!(HorseshoeLogit, 0.95);

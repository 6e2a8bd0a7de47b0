//! Numbers.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use vi_core::Projection;
use vi_core::checkpoint::Seal;
use vi_linalg::faer::Par;

use super::sampler::Response;
use super::{Draws, HorseshoeInfo, HorseshoeSettings, Stored, central, horseshoe};
use crate::marginal::Marginal;
use crate::online::Draw;
use crate::vb::Coefficients;
use crate::vb::front::scaling::ScaledRegression;
use crate::vb::linear::Rows;
use crate::{Interval, ModelError, check};

/// A linear regression with a scale of its own for each weight (relevance determination), by Gibbs sampling: what a user of relevance determination
/// wants, also with more columns than rows.
///
/// ```text
/// y ~ N(α + Xw, σ²)   w_j ~ N(0, σ²τ²λ_j²)·N(0, 20²)   λ_j, τ, σ ~ C⁺(0, 1)   α flat     (columns and y scaled to unit size)
/// ```
///
/// The scales are integrated over, not estimated, so that intervals hold what they promise where those of [`VbLinear`](super::super::VbLinear) with
/// `ard` collapse (see [`vb`](crate::vb)). The prior is the horseshoe of Carvalho, Polson and Scott (Biometrika 97, 2010).
///
/// ```
/// use rand::SeedableRng;
/// use vi_models::vb::{HorseshoeLinear, HorseshoeSettings};
///
/// // 12 rows of 20 columns; y ≈ 5 + 2·x₇.
/// let x: Vec<f64> = (0..12 * 20).map(|k| ((k * k + 3 * k) as f64).sin()).collect();
/// let y: Vec<f64> = (0..12).map(|i| 5.0 + 2.0 * x[20 * i + 7] + 0.05 * (i as f64).cos()).collect();
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let model = HorseshoeLinear::fit(&x, 20, &y, &HorseshoeSettings::default(), &mut rng)?;
/// assert!(model.weight_intervals(0.9)?[7].contains(2.0));
/// assert!(model.predict(&x[..20])?[0].interval(0.9)?.contains(y[0]));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "Stored")]
pub struct HorseshoeLinear {
    pub(super) draws: Draws,
}

impl HorseshoeLinear {
    /// Fits `y` (length `n`) to the rows of `x`: `n` rows of `columns` numbers, one after another.
    ///
    /// The same `rng` gives the same bits. Cost `2n(d+1)²` flops once for `n > d`, `4·min(n, d)·d` flops a sweep and, in every tenth, `d³/3` or
    /// `n²d`; memory for `draws·d` numbers.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting`, `Empty`, `Dimension` (length of `x` or `y`), `Row` with `NonFinite`, `Overflow`.
    pub fn fit<R: Rng + ?Sized>(
        x: &[f64],
        columns: usize,
        y: &[f64],
        settings: &HorseshoeSettings,
        rng: &mut R,
    ) -> Result<Self, ModelError> {
        settings.check()?;
        let data = ScaledRegression::new(x, columns, y, settings.intercept, true)?;
        let rows = Rows::new(data.x.as_ref(), &data.y, Par::Seq);
        let observations = data.observations as f64;
        let response = Response::Numbers { y: rows.y.clone(), observations, rest: rows.rest };
        let seen = (rows.x(), response, 0);
        let mut draws = Draws::sampled(*settings, seen, (data.columns.clone(), data.target.clone()), rng)?;
        draws.info.evidence += data.evidence_offset();
        if settings.intercept {
            for (centre, noise) in draws.centres.iter_mut().zip(&draws.noises) {
                let z: f64 = StandardNormal.sample(rng);
                *centre = z * (noise / y.len() as f64).sqrt();
            }
        }
        let model = Self { draws };
        model.coefficients()?;
        Ok(model)
    }

    /// The posterior mean of the noise `σ²`, in squared units of `y`.
    ///
    /// ```
    /// # use rand::SeedableRng;
    /// # use vi_models::vb::{HorseshoeLinear, HorseshoeSettings};
    /// // y = 3x ± 2.
    /// let x: Vec<f64> = (0..60).map(f64::from).collect();
    /// let y: Vec<f64> = x.iter().map(|x| 3.0 * x + if x % 4.0 < 2.0 { 2.0 } else { -2.0 }).collect();
    /// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let model = HorseshoeLinear::fit(&x, 1, &y, &HorseshoeSettings::default(), &mut rng)?;
    /// assert!((model.noise_variance() - 4.0).abs() < 1.0);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        let noises = &self.draws.noises;
        self.draws.target.scales[0].powi(2) * noises.iter().sum::<f64>() / noises.len() as f64
    }

    /// The predictive distribution of a new `y` at every row of `x`, rows one after another: a mixture of one Gaussian for each draw. Cost `draws·d` a
    /// row.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row` with `NonFinite`, or `Overflow`.
    pub fn predict(&self, x: &[f64]) -> Result<Vec<Marginal>, ModelError> {
        let (centre, unit) = (self.draws.target.centres[0], self.draws.target.scales[0]);
        let share = 1.0 / self.draws.settings.draws as f64;
        self.draws.predict(x, |seen| {
            let gaussian = |(t, noise): (f64, &f64)| {
                (share, Projection { mean: centre + unit * t, variance: unit * unit * noise })
            };
            let parts: Vec<(f64, Projection)> = seen.into_iter().zip(&self.draws.noises).map(gaussian).collect();
            check::results("a prediction of y", parts.iter().map(|(_, seen)| seen.mean))?;
            Ok(Marginal::of_gaussians(&parts))
        })
    }
}

// By the median intervals of a ridge regression with these scales hold less, by more than 90 % they are wider than they need be.
horseshoe!(HorseshoeLinear, 0.9);

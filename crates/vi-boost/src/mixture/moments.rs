//! Mean and covariance of a mixture.

use vi_core::Error;
use vi_linalg::faer::Mat;

use super::GaussianMixture;
use crate::BoostError;
use crate::component::Component;

impl GaussianMixture {
    /// The mean `E_q θ = Σ_k w_k·μ_k`.
    #[must_use]
    pub fn mean(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.dim()];
        for (component, weight) in self.components.iter().zip(self.weights()) {
            for (mean, own) in mean.iter_mut().zip(component.mean()) {
                *mean += weight * own;
            }
        }
        mean
    }

    /// The covariance `Cov_q θ = Σ_k w_k(Σ_k + (μ_k−m)(μ_k−m)ᵀ)` with `m` the mean; full and symmetric. Cost `K·d³`.
    ///
    /// # Errors
    /// [`BoostError::Core`] with `Overflow` if components are so far apart, or so wide, that squares overflow.
    pub fn covariance(&self) -> Result<Mat<f64>, BoostError> {
        let (d, mean) = (self.dim(), self.mean());
        let mut sum = Mat::<f64>::zeros(d, d);
        for (component, weight) in self.components.iter().zip(self.weights()) {
            let own = component.covariance();
            let shift: Vec<f64> = component.mean().iter().zip(&mean).map(|(a, b)| a - b).collect();
            for j in 0..d {
                for i in 0..d {
                    sum[(i, j)] += weight * (own[(i, j)] + shift[i] * shift[j]);
                }
            }
        }
        for j in 0..d {
            if let Some(i) = (0..d).find(|&i| !sum[(i, j)].is_finite()) {
                return Err(Error::Overflow { quantity: "a covariance of the mixture", value: sum[(i, j)] }.into());
            }
        }
        Ok(sum)
    }

    /// The Gaussian with the mixture's moments, without correlations if rounding leaves no positive definite covariance.
    pub(crate) fn matched(&self) -> Result<Component, BoostError> {
        let (mean, covariance) = (self.mean(), self.covariance()?);
        Component::full(&mean, covariance.as_ref()).or_else(|_| {
            let variances: Vec<f64> = (0..mean.len()).map(|j| covariance[(j, j)]).collect();
            Component::diagonal(&mean, &variances)
        })
    }

    /// Checks that no component diverged from `start`.
    ///
    /// # Errors
    /// [`BoostError::Improper`].
    pub(crate) fn check_reach(&self, start: &Component) -> Result<(), BoostError> {
        let factor = self.components.iter().map(|component| component.reach(start)).fold(0.0, f64::max);
        if factor > MOST_REACH { Err(BoostError::Improper { factor }) } else { Ok(()) }
    }
}

/// The most standard deviations of the start, or ratio of widths, for a component; one beyond follows mass without end.
pub(crate) const MOST_REACH: f64 = 1e5;

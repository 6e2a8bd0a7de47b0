//! The posterior itself, and its Laplace approximation.

use vi_boost::LogDensity;
use vi_boost::target::GlmTarget;
use vi_core::{BernoulliLogit, DenseGaussian, Error, Exact, GlmPosterior};
use vi_data::Dataset;
use vi_linalg::faer::{MatRef, Par};
use vi_models::laplace::{self, LaplaceSettings};

use crate::error::{Doing as _, ReproError};

/// The posterior of a data set under the logistic model, with exact expectations.
pub(crate) struct Posterior<'a> {
    exact: GlmPosterior<'a, BernoulliLogit<Exact>>,
    density: GlmTarget<BernoulliLogit<Exact>>,
}

impl<'a> Posterior<'a> {
    pub(crate) fn new(prior: &'a DenseGaussian, data: &'a Dataset) -> Result<Self, ReproError> {
        let (x, y, likelihood) = (data.x(), data.y(), BernoulliLogit(Exact));
        Ok(Self {
            exact: GlmPosterior::new(prior, x, y, likelihood).context("posterior")?,
            density: GlmTarget::new(prior, x, y, likelihood).context("posterior")?,
        })
    }

    /// `KL(q ‖ p̃)` with `Z = 1`, exact; infinite when q has lost its covariance to rounding.
    pub(crate) fn kl(&self, q: &DenseGaussian) -> Result<f64, ReproError> {
        match self.exact.kl(q, Par::Seq) {
            Ok(kl) => Ok(kl),
            Err(Error::NotPositiveDefinite { .. }) => Ok(f64::INFINITY),
            Err(e) => Err(e).context("KL"),
        }
    }

    /// `log p̃(θ)` at each of the points.
    pub(crate) fn log_densities<const D: usize>(&self, points: &[[f64; D]]) -> Vec<f64> {
        let mut values = vec![0.0; points.len()];
        let points = MatRef::from_row_major_slice(points.as_flattened(), points.len(), D);
        self.density.log_densities(points, &mut values);
        values
    }
}

/// The batch Laplace approximation.
pub(crate) fn laplace(prior: &DenseGaussian, data: &Dataset) -> Result<DenseGaussian, ReproError> {
    let fit = laplace::fit(prior, data.x(), data.y(), &BernoulliLogit(Exact), &LaplaceSettings::default())
        .context("Laplace")?;
    // A stall at rounding is as good as convergence for a picture; anything more is not.
    if fit.info.decrement > 1e-6 {
        return Err(ReproError::Computation {
            what: "Laplace".to_owned(),
            message: format!(
                "stopped {:e} posterior deviations from the mode ({:?})",
                fit.info.decrement, fit.info.stop
            ),
        });
    }
    Ok(fit.belief)
}

/// What a filter broke down of numerically, which is a result; any other error is an error.
pub(crate) fn breakdown(filter: &str, error: Error) -> Result<String, ReproError> {
    match error {
        Error::Row { row, source }
            if matches!(
                *source,
                Error::NegativeVariance { .. }
                    | Error::Overflow { .. }
                    | Error::NotPositiveDefinite { .. }
                    | Error::ImproperSite { .. }
            ) =>
        {
            Ok(format!("{filter} broke down at observation {}: {source}", row + 1))
        }
        e => Err(e).context(filter),
    }
}

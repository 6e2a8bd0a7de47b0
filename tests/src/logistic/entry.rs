//! A stored Gaussian, in whichever of the forms the files use, against a belief.

use vi_core::{Belief, BernoulliLogit, DenseGaussian, Exact, GlmPosterior};
use vi_linalg::faer::{Mat, Par};

use super::mean_floor;
use crate::json::Node;
use crate::problem::{Problem, symmetric, trace};
use crate::report::Report;
use crate::tolerance::{self, OfRun};
use crate::{CaseError, compare};

/// What a stored Gaussian is judged against, beside the belief.
#[derive(Debug)]
pub struct Context<'a> {
    /// Data and prior.
    pub problem: &'a Problem,
    /// The posterior of all observations.
    pub posterior: &'a GlmPosterior<'a, BernoulliLogit<Exact>>,
    /// `log ∫ prior × likelihood`, as stored.
    pub log_normaliser: Option<f64>,
}

/// A stored Gaussian and its divergences; all but the mean may be missing.
#[derive(Debug, Clone)]
pub struct Entry {
    mean: Vec<f64>,
    covariance: Option<Mat<f64>>,
    diagonal: Option<Vec<f64>>,
    first_rows: Option<Mat<f64>>,
    trace: Option<f64>,
    log_det: Option<f64>,
    kl_unnormalised: Option<f64>,
    kl_normalised: Option<f64>,
    /// A Monte-Carlo estimate of the first, and its standard error.
    pub kl_monte_carlo: Option<(f64, f64)>,
}

impl Entry {
    /// Reads what is there.
    ///
    /// # Errors
    /// A [`CaseError`] if there is no mean, or if anything has the wrong type or shape.
    pub fn read(node: &Node<'_>, d: usize) -> Result<Self, CaseError> {
        let number = |keys: &[&str]| node.find_any(keys).map(|value| value.number()).transpose();
        let mean = match node.find("final_mean") {
            Some(mean) => mean,
            None => node.get("mean")?,
        };
        let first_rows = node.find("cov_first3rows").map(|rows| {
            let matrix = rows.matrix()?;
            rows.check_len(3.min(d), matrix.nrows())?;
            rows.check_len(d, matrix.ncols())?;
            Ok::<_, CaseError>(matrix)
        });
        let kl_monte_carlo = match (node.find("kl_mc"), node.find("kl_mc_stderr")) {
            (Some(value), Some(error)) => {
                let deviation = error.number()?;
                if deviation <= 0.0 {
                    return Err(error.refuse("a standard error must be positive"));
                }
                Some((value.number()?, deviation))
            }
            _ => None,
        };
        Ok(Self {
            mean: mean.vector_of(d)?,
            covariance: node.find_any(&["final_cov", "cov"]).map(|cov| cov.matrix_of(d, d)).transpose()?,
            diagonal: node.find("cov_diag").map(|diagonal| diagonal.vector_of(d)).transpose()?,
            first_rows: first_rows.transpose()?,
            trace: number(&["trace", "cov_trace"])?,
            log_det: number(&["logdet", "cov_logdet"])?,
            kl_unnormalised: number(&["kl_unnormalised"])?,
            kl_normalised: number(&["kl_normalised"])?,
            kl_monte_carlo,
        })
    }

    /// Compares everything that is stored with `belief`.
    ///
    /// # Errors
    /// [`CaseError::Core`] if `belief` has no Cholesky factor.
    pub fn check(
        &self,
        context: &Context<'_>,
        belief: &DenseGaussian,
        tolerance: OfRun,
        report: &mut Report,
    ) -> Result<(), CaseError> {
        report.compare("mean", compare::vectors(belief.mean(), &self.mean, mean_floor(belief)), tolerance.belief);
        self.check_covariance(belief, tolerance, report)?;
        self.check_divergences(context, belief, tolerance, report)
    }

    fn check_covariance(&self, belief: &DenseGaussian, tolerance: OfRun, report: &mut Report) -> Result<(), CaseError> {
        let covariance = belief.covariance();
        let d = belief.dim();
        if let Some(stored) = &self.covariance {
            report.compare("cov", compare::matrices(covariance.as_ref(), stored.as_ref()), tolerance.belief);
        }
        if let Some(stored) = &self.diagonal {
            let diagonal: Vec<f64> = (0..d).map(|i| covariance[(i, i)]).collect();
            report.compare("cov_diag", compare::vectors(&diagonal, stored, 0.0), tolerance.belief);
        }
        if let Some(stored) = &self.first_rows {
            let rows = covariance.as_ref().subrows(0, stored.nrows());
            report.compare("cov_first3rows", compare::matrices(rows, stored.as_ref()), tolerance.belief);
        }
        if let Some(stored) = self.trace {
            report.compare("trace", compare::relative(trace(belief), stored), tolerance.belief);
        }
        if let Some(stored) = self.log_det {
            // A sum of d logarithms: an error of relative size δ in each adds d·δ.
            let scale = stored.abs().max(d as f64);
            let error = compare::scaled(belief.cholesky()?.log_det(), stored, scale);
            report.compare("logdet", error, tolerance.belief);
        }
        Ok(())
    }

    fn check_divergences(
        &self,
        context: &Context<'_>,
        belief: &DenseGaussian,
        tolerance: OfRun,
        report: &mut Report,
    ) -> Result<(), CaseError> {
        if self.kl_unnormalised.is_none() && self.kl_normalised.is_none() && self.kl_monte_carlo.is_none() {
            return Ok(());
        }
        let kl = context.posterior.kl(belief, Par::Seq)?;
        if let Some(stored) = self.kl_unnormalised {
            report.compare("kl_unnormalised", compare::relative(kl, stored), tolerance.kl);
            if let Some(covariance) = &self.covariance {
                let gaussian = DenseGaussian::new(&self.mean, symmetric(covariance).as_ref())?;
                let kl = context.posterior.kl(&gaussian, Par::Seq)?;
                report.compare("kl_of_stored", compare::relative(kl, stored), tolerance::KL_OF_STORED);
            }
        }
        match (self.kl_normalised, context.log_normaliser) {
            (Some(stored), Some(log_normaliser)) => {
                // A difference: below a millionth of its terms it means nothing.
                let scale = stored.abs().max(1e-6 * log_normaliser.abs());
                report.compare("kl_normalised", compare::scaled(kl + log_normaliser, stored, scale), tolerance.kl);
            }
            (Some(_), None) => report.skip("kl_normalised", "the file gives no log_normaliser"),
            (None, _) => {}
        }
        if let Some((value, deviation)) = self.kl_monte_carlo {
            report.compare("kl_mc", compare::scaled(value, kl, deviation), tolerance::STANDARD_ERRORS);
        }
        Ok(())
    }
}

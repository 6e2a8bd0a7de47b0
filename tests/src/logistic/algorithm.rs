//! The algorithms that the files name.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use vi_core::{
    Belief, BernoulliLogit, DenseGaussian, Estimate, Exact, Explicit, GlmPosterior, Implicit, Likelihood, Linearised,
    ProbitApproximation, QuadraticBound,
};
use vi_linalg::faer::Mat;
use vi_linalg::kernels::{axpy, dot, quadratic_form};
use vi_models::laplace::{self, LaplaceSettings};

use crate::CaseError;
use crate::problem::Problem;
use crate::tolerance::{self, OfRun};

/// An algorithm of R-VGA's section 6, by the name that the files give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// `rvga_implicit`: R-VGA (73)-(77) as published.
    Implicit,
    /// `rvga_implicit_exact_roots`: the same with every root to 30 digits.
    ImplicitExactRoots,
    /// `rvga_explicit`: R-VGA (78)-(80).
    Explicit,
    /// `ekf`: R-VGA (81).
    ExtendedKalman,
    /// `qkf`: R-VGA (90).
    QuadraticKalman,
    /// `laplace_as_coded`: the mode by a search with finite differences.
    LaplaceAsCoded,
    /// `laplace_exact`: the mode by Newton's method.
    Laplace,
}

/// What a run gives.
#[derive(Debug, Clone)]
pub struct Run {
    /// The beliefs at the times asked for; for Laplace the posterior's, whatever the time.
    pub beliefs: Vec<DenseGaussian>,
    /// The largest `|a| = |xᵀμ|` that a filter met.
    pub largest_predictor: f64,
    /// For Laplace, the gradient `g` of the log joint density at the mean, as `√(gᵀPg)`.
    pub gradient: Option<f64>,
}

impl Algorithm {
    /// The algorithm of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rvga_implicit" => Self::Implicit,
            "rvga_implicit_exact_roots" => Self::ImplicitExactRoots,
            "rvga_explicit" => Self::Explicit,
            "ekf" => Self::ExtendedKalman,
            "qkf" => Self::QuadraticKalman,
            "laplace_as_coded" => Self::LaplaceAsCoded,
            "laplace_exact" => Self::Laplace,
            _ => return None,
        })
    }

    /// How close `run` in `d` dimensions must come; `stated_gap` as in [`tolerance::published_implicit`].
    #[must_use]
    pub fn tolerance(self, run: &Run, d: usize, stated_gap: f64) -> OfRun {
        match self {
            Self::Implicit => tolerance::published_implicit(stated_gap),
            Self::ImplicitExactRoots => tolerance::exact_roots(d),
            Self::ExtendedKalman if run.largest_predictor > tolerance::OVERSHOT => tolerance::EXTENDED_KALMAN_OVERSHOT,
            Self::Explicit | Self::ExtendedKalman | Self::QuadraticKalman => tolerance::CLOSED_FORM,
            Self::LaplaceAsCoded => tolerance::LAPLACE_AS_CODED,
            Self::Laplace => tolerance::LAPLACE,
        }
    }

    /// Runs it, giving the beliefs after each of `times` observations.
    ///
    /// # Errors
    /// [`CaseError::Core`], [`CaseError::Model`].
    pub fn run(self, problem: &Problem, times: &[usize]) -> Result<Run, CaseError> {
        let logit = BernoulliLogit(ProbitApproximation);
        let (beliefs, largest_predictor) = match self {
            Self::Implicit | Self::ImplicitExactRoots => problem.beliefs(&Implicit(logit), times)?,
            Self::Explicit => problem.beliefs(&Explicit(logit), times)?,
            Self::ExtendedKalman => problem.beliefs(&Linearised::extended_kalman(logit), times)?,
            Self::QuadraticKalman => problem.beliefs(&QuadraticBound::Once, times)?,
            Self::LaplaceAsCoded | Self::Laplace => return run_laplace(problem, times.len()),
        };
        Ok(Run { beliefs, largest_predictor, gradient: None })
    }
}

fn run_laplace(problem: &Problem, copies: usize) -> Result<Run, CaseError> {
    let likelihood = BernoulliLogit(Exact);
    let fit = laplace::fit(&problem.prior, problem.x.as_ref(), &problem.y, &likelihood, &LaplaceSettings::default())?;
    let mode = fit.belief.mean();
    let mut gradient: Vec<f64> = problem.prior.mean().iter().zip(mode).map(|(p, m)| p - m).collect();
    problem.prior.cholesky()?.solve_vec_in_place(&mut gradient).map_err(vi_core::Error::from)?;
    for (i, &y) in problem.y.iter().enumerate() {
        let row: Vec<f64> = problem.x.row(i).iter().copied().collect();
        axpy(&mut gradient, likelihood.slope(y, dot(&row, mode)), &row);
    }
    let distance = quadratic_form(Mat::as_ref(&fit.belief.covariance_lower()), &gradient).max(0.0).sqrt();
    Ok(Run { beliefs: vec![fit.belief; copies], largest_predictor: 0.0, gradient: Some(distance) })
}

/// R-VGA (94) with a fixed seed.
///
/// # Errors
/// [`CaseError::Core`].
pub(super) fn monte_carlo(
    posterior: &GlmPosterior<'_, BernoulliLogit<Exact>>,
    belief: &DenseGaussian,
) -> Result<Estimate, CaseError> {
    Ok(posterior.kl_monte_carlo(belief, tolerance::OWN_DRAWS, &mut ChaCha8Rng::seed_from_u64(0))?)
}

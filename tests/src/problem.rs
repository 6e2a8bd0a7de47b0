//! A regression problem as the files hold it: rows, labels, a Gaussian prior.

use vi_core::{Belief, BernoulliLogit, DenseGaussian, Exact, GlmPosterior, SiteRule, filter};
use vi_linalg::faer::Mat;

use crate::CaseError;
use crate::json::Node;

/// Rows `x` (`n × d`), labels `y` (`n`) and the prior.
#[derive(Debug, Clone)]
pub struct Problem {
    /// Inputs, one row per observation.
    pub x: Mat<f64>,
    /// Labels.
    pub y: Vec<f64>,
    /// `N(μ₀, P₀)`.
    pub prior: DenseGaussian,
}

impl Problem {
    /// Reads `x` and `y` from `data` and `prior_mean`, `prior_cov` from `case`.
    ///
    /// # Errors
    /// A [`CaseError`] that says what is missing or does not fit.
    pub fn read(data: &Node<'_>, case: &Node<'_>) -> Result<Self, CaseError> {
        let x = data.get("x")?.matrix()?;
        let y = data.get("y")?.vector_of(x.nrows())?;
        let prior = prior(data, case, x.ncols())?;
        Ok(Self { x, y, prior })
    }

    /// Number of observations `n`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.y.len()
    }

    /// Whether there are no observations; never, as [`read`](Self::read) has it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.y.is_empty()
    }

    /// Dimension `d`.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.x.ncols()
    }

    /// The logistic posterior, with exact expectations.
    ///
    /// # Errors
    /// [`CaseError::Core`], for instance for a label that is neither 0 nor 1.
    pub fn logistic_posterior(&self) -> Result<GlmPosterior<'_, BernoulliLogit<Exact>>, CaseError> {
        Ok(GlmPosterior::new(&self.prior, self.x.as_ref(), &self.y, BernoulliLogit(Exact))?)
    }

    /// One pass of `rule`, giving the beliefs after `times` observations (0 for the prior), in the order asked for, and
    /// the largest `|xᵀμ|` that was met.
    ///
    /// # Errors
    /// [`CaseError::Core`]; the caller has checked that no time is beyond `n`.
    pub fn beliefs<R: SiteRule>(&self, rule: &R, times: &[usize]) -> Result<(Vec<DenseGaussian>, f64), CaseError> {
        let mut largest = 0.0_f64;
        let mut kept = vec![self.prior.clone(); times.len()];
        let mut belief = self.prior.clone();
        filter::run(&mut belief, rule, self.x.as_ref(), &self.y, |t, belief: &DenseGaussian, info| {
            largest = largest.max(info.projection.mean.abs());
            for (slot, _) in kept.iter_mut().zip(times).filter(|(_, time)| **time == t + 1) {
                slot.clone_from(belief);
            }
        })?;
        Ok((kept, largest))
    }
}

/// The prior of `case`: a mean and a covariance, the latter as a matrix or as `sigma0^2 * identity`.
///
/// # Errors
/// A [`CaseError`] that says what is missing or does not fit.
pub fn prior(data: &Node<'_>, case: &Node<'_>, d: usize) -> Result<DenseGaussian, CaseError> {
    let mean = case.get("prior_mean")?.vector_of(d)?;
    let covariance = case.get("prior_cov")?;
    let Some(text) = covariance.text() else {
        return Ok(DenseGaussian::new(&mean, symmetric(&covariance.matrix_of(d, d)?).as_ref())?);
    };
    if text.replace(char::is_whitespace, "") != "sigma0^2*identity" {
        return Err(covariance.refuse(format!("\"{text}\" is neither a matrix nor \"sigma0^2 * identity\"")));
    }
    let sigma0 = match case.find("sigma0") {
        Some(sigma0) => sigma0.number()?,
        None => data.get("parameters")?.get("sigma0")?.number()?,
    };
    Ok(DenseGaussian::isotropic(&mean, sigma0)?)
}

/// A stored covariance without the asymmetry that its own rounding left, if that is all there is.
#[must_use]
pub fn symmetric(matrix: &Mat<f64>) -> Mat<f64> {
    // Ten digits: far above rounding, far below a mistake.
    let rounding = 1e-10 * matrix.norm_max();
    let mean = |i, j| 0.5 * (matrix[(i, j)] + matrix[(j, i)]);
    Mat::from_fn(matrix.nrows(), matrix.ncols(), |i, j| {
        if (matrix[(i, j)] - matrix[(j, i)]).abs() <= rounding { mean(i, j) } else { matrix[(i, j)] }
    })
}

/// `tr P`.
#[must_use]
pub fn trace(belief: &DenseGaussian) -> f64 {
    let covariance = belief.covariance_lower();
    (0..belief.dim()).map(|i| covariance[(i, i)]).sum()
}

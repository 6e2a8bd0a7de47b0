//! How near the optimum a Gaussian is, from the statistics of a pass.

use super::step::{Step, kl};
use super::{InformationGaussian, Statistics};
use crate::{Error, check};

/// The bound at a Gaussian and the length of Newton's step from it: what a search outside this crate needs to know when to stop.
///
/// ```
/// use vi_core::batch::{BatchSettings, InformationGaussian, Reached, Statistics, optimum};
/// use vi_core::{BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let (y, logit) = ([1.0, 0.0, 1.0, 0.0], BernoulliLogit(Mixture8));
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
/// let at = |belief: &DenseGaussian| {
///     let q = InformationGaussian::of(belief)?;
///     Reached::at(&InformationGaussian::of(&prior)?, &q, &Statistics::at(&q, x, &y, &logit, Par::Seq)?)
/// };
/// let settings = BatchSettings::default();
/// let (best, info) = optimum(&prior, &prior, x, &y, &logit, &settings, Par::Seq)?;
/// let (first, last) = (at(&prior)?, at(&best)?);
/// assert!(first.bound < last.bound && (last.bound - info.bound()).abs() < 1e-12);
/// assert!(first.step > 0.1 && last.step < 1e-8);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Reached {
    /// `B(q)`, the bound on the log evidence, in nats.
    pub bound: f64,
    /// The length of the full step: of the mean in standard deviations, or of the precision in units of itself, whichever is larger.
    pub step: f64,
}

impl Reached {
    /// The bound and the step of `q`, from `sums` taken at `q`. Cost `2d³`.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Overflow`] for statistics that are not finite.
    pub fn at(prior: &InformationGaussian, q: &InformationGaussian, sums: &Statistics) -> Result<Self, Error> {
        check::length("prior", q.dim(), prior.dim())?;
        sums.check(q.dim())?;
        let bound = check::result("the bound on the log evidence", sums.expected_log_likelihood - kl(q, prior)?)?;
        let step = check::result("the length of the step", Step::at(prior, q, sums)?.size)?;
        Ok(Self { bound, step })
    }
}

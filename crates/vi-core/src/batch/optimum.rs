//! The batch optimum in one call, and a report of the search.

use vi_linalg::faer::Par;

use super::{InformationGaussian, Search, Statistics};
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::Rows;
use crate::{Error, Stop};

/// When the search for the [batch optimum](optimum) stops.
///
/// ```
/// use vi_core::batch::BatchSettings;
/// let tight = BatchSettings { tolerance: 1e-11, ..BatchSettings::default() };
/// assert!(tight.check().is_ok() && BatchSettings { max_passes: 0, ..tight }.check().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchSettings {
    /// The search ends when a full step would move the mean by less than this many standard deviations, and each entry of the
    /// precision by less than this share of its scale.
    pub tolerance: f64,
    /// The largest number of passes over the rows.
    pub max_passes: usize,
}

impl Default for BatchSettings {
    /// The default tolerance is 1e-9, with at most 200 passes.
    fn default() -> Self {
        Self { tolerance: 1e-9, max_passes: 200 }
    }
}

impl BatchSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_passes", self.max_passes)
    }
}

/// A report of the search.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct BatchInfo {
    /// The number of passes over the rows.
    pub passes: usize,
    /// The number of times that a step had to be halved.
    pub halvings: usize,
    /// The bound `B(q)` at the start and after each accepted step, in nats: it never falls by more than rounding.
    pub bounds: Vec<f64>,
    /// Size of the last full step: the larger of the mean's (standard deviations) and the precision's (relative).
    pub last_step: f64,
    /// Why the search stopped.
    pub stop: Stop,
}

impl BatchInfo {
    /// The report of sweeps that keep a site for each row, which take no steps.
    #[must_use]
    pub fn of_sweeps(passes: usize, bounds: Vec<f64>, stop: Stop) -> Self {
        Self { passes, halvings: 0, bounds, last_step: 0.0, stop }
    }

    /// The bound on the log evidence at the end, in nats.
    #[must_use]
    pub fn bound(&self) -> f64 {
        self.bounds.last().copied().unwrap_or(f64::NEG_INFINITY)
    }
}

/// Finds the variational Gaussian optimum of the `n` rows `x`, dense or sparse, searching from `start` (the prior or, better, a
/// filtered belief); `likelihood` is one for all rows or one for each ([`PerRow`](crate::PerRow)).
///
/// Each pass costs `2nd²` flops in matrix products, `n` expectations and about `2d³`; 10 to 40 passes in the settings of R-VGA's
/// figures, up to 160 seen on separable data with flat priors. Newton's step `Λ ← Λ₀ + XᵀHX`, `μ ← μ + Λ⁻¹∇_μB` is accelerated by
/// Anderson's method and damped whenever the bound would fall. The bound is exact to the accuracy of the likelihood's
/// expectations. The papers' [`ProbitApproximation`](crate::ProbitApproximation) does not suit: its value and its derivatives
/// belong to different functions.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], [`Error::NotPositiveDefinite`]. Not converging is a [`Stop`].
///
/// ```
/// use vi_core::{Stop, batch, Belief, BernoulliLogit, DenseGaussian, Mixture8};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
/// let (best, info) = batch::optimum(
///     &prior, &prior, x, &[1.0, 0.0, 1.0, 0.0], &BernoulliLogit(Mixture8), &batch::BatchSettings::default(), Par::Seq)?;
/// assert_eq!(info.stop, Stop::Converged);
/// assert!(best.mean()[1] > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn optimum<'a, L: Likelihoods<Row: GaussianExpectation>>(
    prior: &DenseGaussian,
    start: &DenseGaussian,
    x: impl Into<Rows<'a>>,
    y: &[f64],
    likelihood: &L,
    settings: &BatchSettings,
    par: Par,
) -> Result<(DenseGaussian, BatchInfo), Error> {
    let rows = x.into().labelled(prior.dim(), y)?;
    likelihood.check_labels(y)?;
    optimum_of(prior, start, settings, |q| Ok(Statistics::of_checked(q, rows, y, likelihood, par)))
}

/// Finds the [`optimum`] for rows that `statistics` sums: with several machines it adds what each returns. Use [`Search`] where
/// the sums cannot be obtained within a call.
///
/// # Errors
/// [`Error::Dimension`], [`Error::NotPositiveDefinite`], [`Error::Overflow`] if the bound at `start` is not finite, and what
/// `statistics` returns.
pub fn optimum_of(
    prior: &DenseGaussian,
    start: &DenseGaussian,
    settings: &BatchSettings,
    mut statistics: impl FnMut(&InformationGaussian) -> Result<Statistics, Error>,
) -> Result<(DenseGaussian, BatchInfo), Error> {
    let mut search = Search::new(prior, start, settings)?;
    while let Some(q) = search.wanted() {
        let sums = statistics(q)?;
        search.tell(sums)?;
    }
    Ok(search.finish())
}

//! Newton's method with a line search on the bound, accelerated, one pass at a time.

use super::anderson::Anderson;
use super::step::{Step, kl};
use super::{BatchInfo, BatchSettings, InformationGaussian, Statistics};
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::{Error, Stop};

/// The shortest step that is tried before the search stops for want of improvement.
const LEAST_STEP: f64 = 1e-6;

/// The largest difference of the bound that rounding of its sums explains.
fn rounding(bound: f64) -> f64 {
    64.0 * f64::EPSILON * (1.0 + bound.abs())
}

/// The search of [`optimum_of`](super::optimum_of), step by step: it says at which Gaussian it wants the [`Statistics`], and goes
/// on when given them.
///
/// It is meant for rows that only other software can sum, such as a database or an asynchronous program. The same sums give the
/// same bits.
///
/// ```
/// use vi_core::batch::{BatchSettings, Search, Statistics};
/// use vi_core::{BernoulliLogit, DenseGaussian, Mixture8, Stop};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let y = [1.0, 0.0, 1.0, 0.0];
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
/// let mut search = Search::new(&prior, &prior, &BatchSettings::default())?;
/// while let Some(q) = search.wanted() {
///     let sums = Statistics::at(q, x, &y, &BernoulliLogit(Mixture8), Par::Seq)?;
///     search.tell(sums)?;
/// }
/// let (_, info) = search.finish();
/// assert_eq!(info.stop, Stop::Converged);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Search {
    settings: BatchSettings,
    prior: InformationGaussian,
    /// The best Gaussian so far.
    q: InformationGaussian,
    /// Newton's step from the best Gaussian so far.
    step: Option<Step>,
    /// The share of the step that is tried.
    rho: f64,
    trial: Option<Trial>,
    anderson: Anderson,
    info: BatchInfo,
}

/// A Gaussian whose statistics are wanted.
#[derive(Debug)]
struct Trial {
    q: InformationGaussian,
    accelerated: bool,
}

impl Search {
    /// Begins a search from `start`. Cost `d³`.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::Dimension`], [`Error::NotPositiveDefinite`].
    pub fn new(prior: &DenseGaussian, start: &DenseGaussian, settings: &BatchSettings) -> Result<Self, Error> {
        settings.check()?;
        check::length("start", prior.dim(), start.dim())?;
        let q = InformationGaussian::of(start)?;
        Ok(Self {
            settings: *settings,
            prior: InformationGaussian::of(prior)?,
            step: None,
            rho: 1.0,
            trial: Some(Trial { q: q.clone(), accelerated: false }),
            q,
            anderson: Anderson::default(),
            info: BatchInfo {
                passes: 0,
                halvings: 0,
                bounds: Vec::new(),
                last_step: f64::INFINITY,
                stop: Stop::Iterations,
            },
        })
    }

    /// The Gaussian at which the next statistics are wanted; `None` if the search has ended.
    #[must_use]
    pub fn wanted(&self) -> Option<&InformationGaussian> {
        self.trial.as_ref().map(|trial| &trial.q)
    }

    /// The report of the search so far.
    #[must_use]
    pub fn info(&self) -> &BatchInfo {
        &self.info
    }

    /// Takes the statistics that were [wanted](Self::wanted); after the end of the search nothing changes. Cost some `2d³`.
    ///
    /// # Errors
    /// [`Error::Dimension`], after which the statistics are still wanted. [`Error::NotPositiveDefinite`] and [`Error::Overflow`]
    /// (the bound at the start is not finite) end the search.
    #[expect(clippy::needless_pass_by_value, reason = "sums of one place are told once")]
    pub fn tell(&mut self, sums: Statistics) -> Result<(), Error> {
        sums.check(self.prior.dim())?;
        let Some(Trial { q, accelerated }) = self.trial.take() else { return Ok(()) };
        self.info.passes += 1;
        let bound = sums.expected_log_likelihood - kl(&q, &self.prior)?;
        if self.info.bounds.is_empty() {
            check::result("the bound on the log evidence", bound)?;
            return self.accept(q, &sums, bound);
        }
        if bound >= self.info.bound() - rounding(self.info.bound()) {
            return self.accept(q, &sums, bound);
        }
        if self.reject(accelerated) {
            self.propose(None);
        }
        Ok(())
    }

    /// Returns the best Gaussian so far and the report of the search. Cost `2d³/3`.
    #[must_use]
    pub fn finish(self) -> (DenseGaussian, BatchInfo) {
        (self.q.to_belief(), self.info)
    }

    fn accept(&mut self, q: InformationGaussian, sums: &Statistics, bound: f64) -> Result<(), Error> {
        let step = Step::at(&self.prior, &q, sums)?;
        self.info.bounds.push(bound);
        self.info.last_step = step.size;
        self.rho = 1.0;
        if step.size <= self.settings.tolerance {
            (self.q, self.info.stop) = (q, Stop::Converged);
            return Ok(());
        }
        let proposal =
            if self.info.passes < self.settings.max_passes { step.accelerated(&q, &mut self.anderson)? } else { None };
        (self.q, self.step) = (q, Some(step));
        self.propose(proposal);
        Ok(())
    }

    /// Chooses the next trial: an accelerated step, or the plain one, shortened as often as necessary.
    fn propose(&mut self, mut proposal: Option<InformationGaussian>) {
        loop {
            if self.info.passes >= self.settings.max_passes {
                self.info.stop = Stop::Iterations;
                return;
            }
            let accelerated = proposal.is_some();
            let plain = || self.step.as_ref().and_then(|step| step.plain(&self.q, self.rho).ok());
            if let Some(q) = proposal.take().or_else(plain) {
                self.trial = Some(Trial { q, accelerated });
                return;
            }
            if !self.reject(false) {
                return;
            }
        }
    }

    /// Gives up a step; returns whether there is another to try.
    fn reject(&mut self, accelerated: bool) -> bool {
        if accelerated {
            self.anderson.clear();
        } else {
            self.rho *= 0.5;
            self.info.halvings += 1;
        }
        if self.rho < LEAST_STEP {
            self.info.stop = Stop::Improvement;
            return false;
        }
        true
    }
}

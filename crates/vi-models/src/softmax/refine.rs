//! Sweeps from one pass to the best Gaussian.

use vi_core::batch::{BatchSettings, InformationGaussian};
use vi_core::refine::RefineInfo;
use vi_core::{Belief, DenseGaussian, Error, Stop};
use vi_linalg::faer::{Mat, Par};
use vi_linalg::kernels::{dot, symmetric_mul_vec};

use super::batch::Information;
use super::logits::{Counts, Logits};
use super::site::{LogitSite, absorb, moved};
use super::step::logits;
use super::{Softmax, SoftmaxRows, SoftmaxScratch};
use crate::{ModelError, check};

/// How often a row's site is evaluated for one change of the belief.
const INNER: usize = 3;
/// The damping below which the batch optimiser replaces sweeping.
const LEAST_DAMPING: f64 = 0.1;

/// A posterior with the sites it is made of.
#[derive(Debug, Clone)]
pub struct SoftmaxFit {
    /// The belief.
    pub belief: DenseGaussian,
    pub(super) sites: Vec<LogitSite>,
}

impl SoftmaxFit {
    /// The number of rows, and so of sites.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.sites.len()
    }
}

/// The settings of [refinement](Softmax::refine).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SoftmaxRefineSettings {
    /// Sweeping stops when a sweep changes the bound by less than this, in nats; for expectation propagation, when its
    /// changes of the rows' `log Ẑ` add up, in absolute value, to less.
    pub tolerance: f64,
    /// The largest number of sweeps.
    pub max_sweeps: usize,
}

impl Default for SoftmaxRefineSettings {
    /// The default is a tolerance of 1e-6 nats and at most 50 sweeps.
    fn default() -> Self {
        Self { tolerance: 1e-6, max_sweeps: 50 }
    }
}

impl SoftmaxRefineSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Setting` unless the tolerance is positive and finite and the limit from 1 to 10⁶.
    pub fn check(&self) -> Result<(), ModelError> {
        check::positive("tolerance", self.tolerance)?;
        Ok(check::limit("max_sweeps", self.max_sweeps)?)
    }
}

impl Softmax {
    /// Makes one pass from `prior` over `rows` and keeps the sites: `m + C(C−1)/2` numbers for each row, in addition to the cost
    /// of [`run`](Self::run).
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn first_pass(&self, prior: &DenseGaussian, rows: SoftmaxRows<'_>, par: Par) -> Result<SoftmaxFit, ModelError> {
        let mut belief = prior.clone();
        let mut sites = Vec::with_capacity(rows.len());
        self.pass(&mut belief, &rows, par, |_, _, _, site| sites.push(site))?;
        Ok(SoftmaxFit { belief, sites })
    }

    /// Sweeps over the rows until the bound no longer changes. Each row's site becomes `(g + Ka, K)` under the belief that
    /// contains this very site, so that the fixed points are those of the batch optimum, `Λ = Λ₀ + Σ HᵀKH`.
    ///
    /// `fit` is what [`first_pass`](Self::first_pass) gave from the same `prior` and `rows`. A sweep that lowers the bound is
    /// undone and the following ones are damped by half; if that does not help, [`optimum`](Self::optimum) takes over. A sweep
    /// costs as much as a pass; the bound, and assembling the belief anew, cost `4nD² + D³`.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty`, `Dimension`, `Row`, `NotPositiveDefinite`; `fit` is then as it was.
    pub fn refine(
        &self,
        prior: &DenseGaussian,
        fit: &mut SoftmaxFit,
        rows: SoftmaxRows<'_>,
        settings: &SoftmaxRefineSettings,
        par: Par,
    ) -> Result<RefineInfo, ModelError> {
        settings.check()?;
        self.check_fit(prior, fit, &rows)?;
        let natural_prior = InformationGaussian::of(prior)?;
        let mut best = fit.clone();
        let mut info = RefineInfo::new(vec![self.bound_of_checked(prior, &best.belief, &rows)?]);
        let mut damping = 1.0;
        while info.sweeps < settings.max_sweeps {
            let mut next = best.clone();
            let bound = info.bounds[info.sweeps];
            let outcome =
                self.sweep(&mut next, &rows, par, |_, site, logits, counts| {
                    Ok(self.improved(site, logits, counts, damping))
                })
                .and_then(|skipped| {
                    next.belief = self.assemble(&natural_prior, &next.sites, &rows, par)?.0;
                    Ok((skipped, self.bound_of_checked(prior, &next.belief, &rows)?))
                });
            let gained = match outcome {
                Ok((skipped, reached)) => {
                    info.skipped += skipped;
                    reached - bound
                }
                Err(Error::Row { .. } | Error::NotPositiveDefinite { .. }) => f64::NEG_INFINITY,
                Err(error) => return Err(error.into()),
            };
            if gained < -settings.tolerance {
                info.undone += 1;
                damping *= 0.5;
                if damping < LEAST_DAMPING {
                    best = self.fall_back(prior, &best, &rows, &mut info, par)?;
                    break;
                }
                continue;
            }
            best = next;
            info.sweeps += 1;
            info.bounds.push(bound + gained);
            if gained.abs() <= settings.tolerance * damping {
                info.stop = Stop::Converged;
                break;
            }
        }
        *fit = best;
        Ok(info)
    }

    /// Checks `rows`, and that `fit` can belong to `prior` and `rows`.
    pub(super) fn check_fit(
        &self,
        prior: &DenseGaussian,
        fit: &SoftmaxFit,
        rows: &SoftmaxRows<'_>,
    ) -> Result<(), Error> {
        rows.check(self.classes, prior.dim())?;
        check::length("belief", prior.dim(), fit.belief.dim())?;
        check::length("sites", rows.len(), fit.sites.len())
    }

    /// Makes one sweep: `improved` finds a row's new site from the old one and the logits under the belief that contains it, and
    /// returns `None` if there is no better one. Returns how many sites were left as they were.
    pub(super) fn sweep(
        &self,
        fit: &mut SoftmaxFit,
        rows: &SoftmaxRows<'_>,
        par: Par,
        mut improved: impl FnMut(usize, &LogitSite, &Logits, &Counts) -> Result<Option<LogitSite>, Error>,
    ) -> Result<usize, Error> {
        let SoftmaxFit { belief, sites } = fit;
        let mut scratch = SoftmaxScratch::new(self, rows.inputs().ncols());
        let mut skipped = 0;
        for (t, site) in sites.iter_mut().enumerate() {
            scratch.load(rows, t);
            let logits = logits(belief, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))?;
            let next = improved(t, site, &logits, &rows.counts(self.classes, t)).map_err(|error| error.at_row(t))?;
            let Some(next) = next else {
                skipped += 1;
                continue;
            };
            let (slope, curvature) = next.less(site);
            let Some(absorbed) = absorb(&logits, &slope, curvature.as_ref()) else {
                skipped += 1;
                continue;
            };
            let (gains, absorbed) = scratch.site(&absorbed);
            match belief.absorb_vector(gains, absorbed, par) {
                Ok(()) => *site = next,
                Err(Error::NotPositiveDefinite { .. } | Error::Unresolved { .. }) => skipped += 1,
                Err(error) => return Err(error.at_row(t)),
            }
        }
        Ok(skipped)
    }

    /// The row's site under the belief that contains this site, iterated a few times. Returns `None` if the result is not a
    /// Gaussian.
    fn improved(&self, old: &LogitSite, logits: &Logits, counts: &Counts, damping: f64) -> Option<LogitSite> {
        let mut site = old.mixed(&LogitSite::explicit(&self.nodes, logits, counts), damping);
        for _ in 1..INNER {
            let (slope, curvature) = site.less(old);
            let here = moved(logits, &slope, curvature.as_ref())?;
            site = site.mixed(&LogitSite::explicit(&self.nodes, &here, counts), damping);
        }
        let (slope, curvature) = site.less(old);
        moved(logits, &slope, curvature.as_ref()).map(|_| site)
    }

    /// `Λ = Λ₀ + Σ HᵀKH`, `Λμ = Λ₀μ₀ + Σ Hᵀ(r − Ko)`, and `log ∫ N(θ|μ₀, Λ₀⁻¹)·Π exp(rᵀη − ½ηᵀKη) dθ`.
    pub(super) fn assemble(
        &self,
        prior: &InformationGaussian,
        sites: &[LogitSite],
        rows: &SoftmaxRows<'_>,
        par: Par,
    ) -> Result<(DenseGaussian, f64), Error> {
        let (x, m) = (rows.inputs(), self.classes - 1);
        let d = x.ncols();
        let mut shift = vec![0.0; prior.dim()];
        symmetric_mul_vec(&mut shift, prior.precision_lower(), prior.mean());
        let mut log_integral = 0.5 * (prior.cholesky().log_det() - dot(&shift, prior.mean()));
        let mut information = Information::new(d, m);
        for (t, site) in sites.iter().enumerate() {
            let curvature = site.pairs.matrix();
            for i in 0..m {
                let known: f64 = (0..m).map(|k| curvature[(i, k)] * rows.offset(t, k)).sum();
                log_integral += rows.offset(t, i) * (site.slope[i] - 0.5 * known);
                for j in 0..d {
                    shift[i * d + j] += (site.slope[i] - known) * x[(t, j)];
                }
            }
            information.push(x, t, &site.pairs, par);
        }
        let sum = information.finish(x, par);
        let (old, dim) = (prior.precision_lower(), prior.dim());
        let precision = Mat::from_fn(dim, dim, |i, j| if i >= j { old[(i, j)] + sum[(i, j)] } else { 0.0 });
        let zero = InformationGaussian::new(vec![0.0; dim], precision)?;
        let mut mean = shift.clone();
        zero.cholesky().solve_vec_in_place(&mut mean)?;
        log_integral += 0.5 * (dot(&shift, &mean) - zero.cholesky().log_det());
        let precision = zero.precision_lower().to_owned();
        Ok((InformationGaussian::new(mean, precision)?.to_belief(), log_integral))
    }

    /// The batch optimum, and the sites that follow from it.
    fn fall_back(
        &self,
        prior: &DenseGaussian,
        best: &SoftmaxFit,
        rows: &SoftmaxRows<'_>,
        info: &mut RefineInfo,
        par: Par,
    ) -> Result<SoftmaxFit, ModelError> {
        let (belief, batch) = self.optimum(prior, &best.belief, *rows, &BatchSettings::default(), par)?;
        info.bounds.push(batch.bound());
        info.stop = batch.stop;
        info.batch_passes = batch.passes;
        let mut scratch = SoftmaxScratch::new(self, rows.inputs().ncols());
        let mut sites = Vec::with_capacity(rows.len());
        for t in 0..rows.len() {
            scratch.load(rows, t);
            let logits = logits(&belief, &mut scratch, |i| rows.offset(t, i)).map_err(|error| error.at_row(t))?;
            sites.push(LogitSite::explicit(&self.nodes, &logits, &rows.counts(self.classes, t)));
        }
        Ok(SoftmaxFit { belief, sites })
    }
}

impl LogitSite {
    /// The difference of two sites, `(r, K) − (r, K)` of `other`.
    pub(super) fn less(&self, other: &Self) -> (Vec<f64>, Mat<f64>) {
        let slope = self.slope.iter().zip(&other.slope).map(|(a, b)| a - b).collect();
        (slope, self.pairs.matrix() - other.pairs.matrix())
    }
}

//! Sweeps over rows of classes that have a belief each: nested expectation propagation.
//!
//! A row's sites, one for each class, are taken out, and those of the tilted density of what is left are put in: the step of the
//! [heads](crate::softmax) with a cavity for each class in place of the belief. The log evidence is that of the first sweep, `Σ log p(y_t|
//! earlier rows)`: that of the fixed point, whose classes are independent where the posterior's are not, is too high where weights are
//! many and the prior is wide (at 100 classes, 21 columns and 300 rows it prefers a scale twenty times too large).

use vi_core::refine::Progress;
use vi_core::{Belief, Error, Projection, Row, Site};
use vi_linalg::faer::MatRef;

use super::apart::Apart;
use super::belief::AnyStep;
use super::observation::Observation;
use crate::softmax::{head_score, head_sites};

/// The least share of the precision along a row that a cavity must keep; otherwise the row's sites are left as they are.
const LEAST_CAVITY: f64 = 1e-8;

/// A mean change of the rows' normalisers, in nats, below which a sweep gains nothing: a hundredth of a standard error of a mean log loss.
const SETTLED: f64 = 1e-4;

/// The factor `exp(r·t − ½h·t²)` of one row and class.
#[derive(Debug, Clone, Copy, Default)]
struct Factor {
    slope: f64,
    curvature: f64,
}

impl Factor {
    /// Mean and variance without the factor, `ν/(1−hν)` and `(a − νr)/(1−hν)`.
    fn cavity(self, seen: Projection) -> Option<Projection> {
        let left = 1.0 - self.curvature * seen.variance;
        let mean = (seen.mean - seen.variance * self.slope) / left;
        (left > LEAST_CAVITY).then(|| Projection { mean, variance: seen.variance / left })
    }
}

/// Beliefs of classes with the sites that they are made of.
#[derive(Debug)]
pub(super) struct Nested {
    pub(super) belief: Apart,
    /// `C` for each row.
    factors: Vec<Factor>,
    progress: Progress,
    /// The sweeps that have ended.
    pub(super) sweeps: usize,
    /// `Σ log p(y_t | earlier rows)` of the first sweep, in nats, without the first row of each class.
    pub(super) log_evidence: f64,
    /// Whether the class has been seen in the first sweep.
    met: Vec<bool>,
    /// Row updates left out for want of a proper cavity, over all sweeps.
    pub(super) skipped: usize,
    memory: Memory,
}

#[derive(Debug, Default)]
struct Memory {
    steps: Vec<AnyStep>,
    seen: Vec<Projection>,
    cavities: Vec<Projection>,
    sites: Vec<Site>,
}

impl Nested {
    /// No row yet, of `rows`.
    ///
    /// # Errors
    /// `Empty` for no rows.
    pub(super) fn new(prior: Apart, rows: usize) -> Result<Self, Error> {
        vi_core::check::not_empty("labels", rows)?;
        let factors = vec![Factor::default(); rows * prior.parts.len()];
        let progress = Progress::new(rows);
        let met = vec![false; prior.parts.len()];
        Ok(Self {
            belief: prior,
            met,
            factors,
            progress,
            sweeps: 0,
            log_evidence: 0.0,
            skipped: 0,
            memory: Memory::default(),
        })
    }

    /// The cavities of row `t` into memory; `false` if one is not proper.
    fn cavities(&mut self, t: usize, row: Row<'_>) -> Result<bool, Error> {
        let classes = self.belief.parts.len();
        let Memory { steps, seen, cavities, .. } = &mut self.memory;
        steps.resize_with(classes, AnyStep::default);
        seen.clear();
        cavities.clear();
        let Some(factors) = self.factors.get(t * classes..(t + 1) * classes) else {
            return Err(Error::Dimension {
                argument: "rows of a pass",
                expected: self.factors.len() / classes,
                found: t + 1,
            });
        };
        for ((part, step), factor) in self.belief.parts.iter().zip(steps).zip(factors) {
            let projection = part.project(row, 1.0, step)?;
            seen.push(projection);
            cavities.extend(factor.cavity(projection));
        }
        Ok(cavities.len() == classes)
    }

    /// Finds the sites of row `t` anew. A row whose sites would leave no Gaussian stays as it is.
    ///
    /// # Errors
    /// Those of a projection; `Dimension` for a row beyond the last.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a checked class")]
    pub(super) fn see(&mut self, t: usize, row: Row<'_>, observed: &Observation) -> Result<(), Error> {
        let proper = self.cavities(t, row)?;
        let Memory { steps, seen, cavities, sites } = &mut self.memory;
        let found =
            if proper { head_sites(cavities, observed.label as usize, observed.weight, sites).ok() } else { None };
        let Some(score) = found else {
            self.skipped += 1;
            return Ok(());
        };
        let class = observed.label as usize;
        if self.sweeps == 0 && std::mem::replace(&mut self.met[class], true) {
            self.log_evidence += observed.weight * head_score(seen, class)?;
        }
        let (classes, damping) = (seen.len(), self.progress.damping());
        let factors = &mut self.factors[t * classes..(t + 1) * classes];
        let mixed = |old: f64, new: f64| (1.0 - damping) * old + damping * new;
        let parts = self.belief.parts.iter().zip(steps.iter_mut()).zip(seen.iter());
        let prepared = parts.zip(cavities).zip(sites.iter_mut()).zip(factors.iter()).try_for_each(
            |(((((part, step), seen), cavity), site), factor)| {
                let next = Factor {
                    slope: mixed(factor.slope, site.natural_slope(cavity.mean)),
                    curvature: mixed(factor.curvature, site.curvature),
                };
                let curvature = next.curvature - factor.curvature;
                let change = Site { slope: next.slope - factor.slope - curvature * seen.mean, curvature };
                *site = Site { slope: next.slope, curvature: next.curvature };
                change.check(seen.variance)?;
                part.prepare(row, change, step)
            },
        );
        if prepared.is_err() {
            self.skipped += 1;
            return Ok(());
        }
        self.belief.commit(row, steps);
        for (factor, site) in factors.iter_mut().zip(sites) {
            *factor = Factor { slope: site.slope, curvature: site.curvature };
        }
        self.progress.see(t, score);
        Ok(())
    }

    /// Ends a sweep; whether it has changed the rows' normalisers by no more than `tolerance` each in the mean, or by next to nothing.
    pub(super) fn ends(&mut self, tolerance: f64) -> bool {
        self.sweeps += 1;
        let rows = self.factors.len() / self.belief.parts.len().max(1);
        self.progress.ends(tolerance.max(SETTLED) * rows as f64)
    }

    /// Sweeps over the rows of `x`, at most so many times; whether the last has changed less than the tolerance.
    ///
    /// # Errors
    /// As [`see`](Self::see), naming the row.
    pub(super) fn sweep(
        &mut self,
        x: MatRef<'_, f64>,
        observed: &[Observation],
        tolerance: f64,
        most: usize,
    ) -> Result<bool, Error> {
        let rows: Vec<f64> = (0..x.nrows()).flat_map(|t| x.row(t).iter().copied()).collect();
        let mut settled = false;
        while self.sweeps < most && !settled {
            for (t, (row, observed)) in rows.chunks(x.ncols().max(1)).zip(observed).enumerate() {
                self.see(t, Row::Dense(row), observed).map_err(|error| error.at_row(t))?;
            }
            settled = self.ends(tolerance);
        }
        Ok(settled)
    }
}

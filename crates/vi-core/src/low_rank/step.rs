//! The low-rank belief as a [`Belief`]: project along a row, prepare what can fail, write.

use std::fmt;

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use super::lazy::{LazyPlan, Spare};
use super::look::LazyRow;
use super::reduce::Reduction;
use super::settings::Scheme;
use super::space::Seen;
use super::storage::{Full, Storage};
use crate::belief::{Belief, Projection};
use crate::{Error, Row, Site};

/// Memory for a step of a [`LowRankGaussian`]: the products with a row and, for the row that fills a block, the projection ready
/// to be written.
#[derive(Default)]
pub struct LowRankStep {
    seen: Option<Seen>,
    projection: Projection,
    /// `λ`, and the scale of the belief after the step.
    fade: f64,
    scale: f64,
    prepared: Prepared,
    /// The touched row of a lazy belief.
    row_found: Option<LazyRow>,
    spare: Spare,
    /// Sparse rows written out with their zeros, where they meet dense ones.
    row: Vec<f64>,
}

#[derive(Default)]
enum Prepared {
    #[default]
    Nothing,
    /// The row is buffered.
    Waits(Seen, Site),
    /// The row is the last of its block.
    Fills(Box<Reduction>),
    /// The row is the last of a block that rewrites only what it touches.
    FillsLazily(Box<LazyPlan>),
    /// The belief after the step, where all of it changes at each row or takes the other form.
    Whole(Box<Storage>),
}

impl fmt::Debug for LowRankStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LowRankStep").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Belief for LowRankGaussian {
    type Step = LowRankStep;

    fn dim(&self) -> usize {
        match &self.storage {
            Storage::Full(full) => full.mean.len(),
            Storage::Lazy(lazy) => lazy.records.dim(),
        }
    }

    /// With buffered rows, or if blocks [rewrite only what they touch](super::Upkeep), the first call after a change costs `2d(p
    /// + k)` flops and a vector.
    fn mean(&self) -> &[f64] {
        match &self.storage {
            Storage::Full(full) if full.core.waiting.len() == 0 => &full.mean,
            _ => self.shown.get_or_init(|| self.in_full().current_mean()),
        }
    }

    /// Cost `2d(p + k)` flops with `k` buffered rows; for a sparse row the number of its entries replaces `d`.
    fn project(&self, x: Row<'_>, fade: f64, step: &mut LowRankStep) -> Result<Projection, Error> {
        self.project_row(x, fade, step, Par::Seq)
    }

    /// In the blocked form the row that fills a block also pays for most of the [projection](Self::flush). The forms that project
    /// row by row take a copy of the belief.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut LowRankStep) -> Result<(), Error> {
        self.prepare_row(x, site, step, Par::Seq)
    }

    fn commit(&mut self, x: Row<'_>, step: &mut LowRankStep) {
        self.commit_row(x, step, Par::Seq);
    }
}

impl LowRankGaussian {
    pub(super) fn project_row(
        &self,
        x: Row<'_>,
        fade: f64,
        step: &mut LowRankStep,
        par: Par,
    ) -> Result<Projection, Error> {
        let (looked, row_found) = self.look_along(x, par);
        let seen = self.core().see(&looked, 0)?;
        (step.fade, step.scale) = (fade, fade * self.core().scale);
        step.projection = seen.projection(step.scale)?;
        (step.seen, step.row_found) = (Some(seen), row_found);
        Ok(step.projection)
    }

    pub(super) fn prepare_row(&self, x: Row<'_>, site: Site, step: &mut LowRankStep, par: Par) -> Result<(), Error> {
        step.prepared = Prepared::Nothing;
        let Some(seen) = step.seen.take() else { return Ok(()) };
        let core = self.core();
        let Scheme::Blocked { block, .. } = core.settings.scheme else {
            step.prepared = Prepared::Whole(Box::new(self.stepped(x, site, step, par)?));
            return Ok(());
        };
        site.check(step.projection.variance)?;
        let site = in_scale(site, step.scale);
        core.waiting.space.check(&seen, site, core.bounds)?;
        let fills = core.waiting.len() + 1 >= block;
        let space = |seen| {
            let mut space = core.waiting.space.clone();
            space.add(seen, site);
            space
        };
        step.prepared = match &self.storage {
            Storage::Lazy(lazy) if !lazy.takes(x, site.curvature) => {
                let mut full = lazy.in_full();
                full.core.scale = step.scale;
                full.wait(x, seen, site);
                if fills {
                    full.flush(par)?;
                }
                Prepared::Whole(Box::new(Storage::Full(full)))
            }
            Storage::Full(full) if fills && full.becomes_lazy(x) => {
                let mut lazy = full.to_lazy();
                lazy.core.scale = step.scale;
                lazy.wait(&lazy.look(x).1, x, seen, site);
                lazy.flush()?;
                Prepared::Whole(Box::new(Storage::Lazy(lazy)))
            }
            Storage::Full(full) if fills => {
                let columns = core.waiting.rows.with(x, full.mean.len(), &mut step.row);
                Prepared::Fills(Box::new(full.reduction(&space(seen), columns, step.scale, par)?))
            }
            Storage::Lazy(lazy) if fills => {
                let memory = std::mem::take(&mut step.spare);
                let plan = lazy.plan(step.row_found.as_ref(), &space(seen), step.scale, memory)?;
                Prepared::FillsLazily(Box::new(plan))
            }
            Storage::Full(_) | Storage::Lazy(_) => Prepared::Waits(seen, site),
        };
        Ok(())
    }

    pub(super) fn commit_row(&mut self, x: Row<'_>, step: &mut LowRankStep, par: Par) {
        match (std::mem::take(&mut step.prepared), self.change()) {
            (Prepared::Waits(seen, site), Storage::Full(full)) => {
                full.core.scale = step.scale;
                if full.becomes_lazy(x) {
                    let mut lazy = full.to_lazy();
                    lazy.wait(&lazy.look(x).1, x, seen, site);
                    self.storage = Storage::Lazy(lazy);
                } else {
                    full.wait(x, seen, site);
                }
            }
            (Prepared::Waits(seen, site), Storage::Lazy(lazy)) => {
                lazy.core.scale = step.scale;
                lazy.wait(&step.row_found.take().unwrap_or_default(), x, seen, site);
            }
            (Prepared::Fills(reduction), Storage::Full(full)) => {
                let rows = std::mem::take(&mut full.core.waiting.rows);
                full.reduce(*reduction, rows.with(x, full.mean.len(), &mut step.row), par);
                full.core.waiting.put_back(rows);
            }
            (Prepared::FillsLazily(plan), Storage::Lazy(lazy)) => step.spare = lazy.take(*plan, step.scale),
            (Prepared::Whole(whole), storage) => *storage = *whole,
            // Nothing has been prepared, or not for this belief.
            _ => {}
        }
    }

    /// The belief after a step of a form that reduces row by row.
    fn stepped(&self, x: Row<'_>, site: Site, step: &mut LowRankStep, par: Par) -> Result<Storage, Error> {
        let mut next = self.in_full().into_owned();
        if step.fade < 1.0 {
            next.fade(step.fade)?;
        }
        let x = x.written_out(next.mean.len(), &mut step.row);
        next.absorb_alone(MatRef::from_row_major_slice(x, 1, x.len()), |_, _| Ok(site), par)?;
        Ok(Storage::Full(next))
    }
}

impl Full {
    /// Absorbs a row which has been checked and does not fill a block.
    fn wait(&mut self, x: Row<'_>, seen: Seen, site: Site) {
        self.core.waiting.push(x, self.mean.len(), self.core.settings.block(), seen, site);
    }
}

/// The site for a belief whose precision is multiplied by `scale` afterwards.
pub(super) fn in_scale(site: Site, scale: f64) -> Site {
    Site { slope: site.slope / scale, curvature: site.curvature / scale }
}

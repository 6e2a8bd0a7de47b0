//! The low-rank belief as a [`Belief`]: project along a row, prepare what can fail, write.

use std::fmt;

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use super::columns::{Columns, SparseBuffer};
use super::lazy::{Lazy, LazyPlan, Spare};
use super::project::Plan;
use super::settings::Scheme;
use super::space::{Seen, Space};
use super::upkeep::LazyRow;
use super::waiting::WaitingRows;
use crate::belief::{Belief, Projection};
use crate::forgetting::Forget;
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
    /// A sparse row written out with its zeros, if it meets dense ones.
    row: Vec<f64>,
}

#[derive(Default)]
enum Prepared {
    #[default]
    Nothing,
    /// The row is buffered.
    Waits(Seen, Site),
    /// The row is the last of a block that rewrites only what it touches.
    FillsLazily(Box<LazyPlan>),
    /// The row is the last of its block: the rows with it, and the projection of them.
    Fills(Box<(Space, Option<WaitingRows>, Plan)>),
    /// The belief after the step, for the forms that rewrite all of it at each row.
    Whole(Box<LowRankGaussian>),
}

impl fmt::Debug for LowRankStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LowRankStep").field("seen", &self.seen).finish_non_exhaustive()
    }
}

impl Belief for LowRankGaussian {
    type Step = LowRankStep;

    fn dim(&self) -> usize {
        self.lazy.as_deref().map_or(self.mean.len(), |lazy| lazy.records.dim())
    }

    /// With buffered rows, or if blocks [rewrite only what they touch](super::Upkeep), the first call after a change costs `2d(p
    /// + k)` flops and a vector.
    fn mean(&self) -> &[f64] {
        if self.waiting.len() == 0 && self.lazy.is_none() {
            &self.mean
        } else {
            self.shown.get_or_init(|| self.current_mean())
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
        step.row_found = None;
        let looked = match self.lazy.as_deref() {
            None => self.look_along(x, par),
            Some(lazy) => {
                let (looked, row) = self.look_lazily(lazy, x);
                step.row_found = Some(row);
                looked
            }
        };
        let seen = self.see(&looked)?;
        (step.fade, step.scale) = (fade, fade * self.scale);
        step.projection = seen.projection(step.scale)?;
        step.seen = Some(seen);
        Ok(step.projection)
    }

    pub(super) fn prepare_row(&self, x: Row<'_>, site: Site, step: &mut LowRankStep, par: Par) -> Result<(), Error> {
        step.prepared = Prepared::Nothing;
        let Some(seen) = step.seen.take() else { return Ok(()) };
        let Scheme::Blocked { block, .. } = self.settings.scheme else {
            step.prepared = Prepared::Whole(Box::new(self.stepped(x, site, step, par)?));
            return Ok(());
        };
        site.check(step.projection.variance)?;
        let site = in_scale(site, step.scale);
        self.waiting.space.check(&seen, site, self.bounds)?;
        let fills = self.waiting.len() + 1 >= block;
        let leaves = self.lazy.as_deref().is_some_and(|lazy| !self.takes(lazy, x, site));
        if leaves || (fills && self.becomes_lazy(x)) {
            step.prepared = Prepared::Whole(Box::new(self.in_other_form(leaves, x, (seen, site), step.scale, par)?));
            return Ok(());
        }
        if !fills {
            step.prepared = Prepared::Waits(seen, site);
            return Ok(());
        }
        let mut space = self.waiting.space.clone();
        space.add(seen, site);
        if let (Some(lazy), Some(row)) = (self.lazy.as_deref(), &step.row_found) {
            let plan = self.plan_lazily(lazy, Some(row), &space, step.scale, std::mem::take(&mut step.spare))?;
            step.prepared = Prepared::FillsLazily(Box::new(plan));
            return Ok(());
        }
        let joined = self.waiting.rows.joined_by(x);
        let columns = filled(&self.waiting.rows, joined.as_ref(), x, self.mean.len(), &mut step.row);
        let plan = self.plan(&space, columns, step.scale, par)?;
        if plan.may_lose_the_capacitance() {
            // Numbers this large may leave I + WᵀΨ⁻¹W without a Cholesky factor, which is tried on a copy.
            let mut whole = self.clone();
            whole.scale = step.scale;
            whole.write_plan(&space, columns, &plan, par)?;
            whole.waiting.clear();
            step.prepared = Prepared::Whole(Box::new(whole));
        } else {
            step.prepared = Prepared::Fills(Box::new((space, joined, plan)));
        }
        Ok(())
    }

    pub(super) fn commit_row(&mut self, x: Row<'_>, step: &mut LowRankStep, par: Par) {
        match std::mem::take(&mut step.prepared) {
            Prepared::Nothing => return,
            Prepared::Waits(seen, site) => {
                self.scale = step.scale;
                if self.becomes_lazy(x) {
                    self.become_lazy();
                    step.row_found = self.lazy.as_deref().map(|lazy| self.look_lazily(lazy, x).1);
                }
                if let (Some(lazy), Some(row)) = (self.lazy.as_deref_mut(), &step.row_found) {
                    lazy.touched.add(&row.found, &row.values);
                }
                self.waiting.space.add(seen, site);
                let (block, d) = (self.settings.block(), self.dim());
                self.waiting.rows.push(x, d, block);
            }
            Prepared::FillsLazily(plan) => {
                self.scale = step.scale;
                step.spare = self.write_lazily(*plan);
            }
            Prepared::Fills(ready) => {
                let (space, joined, plan) = *ready;
                self.scale = step.scale;
                let rows = std::mem::take(&mut self.waiting.rows);
                let columns = filled(&rows, joined.as_ref(), x, self.mean.len(), &mut step.row);
                let written = self.write_plan(&space, columns, &plan, par);
                debug_assert!(written.is_ok(), "the plan's size was checked: {written:?}");
                self.waiting.rows = rows;
                self.waiting.clear();
            }
            Prepared::Whole(whole) => *self = *whole,
        }
        self.shown.take();
    }

    /// Whether a row with this site can join a block of the lazy form.
    fn takes(&self, lazy: &Lazy, x: Row<'_>, site: Site) -> bool {
        match x {
            Row::Dense(_) => false,
            Row::Sparse { positions, .. } => site.curvature >= 0.0 && self.stays_lazy(lazy, positions.len()),
        }
    }

    /// The belief after a row that does not suit its current form, or that fills its first block in the lazy one.
    fn in_other_form(
        &self,
        full: bool,
        x: Row<'_>,
        (seen, site): (Seen, Site),
        scale: f64,
        par: Par,
    ) -> Result<Self, Error> {
        let mut next = self.in_full();
        next.scale = scale;
        if !full {
            next.become_lazy();
        }
        if let Some(lazy) = next.lazy.as_deref() {
            let row = next.look_lazily(lazy, x).1;
            next.lazy.iter_mut().for_each(|lazy| lazy.touched.add(&row.found, &row.values));
        }
        next.waiting.space.add(seen, site);
        let (block, d) = (self.settings.block(), next.dim());
        next.waiting.rows.push(x, d, block);
        if next.waiting.len() >= block {
            next.flush(par)?;
        }
        Ok(next)
    }

    /// The belief after a step of a form that projects row by row.
    fn stepped(&self, x: Row<'_>, site: Site, step: &mut LowRankStep, par: Par) -> Result<Self, Error> {
        let mut next = self.clone();
        if step.fade < 1.0 {
            next.fade(step.fade)?;
        }
        let x = x.written_out(self.mean.len(), &mut step.row);
        let x = MatRef::from_row_major_slice(x, 1, x.len());
        let seen = next.see(&next.look(x, par))?;
        next.absorb_seen(x, seen, site, par)?;
        Ok(next)
    }
}

/// The site for a belief whose precision is multiplied by `scale` afterwards.
pub(super) fn in_scale(site: Site, scale: f64) -> Site {
    Site { slope: site.slope / scale, curvature: site.curvature / scale }
}

/// The buffered rows and the one that fills their block.
fn filled<'a>(
    rows: &'a WaitingRows,
    joined: Option<&'a WaitingRows>,
    x: Row<'a>,
    d: usize,
    memory: &'a mut Vec<f64>,
) -> Columns<'a> {
    match (joined, rows, x) {
        (Some(rows), _, _) => rows.columns(d),
        (None, WaitingRows::Sparse(rows), Row::Sparse { positions, values }) => {
            Columns::SparseAnd(rows.rows(), (positions, values))
        }
        (None, WaitingRows::Sparse(rows), Row::Dense(_)) => Columns::Sparse(rows.rows()),
        (None, WaitingRows::Dense(values), x) => {
            let rows = MatRef::from_row_major_slice(values, values.len() / d, d);
            Columns::DenseAnd(rows, x.written_out(d, memory))
        }
    }
}

impl WaitingRows {
    /// All rows and `x`, if they have to change their form to be stored together.
    fn joined_by(&self, x: Row<'_>) -> Option<WaitingRows> {
        match (self, x) {
            (Self::Sparse(_), Row::Dense(values)) => {
                let mut rows = self.clone();
                let _kept = rows.push_dense(MatRef::from_row_major_slice(values, 1, values.len()), 1);
                Some(rows)
            }
            (Self::Dense(rows), Row::Sparse { positions, values }) if rows.is_empty() => {
                let mut sparse = SparseBuffer::default();
                sparse.push((positions, values));
                Some(Self::Sparse(sparse))
            }
            _ => None,
        }
    }
}

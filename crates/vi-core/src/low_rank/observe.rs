//! Observations of a low-rank belief: project, ask the rule, absorb, and project to low rank when a block is full.

use vi_linalg::faer::{MatRef, Par};

use vi_linalg::kernels::axpy;

use super::LowRankGaussian;
use super::columns::Columns;
use super::look::Looked;
use super::settings::Scheme;
use super::space::Seen;
use super::step::{LowRankStep, in_scale};
use crate::belief::{Belief, Projection};
use crate::check;
use crate::filter::{StepInfo, check_observations};
use crate::rows::CheckedRows;
use crate::{Error, Row, Rows, Site, SiteRule, SiteRules};

impl LowRankGaussian {
    /// Learns one observation with a row of length `d`, dense or sparse.
    ///
    /// It does what [`filter::step`](crate::filter::step) does, in one pass over `W` instead of three, and by several threads.
    /// Cost `2(p + k)` flops for each entry with `k` buffered rows, for a sparse row only its own entries; the row that fills the
    /// block pays for the [projection](Self::flush). For the forms that project row by row, see
    /// [`LowRankSettings`](super::LowRankSettings). Rows of both kinds may come in any order; if both are in one block, the
    /// sparse ones are written out.
    ///
    /// # Errors
    /// As [`filter::step`](crate::filter::step) and [`flush`](Self::flush); the belief is then as it was, to the bit.
    ///
    /// ```
    /// use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::Par;
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 100_000], 1.0, LowRankSettings::blocked(10)?)?;
    /// let row = (&[17, 40_000], &[1.0, -1.0]);
    /// belief.step(&Explicit(GaussianLikelihood::new(1.0)?), row, 3.0, Par::Seq)?;
    /// assert!((belief.mean()[17] - 1.0).abs() < 1e-15 && (belief.mean()[40_000] + 1.0).abs() < 1e-15);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn step<'a, R: SiteRule>(
        &mut self,
        rule: &R,
        x: impl Into<Row<'a>>,
        y: f64,
        par: Par,
    ) -> Result<StepInfo, Error> {
        let x = x.into();
        x.check(self.dim())?;
        rule.check_label(y)?;
        if !matches!(self.settings.scheme, Scheme::Blocked { .. }) {
            let mut memory = Vec::new();
            let x = x.written_out(self.dim(), &mut memory);
            let x = MatRef::from_row_major_slice(x, 1, x.len());
            let seen = self.see(&self.look(x, par))?;
            let projection = seen.projection(self.scale)?;
            let site = rule.site(projection.mean, projection.variance, y)?;
            self.absorb_seen(x, seen, site, par)?;
            return Ok(StepInfo::whole(projection, site));
        }
        let mut step = LowRankStep::default();
        let projection = self.project_row(x, 1.0, &mut step, par)?;
        let site = rule.site(projection.mean, projection.variance, y)?;
        self.prepare_row(x, site, &mut step, par)?;
        self.commit_row(x, &mut step, par);
        Ok(StepInfo::whole(projection, site))
    }

    /// Learns up to [`room`](Self::room) observations, the rows of `x` (`k × d`) with labels `y` (length `k`): all of them or, on
    /// an error, none.
    ///
    /// This is the way to stream rows that fill memory: only rows that have to be buffered are copied, and a whole block that
    /// comes at once when none is buffered is not copied at all. The posterior is that of [`step`](Self::step) row by row, to
    /// rounding. Cost `2dk(p + k₀ + k/2)` flops in matrix products with `k₀` rows buffered before, and the projection where the
    /// block is full.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`] (also for more rows than there is room for), and [`Error::Row`] with what
    /// [`filter::step`](crate::filter::step) reports, or as [`flush`](Self::flush).
    ///
    /// ```
    /// use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::{Par, mat};
    /// let rule = Explicit(GaussianLikelihood::new(1e-4)?);
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 2], 1.0, LowRankSettings::blocked(2)?.with_block(2)?)?;
    /// let (x, y) = (mat![[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], [1.0, 3.0, 2.0]);
    /// let mut first = 0;
    /// while first < x.nrows() {
    ///     let k = belief.room().min(x.nrows() - first);
    ///     belief.step_block(&rule, x.as_ref().subrows(first, k), &y[first..first + k], Par::Seq)?;
    ///     first += k;
    /// }
    /// assert_eq!((belief.counts().projections, belief.waiting()), (1, 1));
    /// assert!((belief.mean()[0] - 1.0).abs() < 1e-3 && (belief.mean()[1] - 2.0).abs() < 1e-3);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn step_block<R: SiteRule>(
        &mut self,
        rule: &R,
        x: MatRef<'_, f64>,
        y: &[f64],
        par: Par,
    ) -> Result<Vec<StepInfo>, Error> {
        check_observations(self.dim(), rule, x, y)?;
        if x.nrows() > self.room() {
            return Err(Error::Dimension { argument: "rows of x", expected: self.room(), found: x.nrows() });
        }
        self.through_full(|this| this.absorb_rows(x, |t, seen| rule.site(seen.mean, seen.variance, y[t]), par))
    }

    /// Makes one pass over the rows `x` (`n` of length `d`, dense or sparse) with labels `y` (length `n`), in order; rows that do
    /// not fill the last block stay buffered.
    ///
    /// ```text
    /// a_t = x_tᵀμ, ν_t = x_tᵀPx_t
    /// (g_t, h_t) = rule(a_t, ν_t, y_t)
    /// μ ← μ + g_t/(1 + h_tν_t)·Px_t, P⁻¹ ← P⁻¹ + h_t·x_t x_tᵀ
    /// ```
    ///
    /// `rule` is one for all rows, or one for each ([`PerRow`](crate::PerRow)). `observe(first, belief, steps)` is called after
    /// each part with the index of its first row; a part is a block of dense rows, or one sparse row. Cost: `2(p + k)` flops for
    /// each given entry with `k` buffered rows and a [projection](Self::flush) for each full block, plus one copy of the belief,
    /// from which an error restores it. For a belief that fills memory loop over [`step_block`](Self::step_block) or
    /// [`step`](Self::step), which take no copy.
    ///
    /// # Errors
    /// As [`Rows::check`]; [`Error::Dimension`] for another number of labels or rules, [`Error::Row`] with what [`step`](Self::step) reports. All
    /// rows and labels are checked before the first update, and on any error the belief is as it was before the call.
    ///
    /// ```
    /// use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings, Rows};
    /// use vi_linalg::faer::Par;
    /// // Player 4 beat player 70 by 3 points, who beat player 900 by 2; the other 997 have not played.
    /// let games = Rows::Sparse { starts: &[0, 2, 4], positions: &[4, 70, 70, 900], values: &[1.0, -1.0, 1.0, -1.0] };
    /// let mut strengths = LowRankGaussian::isotropic(&[0.0; 1000], 10.0, LowRankSettings::blocked(5)?)?;
    /// let rule = Explicit(GaussianLikelihood::new(1.0)?);
    /// strengths.run(&rule, games, &[3.0, 2.0], Par::Seq, |_, _, _| {})?;
    /// let final_match = strengths.predict((&[4, 900], &[1.0, -1.0]), Par::Seq)?;
    /// assert!((final_match.mean - 5.0).abs() < 0.1 && strengths.mean()[5] == 0.0);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn run<'a, R: SiteRules>(
        &mut self,
        rule: &R,
        x: impl Into<Rows<'a>>,
        y: &[f64],
        par: Par,
        mut observe: impl FnMut(usize, &Self, &[StepInfo]),
    ) -> Result<(), Error> {
        let rows = check_observations(self.dim(), rule, x, y)?;
        let mut belief = self.clone();
        match rows {
            CheckedRows::Dense(x) => {
                let mut first = 0;
                while first < x.nrows() {
                    let k = belief.room().min(x.nrows() - first);
                    let site =
                        |t, seen: Projection| rule.rule_of(first + t).site(seen.mean, seen.variance, y[first + t]);
                    let absorbed = belief.through_full(|belief| belief.absorb_rows(x.subrows(first, k), site, par));
                    let steps = absorbed.map_err(|error| error.shift_row(first))?;
                    observe(first, &belief, &steps);
                    first += k;
                }
            }
            CheckedRows::Sparse(rows) => {
                for (t, &y) in y.iter().enumerate() {
                    let info = belief.step(rule.rule_of(t), rows.row(t), y, par).map_err(|error| error.at_row(t))?;
                    observe(t, &belief, &[info]);
                }
            }
        }
        *self = belief;
        Ok(())
    }

    /// Absorbs checked rows, no more than there is room for; `site` gives the site for `(t, projection)`.
    pub(super) fn absorb_rows(
        &mut self,
        x: MatRef<'_, f64>,
        site: impl FnMut(usize, Projection) -> Result<Site, Error>,
        par: Par,
    ) -> Result<Vec<StepInfo>, Error> {
        let looked = self.look(x, par);
        self.absorb_looked(x, &looked, site, par)
    }

    /// Absorbs rows whose products are known.
    pub(super) fn absorb_looked(
        &mut self,
        x: MatRef<'_, f64>,
        looked: &Looked,
        mut site: impl FnMut(usize, Projection) -> Result<Site, Error>,
        par: Par,
    ) -> Result<Vec<StepInfo>, Error> {
        let (k, before) = (x.nrows(), self.waiting.len());
        let mut steps = Vec::with_capacity(k);
        for t in 0..k {
            match self.push_looked(looked, t, &mut site) {
                Ok(info) => steps.push(info),
                Err(error) => {
                    self.waiting.space.rows.truncate(before);
                    return Err(error.at_row(t));
                }
            }
        }
        self.settle(x, par)?;
        Ok(steps)
    }

    /// Adds row `t` of those in `looked` to the space, with its site.
    fn push_looked(
        &mut self,
        looked: &Looked,
        t: usize,
        site: &mut impl FnMut(usize, Projection) -> Result<Site, Error>,
    ) -> Result<StepInfo, Error> {
        let seen = self.waiting.space.see(self.root(), looked.wx(t), looked.xx(t), looked.mean(t))?;
        let projection = seen.projection(self.scale)?;
        let site = site(t, projection)?;
        self.push(seen, site)?;
        Ok(StepInfo::whole(projection, site))
    }

    /// Adds a row whose projection is known to the space, with its site.
    fn push(&mut self, seen: Seen, site: Site) -> Result<(), Error> {
        site.check(seen.projection(self.scale)?.variance)?;
        self.waiting.space.push(seen, in_scale(site, self.scale), self.bounds)
    }

    /// Absorbs a dense row whose projection is known.
    pub(super) fn absorb_seen(&mut self, x: MatRef<'_, f64>, seen: Seen, site: Site, par: Par) -> Result<(), Error> {
        self.push(seen, site)?;
        self.settle(x, par)
    }

    /// Adds `XXᵀ` to the precision for a matrix `X` given by its columns, the rows of `x` (`K × d`); the mean stays.
    ///
    /// In a blocked belief the columns are buffered with the rows, and are projected when a block is full; in the [one-loop
    /// form](super::LowRankSettings::one_loop) and the [recursion](super::LowRankSettings::recursive) all `K` are projected at
    /// once (L-RVGA Algorithm 1 for a rectangular `x_t`). With [`covariance_mul`](Self::covariance_mul) and
    /// [`shift_mean`](Self::shift_mean) this is the update of a nonlinear model.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`], and as [`flush`](Self::flush); the belief is then as it was.
    ///
    /// ```
    /// use vi_core::{LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::{Par, mat};
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 3], 1.0, LowRankSettings::one_loop(2)?)?;
    /// belief.add_information(mat![[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]].as_ref(), Par::Seq)?;
    /// assert_eq!(belief.precision().diagonal(), [2.0, 5.0, 1.0]);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn add_information(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        check::rows(self.dim(), x)?;
        let site = |_, _| Ok(Site { slope: 0.0, curvature: 1.0 });
        self.through_full(|this| this.absorb_rows(x, site, par)).map(|_| ())
    }

    /// Moves the mean: `μ ← μ + change`, of length `d`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Overflow`]; the belief is then as it was.
    pub fn shift_mean(&mut self, change: &[f64]) -> Result<(), Error> {
        check::length("change", self.dim(), change.len())?;
        check::finite("change", change)?;
        if self.lazy.is_some() {
            return self.through_full(|this| this.shift_mean(change));
        }
        check::results("μ + change", self.mean.iter().zip(change).map(|(mean, change)| mean + change))?;
        axpy(&mut self.mean, 1.0, change);
        self.shown.take();
        Ok(())
    }

    /// Does both [`shift_mean`](Self::shift_mean) and [`add_information`](Self::add_information), or neither.
    ///
    /// # Errors
    /// As both; on an error the belief is unchanged, to the bit.
    pub(crate) fn move_and_inform(&mut self, change: &[f64], x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        if self.lazy.is_some() {
            return self.through_full(|this| this.move_and_inform(change, x, par));
        }
        let mean = self.mean.clone();
        self.shift_mean(change)?;
        self.add_information(x, par).inspect_err(|_| {
            self.mean = mean;
            self.shown.take();
        })
    }

    /// Projects the last rows of the space, those of `x`, if the block is full, and buffers them otherwise. On an error they are
    /// removed.
    fn settle(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        let (k, d) = (x.nrows(), x.ncols());
        let alone = self.waiting.len() == k;
        let settled = match self.settings.scheme {
            Scheme::Blocked { block, .. } if self.waiting.len() < block => {
                let _kept = self.waiting.rows.push_dense(x, block);
                Ok(())
            }
            Scheme::Blocked { .. } if alone => self.project(Columns::Dense(x), par).map(|()| self.waiting.clear()),
            Scheme::Blocked { block, .. } => {
                let undo = self.waiting.rows.push_dense(x, block);
                self.flush(par).inspect_err(|_| self.waiting.rows.undo(undo, d))
            }
            Scheme::OneLoop => self.project_one_loop(x, par).map(|()| self.waiting.clear()),
            Scheme::Recursive { inner_loops, mean } => {
                self.project_recursively(x, inner_loops, mean, par).map(|()| self.waiting.clear())
            }
        };
        match settled {
            Ok(()) => {
                self.shown.take();
                Ok(())
            }
            Err(error) => {
                let kept = self.waiting.len() - k;
                self.waiting.space.rows.truncate(kept);
                Err(error)
            }
        }
    }
}

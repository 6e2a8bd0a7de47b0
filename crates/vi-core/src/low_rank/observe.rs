//! Observations of a low-rank belief: project, ask the rule, absorb, and project to low rank when a block is full.

use vi_linalg::faer::{MatRef, Par};

use vi_linalg::kernels::axpy;

use super::LowRankGaussian;
use super::look::Looked;
use super::settings::Scheme;
use super::step::{LowRankStep, in_scale};
use super::storage::Full;
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
        if !matches!(self.core().settings.scheme, Scheme::Blocked { .. }) {
            let mut memory = Vec::new();
            let x = MatRef::from_row_major_slice(x.written_out(self.dim(), &mut memory), 1, self.dim());
            let site = |_, seen: Projection| rule.site(seen.mean, seen.variance, y);
            return self.through_full(|full| full.absorb_alone(x, site, par));
        }
        let mut step = LowRankStep::default();
        let projection = self.project_row(x, 1.0, &mut step, par)?;
        let site = rule.site(projection.mean, projection.variance, y)?;
        self.prepare_row(x, site, &mut step, par)?;
        self.commit_row(x, &mut step, par);
        Ok(StepInfo { projection, site })
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
        self.through_full(|full| full.absorb_rows(x, |t, seen| rule.site(seen.mean, seen.variance, y[t]), par))
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
                    let absorbed = belief.through_full(|full| full.absorb_rows(x.subrows(first, k), site, par));
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
        self.through_full(|full| full.add_information(x, par))
    }

    /// Moves the mean: `μ ← μ + change`, of length `d`.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Overflow`]; the belief is then as it was.
    pub fn shift_mean(&mut self, change: &[f64]) -> Result<(), Error> {
        check::length("change", self.dim(), change.len())?;
        check::finite("change", change)?;
        self.through_full(|full| full.shift_mean(change))
    }

    /// Does both [`shift_mean`](Self::shift_mean) and [`add_information`](Self::add_information), or neither.
    ///
    /// # Errors
    /// As both; on an error the belief is unchanged, to the bit.
    pub(crate) fn move_and_inform(&mut self, change: &[f64], x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        check::length("change", self.dim(), change.len())?;
        check::finite("change", change)?;
        check::rows(self.dim(), x)?;
        self.through_full(|full| {
            let mean = full.mean.clone();
            full.shift_mean(change)?;
            full.add_information(x, par).inspect_err(|_| full.mean = mean)
        })
    }
}

impl Full {
    /// See [`LowRankGaussian::shift_mean`].
    pub(super) fn shift_mean(&mut self, change: &[f64]) -> Result<(), Error> {
        check::results("μ + change", self.mean.iter().zip(change).map(|(mean, change)| mean + change))?;
        axpy(&mut self.mean, 1.0, change);
        Ok(())
    }

    /// See [`LowRankGaussian::add_information`].
    pub(super) fn add_information(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        self.absorb_rows(x, |_, _| Ok(Site { slope: 0.0, curvature: 1.0 }), par).map(|_| ())
    }

    /// Absorbs checked rows, no more than there is room for; `site` gives the site for `(t, projection)`. On an error none is.
    pub(super) fn absorb_rows(
        &mut self,
        x: MatRef<'_, f64>,
        site: impl FnMut(usize, Projection) -> Result<Site, Error>,
        par: Par,
    ) -> Result<Vec<StepInfo>, Error> {
        let looked = self.look(x, par);
        self.absorb_looked(x, &looked, site, par)
    }

    /// Absorbs one row, whose errors name no row.
    pub(super) fn absorb_alone(
        &mut self,
        x: MatRef<'_, f64>,
        site: impl FnMut(usize, Projection) -> Result<Site, Error>,
        par: Par,
    ) -> Result<StepInfo, Error> {
        let absorbed = self.absorb_rows(x, site, par).map(|steps| steps[0]);
        absorbed.map_err(|error| if let Error::Row { source, .. } = error { *source } else { error })
    }

    /// Absorbs rows whose products are known.
    pub(super) fn absorb_looked(
        &mut self,
        x: MatRef<'_, f64>,
        looked: &Looked,
        mut site: impl FnMut(usize, Projection) -> Result<Site, Error>,
        par: Par,
    ) -> Result<Vec<StepInfo>, Error> {
        let before = self.core.waiting.len();
        let absorbed = (0..x.nrows())
            .map(|t| self.push_looked(looked, t, &mut site).map_err(|error| error.at_row(t)))
            .collect::<Result<_, _>>()
            .and_then(|steps| self.keep(x, par).map(|()| steps));
        absorbed.inspect_err(|_| self.core.waiting.space.rows.truncate(before))
    }

    /// Adds row `t` of those in `looked` to the space, with its site.
    fn push_looked(
        &mut self,
        looked: &Looked,
        t: usize,
        site: &mut impl FnMut(usize, Projection) -> Result<Site, Error>,
    ) -> Result<StepInfo, Error> {
        let core = &mut self.core;
        let seen = core.see(looked, t)?;
        let projection = seen.projection(core.scale)?;
        let site = site(t, projection)?;
        site.check(projection.variance)?;
        core.waiting.space.push(seen, in_scale(site, core.scale), core.bounds)?;
        Ok(StepInfo { projection, site })
    }

    /// Reduces the rows of the space, the last of which are those of `x`, if they fill a block, and buffers those of `x`
    /// otherwise.
    fn keep(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        match self.core.settings.scheme {
            Scheme::Blocked { block, .. } if self.core.waiting.len() < block => {
                self.core.waiting.rows.push_dense(x, block);
            }
            Scheme::Blocked { .. } => self.reduce_with(Some(x), par)?,
            Scheme::OneLoop => self.reduce_by_one_loop(x, par)?,
            Scheme::Recursive { inner_loops, mean } => self.reduce_recursively(x, inner_loops, mean, par)?,
        }
        Ok(())
    }
}

//! The sequential filter within a block, on `(a, T)` alone.

use vi_linalg::faer::{Mat, MatMut};
use vi_linalg::kernels::axpy;

use crate::filter::StepInfo;
use crate::{Error, Projection, Site};

/// The recursion in the space of a block's `b` observations.
///
/// With `T = X_bᵀPX_b` (lower triangle) and `a = X_bᵀμ`, for `t = 1…b`:
///
/// ```text
/// (g, h) from (a_t, T_tt);   e_t = g/(1+hT_tt),  c_t = h/(1+hT_tt)
/// a_j  ← a_j + e_t·T_jt                     j > t
/// T_jk ← T_jk − c_t·T_jt·T_kt               j ≥ k > t
/// ```
///
/// Column `t` of `T` is left as it was when its turn came: with `L` the unit lower triangular matrix of `L_jt = c_t·T_jt`,
/// `U = PX_b·L⁻ᵀ` holds the sequential filter's vectors `P₋x_t`, so `μ ← μ + Ue` and `P ← P − U·diag(c)·Uᵀ`.
#[derive(Debug, Clone)]
pub struct BlockRecursion {
    len: usize,
    means: Vec<f64>,
    overlaps: Mat<f64>,
    /// The diagonal of `T` before the recursion.
    variances: Vec<f64>,
    steps: Vec<StepInfo>,
    gains: Vec<f64>,
    shrinkages: Vec<f64>,
    cancellation: f64,
}

impl BlockRecursion {
    /// Memory for blocks of up to `b` rows.
    #[must_use]
    pub fn new(b: usize) -> Self {
        Self {
            len: 0,
            means: vec![0.0; b],
            overlaps: Mat::zeros(b, b),
            variances: vec![0.0; b],
            steps: Vec::with_capacity(b),
            gains: vec![0.0; b],
            shrinkages: vec![0.0; b],
            cancellation: 0.0,
        }
    }

    /// The most rows a block can have.
    pub(crate) fn capacity(&self) -> usize {
        self.means.len()
    }

    /// Where a belief writes `a` (length `b`) and the lower triangle of `T` (`b × b`) for a block of `b` rows, at most
    /// [`capacity`](Self::capacity) of them.
    #[track_caller]
    pub(crate) fn inputs(&mut self, b: usize) -> (&mut [f64], MatMut<'_, f64>) {
        assert!(b <= self.capacity(), "a block of {b} rows in memory for {}", self.capacity());
        self.len = b;
        (&mut self.means[..b], self.overlaps.as_mut().submatrix_mut(0, 0, b, b))
    }

    /// Runs the recursion, asking `site` for the site of row `t` at its projection.
    ///
    /// # Errors
    /// What `site` returns, [`Error::NegativeVariance`] or [`Error::ImproperSite`], each told of its row in the block.
    pub fn resolve(&mut self, mut site: impl FnMut(usize, Projection) -> Result<Site, Error>) -> Result<(), Error> {
        let b = self.len;
        self.steps.clear();
        self.cancellation = 0.0;
        for t in 0..b {
            self.variances[t] = self.overlaps[(t, t)];
        }
        for t in 0..b {
            // What earlier rows took from T_tt may leave rounding of its first value behind.
            let rounding = 4.0 * b as f64 * f64::EPSILON * self.variances[t].abs();
            self.note_cancellation(rounding, self.overlaps[(t, t)]);
            let projection =
                Projection::new(self.means[t], self.overlaps[(t, t)], rounding).map_err(|e| e.at_row(t))?;
            let found = site(t, projection)
                .and_then(|site| site.check(projection.variance).map(|()| site))
                .map_err(|e| e.at_row(t))?;
            self.note_cancellation(rounding, projection.variance / (1.0 + found.curvature * projection.variance));
            self.steps.push(StepInfo { projection, site: found });
            let (gain, shrinkage) = (found.gain(projection.variance), found.shrinkage(projection.variance));
            self.gains[t] = gain;
            self.shrinkages[t] = shrinkage;

            let (done, mut rest) = self.overlaps.as_mut().split_at_col_mut(t + 1);
            let Some(column) = done.as_ref().col(t).try_as_col_major() else { continue };
            let column = &column.as_slice()[..b];
            axpy(&mut self.means[t + 1..b], gain, &column[t + 1..]);
            for k in t + 1..b {
                let scale = -shrinkage * column[k];
                if let Some(target) = rest.as_mut().col_mut(k - t - 1).try_as_col_major_mut() {
                    axpy(&mut target.as_slice_mut()[k..b], scale, &column[k..]);
                }
            }
        }
        Ok(())
    }

    /// Keeps the largest share that `rounding` is of a variance that is left.
    fn note_cancellation(&mut self, rounding: f64, left: f64) {
        if rounding > 0.0 {
            let share = if left > 0.0 { rounding / left } else { f64::INFINITY };
            self.cancellation = self.cancellation.max(share);
        }
    }

    /// A bound on the relative error of the projected variances, before and after each row's site, that comes from what
    /// earlier rows of the block took from them; infinite where nothing but rounding was left.
    ///
    /// `T` is computed from the belief before the block. Where the block's rows leave little of it, as after a vague prior
    /// met rows of a large scale, the recursion subtracts nearly equal numbers, which the sequential filter does not do.
    #[must_use]
    pub(crate) fn cancellation(&self) -> f64 {
        self.cancellation
    }

    /// For a block whose rows were absorbed one by one: their steps, in order.
    pub(crate) fn steps_mut(&mut self) -> &mut Vec<StepInfo> {
        &mut self.steps
    }

    /// What each row saw and did, in order.
    pub(crate) fn steps(&self) -> &[StepInfo] {
        &self.steps
    }

    /// The gains `e`.
    pub(crate) fn gains(&self) -> &[f64] {
        &self.gains[..self.len]
    }

    /// The shrinkages `c`.
    #[must_use]
    pub(crate) fn shrinkages(&self) -> &[f64] {
        &self.shrinkages[..self.len]
    }

    /// Writes the unit lower triangular `L_jt = c_t·T_jt` into `out` (`b × b`; only its strict lower triangle).
    pub(crate) fn write_coefficients(&self, mut out: MatMut<'_, f64>) {
        let b = self.len;
        for (t, &c) in self.shrinkages[..b].iter().enumerate() {
            let column = self.overlaps.col(t).subrows(t + 1, b - t - 1);
            for (to, overlap) in out.as_mut().col_mut(t).subrows_mut(t + 1, b - t - 1).iter_mut().zip(column.iter()) {
                *to = c * overlap;
            }
        }
    }
}

//! The rows that sweeps go over, dense or sparse, and the operations on them.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::tiles::Tiling;

use crate::belief::Projection;
use crate::low_rank::LowRankGaussian;
use crate::low_rank::columns::{Columns, Part};
use crate::low_rank::kernels::{Factor, Tile, row_dot, scale_row};
use crate::low_rank::space::solve_lower;
use crate::low_rank::storage::Full;
use crate::rows::CheckedRows;
use crate::{Error, Site, SiteRule};

/// The number of rows projected at a time.
const ROWS: usize = 1024;
/// The number of sparse rows that a thread takes at a time.
const SPARSE_ROWS: usize = 64;

/// Checked rows; both kinds give the same posterior, to rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct SweepRows<'a>(pub(super) CheckedRows<'a>);

impl<'a> SweepRows<'a> {
    pub(super) fn columns(&self) -> Columns<'a> {
        match self.0 {
            CheckedRows::Dense(x) => Columns::Dense(x),
            CheckedRows::Sparse(rows) => Columns::Sparse(rows),
        }
    }

    /// `Xv`.
    pub(super) fn along(&self, v: &[f64], par: Par) -> Vec<f64> {
        let n = self.0.len();
        let mut out = vec![0.0; n];
        match self.0 {
            CheckedRows::Dense(x) => {
                out = Tiling::for_width(n).fold(
                    v,
                    par,
                    || (),
                    || vec![0.0; n],
                    |sum: &mut Vec<f64>, (), first, v| {
                        let sum = MatMut::from_column_major_slice_mut(sum, n, 1);
                        let part = MatRef::from_column_major_slice(v, v.len(), 1);
                        matmul(sum, Accum::Add, x.subcols(first, v.len()), part, 1.0, Par::Seq);
                    },
                    |left, right| axpy(left, 1.0, &right),
                );
            }
            CheckedRows::Sparse(rows) => Tiling::of_height(SPARSE_ROWS).for_each(
                out.as_mut_slice(),
                par,
                || (),
                |(), first, out| {
                    for (t, out) in out.iter_mut().enumerate() {
                        rows.row(first + t).for_each(|i, value| *out += value * v[i]);
                    }
                },
            ),
        }
        out
    }

    /// `out ← out + Xᵀu`.
    pub(super) fn add_combination(&self, out: &mut [f64], u: &[f64], par: Par) {
        match self.0 {
            CheckedRows::Dense(x) => Tiling::for_width(u.len()).for_each(
                out,
                par,
                || (),
                |(), first, out| {
                    let r = out.len();
                    let out = MatMut::from_column_major_slice_mut(out, r, 1);
                    let u = MatRef::from_column_major_slice(u, u.len(), 1);
                    matmul(out, Accum::Add, x.subcols(first, r).transpose(), u, 1.0, Par::Seq);
                },
            ),
            CheckedRows::Sparse(rows) => {
                for (t, u) in u.iter().enumerate() {
                    rows.row(t).for_each(|i, value| out[i] += u * value);
                }
            }
        }
    }

    /// Gives `(xᵀμ, xᵀPx)` of every row to `seen`, in order; `q` has no buffered rows. Cost `2dp` flops a row.
    ///
    /// # Errors
    /// [`Error::Row`] with [`Error::NegativeVariance`], [`Error::Overflow`] or what `seen` reports.
    pub(super) fn project(
        &self,
        q: &Full,
        par: Par,
        mut seen: impl FnMut(usize, Projection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let n = self.0.len();
        for first in (0..n).step_by(ROWS) {
            let count = ROWS.min(n - first);
            let projections = match self.0 {
                CheckedRows::Dense(x) => q.project_rows(x.subrows(first, count), par),
                CheckedRows::Sparse(rows) => Tiling::of_height(SPARSE_ROWS / 8).fold(
                    &rows.starts[first..first + count],
                    par,
                    || (),
                    Vec::new,
                    |out, (), at, part| {
                        out.extend((0..part.len()).map(|t| q.predict(rows.row(first + at + t), Par::Seq)));
                    },
                    Extend::extend,
                ),
            };
            for (t, projection) in (first..).zip(projections) {
                projection.and_then(|projection| seen(t, projection)).map_err(|error| error.at_row(t))?;
            }
        }
        Ok(())
    }

    /// Adds `Σ h_t·x_t x_tᵀ` to the precision of `belief`, block by block; its mean stays.
    ///
    /// # Errors
    /// As [`LowRankGaussian::step`]; the belief is then invalid.
    pub(super) fn push(&self, belief: &mut LowRankGaussian, h: impl Fn(usize) -> f64, par: Par) -> Result<(), Error> {
        let site = |t| Site { slope: 0.0, curvature: h(t) };
        match self.0 {
            CheckedRows::Dense(x) => {
                let mut first = 0;
                while first < x.nrows() {
                    let k = belief.room().min(x.nrows() - first);
                    belief
                        .through_full(|full| full.absorb_rows(x.subrows(first, k), |t, _| Ok(site(first + t)), par))?;
                    first += k;
                }
            }
            CheckedRows::Sparse(rows) => {
                for t in 0..rows.len() {
                    belief.step(&Known(site(t)), rows.row(t), 0.0, par)?;
                }
            }
        }
        Ok(())
    }
}

/// A site that is known beforehand.
struct Known(Site);

impl SiteRule for Known {
    fn check_label(&self, _label: f64) -> Result<(), Error> {
        Ok(())
    }

    fn site(&self, _a: f64, _nu: f64, _y: f64) -> Result<Site, Error> {
        Ok(self.0)
    }
}

impl Full {
    /// `(xᵀμ, xᵀPx)` of each row of `x` (`k × d`), with no buffered row. Cost `2dkp` flops.
    fn project_rows(&self, x: MatRef<'_, f64>, par: Par) -> Vec<Result<Projection, Error>> {
        let (p, k, d) = (self.core.rank(), x.nrows(), x.ncols());
        let tiling = Tiling::for_width(p + 2 * k);
        let height = tiling.height().min(d);
        let zeros = || (vec![0.0; k], vec![0.0; k], Mat::<f64>::zeros(p, k));
        let (means, own, wx) = tiling.fold(
            (Factor::new(self.precision.w_row_major(), d), self.precision.psi(), self.mean.as_slice()),
            par,
            || (vec![0.0; height * k], vec![0.0; height]),
            zeros,
            |(means, own, wx), (scaled, inverse), first, (w, psi, mean)| {
                let r = psi.len();
                let x = x.subcols(first, r);
                let (y, inverse) = (&mut scaled[..r * k], &mut inverse[..r]);
                inverse.iter_mut().zip(psi).for_each(|(inverse, psi)| *inverse = 1.0 / psi);
                for (j, out) in y.chunks_exact_mut(r).enumerate() {
                    scale_row(out, x.row(j), inverse);
                    means[j] += row_dot(x.row(j), mean);
                    own[j] += row_dot(x.row(j), out);
                }
                Tile { w, x: Part::NONE, psi }.add_transposed_mul(wx.as_mut(), y);
            },
            |left, right| {
                axpy(&mut left.0, 1.0, &right.0);
                axpy(&mut left.1, 1.0, &right.1);
                left.2 += right.2;
            },
        );
        (0..k)
            .map(|j| {
                let mut whitened: Vec<f64> = wx.col(j).iter().copied().collect();
                solve_lower(self.core.root(), &mut whitened);
                let explained = dot(&whitened, &whitened);
                let rounding = 8.0 * (p + 8) as f64 * f64::EPSILON * own[j];
                Projection::new(means[j], own[j] - explained, rounding)
            })
            .collect()
    }
}

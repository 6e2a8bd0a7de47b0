//! The rows that sweeps go over, dense or sparse, and all that sweeps ask of them.

use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::tiles::Tiling;

use crate::belief::Projection;
use crate::filter::check_rows;
use crate::low_rank::LowRankGaussian;
use crate::low_rank::columns::{Columns, Part};
use crate::low_rank::kernels::{Factor, Tile, row_dot, scale_row};
use crate::low_rank::space::solve_lower;
use crate::sparse::check_sparse_rows;
use crate::{Error, Site, SiteRule, SparseRow};

/// Rows seen at a time.
const ROWS: usize = 1024;
/// Sparse rows for a thread at a time.
const SPARSE_ROWS: usize = 64;

/// The rows of [`sweep()`](super::sweep()): both kinds give the same posterior, to rounding.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum SweepRows<'a> {
    /// `n × d`.
    Dense(MatRef<'a, f64>),
    /// `n` rows of length `d`.
    Sparse(&'a [SparseRow<'a>]),
}

impl<'a> From<MatRef<'a, f64>> for SweepRows<'a> {
    fn from(x: MatRef<'a, f64>) -> Self {
        Self::Dense(x)
    }
}

impl<'a> From<&'a [SparseRow<'a>]> for SweepRows<'a> {
    fn from(rows: &'a [SparseRow<'a>]) -> Self {
        Self::Sparse(rows)
    }
}

impl<'a> SweepRows<'a> {
    /// `n`.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Dense(x) => x.nrows(),
            Self::Sparse(rows) => rows.len(),
        }
    }

    pub(super) fn columns(&self) -> Columns<'a> {
        match *self {
            Self::Dense(x) => Columns::Dense(x),
            Self::Sparse(rows) => Columns::Listed(rows),
        }
    }

    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`] or [`Error::Dimension`].
    pub(super) fn check(&self, d: usize, y: &[f64]) -> Result<(), Error> {
        match self {
            Self::Dense(x) => check_rows(d, *x, y),
            Self::Sparse(rows) => check_sparse_rows(d, rows, y),
        }
    }

    /// `Xv`.
    pub(super) fn along(&self, v: &[f64], par: Par) -> Vec<f64> {
        let n = self.len();
        let mut out = vec![0.0; n];
        match *self {
            Self::Dense(x) => {
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
            Self::Sparse(rows) => Tiling::of_height(SPARSE_ROWS).for_each(
                (rows, out.as_mut_slice()),
                par,
                || (),
                |(), _, (rows, out)| {
                    for (out, row) in out.iter_mut().zip(rows) {
                        *out = row.entries().map(|(i, value)| value * v[i]).sum();
                    }
                },
            ),
        }
        out
    }

    /// `out ← out + Xᵀu`.
    pub(super) fn add_combination(&self, out: &mut [f64], u: &[f64], par: Par) {
        match *self {
            Self::Dense(x) => Tiling::for_width(u.len()).for_each(
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
            Self::Sparse(rows) => {
                for (row, u) in rows.iter().zip(u) {
                    row.entries().for_each(|(i, value)| out[i] += u * value);
                }
            }
        }
    }

    /// `(xᵀμ, xᵀPx)` of every row, where no row waits in `q`, to `seen` in their order. Cost `2dp` flops a row.
    ///
    /// # Errors
    /// [`Error::Row`] with [`Error::NegativeVariance`], [`Error::Overflow`] or what `seen` reports.
    pub(super) fn project(
        &self,
        q: &LowRankGaussian,
        par: Par,
        mut seen: impl FnMut(usize, Projection) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let n = self.len();
        for first in (0..n).step_by(ROWS) {
            let count = ROWS.min(n - first);
            let projections = match self {
                Self::Dense(x) => q.project_rows(x.subrows(first, count), par),
                Self::Sparse(rows) => Tiling::of_height(SPARSE_ROWS / 8).fold(
                    &rows[first..first + count],
                    par,
                    || (),
                    Vec::new,
                    |out, (), _, rows| out.extend(rows.iter().map(|row| q.predict_sparse(*row))),
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
    /// As [`LowRankGaussian::step`]; the belief is then spoiled.
    pub(super) fn push(&self, belief: &mut LowRankGaussian, h: impl Fn(usize) -> f64, par: Par) -> Result<(), Error> {
        let site = |t| Site { slope: 0.0, curvature: h(t) };
        match self {
            Self::Dense(x) => {
                let mut first = 0;
                while first < x.nrows() {
                    let k = belief.room().min(x.nrows() - first);
                    belief.absorb_rows(x.subrows(first, k), |t, _| Ok(site(first + t)), par)?;
                    first += k;
                }
            }
            Self::Sparse(rows) => {
                for (t, row) in rows.iter().enumerate() {
                    belief.step_sparse(&Known(site(t)), *row, 0.0, par)?;
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

impl LowRankGaussian {
    /// `(xᵀμ, xᵀPx)` of each row of `x` (`k × d`), no row waiting. Cost `2dkp` flops.
    fn project_rows(&self, x: MatRef<'_, f64>, par: Par) -> Vec<Result<Projection, Error>> {
        let (p, k, d) = (self.rank(), x.nrows(), x.ncols());
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
                solve_lower(self.root(), &mut whitened);
                let explained = dot(&whitened, &whitened);
                let rounding = 8.0 * (p + 8) as f64 * f64::EPSILON * own[j];
                Projection::new(means[j], own[j] - explained, rounding)
            })
            .collect()
    }
}

//! The sums over rows that one pass takes at a Gaussian.

use vi_linalg::cholesky::solve_lower_in_place;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::symmetric_rank_r;

use super::InformationGaussian;
use crate::Error;
use crate::check;
use crate::likelihood::GaussianExpectation;
use crate::per_row::Likelihoods;
use crate::rows::{CheckedRows, Rows};

/// Rows handled together: `Z = L⁻¹Xᵀ` of a tile stays in cache beside the factor's panels.
const TILE: usize = 256;

/// Sums over rows at one Gaussian `q`; the sums of two sets of rows can be added.
#[derive(Debug, Clone)]
pub struct Statistics {
    /// The number of rows summed.
    pub rows: usize,
    /// `Σ E_q[log p(y_i|x_iᵀθ)]`, in nats.
    pub expected_log_likelihood: f64,
    /// `Σ g_i·x_i`, length `d`.
    pub slope: Vec<f64>,
    /// `Σ h_i·x_ix_iᵀ`, `d × d`, lower triangle.
    pub information: Mat<f64>,
}

impl Statistics {
    /// The sums over no rows: all zero.
    #[must_use]
    pub fn zero(d: usize) -> Self {
        Self { rows: 0, expected_log_likelihood: 0.0, slope: vec![0.0; d], information: Mat::zeros(d, d) }
    }

    /// The sums over the rows `x` (`n` of length `d`) with labels `y`, at `q`. Cost `2nd²` flops in matrix products and `n`
    /// expectations.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`].
    pub fn at<'a, L: Likelihoods<Row: GaussianExpectation>>(
        q: &InformationGaussian,
        x: impl Into<Rows<'a>>,
        y: &[f64],
        likelihood: &L,
        par: Par,
    ) -> Result<Self, Error> {
        let rows = x.into().labelled(q.dim(), y)?;
        likelihood.check_labels(y)?;
        Ok(Self::of_checked(q, rows, y, likelihood, par))
    }

    /// As [`at`](Self::at), for rows that have been checked.
    pub(super) fn of_checked<L: Likelihoods<Row: GaussianExpectation>>(
        q: &InformationGaussian,
        x: CheckedRows<'_>,
        y: &[f64],
        likelihood: &L,
        par: Par,
    ) -> Self {
        let (n, d) = (x.len(), q.dim());
        let mut sums = Self { rows: n, ..Self::zero(d) };
        let mut z_tile = Mat::<f64>::zeros(d, TILE.min(n));
        let mut scaled_tile = Mat::<f64>::zeros(d, TILE.min(n));
        let mut means = vec![0.0; TILE.min(n)];
        let mut slopes = vec![0.0; TILE.min(n)];
        let mut memory = Vec::new();
        for first in (0..n).step_by(TILE) {
            let b = TILE.min(n - first);
            let rows = x.written_out(first, b, d, &mut memory);
            let mut z = z_tile.as_mut().submatrix_mut(0, 0, d, b);
            z.copy_from(rows.transpose());
            solve_lower_in_place(q.cholesky().factor(), z.as_mut(), par); // ν_i = ‖L⁻¹x_i‖²
            let mean = MatRef::from_column_major_slice(q.mean(), d, 1);
            matmul(MatMut::from_column_major_slice_mut(&mut means[..b], b, 1), Accum::Replace, rows, mean, 1.0, par);
            let mut scaled = scaled_tile.as_mut().submatrix_mut(0, 0, d, b);
            for t in 0..b {
                let nu = z.as_ref().col(t).squared_norm_l2();
                let expected = likelihood.likelihood_of(first + t).expected(y[first + t], means[t], nu);
                sums.expected_log_likelihood += expected.value;
                slopes[t] = expected.slope;
                for i in 0..d {
                    scaled[(i, t)] = expected.curvature * rows[(t, i)];
                }
            }
            let slope = MatMut::from_column_major_slice_mut(&mut sums.slope, d, 1);
            let slopes = MatRef::from_column_major_slice(&slopes[..b], b, 1);
            matmul(slope, Accum::Add, rows.transpose(), slopes, 1.0, par);
            symmetric_rank_r(sums.information.as_mut(), 1.0, scaled.as_ref(), rows.transpose(), par);
        }
        sums
    }

    /// Checks that the sums have dimension `d`, since their fields are public.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub(super) fn check(&self, d: usize) -> Result<(), Error> {
        check::length("slope of the statistics", d, self.slope.len())?;
        check::length("rows of the information", d, self.information.nrows())?;
        check::length("columns of the information", d, self.information.ncols())
    }

    /// Adds the sums over other rows at the same `q`.
    ///
    /// # Errors
    /// [`Error::Dimension`].
    pub fn add(&mut self, other: &Self) -> Result<(), Error> {
        self.check(self.slope.len())?;
        other.check(self.slope.len())?;
        self.rows += other.rows;
        self.expected_log_likelihood += other.expected_log_likelihood;
        for (a, b) in self.slope.iter_mut().zip(&other.slope) {
            *a += b;
        }
        self.information += &other.information;
        Ok(())
    }
}

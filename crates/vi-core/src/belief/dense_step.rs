//! The state of a step of a dense or a square-root belief, between projecting along a row and writing.

use vi_linalg::faer::{MatMut, MatRef};
use vi_linalg::kernels::symmetric_mul_vecs;

use super::Projection;
use super::digits::Digits;
use crate::{Error, Row, Site};

/// Memory for a step of a [`DenseGaussian`](super::DenseGaussian) or a [`SquareRootGaussian`](super::SquareRootGaussian): `d`
/// numbers, or `2d` if rows are sparse, allocated at the first row.
#[derive(Debug, Clone, Default)]
pub struct DenseStep {
    /// A sparse row written out with its zeros.
    row: Vec<f64>,
    /// `Px` of the belief before it forgets.
    pub(super) gain: Vec<f64>,
    /// `λ`.
    pub(super) fade: f64,
    pub(super) projection: Projection,
    pub(super) site: Site,
    pub(super) outcome: Outcome,
    /// Products of rows to come.
    pub(super) ahead: Ahead,
}

/// Products of rows to come with a covariance as it is stored: one pass over it serves several rows.
#[derive(Debug, Clone, Default)]
pub(super) struct Ahead {
    /// Rows and products, one after another.
    rows: Vec<f64>,
    products: Vec<f64>,
    /// How many columns there are, and the one whose turn is next.
    len: usize,
    next: usize,
    /// Which state of the covariance they belong to.
    written: u64,
}

impl Ahead {
    /// The fewest rows for which products are computed together.
    const FEWEST: usize = 4;

    /// Computes the products of the first of `rows` with `covariance`, at most `most` of them, if that of the very first is not there:
    /// more at a time while none of them was in vain.
    pub(super) fn fill(&mut self, rows: &[Row<'_>], covariance: MatRef<'_, f64>, written: u64, most: usize) {
        if self.written == written && self.next < self.len && rows.len() > 1 {
            return;
        }
        let more = if self.next == self.len { 2 * self.len } else { 0 };
        let count = more.max(Self::FEWEST).min(most).min(rows.len());
        (self.len, self.next, self.written) = (0, 0, written);
        if count < Self::FEWEST.min(most) || most < 2 {
            return;
        }
        let d = covariance.nrows();
        self.rows.clear();
        for (j, row) in rows[..count].iter().enumerate() {
            self.rows.resize((j + 1) * d, 0.0);
            row.for_each(|i, value| self.rows[j * d + i] = value);
        }
        self.products.resize(count * d, 0.0);
        let products = MatMut::from_column_major_slice_mut(&mut self.products, d, count);
        symmetric_mul_vecs(products, covariance, MatRef::from_column_major_slice(&self.rows, d, count));
        self.len = count;
    }

    /// Copies the product of the row whose turn it is, if it is there and belongs to the covariance that was `written` so often.
    pub(super) fn take(&mut self, written: u64, product: &mut Vec<f64>) -> bool {
        if self.next >= self.len || self.written != written {
            return false;
        }
        let d = self.rows.len() / self.len;
        product.clear();
        product.extend_from_slice(&self.products[self.next * d..(self.next + 1) * d]);
        self.next += 1;
        true
    }
}

/// What a prepared step knows about the digits that it leaves.
#[derive(Debug, Clone)]
pub(super) enum Outcome {
    /// A bound on the relative error of the covariance, which was not factored.
    Followed(f64),
    /// The digits found by factoring the covariance.
    Looked(Digits),
}

impl Default for Outcome {
    fn default() -> Self {
        Self::Followed(0.0)
    }
}

impl DenseStep {
    /// `Px` of the row that a belief was projected along last; empty before the first.
    #[must_use]
    pub fn gain(&self) -> &[f64] {
        &self.gain
    }

    /// The row written out with all its entries, and the memory for `Px`.
    pub(super) fn begin<'a>(&'a mut self, x: Row<'a>, d: usize, fade: f64) -> (&'a [f64], &'a mut [f64]) {
        self.fade = fade;
        self.gain.resize(d, 0.0);
        (x.written_out(d, &mut self.row), &mut self.gain)
    }

    /// Keeps the projection along `x`; `variance` is `xᵀPx` before forgetting.
    ///
    /// # Errors
    /// As [`Projection::new`].
    pub(super) fn seen(&mut self, x: Row<'_>, mean: f64, variance: f64) -> Result<Projection, Error> {
        let rounding = if variance < 0.0 {
            // For a zero row, or one about which the belief is certain, the variance may round to just below 0.
            let mut terms = 0.0;
            x.for_each(|j, x| terms += (x * self.gain[j]).abs());
            self.gain.len() as f64 * f64::EPSILON * terms
        } else {
            0.0
        };
        self.projection = Projection::new(mean, variance / self.fade, rounding / self.fade)?;
        Ok(self.projection)
    }

    /// The row that [`begin`](Self::begin) was given, `Px`, and what was prepared.
    pub(super) fn parts<'a>(&'a mut self, x: Row<'a>) -> (&'a [f64], &'a mut [f64], Coefficients) {
        let coefficients = self.coefficients();
        let row = match x {
            Row::Dense(values) => values,
            Row::Sparse { .. } => &self.row,
        };
        (row, &mut self.gain, coefficients)
    }

    /// The step in terms of `Px` before forgetting: `μ ← μ + shift·Px`, `P ← (P − loss·(Px)(Px)ᵀ)/λ`.
    pub(super) fn coefficients(&self) -> Coefficients {
        let (variance, fade) = (self.projection.variance, self.fade);
        Coefficients { shift: self.site.gain(variance) / fade, loss: self.site.shrinkage(variance) / fade }
    }
}

/// See [`DenseStep::coefficients`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Coefficients {
    pub(super) shift: f64,
    pub(super) loss: f64,
}

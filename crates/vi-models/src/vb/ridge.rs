//! The Gaussian step of every fit: `V⁻¹ = A + XᵀHX`, `w = V·Xᵀr`, in the smaller of two forms.
//!
//! ```text
//! primal, n > d:   V⁻¹ = LLᵀ (d × d)            w = V·Xᵀr              xᵢᵀVxᵢ = ‖L⁻¹xᵢ‖²
//! dual,   n ≤ d:   S = H^½XA^(−½), M = I + SSᵀ = LLᵀ (n × n)
//!                  V = A^(−½)(I − SᵀM⁻¹S)A^(−½)  w = A⁻¹XᵀH^½M⁻¹H^(−½)r   hᵢ·xᵢᵀVxᵢ = 1 − (M⁻¹)ᵢᵢ
//! ```
//!
//! If rounding leaves no Cholesky factor (rows collinear to more digits than there are), it is computed by reflections of `[A^½
//! XᵀH^½]`, which never form the product.

mod condition;
mod told;

use vi_core::Error;
use vi_linalg::LinalgError;
use vi_linalg::cholesky::{
    factor_in_place, factor_in_place_scratch, log_det, panel_update_in_place, panel_update_scratch, solve_in_place,
    solve_lower_in_place, solve_upper_in_place,
};
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::{Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{add_lower_product, axpy};

use crate::ModelError;

/// The number of rows taken together: enough for the speed of matrix products, and small beside the cache.
const TILE: usize = 512;

/// `A`: one precision for all weights, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shrinkage {
    /// `A = αI`.
    Shared(f64),
    /// `A = diag(α)`, length `d`.
    PerWeight(Vec<f64>),
}

impl Shrinkage {
    pub(super) fn get(&self, j: usize) -> f64 {
        match self {
            Self::Shared(alpha) => *alpha,
            Self::PerWeight(alpha) => alpha[j],
        }
    }

    fn log_det(&self, d: usize) -> f64 {
        match self {
            Self::Shared(alpha) => d as f64 * alpha.ln(),
            Self::PerWeight(alpha) => alpha.iter().map(|alpha| alpha.ln()).sum(),
        }
    }
}

/// Matrices and memory of the step, for rows `x` (`n × d`) that do not change.
pub(super) struct Ridge<'a> {
    /// `Xᵀ`, columns contiguous.
    rows: Rows<'a>,
    par: Par,
    dual: bool,
    /// `L`, `n × n` in the dual form, `d × d` in the primal; its strict upper triangle is scratch.
    factor: Mat<f64>,
    /// `L⁻¹`, computed on demand, and whether it has been.
    inverse: Mat<f64>,
    inverted: bool,
    /// `XᵀX` or, for a shared precision in the dual form, `XXᵀ`: lower triangles, kept where they do not change.
    gram: Option<Mat<f64>>,
    /// `S` in the dual form (`n × d`, empty until it is needed), and whether it is that of this step.
    scaled: Mat<f64>,
    is_scaled: bool,
    /// Memory of `TILE` columns, for rows or `S`.
    tile: Mat<f64>,
    memory: MemBuffer,
    shrinkage: Shrinkage,
    h: Vec<f64>,
    w: Vec<f64>,
    /// `M⁻¹`-weighted labels `H^½M⁻¹H^(−½)r` in the dual form.
    pull: Vec<f64>,
    log_det: f64,
    /// How often the factor came from reflections.
    pub(super) reflections: usize,
}

enum Rows<'a> {
    Borrowed(MatRef<'a, f64>),
    Owned(Mat<f64>),
}

impl Rows<'_> {
    fn transposed(&self) -> MatRef<'_, f64> {
        match self {
            Self::Borrowed(rows) => *rows,
            Self::Owned(rows) => rows.as_ref(),
        }
    }
}

impl<'a> Ridge<'a> {
    /// Prepares the step; rows that are not contiguous are copied.
    pub(super) fn new(x: MatRef<'a, f64>, dual: bool, par: Par) -> Self {
        let (n, d) = x.shape();
        let size = if dual { n } else { d };
        let rows = if x.transpose().row_stride() == 1 {
            Rows::Borrowed(x.transpose())
        } else {
            Rows::Owned(x.transpose().to_owned())
        };
        Self {
            rows,
            par,
            dual,
            factor: Mat::zeros(size, size),
            inverse: Mat::new(),
            inverted: false,
            gram: None,
            scaled: Mat::new(),
            is_scaled: false,
            tile: Mat::zeros(d.max(size), TILE.min(n)),
            memory: MemBuffer::new(factor_in_place_scratch(size, par)),
            shrinkage: Shrinkage::Shared(1.0),
            h: Vec::new(),
            w: vec![0.0; d],
            pull: vec![0.0; n],
            log_det: 0.0,
            reflections: 0,
        }
    }

    /// This step with a known `XXᵀ` (lower triangle).
    pub(super) fn with_gram(self, gram: Option<Mat<f64>>) -> Self {
        if self.dual { Self { gram, ..self } } else { self }
    }

    fn n(&self) -> usize {
        self.rows.transposed().ncols()
    }

    /// `Xᵀ`.
    pub(super) fn rows(&self) -> MatRef<'_, f64> {
        self.rows.transposed()
    }

    pub(super) fn d(&self) -> usize {
        self.rows.transposed().nrows()
    }

    /// `w`, length `d`.
    pub(super) fn mean(&self) -> &[f64] {
        &self.w
    }

    /// `ln|V|`.
    pub(super) fn log_det(&self) -> f64 {
        self.log_det
    }

    /// Computes `V` and `w` for unit weights, `H = I`. Cost of `XᵀX` once, then `d³/3` (primal); `n²d + n³/3`, or `n³/3` after
    /// the first time for a shared precision (dual).
    pub(super) fn solve_unweighted(&mut self, shrinkage: Shrinkage, r: &[f64]) -> Result<(), ModelError> {
        self.h = Vec::new();
        self.solve(shrinkage, r)
    }

    /// Computes `V` and `w` for the weights `h > 0`. Cost `nd² + d³/3` flops (primal); `n²d + n³/3`, or `n³/3` for a shared
    /// precision (dual).
    pub(super) fn solve_weighted(&mut self, shrinkage: Shrinkage, h: &[f64], r: &[f64]) -> Result<(), ModelError> {
        self.h.clear();
        self.h.extend_from_slice(h);
        self.solve(shrinkage, r)
    }

    fn solve(&mut self, shrinkage: Shrinkage, r: &[f64]) -> Result<(), ModelError> {
        self.shrinkage = shrinkage;
        (self.inverted, self.is_scaled) = (false, false);
        if self.dual { self.solve_dual(r) } else { self.solve_primal(r) }
    }

    fn weight(&self, i: usize) -> f64 {
        if self.h.is_empty() { 1.0 } else { self.h[i] }
    }

    fn solve_primal(&mut self, r: &[f64]) -> Result<(), ModelError> {
        let d = self.d();
        if self.h.is_empty() {
            if self.gram.is_none() {
                let mut gram = Mat::zeros(d, d);
                self.add_gram(gram.as_mut());
                self.gram = Some(gram);
            }
            if let Some(gram) = &self.gram {
                copy_lower(self.factor.as_mut(), gram.as_ref());
            }
        } else {
            let mut factor = std::mem::replace(&mut self.factor, Mat::new());
            factor.fill(0.0);
            self.add_gram(factor.as_mut());
            self.factor = factor;
        }
        for j in 0..d {
            self.factor[(j, j)] += self.shrinkage.get(j);
        }
        if self.factor("posterior precision")? {
            let rows = self.rows.transposed();
            self.w.fill(0.0);
            for (i, &r) in r.iter().enumerate() {
                axpy(&mut self.w, r, column(rows, i));
            }
            solve_lower_in_place(self.factor.as_ref(), as_column(&mut self.w), self.par);
        } else {
            self.reflect(r).map_err(|error| named(error, "posterior precision"))?;
        }
        solve_upper_in_place(self.factor.as_ref(), as_column(&mut self.w), self.par);
        self.log_det = -log_det(self.factor.as_ref());
        Ok(())
    }

    /// `lower += XᵀHX`, tile by tile.
    fn add_gram(&mut self, lower: MatMut<'_, f64>) {
        let (n, mut lower) = (self.n(), lower);
        for start in (0..n).step_by(TILE) {
            let count = TILE.min(n - start);
            for i in 0..count {
                let root = self.weight(start + i).sqrt();
                let row = column(self.rows.transposed(), start + i);
                for (scaled, x) in column_mut(self.tile.as_mut(), i).iter_mut().zip(row) {
                    *scaled = root * x;
                }
            }
            let tile = self.tile.as_ref().subcols(0, count);
            add_lower_product(lower.as_mut(), tile, tile.transpose(), self.par);
        }
    }

    fn solve_dual(&mut self, r: &[f64]) -> Result<(), ModelError> {
        let (n, d) = (self.n(), self.d());
        if let Shrinkage::Shared(alpha) = self.shrinkage {
            if self.gram.is_none() {
                let mut gram = Mat::zeros(n, n);
                let rows = self.rows.transposed().transpose();
                add_lower_product(gram.as_mut(), rows, rows.transpose(), self.par);
                self.gram = Some(gram);
            }
            let roots: Vec<f64> = (0..n).map(|i| (self.weight(i) / alpha).sqrt()).collect();
            if let Some(gram) = &self.gram {
                for j in 0..n {
                    let from = &column(gram.as_ref(), j)[j..];
                    let to = &mut column_mut(self.factor.as_mut(), j)[j..];
                    for ((to, from), root) in to.iter_mut().zip(from).zip(&roots[j..]) {
                        *to = root * roots[j] * from;
                    }
                }
            }
        } else {
            self.scale();
            self.factor.fill(0.0);
            let scaled = self.scaled.as_ref();
            add_lower_product(self.factor.as_mut(), scaled, scaled.transpose(), self.par);
        }
        for i in 0..n {
            self.factor[(i, i)] += 1.0;
        }
        if !self.factor("I + SSᵀ")? {
            self.reflect_dual().map_err(|error| named(error, "I + SSᵀ"))?;
        }

        for i in 0..n {
            self.pull[i] = r[i] / self.weight(i).sqrt();
        }
        solve_in_place(self.factor.as_ref(), as_column(&mut self.pull), self.par);
        for i in 0..n {
            self.pull[i] *= self.weight(i).sqrt();
        }
        self.w.fill(0.0);
        for i in 0..n {
            axpy(&mut self.w, self.pull[i], column(self.rows.transposed(), i));
        }
        for j in 0..d {
            self.w[j] /= self.shrinkage.get(j);
        }
        self.log_det = -self.shrinkage.log_det(d) - log_det(self.factor.as_ref());
        Ok(())
    }

    /// `S = H^½XA^(−½)` into `scaled`.
    fn scale(&mut self) {
        if self.is_scaled {
            return;
        }
        self.is_scaled = true;
        let (n, d) = (self.n(), self.d());
        if self.scaled.nrows() == 0 {
            self.scaled = Mat::zeros(n, d);
        }
        let roots: Vec<f64> = (0..n).map(|i| self.weight(i).sqrt()).collect();
        let rows = self.rows.transposed();
        for j in 0..d {
            let inverse = 1.0 / self.shrinkage.get(j).sqrt();
            for (i, scaled) in column_mut(self.scaled.as_mut(), j).iter_mut().enumerate() {
                *scaled = roots[i] * inverse * rows[(j, i)];
            }
        }
    }

    /// Replaces `factor` by its Cholesky factor; returns false if rounding has left none.
    fn factor(&mut self, argument: &'static str) -> Result<bool, ModelError> {
        match factor_in_place(self.factor.as_mut(), self.par, MemStack::new(&mut self.memory)) {
            Ok(()) => Ok(true),
            Err(LinalgError::NotPositiveDefinite { .. }) => {
                self.reflections += 1;
                Ok(false)
            }
            Err(error) => Err(named(error, argument)),
        }
    }

    /// `L` of `V⁻¹` and `L⁻¹Xᵀr` into `w`, from `[A^½ XᵀH^½]` over `[0 rᵀH^(−½)]` without the product of either.
    fn reflect(&mut self, r: &[f64]) -> Result<(), LinalgError> {
        let (n, d) = (self.n(), self.d());
        let rows = self.rows.transposed();
        // The last corner does not affect the rest.
        let mut augmented = Mat::from_fn(d + 1, d + 1, |i, j| match i == j {
            true if j < d => self.shrinkage.get(j).sqrt(),
            true => 1.0,
            false => 0.0,
        });
        let panel = Mat::from_fn(d + 1, n, |j, i| {
            let root = self.weight(i).sqrt();
            if j < d { root * rows[(j, i)] } else { r[i] / root }
        });
        let mut memory = MemBuffer::new(panel_update_scratch(d + 1, n));
        panel_update_in_place(augmented.as_mut(), panel.as_ref(), self.par, MemStack::new(&mut memory))?;
        copy_lower(self.factor.as_mut(), augmented.as_ref().submatrix(0, 0, d, d));
        for (j, w) in self.w.iter_mut().enumerate() {
            *w = augmented[(d, j)];
        }
        Ok(())
    }

    /// `L` of `I + SSᵀ` from `[I S]`.
    fn reflect_dual(&mut self) -> Result<(), LinalgError> {
        let (n, d) = (self.n(), self.d());
        self.scale();
        let mut factor = Mat::identity(n, n);
        let mut memory = MemBuffer::new(panel_update_scratch(n, d));
        panel_update_in_place(factor.as_mut(), self.scaled.as_ref(), self.par, MemStack::new(&mut memory))?;
        copy_lower(self.factor.as_mut(), factor.as_ref());
        Ok(())
    }
}

fn copy_lower(to: MatMut<'_, f64>, from: MatRef<'_, f64>) {
    let mut to = to;
    for j in 0..from.ncols() {
        column_mut(to.as_mut(), j)[j..].copy_from_slice(&column(from, j)[j..]);
    }
}

fn as_column(v: &mut [f64]) -> MatMut<'_, f64> {
    let d = v.len();
    MatMut::from_column_major_slice_mut(v, d, 1)
}

fn named(error: LinalgError, argument: &'static str) -> ModelError {
    match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument, pivot }.into(),
        LinalgError::NonFinite { value, .. } => Error::Overflow { quantity: argument, value }.into(),
        other => other.into(),
    }
}

/// A column of a matrix with contiguous columns, as all of this module have.
fn column(matrix: MatRef<'_, f64>, j: usize) -> &[f64] {
    matrix.col(j).try_as_col_major().map_or(&[], |column| column.as_slice())
}

fn column_mut(matrix: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    matrix.col_mut(j).try_as_col_major_mut().map_or(&mut [], |column| column.as_slice_mut())
}

#[cfg(test)]
mod tests;

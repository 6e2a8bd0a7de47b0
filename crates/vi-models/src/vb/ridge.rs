//! The Gaussian step of every fit: `V⁻¹ = A + XᵀHX`, `w = V·Xᵀr`, in the smaller of two forms.
//!
//! ```text
//! primal, n > d:   V⁻¹ = LLᵀ (d × d)            w = V·Xᵀr              xᵢᵀVxᵢ = ‖L⁻¹xᵢ‖²
//! dual,   n ≤ d:   S = H^½XA^(−½), M = I + SSᵀ = LLᵀ (n × n)
//!                  V = A^(−½)(I − SᵀM⁻¹S)A^(−½)  w = A⁻¹XᵀH^½M⁻¹H^(−½)r   hᵢ·xᵢᵀVxᵢ = 1 − (M⁻¹)ᵢᵢ
//! ```
//!
//! A Cholesky factor that rounding denies (rows collinear to more digits than there are) is made by reflections of
//! `[A^½ XᵀH^½]` instead, which never form the product.

use vi_core::Error;
use vi_linalg::cholesky::{
    factor_in_place, factor_in_place_scratch, log_det, panel_update_in_place, panel_update_scratch, solve_in_place,
    solve_lower_in_place, solve_upper_in_place,
};
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::triangular_inverse::invert_lower_triangular;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::{axpy, dot};
use vi_linalg::{Cholesky, LinalgError};

use super::weights::{Form, WeightDistribution};
use crate::ModelError;
use crate::whitened::product;

/// Rows taken at once: enough for a matrix product's speed, and small beside the cache.
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

/// The step's matrices and memory, for rows `x` (`n × d`) that stay.
pub(super) struct Ridge<'a> {
    /// `Xᵀ`, columns contiguous.
    rows: Rows<'a>,
    par: Par,
    dual: bool,
    /// `L`, `n × n` in the dual form, `d × d` in the primal; its strict upper triangle is scratch.
    factor: Mat<f64>,
    /// `L⁻¹`, made on demand, and whether it has been.
    inverse: Mat<f64>,
    inverted: bool,
    /// `XᵀX` or, for a shared precision in the dual form, `XXᵀ`: lower triangles, kept where they do not change.
    gram: Option<Mat<f64>>,
    /// `S` in the dual form (`n × d`, empty before it is needed), and whether it is that of this step.
    scaled: Mat<f64>,
    is_scaled: bool,
    /// `TILE` columns, of rows or of `S`.
    tile: Mat<f64>,
    memory: MemBuffer,
    shrinkage: Shrinkage,
    h: Vec<f64>,
    w: Vec<f64>,
    /// `M⁻¹`-weighted labels `H^½M⁻¹H^(−½)r` in the dual form.
    pull: Vec<f64>,
    log_det: f64,
    /// Times that the factor came from reflections.
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
    /// Rows that are not contiguous are copied.
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

    /// The same with `XXᵀ` (lower triangle) that is known already.
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

    /// Makes `V` and `w` for unit weights, `H = I`. Cost of `XᵀX` once, then `d³/3` (primal); `n²d + n³/3`, or `n³/3` after the
    /// first time for a shared precision (dual).
    pub(super) fn solve_unweighted(&mut self, shrinkage: Shrinkage, r: &[f64]) -> Result<(), ModelError> {
        self.h = Vec::new();
        self.solve(shrinkage, r)
    }

    /// Makes `V` and `w` for the weights `h > 0`. Cost `nd² + d³/3` flops (primal); `n²d + n³/3`, or `n³/3` for a shared
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
            add_outer_product(lower.as_mut(), tile, self.par);
        }
    }

    fn solve_dual(&mut self, r: &[f64]) -> Result<(), ModelError> {
        let (n, d) = (self.n(), self.d());
        if let Shrinkage::Shared(alpha) = self.shrinkage {
            if self.gram.is_none() {
                let mut gram = Mat::zeros(n, n);
                let rows = self.rows.transposed().transpose();
                add_outer_product(gram.as_mut(), rows, self.par);
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
            add_outer_product(self.factor.as_mut(), scaled, self.par);
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

    /// Factors what `factor` holds; false where rounding has left no Cholesky factor.
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
        // What stands in the last corner has no part in the rest.
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

    /// `aᵢ = xᵢᵀw` and `νᵢ = xᵢᵀVxᵢ` of every row. Cost `nd² + d³/3` flops (primal), `n³/3 + 2nd` (dual), where `νᵢ` is off by up to `ε/hᵢ`.
    pub(super) fn project(&mut self, a: &mut [f64], nu: &mut [f64]) {
        let n = self.n();
        if self.dual {
            self.invert();
            for i in 0..n {
                a[i] = dot(column(self.rows.transposed(), i), &self.w);
                let tail = &column(self.inverse.as_ref(), i)[i..];
                nu[i] = ((1.0 - dot(tail, tail)) / self.weight(i)).max(0.0);
            }
            return;
        }
        self.invert();
        for start in (0..n).step_by(TILE) {
            let count = TILE.min(n - start);
            let rows = self.rows.transposed().subcols(start, count);
            multiply_lower(self.tile.as_mut().subcols_mut(0, count), self.inverse.as_ref(), rows, self.par);
            for i in 0..count {
                a[start + i] = dot(column(rows, i), &self.w);
                let whitened = column(self.tile.as_ref(), i);
                nu[start + i] = dot(whitened, whitened);
            }
        }
    }

    /// `L⁻¹`, lower triangle. Cost a third of its size cubed.
    fn invert(&mut self) {
        if self.inverted {
            return;
        }
        self.inverted = true;
        let size = self.factor.nrows();
        if self.inverse.nrows() == 0 {
            self.inverse = Mat::zeros(size, size);
        }
        invert_lower_triangular(self.inverse.as_mut(), self.factor.as_ref(), self.par);
    }

    /// `V_jj`, length `d`. Cost `d³/3` flops (primal), `n²d + n³/3` (dual), where they are off by up to `ε/α_j`.
    pub(super) fn variances(&mut self) -> Vec<f64> {
        if !self.dual {
            self.invert();
            return (0..self.d())
                .map(|j| {
                    let tail = &column(self.inverse.as_ref(), j)[j..];
                    dot(tail, tail)
                })
                .collect();
        }
        self.scale();
        self.invert();
        let (n, d) = (self.n(), self.d());
        let mut variances = Vec::with_capacity(d);
        for start in (0..d).step_by(TILE.min(n)) {
            let count = TILE.min(n).min(d - start);
            let columns = self.scaled.as_ref().subcols(start, count);
            let mut whitened = self.tile.as_mut().submatrix_mut(0, 0, n, count);
            multiply_lower(whitened.as_mut(), self.inverse.as_ref(), columns, self.par);
            for j in 0..count {
                let whitened = column(whitened.as_ref(), j);
                variances.push(((1.0 - dot(whitened, whitened)) / self.shrinkage.get(start + j)).max(0.0));
            }
        }
        variances
    }

    /// The residual `r − Xw` for unit weights: in the dual form it is `M⁻¹r`, without a difference.
    pub(super) fn residual(&self, r: &[f64]) -> Vec<f64> {
        if self.dual {
            return self.pull.clone();
        }
        let fitted = product(self.rows.transposed().transpose(), &self.w);
        r.iter().zip(&fitted).map(|(r, fitted)| r - fitted).collect()
    }

    /// `N(w, V)` as the last step, whose `r` is given again, left it, and its condition. Cost `n²d` flops in the dual form.
    pub(super) fn finish(&mut self, r: &[f64]) -> Result<(WeightDistribution, f64), ModelError> {
        let weights = if self.dual {
            self.scale();
            self.invert();
            let (n, d) = (self.n(), self.d());
            let mut loss = Mat::zeros(n, d);
            multiply_lower(loss.as_mut(), self.inverse.as_ref(), self.scaled.as_ref(), self.par);
            for j in 0..d {
                let root = self.shrinkage.get(j).sqrt();
                for loss in column_mut(loss.as_mut(), j) {
                    *loss /= root;
                }
            }
            let variances = (0..d).map(|j| 1.0 / self.shrinkage.get(j)).collect();
            // V⁻¹w = Xᵀr.
            let energy = (0..n).map(|i| r[i] * dot(column(self.rows.transposed(), i), &self.w)).sum();
            WeightDistribution::dual(self.w.clone(), variances, loss, self.log_det, energy)
        } else {
            WeightDistribution::primal(self.w.clone(), Cholesky::from_factor(self.factor.clone())?)
        };
        let condition = self.condition(&weights);
        Ok((weights, condition))
    }

    /// `κ(D^½VD^½)` with `D = diag V⁻¹`: the largest eigenvalue of `D^(−½)V⁻¹D^(−½)` times that of its inverse, by power iterations.
    /// Cost `160·d²` or `160·nd` flops.
    fn condition(&self, weights: &WeightDistribution) -> f64 {
        let (rows, d) = (self.rows.transposed(), self.d());
        let [precision, covariance] = match weights.form() {
            Form::Primal(factor) => {
                let factor = factor.factor();
                let roots: Vec<f64> = (0..d).map(|j| factor.row(j).norm_l2()).collect();
                let precision = largest_eigenvalue(d, |v| {
                    over(&product(factor, &product(factor.transpose(), &over(v, &roots))), &roots)
                });
                let covariance = largest_eigenvalue(d, |v| {
                    let mut out = times(v, &roots);
                    solve_in_place(factor, as_column(&mut out), self.par);
                    times(&out, &roots)
                });
                [precision, covariance]
            }
            Form::Dual { variances, loss } => {
                let mut squares: Vec<f64> = (0..d).map(|j| self.shrinkage.get(j)).collect();
                for i in 0..self.n() {
                    for (square, x) in squares.iter_mut().zip(column(rows, i)) {
                        *square += self.weight(i) * x * x;
                    }
                }
                let roots: Vec<f64> = squares.iter().map(|square| square.sqrt()).collect();
                let precision = largest_eigenvalue(d, |v| {
                    let v = over(v, &roots);
                    let mut along = product(rows.transpose(), &v);
                    for (i, along) in along.iter_mut().enumerate() {
                        *along *= self.weight(i);
                    }
                    let mut out = product(rows, &along);
                    for (j, out) in out.iter_mut().enumerate() {
                        *out += self.shrinkage.get(j) * v[j];
                    }
                    over(&out, &roots)
                });
                let covariance = largest_eigenvalue(d, |v| {
                    let v = times(v, &roots);
                    let lost = product(loss.as_ref().transpose(), &product(loss.as_ref(), &v));
                    let kept: Vec<f64> = (0..d).map(|j| variances[j] * v[j] - lost[j]).collect();
                    times(&kept, &roots)
                });
                [precision, covariance]
            }
        };
        (precision * covariance).max(1.0)
    }
}

fn times(v: &[f64], scale: &[f64]) -> Vec<f64> {
    v.iter().zip(scale).map(|(v, scale)| v * scale).collect()
}

fn over(v: &[f64], scale: &[f64]) -> Vec<f64> {
    v.iter().zip(scale).map(|(v, scale)| v / scale).collect()
}

/// Rows of a lower triangle that are multiplied at once, by the columns up to their last diagonal entry: the height of faer's
/// kernels. The product does a few per cent more flops than the triangle has, at the speed of a square one.
const BAND: usize = 24;

/// The bands of a lower triangle: `(first, end)`.
fn bands(size: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..size).step_by(BAND).map(move |first| (first, size.min(first + BAND)))
}

/// `out = L·x` for a lower triangle with zeros above it.
fn multiply_lower(out: MatMut<'_, f64>, lower: MatRef<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let mut out = out;
    for (first, end) in bands(lower.nrows()) {
        let band = lower.submatrix(first, 0, end - first, end);
        matmul(out.as_mut().subrows_mut(first, end - first), Accum::Replace, band, x.subrows(0, end), 1.0, par);
    }
}

/// `lower += xxᵀ`; what stands above the diagonal is lost.
pub(super) fn add_outer_product(lower: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
    let mut lower = lower;
    for (first, end) in bands(lower.nrows()) {
        let (band, before) = (x.subrows(first, end - first), x.subrows(0, end).transpose());
        matmul(lower.as_mut().submatrix_mut(first, 0, end - first, end), Accum::Add, band, before, 1.0, par);
    }
}

/// By 20 power iterations from a vector with something in every direction.
fn largest_eigenvalue(d: usize, apply: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
    // Irrational steps: no eigenvector of a structured matrix is orthogonal to them all.
    let mut v: Vec<f64> = (0..d).map(|j| 0.5 + (j as f64 * std::f64::consts::SQRT_2).fract()).collect();
    let mut value = 0.0;
    for _ in 0..20 {
        let length = dot(&v, &v).sqrt();
        for v in &mut v {
            *v /= length;
        }
        let image = apply(&v);
        value = dot(&image, &image).sqrt();
        v = image;
    }
    value
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

/// A column of a matrix whose columns are contiguous: all of this module's are.
fn column(matrix: MatRef<'_, f64>, j: usize) -> &[f64] {
    matrix.col(j).try_as_col_major().map_or(&[], |column| column.as_slice())
}

fn column_mut(matrix: MatMut<'_, f64>, j: usize) -> &mut [f64] {
    matrix.col_mut(j).try_as_col_major_mut().map_or(&mut [], |column| column.as_slice_mut())
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;
    use rand_distr::{Distribution, StandardNormal};

    use super::*;

    /// Both forms of one step, and both layouts of the rows.
    #[test]
    fn the_two_forms_agree() {
        for (n, d) in [(9, 4), (4, 9), (6, 6), (1, 5), (5, 1), (600, 3)] {
            let mut rng = ChaCha8Rng::seed_from_u64(3);
            let mut draw = || -> f64 { StandardNormal.sample(&mut rng) };
            let x = Mat::from_fn(n, d, |_, _| draw());
            let by_rows: Vec<f64> = (0..n).flat_map(|i| (0..d).map(move |j| (i, j))).map(|at| x[at]).collect();
            let rows = MatRef::from_row_major_slice(&by_rows, n, d);
            let r: Vec<f64> = (0..n).map(|_| draw()).collect();
            let h: Vec<f64> = (0..n).map(|_| draw().abs() + 0.1).collect();
            let alphas = [Shrinkage::Shared(0.7), Shrinkage::PerWeight((0..d).map(|_| draw().abs() + 0.2).collect())];
            for (shrinkage, weighted) in alphas.iter().flat_map(|alpha| [(alpha, true), (alpha, false)]) {
                let answers =
                    [(x.as_ref(), false), (rows, false), (x.as_ref(), true), (rows, true)].map(|(x, dual)| {
                        let mut ridge = Ridge::new(x, dual, Par::Seq);
                        // Twice: the second time from what the first one kept.
                        for _ in 0..2 {
                            if weighted {
                                ridge.solve_weighted(shrinkage.clone(), &h, &r).unwrap();
                            } else {
                                ridge.solve_unweighted(shrinkage.clone(), &r).unwrap();
                            }
                        }
                        let (mut a, mut nu) = (vec![0.0; n], vec![0.0; n]);
                        ridge.project(&mut a, &mut nu);
                        let mut all = ridge.mean().to_vec();
                        all.push(ridge.log_det());
                        all.extend(ridge.variances());
                        all.extend(a);
                        all.extend(nu);
                        let (weights, _) = ridge.finish(&r).unwrap();
                        all.extend(weights.variances());
                        all.push(weights.energy());
                        all.extend(weights.project(x).unwrap().iter().map(|seen| seen.variance));
                        all
                    });
                for other in &answers[1..] {
                    for (k, (a, b)) in answers[0].iter().zip(other).enumerate() {
                        // κ below 1e4 for rows like these.
                        assert!((a - b).abs() < 1e-10 * (1.0 + a.abs()), "{n} {d} {weighted}: {k}: {a} {b}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_factor_that_rounding_denies_is_made_by_reflections() {
        // Two equal columns of size 10⁹ under a shrinkage of 10⁻³, which XᵀX cannot hold: its second pivot is 0 exactly.
        let x = Mat::from_fn(1, 2, |_, _| 1e9);
        let mut ridge = Ridge::new(x.as_ref(), false, Par::Seq);
        ridge.solve_unweighted(Shrinkage::Shared(1e-3), &[1e9]).unwrap();
        assert_eq!(ridge.reflections, 1);
        for w in ridge.mean() {
            assert!((w - 0.5).abs() < 1e-6, "{w}");
        }
        // ln|V⁻¹| = ln α + ln(α + 2·10¹⁸); the factor keeps √α to ε·10⁹.
        let log_det = 1e-3_f64.ln() + 2e18_f64.ln();
        assert!((ridge.log_det() + log_det).abs() < 1e-4, "{}", ridge.log_det());
    }

    #[test]
    fn the_condition_is_that_of_the_scaled_precision() {
        // Columns of very different units, correlation ρ: κ = (1+ρ)/(1−ρ).
        let x = Mat::from_fn(4, 2, |i, j| {
            let [u, v] = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]][i];
            if j == 0 { 1e6 * u } else { 1e-3 * (0.8 * u + 0.6 * v) }
        });
        let mut ridge = Ridge::new(x.as_ref(), false, Par::Seq);
        ridge.solve_unweighted(Shrinkage::Shared(1e-20), &[1.0, 2.0, 3.0, 4.0]).unwrap();
        let (_, condition) = ridge.finish(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert!((condition - 1.8 / 0.2).abs() < 1e-3, "{condition}");
    }
}

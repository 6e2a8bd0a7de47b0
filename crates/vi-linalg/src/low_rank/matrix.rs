//! The matrix Ψ + WWᵀ, with the operations that need no factorisation.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::factored::{Capacitance, Factored};
use super::gram::{factor_product, weighted_gram};
use crate::operator::SymmetricOperator;
use crate::tiles::Tiling;
use crate::{LinalgError, check, kernels};

/// The matrix S = Ψ + WWᵀ (d × d) with W of d × p and Ψ = diag ψ positive: O(dp) memory.
///
/// ```
/// use vi_linalg::LowRank;
/// use vi_linalg::faer::{Par, mat};
///
/// let w = mat![[1.0], [2.0], [0.0]];
/// let s = LowRank::new(w.as_ref(), &[1.0, 1.0, 4.0])?;
/// assert_eq!(s.mul(mat![[1.0], [1.0], [1.0]].as_ref(), Par::Seq)?, mat![[4.0], [7.0], [4.0]]);
/// assert_eq!(s.diagonal(), [2.0, 5.0, 4.0]);
///
/// let factored = s.factor(Par::Seq)?;
/// assert!((factored.log_det() - 24.0_f64.ln()).abs() < 1e-14); // 4 · (2 · 5 − 2 · 2)
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct LowRank {
    /// Row-major: row i of W is `w[i * p..(i + 1) * p]`.
    w: Vec<f64>,
    psi: Vec<f64>,
    p: usize,
}

impl LowRank {
    /// The largest rank that is accepted for `d` rows: the larger of `d` and 4096. `WᵀW` is then no larger than W or a hundred
    /// megabytes.
    #[must_use]
    pub fn largest_rank(d: usize) -> usize {
        d.max(4096)
    }

    /// The matrix Ψ + WWᵀ; W (d × p) of any layout is copied.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if W does not have as many rows as ψ elements, [`LinalgError::NonFinite`] for a NaN or
    /// infinity,
    /// [`LinalgError::NotPositive`] with the coordinate of a ψ that is zero or negative.
    pub fn new(w: MatRef<'_, f64>, psi: &[f64]) -> Result<Self, LinalgError> {
        check::dimension("rows of W", psi.len(), w.nrows())?;
        check::finite_matrix("W", w)?;
        check::positive_slice("psi", psi)?;
        let mut rows = vec![0.0; w.nrows() * w.ncols()];
        MatMut::from_row_major_slice_mut(&mut rows, w.nrows(), w.ncols()).copy_from(w);
        Ok(Self { w: rows, psi: psi.to_vec(), p: w.ncols() })
    }

    /// The matrix from memory of the caller, not copied: row i of W is `w[i * p..(i + 1) * p]`.
    ///
    /// # Errors
    /// Those of [`new`](Self::new), [`LinalgError::TooLarge`].
    pub fn from_row_major(w: Vec<f64>, p: usize, psi: Vec<f64>) -> Result<Self, LinalgError> {
        check::dimension("elements of W", check::room("W", &[psi.len(), p])?, w.len())?;
        if let Some(k) = w.iter().position(|value| !value.is_finite()) {
            return Err(LinalgError::NonFinite { what: "W", row: k / p, column: k % p, value: w[k] });
        }
        check::positive_slice("psi", &psi)?;
        Ok(Self { w, psi, p })
    }

    /// The diagonal matrix Ψ, with a W of p zero columns.
    ///
    /// # Errors
    /// [`LinalgError::NonFinite`], [`LinalgError::NotPositive`] for ψ, [`LinalgError::TooLarge`].
    pub fn diagonal_only(psi: &[f64], p: usize) -> Result<Self, LinalgError> {
        check::positive_slice("psi", psi)?;
        Ok(Self { w: vec![0.0; check::room("W", &[psi.len(), p])?], psi: psi.to_vec(), p })
    }

    /// The matrix from parts that are not checked and that the caller must keep valid, as with [`parts_mut`](Self::parts_mut):
    /// row i of W is `w[i * p..(i + 1) * p]`.
    ///
    /// # Panics
    /// If W does not have p numbers for each of ψ.
    #[must_use]
    #[track_caller]
    pub fn of_parts(w: Vec<f64>, p: usize, psi: Vec<f64>) -> Self {
        assert_eq!(w.len(), psi.len() * p, "elements of W");
        Self { w, psi, p }
    }

    /// Dimension d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.psi.len()
    }

    /// Number of columns p of W.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.p
    }

    /// W (d × p), as a row-major view.
    #[must_use]
    pub fn w(&self) -> MatRef<'_, f64> {
        MatRef::from_row_major_slice(&self.w, self.psi.len(), self.p)
    }

    /// W as stored, row after row.
    #[must_use]
    pub fn w_row_major(&self) -> &[f64] {
        &self.w
    }

    /// Row i of W, of length p.
    #[must_use]
    pub fn w_row(&self, i: usize) -> &[f64] {
        &self.w[i * self.p..(i + 1) * self.p]
    }

    /// ψ, of length d.
    #[must_use]
    pub fn psi(&self) -> &[f64] {
        &self.psi
    }

    /// W (row-major view) and ψ, for writing.
    ///
    /// The caller must keep W finite and ψ positive and finite. Other values lead to NaN, infinities or
    /// [`LinalgError::NotPositiveDefinite`], never to a panic.
    pub fn parts_mut(&mut self) -> (MatMut<'_, f64>, &mut [f64]) {
        (MatMut::from_row_major_slice_mut(&mut self.w, self.psi.len(), self.p), &mut self.psi)
    }

    /// W as stored, row after row, and ψ, for writing; see [`parts_mut`](Self::parts_mut).
    pub fn row_major_mut(&mut self) -> (&mut [f64], &mut [f64]) {
        (&mut self.w, &mut self.psi)
    }

    /// W as stored, row after row, and ψ, without a copy.
    #[must_use]
    pub fn into_row_major(self) -> (Vec<f64>, Vec<f64>) {
        (self.w, self.psi)
    }

    /// The product S X for X of d × k. Cost 4dpk flops in two passes over W.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for X.
    pub fn mul(&self, x: MatRef<'_, f64>, par: Par) -> Result<Mat<f64>, LinalgError> {
        self.check_rows("X", x)?;
        let mut out = Mat::zeros(x.nrows(), x.ncols());
        self.apply(out.as_mut(), x, par);
        Ok(out)
    }

    /// diag S = ψᵢ + ‖wᵢ‖². Cost 2dp flops.
    #[must_use]
    pub fn diagonal(&self) -> Vec<f64> {
        (0..self.dim()).map(|i| self.psi[i] + kernels::dot(self.w_row(i), self.w_row(i))).collect()
    }

    /// The capacitance M = I + WᵀΨ⁻¹W, factored. Cost dp² + p³/3 flops in one pass over W.
    ///
    /// # Errors
    /// [`LinalgError::NonFinite`], [`LinalgError::NotPositiveDefinite`] if entries of WᵀΨ⁻¹W overflow.
    pub fn capacitance(&self, par: Par) -> Result<Capacitance, LinalgError> {
        Capacitance::from_gram(weighted_gram(self.w(), &self.psi, par))
    }

    /// The matrix with its factored [capacitance](Self::capacitance), for everything with S⁻¹.
    ///
    /// # Errors
    /// Those of [`capacitance`](Self::capacitance).
    pub fn factor(&self, par: Par) -> Result<Factored<'_>, LinalgError> {
        self.factor_with(self.capacitance(par)?)
    }

    /// The matrix with a capacitance that was computed before, from the current W and ψ.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if it does not have p rows.
    pub fn factor_with(&self, capacitance: Capacitance) -> Result<Factored<'_>, LinalgError> {
        check::dimension("rows of the capacitance", self.p, capacitance.rank())?;
        Ok(Factored::from_parts(self, capacitance))
    }

    /// tr XᵀS X = Σψᵢ‖xᵢ‖² + ‖WᵀX‖², a sum of squares, for X of d × k.
    fn trace_of(&self, x: MatRef<'_, f64>, par: Par) -> f64 {
        let c = factor_product(self.w(), x, None, par);
        let diagonal: f64 = (0..self.dim()).map(|i| self.psi[i] * x.row(i).squared_norm_l2()).sum();
        diagonal + c.squared_norm_l2()
    }

    pub(super) fn check_rows(&self, what: &'static str, x: MatRef<'_, f64>) -> Result<(), LinalgError> {
        if x.nrows() == self.dim() {
            check::finite_matrix(what, x)
        } else {
            Err(LinalgError::Dimension { what, expected: self.dim(), found: x.nrows() })
        }
    }

    pub(super) fn check_len(&self, what: &'static str, x: &[f64]) -> Result<(), LinalgError> {
        check::dimension(what, self.dim(), x.len())?;
        check::finite_slice(what, x)
    }
}

/// Elements of a d × p matrix.
impl SymmetricOperator for LowRank {
    fn dim(&self) -> usize {
        self.psi.len()
    }

    /// Ψ X + W(WᵀX). Cost 4dpk flops in two passes over W.
    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
        kernels::assert_shape("X", x.shape(), (self.dim(), x.ncols()));
        kernels::assert_shape("out", out.shape(), x.shape());
        let c = factor_product(self.w(), x, None, par);
        let rows = (self.w(), self.psi.as_slice(), x, out);
        Tiling::for_width(self.p).for_each(
            rows,
            par,
            || (),
            |(), _, (w, psi, x, mut out)| {
                for j in 0..x.ncols() {
                    for (i, &psi) in psi.iter().enumerate() {
                        out[(i, j)] = psi * x[(i, j)];
                    }
                }
                matmul(out, Accum::Add, w, c.as_ref(), 1.0, Par::Seq);
            },
        );
    }

    fn diagonal(&self, out: &mut [f64], _par: Par) {
        assert_eq!(out.len(), self.psi.len(), "length of out");
        out.copy_from_slice(&self.diagonal());
    }

    /// Σψᵢxᵢ² + ‖Wᵀx‖², a sum of squares. Cost 2dp flops in one pass over W.
    fn quadratic_form(&self, x: &[f64], par: Par) -> f64 {
        assert_eq!(x.len(), self.psi.len(), "length of x");
        self.trace_of(MatRef::from_column_major_slice(x, x.len(), 1), par)
    }
}

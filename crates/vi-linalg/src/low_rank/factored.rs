//! Operations with S⁻¹, by Woodbury through the capacitance M = I + WᵀΨ⁻¹W.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatMut, MatRef, Par};

use super::gram::factor_product;
use super::matrix::LowRank;
use crate::cholesky::{factor_in_place, factor_in_place_scratch, solve_in_place, solve_lower_in_place};
use crate::kernels::assert_shape;
use crate::operator::SymmetricOperator;
use crate::tiles::Tiling;
use crate::{Cholesky, LinalgError, check};

/// The Cholesky factor of the capacitance M = I + WᵀΨ⁻¹W (p × p).
#[derive(Clone, Debug, PartialEq)]
pub struct Capacitance {
    cholesky: Cholesky,
}

impl Capacitance {
    /// The capacitance from G = WᵀΨ⁻¹W (p × p, lower triangle), which becomes M's factor in place. Cost p³/3 flops.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if G is not square, [`LinalgError::NonFinite`] for a NaN or infinity,
    /// [`LinalgError::NotPositiveDefinite`] if G is not a Gram matrix.
    pub fn from_gram(gram: Mat<f64>) -> Result<Self, LinalgError> {
        let mut m = gram;
        check::dimension("columns of the Gram matrix", m.nrows(), m.ncols())?;
        check::finite_lower("the Gram matrix", m.as_ref())?;
        for j in 0..m.nrows() {
            m[(j, j)] += 1.0;
        }
        let mut memory = MemBuffer::new(factor_in_place_scratch(m.nrows(), Par::Seq));
        factor_in_place(m.as_mut(), Par::Seq, MemStack::new(&mut memory))?;
        Ok(Self { cholesky: Cholesky::from_factor(m)? })
    }

    /// The capacitance from G = WᵀΨ⁻¹W (p × p, lower triangle, finite) also where rounding leaves M without a factor, and the
    /// number of pivots lifted: those of M are at least 1 in exact arithmetic, and a lower one is then set to 1. Cost p³/3 flops,
    /// twice that if pivots are lifted.
    ///
    /// ```
    /// use vi_linalg::faer::mat;
    /// use vi_linalg::low_rank::Capacitance;
    /// let (m, lifted) = Capacitance::lifted(&mat![[1e20, 0.0], [1e20, 1e20 - 1e5]]);
    /// assert_eq!((m.cholesky().factor()[(1, 1)], lifted), (1.0, 1));
    /// assert_eq!(Capacitance::lifted(&mat![[3.0]]).1, 0);
    /// ```
    #[must_use]
    pub fn lifted(gram: &Mat<f64>) -> (Self, usize) {
        if let Ok(capacitance) = Self::from_gram(gram.clone()) {
            return (capacitance, 0);
        }
        let (mut l, mut lifted) = (Mat::<f64>::zeros(gram.nrows(), gram.nrows()), 0);
        for j in 0..gram.nrows() {
            for i in j..gram.nrows() {
                let own = gram[(i, j)] + f64::from(u8::from(i == j));
                let left = own - (0..j).map(|k| l[(i, k)] * l[(j, k)]).sum::<f64>();
                if i == j {
                    lifted += usize::from(left < 1.0 || left.is_nan());
                    l[(j, j)] = left.max(1.0).sqrt();
                } else {
                    l[(i, j)] = left / l[(j, j)];
                }
            }
        }
        (Self { cholesky: Cholesky::of_factor(l) }, lifted)
    }

    /// The rank p.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.cholesky.dim()
    }

    /// The factor of M.
    #[must_use]
    pub fn cholesky(&self) -> &Cholesky {
        &self.cholesky
    }
}

/// S = Ψ + WWᵀ with its factored capacitance: solves, determinants, draws and divergences.
///
/// Every method but [`log_det`](Self::log_det) passes over W once or twice and checks its arguments.
///
/// ```
/// use vi_linalg::LowRank;
/// use vi_linalg::faer::{Par, mat};
/// let s = LowRank::new(mat![[1.0], [2.0]].as_ref(), &[1.0, 1.0])?;
/// let s = s.factor(Par::Seq)?; // S = [2 2; 2 5]
/// let solution = s.solve(mat![[2.0], [5.0]].as_ref(), Par::Seq)?;
/// assert!((solution - mat![[0.0], [1.0]]).norm_max() < 1e-14);
/// assert!((s.quadratic_form_inverse(&[2.0, 5.0], Par::Seq)? - 5.0).abs() < 1e-14);
/// assert!((s.trace_of_inverse(Par::Seq)? - 7.0 / 6.0).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Factored<'a> {
    s: &'a LowRank,
    capacitance: Capacitance,
    log_det: f64,
}

impl<'a> Factored<'a> {
    pub(super) fn from_parts(s: &'a LowRank, capacitance: Capacitance) -> Self {
        let log_psi: f64 = s.psi().iter().map(|psi| psi.ln()).sum();
        let log_det = log_psi + capacitance.cholesky.log_det();
        Self { s, capacitance, log_det }
    }

    /// The matrix S.
    #[must_use]
    pub fn matrix(&self) -> &'a LowRank {
        self.s
    }

    /// The factored capacitance.
    pub(crate) fn capacitance(&self) -> &Capacitance {
        &self.capacitance
    }

    /// log det S = Σ log ψᵢ + log det M, natural logarithm.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        self.log_det
    }

    /// S⁻¹ as an operator.
    #[must_use]
    pub fn inverse(&self) -> Inverse<'_> {
        Inverse { s: self }
    }

    /// S⁻¹X for X of d × k. Cost 4dpk flops in two passes over W.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for X.
    pub fn solve(&self, x: MatRef<'_, f64>, par: Par) -> Result<Mat<f64>, LinalgError> {
        self.s.check_rows("right-hand side", x)?;
        let mut out = Mat::zeros(x.nrows(), x.ncols());
        self.inverse().apply(out.as_mut(), x, par);
        Ok(out)
    }

    /// out ← S⁻¹x for vectors of length d. Cost 4dp flops in two passes over W.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] for either, [`LinalgError::NonFinite`] for x; `out` is then as it was.
    pub fn solve_vec(&self, out: &mut [f64], x: &[f64], par: Par) -> Result<(), LinalgError> {
        self.s.check_len("right-hand side", x)?;
        check::dimension("length of out", x.len(), out.len())?;
        let d = x.len();
        let x = MatRef::from_column_major_slice(x, d, 1);
        self.inverse().apply(MatMut::from_column_major_slice_mut(out, d, 1), x, par);
        Ok(())
    }

    /// xᵀS⁻¹x = zᵀΨ⁻¹z + ‖a‖² with a = M⁻¹WᵀΨ⁻¹x and z = x − Wa: never negative. Cost 4dp flops in two passes over W.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`], [`LinalgError::NonFinite`] for x.
    pub fn quadratic_form_inverse(&self, x: &[f64], par: Par) -> Result<f64, LinalgError> {
        self.s.check_len("argument of quadratic_form_inverse", x)?;
        Ok(self.inverse_trace_of(MatRef::from_column_major_slice(x, x.len(), 1), par))
    }

    /// diag S⁻¹, entry i being (1 − tᵢ)/ψᵢ with tᵢ = wᵢᵀM⁻¹wᵢ/ψᵢ = ‖L⁻¹wᵢ‖²/ψᵢ, M = LLᵀ. Cost dp² flops in one pass.
    ///
    /// The absolute error of 1 − tᵢ is that of the factorisation, a few ε·p·κ(M).
    ///
    /// # Errors
    /// [`LinalgError::NotPositiveDefinite`] with the coordinate for which rounding left 1 − tᵢ not positive.
    pub fn diagonal_of_inverse(&self, par: Par) -> Result<Vec<f64>, LinalgError> {
        let mut out = vec![0.0; self.s.dim()];
        self.inverse().diagonal(&mut out, par);
        match out.iter().position(|&value| value <= 0.0 || value.is_nan()) {
            None => Ok(out),
            Some(pivot) => Err(LinalgError::NotPositiveDefinite { pivot }),
        }
    }

    /// tr S⁻¹. Cost dp² flops in one pass over W.
    ///
    /// # Errors
    /// Those of [`diagonal_of_inverse`](Self::diagonal_of_inverse).
    pub fn trace_of_inverse(&self, par: Par) -> Result<f64, LinalgError> {
        Ok(self.diagonal_of_inverse(par)?.iter().sum())
    }

    /// A = M⁻¹WᵀΨ⁻¹X (p × k): the regression of X on W.
    pub(super) fn regression(&self, x: MatRef<'_, f64>, par: Par) -> Mat<f64> {
        let mut a = factor_product(self.s.w(), x, Some(self.s.psi()), par);
        solve_in_place(self.capacitance.cholesky.factor(), a.as_mut(), Par::Seq);
        a
    }

    /// tr XᵀS⁻¹X = ‖Ψ^(−½)(X − WA)‖² + ‖A‖², a sum of squares, for X of d × k.
    pub(super) fn inverse_trace_of(&self, x: MatRef<'_, f64>, par: Par) -> f64 {
        let a = self.regression(x, par);
        let (d, k) = x.shape();
        let tiling = Tiling::for_width(self.s.rank() + k);
        let residual = tiling.fold(
            (self.s.w(), x, self.s.psi()),
            par,
            || Mat::zeros(tiling.height().min(d), k),
            || 0.0,
            |sum, scratch: &mut Mat<f64>, _, (w, x, psi)| {
                let mut z = scratch.as_mut().subrows_mut(0, psi.len());
                z.copy_from(x);
                matmul(z.as_mut(), Accum::Add, w, a.as_ref(), -1.0, Par::Seq);
                for j in 0..k {
                    for (i, psi) in psi.iter().enumerate() {
                        *sum += z[(i, j)] * z[(i, j)] / psi;
                    }
                }
            },
            |left, right| *left += right,
        );
        residual + a.squared_norm_l2()
    }
}

/// S⁻¹ = (Ψ + WWᵀ)⁻¹ as an operator; [`Factored`] has the checked methods.
#[derive(Clone, Copy, Debug)]
pub struct Inverse<'a> {
    s: &'a Factored<'a>,
}

impl SymmetricOperator for Inverse<'_> {
    fn dim(&self) -> usize {
        self.s.s.dim()
    }

    /// Ψ⁻¹(X − WA) with A = M⁻¹WᵀΨ⁻¹X.
    fn apply(&self, out: MatMut<'_, f64>, x: MatRef<'_, f64>, par: Par) {
        let matrix = self.s.s;
        assert_shape("X", x.shape(), (matrix.dim(), x.ncols()));
        assert_shape("out", out.shape(), x.shape());
        let a = self.s.regression(x, par);
        let rows = (matrix.w(), x, matrix.psi(), out);
        Tiling::for_width(matrix.rank() + x.ncols()).for_each(
            rows,
            par,
            || (),
            |(), _, (w, x, psi, mut out)| {
                out.copy_from(x);
                matmul(out.as_mut(), Accum::Add, w, a.as_ref(), -1.0, Par::Seq);
                for j in 0..x.ncols() {
                    for (i, psi) in psi.iter().enumerate() {
                        out[(i, j)] /= psi;
                    }
                }
            },
        );
    }

    fn diagonal(&self, out: &mut [f64], par: Par) {
        let matrix = self.s.s;
        assert_eq!(out.len(), matrix.dim(), "length of out");
        let (d, p) = (matrix.dim(), matrix.rank());
        let tiling = Tiling::for_width(p);
        tiling.for_each(
            (matrix.w(), matrix.psi(), out),
            par,
            || Mat::zeros(p, tiling.height().min(d)),
            |scratch, _, (w, psi, out)| {
                let mut whitened = scratch.as_mut().subcols_mut(0, psi.len());
                whitened.copy_from(w.transpose());
                solve_lower_in_place(self.s.capacitance.cholesky.factor(), whitened.as_mut(), Par::Seq);
                for (i, out) in out.iter_mut().enumerate() {
                    *out = (1.0 - whitened.as_ref().col(i).squared_norm_l2() / psi[i]) / psi[i];
                }
            },
        );
    }

    fn quadratic_form(&self, x: &[f64], par: Par) -> f64 {
        assert_eq!(x.len(), self.s.s.dim(), "length of x");
        self.s.inverse_trace_of(MatRef::from_column_major_slice(x, x.len(), 1), par)
    }
}

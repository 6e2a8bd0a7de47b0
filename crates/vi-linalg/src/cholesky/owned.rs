//! The factor with its own memory.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::{Mat, MatMut, MatRef, Par};

use super::in_place;
use crate::{LinalgError, check, kernels};

/// The lower Cholesky factor L of a positive definite matrix A = LLᵀ (d × d).
///
/// Vectors are slices of length d, several vectors at once are the columns of a d × k matrix. Every method checks
/// its argument and runs on one thread; [the module's functions](crate::cholesky) take the caller's scratch and threads.
///
/// ```
/// use vi_linalg::{Cholesky, faer::mat};
///
/// // Only the lower triangle is read.
/// let a = mat![[4.0, f64::NAN], [2.0, 5.0]];
/// let cholesky = Cholesky::new(a.as_ref())?;
/// assert_eq!(cholesky.solve(mat![[8.0], [8.0]].as_ref())?, mat![[1.5], [1.0]]);
/// assert_eq!(cholesky.quadratic_form_inverse(&[8.0, 8.0])?, 20.0);
/// assert!((cholesky.log_det() - 16.0_f64.ln()).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cholesky {
    /// The strict upper triangle is zero.
    l: Mat<f64>,
}

impl Cholesky {
    /// Factors A (d × d, lower triangle). Cost d³/3 flops and one d × d allocation.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if A is not square, [`LinalgError::NonFinite`] for a NaN or infinity in the lower
    /// triangle, [`LinalgError::NotPositiveDefinite`] if a pivot is not positive.
    pub fn new(lower: MatRef<'_, f64>) -> Result<Self, LinalgError> {
        check_square(lower)?;
        check::finite_lower("the matrix to factor", lower)?;
        let d = lower.nrows();
        let mut l = copy_lower(lower);
        let mut memory = MemBuffer::new(in_place::factor_in_place_scratch(d, Par::Seq));
        in_place::factor_in_place(l.as_mut(), Par::Seq, MemStack::new(&mut memory))?;
        zero_strict_upper(l.as_mut());
        Ok(Self { l })
    }

    /// Takes a factor L (d × d, lower triangle) that exists already; the strict upper triangle is set to zero.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if L is not square, [`LinalgError::NonFinite`] for a NaN or infinity in the lower
    /// triangle, [`LinalgError::NotPositiveDefinite`] if a diagonal entry is not positive.
    pub fn from_factor(l: Mat<f64>) -> Result<Self, LinalgError> {
        check_square(l.as_ref())?;
        check::finite_lower("the factor", l.as_ref())?;
        if let Some(pivot) = (0..l.nrows()).find(|&j| l[(j, j)] <= 0.0) {
            return Err(LinalgError::NotPositiveDefinite { pivot });
        }
        let mut l = l;
        zero_strict_upper(l.as_mut());
        Ok(Self { l })
    }

    /// Dimension d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.l.nrows()
    }

    /// L (d × d), its strict upper triangle zero.
    #[must_use]
    pub fn factor(&self) -> MatRef<'_, f64> {
        self.l.as_ref()
    }

    /// L (d × d), its strict upper triangle zero.
    #[must_use]
    pub fn into_factor(self) -> Mat<f64> {
        self.l
    }

    /// log det A = 2 Σ log Lᵢᵢ, natural logarithm; 0 for d = 0. Cost d logarithms.
    #[must_use]
    pub fn log_det(&self) -> f64 {
        in_place::log_det(self.l.as_ref())
    }

    /// A⁻¹B for B of d × k. Cost 2d²k flops.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if B has not d rows, [`LinalgError::NonFinite`] for a NaN or infinity in B.
    pub fn solve(&self, b: MatRef<'_, f64>) -> Result<Mat<f64>, LinalgError> {
        let mut out = b.to_owned();
        self.solve_in_place(out.as_mut())?;
        Ok(out)
    }

    /// B ← A⁻¹B for B of d × k. Cost 2d²k flops.
    ///
    /// # Errors
    /// Those of [`solve`](Self::solve); B is then as it was.
    pub fn solve_in_place(&self, b: MatMut<'_, f64>) -> Result<(), LinalgError> {
        self.check_rows("right-hand side", b.as_ref())?;
        in_place::solve_in_place(self.l.as_ref(), b, Par::Seq);
        Ok(())
    }

    /// b ← A⁻¹b for a vector of length d. Cost 2d² flops.
    ///
    /// # Errors
    /// Those of [`solve`](Self::solve); b is then as it was.
    pub fn solve_vec_in_place(&self, b: &mut [f64]) -> Result<(), LinalgError> {
        self.solve_in_place(as_column_mut(b))
    }

    /// L⁻¹B for B of d × k: columns with covariance A become columns with covariance I. Cost d²k flops.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if B has not d rows, [`LinalgError::NonFinite`] for a NaN or infinity in B.
    ///
    /// ```
    /// use vi_linalg::{Cholesky, faer::mat};
    /// let cholesky = Cholesky::new(mat![[4.0, 0.0], [2.0, 5.0]].as_ref())?;
    /// let z = mat![[1.0], [-1.0]];
    /// let x = cholesky.unwhiten(z.as_ref())?;
    /// assert_eq!(x, mat![[2.0], [-1.0]]);
    /// assert_eq!(cholesky.whiten(x.as_ref())?, z);
    /// # Ok::<(), vi_linalg::LinalgError>(())
    /// ```
    pub fn whiten(&self, b: MatRef<'_, f64>) -> Result<Mat<f64>, LinalgError> {
        self.check_rows("argument of whiten", b)?;
        let mut out = b.to_owned();
        in_place::solve_lower_in_place(self.l.as_ref(), out.as_mut(), Par::Seq);
        Ok(out)
    }

    /// L Z for Z of d × k: columns with covariance I become columns with covariance A. Cost d²k flops.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if Z has not d rows, [`LinalgError::NonFinite`] for a NaN or infinity in Z.
    pub fn unwhiten(&self, z: MatRef<'_, f64>) -> Result<Mat<f64>, LinalgError> {
        self.check_rows("argument of unwhiten", z)?;
        let mut out = Mat::zeros(z.nrows(), z.ncols());
        in_place::mul_lower(out.as_mut(), self.l.as_ref(), z, Par::Seq);
        Ok(out)
    }

    /// xᵀA⁻¹x = ‖L⁻¹x‖², never negative, for a vector of length d. Cost d² flops and one vector.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if x has not d elements, [`LinalgError::NonFinite`] for a NaN or infinity in x.
    pub fn quadratic_form_inverse(&self, x: &[f64]) -> Result<f64, LinalgError> {
        let column = MatRef::from_column_major_slice(x, x.len(), 1);
        self.check_rows("argument of quadratic_form_inverse", column)?;
        let mut z = x.to_vec();
        in_place::solve_lower_in_place(self.l.as_ref(), as_column_mut(&mut z), Par::Seq);
        Ok(kernels::dot(&z, &z))
    }

    /// A⁻¹ (d × d, both triangles), for output only: to apply an inverse, [solve](Self::solve). Cost 2d³/3 flops.
    ///
    /// ```
    /// use vi_linalg::{Cholesky, faer::mat};
    /// let cholesky = Cholesky::new(mat![[4.0, 0.0], [2.0, 5.0]].as_ref())?;
    /// assert_eq!(cholesky.inverse(), mat![[0.3125, -0.125], [-0.125, 0.25]]);
    /// # Ok::<(), vi_linalg::LinalgError>(())
    /// ```
    #[must_use]
    pub fn inverse(&self) -> Mat<f64> {
        let d = self.dim();
        let mut out = Mat::zeros(d, d);
        let mut memory = MemBuffer::new(in_place::inverse_scratch(d, Par::Seq));
        in_place::inverse(
            out.as_mut(),
            self.l.as_ref(),
            Par::Seq,
            MemStack::new(&mut memory),
        );
        kernels::mirror_lower(out.as_mut());
        out
    }

    /// Replaces A by A + U diag(α) Uᵀ, U being d × r and α of any signs. Cost 2d²r flops and a copy of the factor.
    ///
    /// The positive terms are added first, so the update fails only if its result is not positive definite.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if U has not d rows or α not r elements, [`LinalgError::NonFinite`] for a NaN or
    /// infinity in either, [`LinalgError::NotPositiveDefinite`] if the result has no factor. The factor then keeps
    /// its bits.
    ///
    /// ```
    /// use vi_linalg::{Cholesky, LinalgError, faer::mat};
    /// let mut cholesky = Cholesky::new(mat![[4.0, 0.0], [2.0, 5.0]].as_ref())?;
    /// let before = cholesky.clone();
    /// let u = mat![[3.0], [0.0]];
    /// let failed = cholesky.update(u.as_ref(), &[-1.0]);
    /// assert_eq!(failed, Err(LinalgError::NotPositiveDefinite { pivot: 0 }));
    /// assert_eq!(cholesky, before);
    /// cholesky.update(u.as_ref(), &[1.0])?;
    /// assert!((cholesky.log_det() - 61.0_f64.ln()).abs() < 1e-14); // 13 * 5 - 2 * 2
    /// # Ok::<(), vi_linalg::LinalgError>(())
    /// ```
    pub fn update(&mut self, u: MatRef<'_, f64>, alpha: &[f64]) -> Result<(), LinalgError> {
        self.check_rows("U", u)?;
        check::dimension("length of alpha", u.ncols(), alpha.len())?;
        check::finite_slice("alpha", alpha)?;
        let (mut order, negative): (Vec<usize>, Vec<usize>) =
            (0..alpha.len()).partition(|&k| alpha[k] >= 0.0);
        order.extend(negative);
        let mut ordered_u = Mat::from_fn(u.nrows(), u.ncols(), |i, k| u[(i, order[k])]);
        let mut ordered_alpha: Vec<f64> = order.iter().map(|&k| alpha[k]).collect();
        let mut l = self.l.clone();
        in_place::rank_r_update_in_place(l.as_mut(), ordered_u.as_mut(), &mut ordered_alpha)?;
        self.l = l;
        Ok(())
    }

    fn check_rows(&self, what: &'static str, b: MatRef<'_, f64>) -> Result<(), LinalgError> {
        if b.nrows() == self.dim() {
            check::finite_matrix(what, b)
        } else {
            Err(LinalgError::Dimension {
                what,
                expected: self.dim(),
                found: b.nrows(),
            })
        }
    }
}

fn as_column_mut(x: &mut [f64]) -> MatMut<'_, f64> {
    let d = x.len();
    MatMut::from_column_major_slice_mut(x, d, 1)
}

fn check_square(a: MatRef<'_, f64>) -> Result<(), LinalgError> {
    check::dimension("columns of the square matrix", a.nrows(), a.ncols())
}

fn copy_lower(a: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), a.ncols());
    out.copy_from_triangular_lower(a);
    out
}

fn zero_strict_upper(mut a: MatMut<'_, f64>) {
    for j in 1..a.ncols() {
        a.as_mut().col_mut(j).subrows_mut(0, j).fill(0.0);
    }
}

//! A Cholesky factor with its own memory.

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

    /// Takes an existing factor L (d × d, lower triangle); the strict upper triangle is set to zero.
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

    /// The factor L, its strict upper triangle zero and its diagonal positive.
    pub(crate) fn of_factor(l: Mat<f64>) -> Self {
        Self { l }
    }

    /// Dimension d.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.l.nrows()
    }

    /// The factor L (d × d), its strict upper triangle zero.
    #[must_use]
    pub fn factor(&self) -> MatRef<'_, f64> {
        self.l.as_ref()
    }

    /// The factor L (d × d), its strict upper triangle zero, without a copy.
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
    /// [`LinalgError::Dimension`] if B does not have d rows, [`LinalgError::NonFinite`] for a NaN or infinity in B.
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
    /// [`LinalgError::Dimension`] if B does not have d rows, [`LinalgError::NonFinite`] for a NaN or infinity in B.
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
    /// [`LinalgError::Dimension`] if Z does not have d rows, [`LinalgError::NonFinite`] for a NaN or infinity in Z.
    pub fn unwhiten(&self, z: MatRef<'_, f64>) -> Result<Mat<f64>, LinalgError> {
        self.check_rows("argument of unwhiten", z)?;
        let mut out = Mat::zeros(z.nrows(), z.ncols());
        in_place::mul_lower(out.as_mut(), self.l.as_ref(), z, Par::Seq);
        Ok(out)
    }

    /// xᵀA⁻¹x = ‖L⁻¹x‖², never negative, for a vector of length d. Cost d² flops and one vector.
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if x does not have d elements, [`LinalgError::NonFinite`] for a NaN or infinity in x.
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
        in_place::inverse(out.as_mut(), self.l.as_ref(), Par::Seq, MemStack::new(&mut memory));
        kernels::mirror_lower(out.as_mut());
        out
    }

    /// Replaces A by A + U diag(α) Uᵀ, U being d × r and α of any signs. Cost 2d²r flops and a copy of the factor.
    ///
    /// The positive terms are added first, so the update fails only if its result is not positive definite (to
    /// rounding).
    ///
    /// # Errors
    /// [`LinalgError::Dimension`] if U does not have d rows or α not r elements, [`LinalgError::NonFinite`] for a NaN or infinity
    /// in either, [`LinalgError::NotPositiveDefinite`] if the result has no factor. On an error the factor keeps its bits.
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
        let (mut order, negative): (Vec<usize>, Vec<usize>) = (0..alpha.len()).partition(|&k| alpha[k] >= 0.0);
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
            Err(LinalgError::Dimension { what, expected: self.dim(), found: b.nrows() })
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

#[cfg(test)]
mod tests {
    use faer::mat;

    use super::*;
    use crate::testing::{
        SIZES, column, infinity_norm, lower_only, matrix, max_difference, positive_definite, product, rng, vector,
    };

    fn random(d: usize) -> (Mat<f64>, Cholesky) {
        let a = positive_definite(&mut rng(d as u64), d);
        let cholesky = Cholesky::new(lower_only(a.as_ref()).as_ref()).unwrap();
        (a, cholesky)
    }

    #[test]
    fn the_forms_of_a_solution_agree() {
        for d in SIZES {
            let (a, cholesky) = random(d);
            let b = vector(&mut rng(1000 + d as u64), d);
            // A ≥ I, so κ ≤ ‖A‖∞ and ‖A⁻¹b‖ ≤ ‖b‖; backward error γ₃d₊₁ (Higham, Theorem 10.4) on each side.
            let size: f64 = b.iter().map(|b| b * b).sum();
            let tolerance = 4.0 * (d as f64 + 1.0) * f64::EPSILON * infinity_norm(a.as_ref()) * size.sqrt();

            let solution = cholesky.solve(column(&b)).unwrap();
            let mut in_place = b.clone();
            cholesky.solve_vec_in_place(&mut in_place).unwrap();
            assert!(max_difference(column(&in_place), solution.as_ref()) <= tolerance);
            let by_inverse = product(cholesky.inverse().as_ref(), column(&b));
            assert!(max_difference(by_inverse.as_ref(), solution.as_ref()) <= tolerance);

            let form = cholesky.quadratic_form_inverse(&b).unwrap();
            let plain: f64 = (0..d).map(|i| b[i] * solution[(i, 0)]).sum();
            assert!((form - plain).abs() <= tolerance * size.sqrt(), "d = {d}");
        }
    }

    #[test]
    fn whiten_undoes_unwhiten() {
        for d in SIZES {
            let (a, cholesky) = random(d);
            let z = matrix(&mut rng(1000 + d as u64), d, 3);
            let x = cholesky.unwhiten(z.as_ref()).unwrap();
            let back = cholesky.whiten(x.as_ref()).unwrap();
            // Both steps have a componentwise error of d ε/2 |L||z|; L⁻¹ has norm at most 1.
            let tolerance = d as f64 * f64::EPSILON * infinity_norm(a.as_ref()) * infinity_norm(z.transpose()).max(1.0);
            assert!(max_difference(back.as_ref(), z.as_ref()) <= tolerance, "d = {d}");
        }
    }

    #[test]
    fn inverse_is_symmetric_and_inverts() {
        for d in SIZES {
            let (a, cholesky) = random(d);
            let inverse = cholesky.inverse();
            assert_eq!(inverse, inverse.transpose());
            // A small multiple of d ε κ, with κ ≤ ‖A‖∞ because A ≥ I.
            let tolerance = 4.0 * d as f64 * f64::EPSILON * infinity_norm(a.as_ref());
            let identity = product(a.as_ref(), inverse.as_ref());
            let error = max_difference(identity.as_ref(), Mat::identity(d, d).as_ref());
            assert!(error <= tolerance, "d = {d}: {error}");
        }
    }

    #[test]
    fn hilbert_matrices() {
        // 2-norm condition numbers of the Hilbert matrices (Higham, Accuracy and Stability, chapter 28).
        for (d, condition) in [(2, 1.93e1), (5, 4.77e5), (8, 1.53e10), (10, 1.6e13)] {
            let a = Mat::from_fn(d, d, |i, j| 1.0 / (i + j + 1) as f64);
            let cholesky = Cholesky::new(a.as_ref()).unwrap();
            // det H = c(d)⁴ / c(2d) with c(n) = 1! 2! … (n−1)!.
            let log_c = |n: usize| -> f64 { (2..n).map(|k| (n - k) as f64 * (k as f64).ln()).sum() };
            let exact = 4.0 * log_c(d) - log_c(2 * d);
            // δ log det = tr(A⁻¹δA) ≤ d κ ‖δA‖/‖A‖, with ‖δA‖ ≤ (d + 2) ε ‖A‖.
            let tolerance = (d * (d + 2)) as f64 * f64::EPSILON * condition;
            assert!((cholesky.log_det() - exact).abs() <= tolerance, "d = {d}");
            // The corner of the inverse is d².
            let corner = cholesky.inverse()[(0, 0)];
            let square = (d * d) as f64;
            assert!((corner / square - 1.0).abs() <= tolerance, "d = {d}");
        }
    }

    #[test]
    fn update_is_the_factor_of_the_sum() {
        for d in SIZES {
            for alpha in [&[][..], &[2.0], &[-0.5, 1.0, -0.25], &[1.0, 0.0, 3.0, 0.5, 2.0]] {
                let (a, mut cholesky) = random(d);
                let r = alpha.len();
                let mut u = matrix(&mut rng(1000 + d as u64), d, r);
                for k in 0..r {
                    // Columns of length 1: the negative terms take at most 0.75 of A ≥ I.
                    let norm = u.col(k).norm_l2();
                    u.col_mut(k).iter_mut().for_each(|value| *value /= norm);
                }
                let scaled = Mat::from_fn(d, r, |i, k| alpha[k] * u[(i, k)]);
                let sum = &a + product(scaled.as_ref(), u.transpose());
                cholesky.update(u.as_ref(), alpha).unwrap();
                let l = cholesky.factor();
                let error = max_difference(product(l, l.transpose()).as_ref(), sum.as_ref());
                // Each term loses a few ε, grown by at most κ ≤ 4‖A‖∞ in a downdate; the products d ε.
                let tolerance = 4.0
                    * (d + 4 * r) as f64
                    * f64::EPSILON
                    * infinity_norm(sum.as_ref()).max(infinity_norm(a.as_ref()));
                assert!(error <= tolerance, "d = {d}, r = {r}: {error}");
            }
        }
    }

    #[test]
    fn update_adds_before_it_takes_away() {
        let mut cholesky = Cholesky::new(Mat::identity(3, 3).as_ref()).unwrap();
        let u = mat![[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]];
        cholesky.update(u.as_ref(), &[-1.5, 3.5]).unwrap();
        // √3 from √4.5² − 1.5: a few roundings of the larger square.
        let error = (cholesky.factor()[(0, 0)] - 3.0_f64.sqrt()).abs();
        assert!(error <= 4.0 * f64::EPSILON * 4.5);
    }

    #[test]
    fn a_failed_update_keeps_the_factor() {
        let (_, mut cholesky) = random(17);
        let before = cholesky.clone();
        let mut u = matrix(&mut rng(3), 17, 2);
        // The first sixteen columns of the factor change before the last pivot fails.
        let downdate = cholesky.update(u.as_ref(), &[1.0, -1e6]);
        assert!(matches!(downdate, Err(LinalgError::NotPositiveDefinite { .. })));
        assert_eq!(cholesky, before);
        let mut last = Mat::zeros(17, 1);
        last[(16, 0)] = 100.0;
        last[(0, 0)] = 0.1;
        let downdate = cholesky.update(last.as_ref(), &[-1.0]);
        assert_eq!(downdate, Err(LinalgError::NotPositiveDefinite { pivot: 16 }));
        assert_eq!(cholesky, before);
        let overflow = Mat::from_fn(17, 1, |_, _| 1e200);
        let update = cholesky.update(overflow.as_ref(), &[1.0]);
        assert_eq!(update, Err(LinalgError::NotPositiveDefinite { pivot: 0 }));
        assert_eq!(cholesky, before);
        u[(5, 1)] = f64::NAN;
        assert!(cholesky.update(u.as_ref(), &[1.0, 1.0]).is_err());
        assert_eq!(cholesky, before);
    }

    #[test]
    fn bad_arguments_are_named() {
        let rectangle = Cholesky::new(Mat::zeros(3, 2).as_ref());
        let expected = "columns of the square matrix: expected 3, found 2";
        assert_eq!(rectangle.unwrap_err().to_string(), expected);
        let mut a = Mat::<f64>::identity(3, 3);
        a[(2, 1)] = f64::NAN;
        let expected = "the matrix to factor has the non-finite value NaN at row 2, column 1";
        assert_eq!(Cholesky::new(a.as_ref()).unwrap_err().to_string(), expected);

        let mut cholesky = Cholesky::new(Mat::identity(3, 3).as_ref()).unwrap();
        let dimension = |what, expected, found| Some(LinalgError::Dimension { what, expected, found });
        let long = Mat::<f64>::zeros(4, 1);
        let long = long.as_ref();
        assert_eq!(cholesky.solve(long).err(), dimension("right-hand side", 3, 4));
        assert_eq!(cholesky.whiten(long).err(), dimension("argument of whiten", 3, 4));
        assert_eq!(cholesky.unwhiten(long).err(), dimension("argument of unwhiten", 3, 4));
        let form = cholesky.quadratic_form_inverse(&[0.0; 2]).err();
        assert_eq!(form, dimension("argument of quadratic_form_inverse", 3, 2));
        assert_eq!(cholesky.update(long, &[1.0]).err(), dimension("U", 3, 4));
        let u = Mat::zeros(3, 2);
        let update = cholesky.update(u.as_ref(), &[1.0]).err();
        assert_eq!(update, dimension("length of alpha", 2, 1));

        let infinity = LinalgError::NonFinite { what: "right-hand side", row: 1, column: 0, value: f64::INFINITY };
        let mut b = [1.0, f64::INFINITY, 2.0];
        assert_eq!(cholesky.solve_vec_in_place(&mut b), Err(infinity));
        assert_eq!(b, [1.0, f64::INFINITY, 2.0]);
    }

    #[test]
    fn a_given_factor_is_checked() {
        let l = mat![[2.0, f64::NAN], [1.0, 2.0]];
        let cholesky = Cholesky::from_factor(l).unwrap();
        assert_eq!(cholesky.factor(), mat![[2.0, 0.0], [1.0, 2.0]]);
        assert_eq!(cholesky, Cholesky::new(mat![[4.0, 0.0], [2.0, 5.0]].as_ref()).unwrap());
        let zero = Cholesky::from_factor(mat![[2.0, 0.0], [1.0, 0.0]]);
        assert_eq!(zero, Err(LinalgError::NotPositiveDefinite { pivot: 1 }));
        let infinite = Cholesky::from_factor(mat![[f64::INFINITY]]);
        assert!(matches!(infinite, Err(LinalgError::NonFinite { .. })));
    }

    #[test]
    fn dimension_zero_is_a_matrix_too() {
        let cholesky = Cholesky::new(Mat::zeros(0, 0).as_ref()).unwrap();
        assert_eq!(cholesky.dim(), 0);
        assert_eq!(cholesky.log_det(), 0.0);
        assert_eq!(cholesky.quadratic_form_inverse(&[]), Ok(0.0));
        assert_eq!(cholesky.inverse().shape(), (0, 0));
    }
}

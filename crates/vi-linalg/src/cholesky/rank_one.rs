//! The factor of LLᵀ ± xxᵀ by plane rotations, one pass over L.

use faer::{MatMut, MatRef, Par};

use super::in_place::solve_lower_in_place;
use crate::kernels::{assert_length, assert_square, dot, rotate};
use crate::{LinalgError, check};

/// Overwrites L (d × d) with the factor of LLᵀ + xxᵀ; x (length d) is scratch afterwards. Cost 3d² flops.
///
/// Rotations take \[L x\] to \[L′ 0\] column by column. No diagonal entry becomes smaller, so L keeps its positive
/// diagonal whatever x is. The columns of L must be contiguous.
///
/// # Errors
/// [`LinalgError::NonFinite`] for a NaN or infinity in x, found before anything is written;
/// [`LinalgError::NotPositiveDefinite`] if a diagonal entry overflows: L is then invalid.
///
/// ```
/// use vi_linalg::{cholesky::rank_one_update_in_place, faer::mat};
/// let mut l = mat![[3.0, 0.0], [1.0, 2.0]];
/// rank_one_update_in_place(l.as_mut(), &mut [4.0, 0.0])?;
/// assert!((l[(0, 0)] - 5.0).abs() < 1e-15 && (l[(1, 0)] - 0.6).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[track_caller]
pub fn rank_one_update_in_place(l: MatMut<'_, f64>, x: &mut [f64]) -> Result<(), LinalgError> {
    assert_square(l.nrows(), l.ncols());
    assert_length("x", x.len(), l.nrows());
    check::finite_slice("x", x)?;
    let mut l = l;
    for j in 0..x.len() {
        if x[j] == 0.0 {
            continue;
        }
        let column = below_diagonal(&mut l, j);
        let length = column[0].hypot(x[j]);
        if !(length > 0.0 && length.is_finite()) {
            return Err(LinalgError::NotPositiveDefinite { pivot: j });
        }
        let (c, s) = (column[0] / length, x[j] / length);
        column[0] = length;
        rotate(&mut column[1..], &mut x[j + 1..], c, s);
    }
    Ok(())
}

/// Overwrites L (d × d) with the factor of LLᵀ − xxᵀ; x (length d) is scratch afterwards. Cost 4d² flops.
///
/// # Errors
/// [`LinalgError::NonFinite`] for a NaN or infinity in x, [`LinalgError::NotPositiveDefinite`] unless xᵀ(LLᵀ)⁻¹x < 1.
/// On an error L keeps its bits.
///
/// ```
/// use vi_linalg::{LinalgError, cholesky::rank_one_downdate_in_place, faer::mat};
/// let mut l = mat![[5.0, 0.0], [0.6, 2.0]];
/// let failed = rank_one_downdate_in_place(l.as_mut(), &mut [6.0, 0.0]);
/// assert_eq!(failed, Err(LinalgError::NotPositiveDefinite { pivot: 0 }));
/// assert_eq!(l, mat![[5.0, 0.0], [0.6, 2.0]]);
/// rank_one_downdate_in_place(l.as_mut(), &mut [4.0, 0.0])?;
/// assert!((l[(0, 0)] - 3.0).abs() < 1e-14 && (l[(1, 0)] - 1.0).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[track_caller]
pub fn rank_one_downdate_in_place(l: MatMut<'_, f64>, x: &mut [f64]) -> Result<(), LinalgError> {
    assert_square(l.nrows(), l.ncols());
    assert_length("x", x.len(), l.nrows());
    check::finite_slice("x", x)?;
    whiten(l.as_ref(), x);
    let remainder = 1.0 - dot(x, x);
    if remainder > 0.0 {
        downdate_whitened_in_place(l, x, remainder);
        return Ok(());
    }
    let mut left = 1.0;
    let pivot = x.iter().position(|z| {
        left -= z * z;
        left.is_nan() || left <= 0.0
    });
    Err(LinalgError::NotPositiveDefinite { pivot: pivot.unwrap_or(x.len().saturating_sub(1)) })
}

/// Overwrites L (d × d) with the factor of L(I − zzᵀ)Lᵀ, given `remainder` = 1 − zᵀz > 0 to rounding; it cannot fail.
///
/// z (length d) is scratch afterwards: it holds x = Lz. Cost 3d² flops.
///
/// The rotations that take (z, √remainder) to (0, 1), from the last entry of z to the first, take \[L 0\] to \[L′ x\]
/// (Dongarra et al., LINPACK Users' Guide, chapter 10: backward stable, and the diagonal stays positive).
#[track_caller]
pub fn downdate_whitened_in_place(l: MatMut<'_, f64>, z: &mut [f64], remainder: f64) {
    assert_square(l.nrows(), l.ncols());
    assert_length("z", z.len(), l.nrows());
    let mut l = l;
    let mut length = remainder.sqrt();
    for j in (0..z.len()).rev() {
        let longer = length.hypot(z[j]);
        let (c, s) = (length / longer, z[j] / longer);
        length = longer;
        z[j] = 0.0;
        rotate(below_diagonal(&mut l, j), &mut z[j..], c, -s);
    }
}

fn whiten(l: MatRef<'_, f64>, x: &mut [f64]) {
    let d = x.len();
    solve_lower_in_place(l, MatMut::from_column_major_slice_mut(x, d, 1), Par::Seq);
}

/// Column j from its diagonal entry down.
#[track_caller]
#[expect(clippy::expect_used, reason = "a stated precondition on the layout")]
fn below_diagonal<'a>(l: &'a mut MatMut<'_, f64>, j: usize) -> &'a mut [f64] {
    let column = l.as_mut().col_mut(j).try_as_col_major_mut();
    &mut column.expect("the matrix must have contiguous columns (row stride 1)").as_slice_mut()[j..]
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::Cholesky;
    use crate::testing::{SIZES, infinity_norm, max_difference, positive_definite, product, rng, vector};

    /// L of a random A ≥ I with NaN above its diagonal, and a vector of length 1.
    fn random(d: usize) -> (Mat<f64>, Vec<f64>) {
        let l = Cholesky::new(positive_definite(&mut rng(d as u64), d).as_ref()).unwrap();
        let mut x = vector(&mut rng(70 + d as u64), d);
        let length = dot(&x, &x).sqrt();
        for x in &mut x {
            *x /= length;
        }
        (crate::testing::lower_only(l.factor()), x)
    }

    fn square(l: &Mat<f64>, alpha: f64, x: &[f64]) -> Mat<f64> {
        let l = Mat::from_fn(l.nrows(), l.ncols(), |i, j| if i < j { 0.0 } else { l[(i, j)] });
        let gram = product(l.as_ref(), l.transpose());
        Mat::from_fn(x.len(), x.len(), |i, j| gram[(i, j)] + alpha * x[i] * x[j])
    }

    #[test]
    fn update_and_downdate_are_the_factors_of_sum_and_difference() {
        for d in SIZES {
            let (l, x) = random(d);
            for (alpha, sign) in [(1e4_f64, 1.0), (0.9, -1.0), (1e-12, 1.0), (1e-12, -1.0)] {
                let mut changed = l.clone();
                let mut scaled: Vec<f64> = x.iter().map(|x| alpha.sqrt() * x).collect();
                if sign > 0.0 {
                    rank_one_update_in_place(changed.as_mut(), &mut scaled).unwrap();
                } else {
                    rank_one_downdate_in_place(changed.as_mut(), &mut scaled).unwrap();
                    // What is left in the scratch is x put together again from L′ and the rotations.
                    let rebuilt = scaled.iter().zip(&x).map(|(s, x)| (s - alpha.sqrt() * x).abs());
                    let tolerance = 8.0 * (d as f64 + 1.0) * f64::EPSILON * infinity_norm(square(&l, 0.0, &x).as_ref());
                    assert!(rebuilt.fold(0.0, f64::max) <= tolerance, "d = {d}, {alpha}");
                }
                let expected = square(&l, sign * alpha, &x);
                let error = max_difference(square(&changed, 0.0, &x).as_ref(), expected.as_ref());
                // Each rotation is backward stable: a few ε per column on \[L x\]; the products d ε more.
                let scale = infinity_norm(square(&l, alpha, &x).as_ref());
                let tolerance = 8.0 * (d as f64 + 1.0) * f64::EPSILON * scale;
                assert!(error <= tolerance, "d = {d}, {sign}·{alpha}: {error:e} > {tolerance:e}");
                assert!((0..d).all(|j| changed[(j, j)] > 0.0));
            }
        }
    }

    #[test]
    fn a_huge_update_keeps_a_positive_diagonal() {
        let (l, x) = random(17);
        for scale in [1e-300, 1e-150, 1e20, 1e100, 1e150] {
            let mut changed = l.clone();
            for _ in 0..20 {
                let mut scaled: Vec<f64> = x.iter().map(|x| scale * x).collect();
                rank_one_update_in_place(changed.as_mut(), &mut scaled).unwrap();
            }
            assert!((0..17).all(|j| changed[(j, j)] > 0.0 && changed[(j, j)].is_finite()), "{scale:e}");
        }
    }

    #[test]
    fn failures_leave_the_factor_and_name_the_place() {
        for d in [1, 2, 5, 17] {
            for pivot in 0..d {
                let mut l = Mat::<f64>::identity(d, d);
                let mut x = vec![0.0; d];
                x[pivot] = 1.5;
                let error = rank_one_downdate_in_place(l.as_mut(), &mut x);
                assert_eq!(error, Err(LinalgError::NotPositiveDefinite { pivot }));
                assert_eq!(l, Mat::identity(d, d));
                let mut x = vec![1.0; d];
                x[pivot] = f64::INFINITY;
                let expected = Err(LinalgError::NonFinite { what: "x", row: pivot, column: 0, value: f64::INFINITY });
                assert_eq!(rank_one_update_in_place(l.as_mut(), &mut x.clone()), expected);
                assert_eq!(rank_one_downdate_in_place(l.as_mut(), &mut x), expected);
                assert_eq!(l, Mat::identity(d, d));
            }
        }
    }
}

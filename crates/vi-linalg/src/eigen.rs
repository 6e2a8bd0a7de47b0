//! Eigenvalues of symmetric matrices.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use faer::{Col, Mat, MatMut, MatRef, Par, Spec};

use crate::LinalgError;
use crate::kernels::assert_square;

/// The eigenvalues of A (d × d, lower triangle) in increasing order, and its eigenvectors, one a column of a d × d matrix.
///
/// Each value is accurate to ε times the largest. Cost about 9d³ flops.
///
/// # Errors
/// [`LinalgError::NoEigenvalues`] if the iteration does not converge: for entries that are not finite, and for some matrices of
/// low rank whose rest is rounding over hundreds of powers of ten.
///
/// ```
/// use vi_linalg::eigen::eigen;
/// use vi_linalg::faer::{Par, mat};
/// let a = mat![[2.0, f64::NAN], [1.0, 2.0]];
/// let (values, vectors) = eigen(a.as_ref(), Par::Seq)?;
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// assert!((vectors[(0, 1)] - vectors[(1, 1)]).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[track_caller]
pub fn eigen(lower: MatRef<'_, f64>, par: Par) -> Result<(Vec<f64>, Mat<f64>), LinalgError> {
    let mut vectors = Mat::zeros(lower.nrows(), lower.nrows());
    let values = solve(lower, Some(vectors.as_mut()), par)?;
    Ok((values, vectors))
}

/// The eigenvalues of A (d × d, lower triangle) in increasing order. Cost about 4d³/3 flops.
///
/// # Errors
/// As [`eigen`].
///
/// ```
/// use vi_linalg::eigen::eigenvalues;
/// use vi_linalg::faer::{Par, mat};
/// let values = eigenvalues(mat![[2.0, 0.0], [1.0, 2.0]].as_ref(), Par::Seq)?;
/// assert!((values[0] - 1.0).abs() < 1e-15 && (values[1] - 3.0).abs() < 1e-15);
/// # Ok::<(), vi_linalg::LinalgError>(())
/// ```
#[track_caller]
pub fn eigenvalues(lower: MatRef<'_, f64>, par: Par) -> Result<Vec<f64>, LinalgError> {
    solve(lower, None, par)
}

#[track_caller]
fn solve(lower: MatRef<'_, f64>, vectors: Option<MatMut<'_, f64>>, par: Par) -> Result<Vec<f64>, LinalgError> {
    assert_square(lower.nrows(), lower.ncols());
    let d = lower.nrows();
    if d == 0 {
        return Ok(Vec::new());
    }
    let compute = if vectors.is_some() { ComputeEigenvectors::Yes } else { ComputeEigenvectors::No };
    let mut values = Col::<f64>::zeros(d);
    let mut memory = MemBuffer::new(self_adjoint_evd_scratch::<f64>(d, compute, par, Spec::default()));
    let stack = MemStack::new(&mut memory);
    self_adjoint_evd(lower, values.as_diagonal_mut(), vectors, par, stack, Spec::default())
        .map_err(|_| LinalgError::NoEigenvalues { rows: d })?;
    // On small matrices the iteration ends even with NaN.
    if values.iter().any(|value| value.is_nan()) {
        return Err(LinalgError::NoEigenvalues { rows: d });
    }
    Ok(values.iter().copied().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_vectors_rebuild_the_matrix_and_only_the_lower_triangle_is_read() {
        for d in [1, 2, 5, 40, 150] {
            let a = Mat::from_fn(d, d, |i, j| ((1 + i.min(j)) as f64).sqrt() / (1.0 + i.abs_diff(j) as f64));
            let lower = Mat::from_fn(d, d, |i, j| if i >= j { a[(i, j)] } else { f64::NAN });
            let (values, vectors) = eigen(lower.as_ref(), Par::Seq).unwrap();
            assert!(values.is_sorted());
            let scaled = Mat::from_fn(d, d, |i, k| values[k] * vectors[(i, k)]);
            let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
            let tolerance = 8.0 * d as f64 * f64::EPSILON * largest;
            assert!((scaled * vectors.transpose() - &a).norm_max() <= tolerance, "{d}");
            let alone = eigenvalues(lower.as_ref(), Par::Seq).unwrap();
            assert!(alone.iter().zip(&values).all(|(a, b)| (a - b).abs() <= tolerance), "{d}");
        }
    }

    #[test]
    fn a_matrix_without_rows_has_none() {
        let (values, vectors) = eigen(Mat::zeros(0, 0).as_ref(), Par::Seq).unwrap();
        assert_eq!((values.len(), vectors.shape()), (0, (0, 0)));
    }

    #[test]
    fn what_is_not_a_number_has_no_eigenvalues() {
        let a = Mat::full(3, 3, f64::NAN);
        assert_eq!(eigenvalues(a.as_ref(), Par::Seq), Err(LinalgError::NoEigenvalues { rows: 3 }));
    }
}

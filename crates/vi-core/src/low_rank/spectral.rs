//! The spectral start: the best `W₁W₁ᵀ` inside the span of `F = [W X]`, from `K = FᵀΨ⁻¹F` alone.

use vi_linalg::eigen::eigen;
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::cholesky::llt_pivoting::factor::{cholesky_in_place, cholesky_in_place_scratch};
use vi_linalg::faer::{Mat, MatRef, Par, Spec};
use vi_linalg::kernels::product;

use crate::Error;

/// `W₁ = F·q₁`, with bounds of what it leaves.
pub(super) struct SpectralStart {
    /// `(p + k) × p`.
    pub(super) q1: Mat<f64>,
    /// `Ψ + FHFᵀ ⪰ least·Ψ`: 1 without negative curvatures.
    pub(super) least: f64,
    /// The largest eigenvalue of `Ψ^(−½)(FHFᵀ)Ψ^(−½)`.
    pub(super) largest: f64,
}

/// The eigenvectors of `Ψ^(−½)(F H Fᵀ)Ψ^(−½)` with the `p` largest eigenvalues, as combinations of the columns of `F`.
///
/// `gram` is `K` (lower triangle), `weights` the diagonal of `H`. Without negative weights they are those of `DKD`, `D = √H`: `q₁
/// = D·Q[:, ..p]` (`W₁ = F·q₁` has orthogonal columns in the metric `Ψ⁻¹`). With negative ones `K = CCᵀ` is factored first, and
/// `CᵀHC` has the eigenvalues. Cost `O((p+k)³)`.
///
/// # Errors
/// [`Error::Linalg`] when the eigenvalues are not found, [`Error::NotPositiveDefinite`] when negative curvatures leave no Gaussian.
pub(super) fn start(gram: MatRef<'_, f64>, weights: &[f64], p: usize) -> Result<SpectralStart, Error> {
    let q = weights.len();
    if weights.iter().all(|&weight| weight >= 0.0) {
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let scaled = Mat::from_fn(q, q, |i, j| if i >= j { roots[i] * gram[(i, j)] * roots[j] } else { 0.0 });
        let (values, vectors) = eigen_semidefinite(scaled)?;
        let r = values.len();
        let q1 = Mat::from_fn(q, p, |i, j| if j < r { roots[i] * vectors[(i, r - 1 - j)] } else { 0.0 });
        return Ok(SpectralStart { q1, least: 1.0, largest: values.last().copied().unwrap_or(0.0) });
    }
    let (values, vectors) = eigen_semidefinite(Mat::from_fn(q, q, |i, j| if i >= j { gram[(i, j)] } else { 0.0 }))?;
    let r = values.len();
    let c = Mat::from_fn(q, r, |i, j| vectors[(i, j)] * values[j].sqrt());
    let weighted = Mat::from_fn(q, r, |i, j| weights[i] * c[(i, j)]);
    let (lambdas, directions) = eigen(product(c.transpose(), weighted.as_ref(), Par::Seq).as_ref(), Par::Seq)?;
    let least = 1.0 + lambdas.first().copied().unwrap_or(0.0).min(0.0);
    if least <= 0.0 || least.is_nan() {
        return Err(Error::NotPositiveDefinite { argument: "precision", pivot: 0 });
    }
    // F·V·Σ^(−½)·Y has orthonormal columns in the metric Ψ⁻¹.
    let basis = Mat::from_fn(q, r, |i, j| vectors[(i, j)] / values[j].sqrt());
    let top = Mat::from_fn(r, p, |i, j| {
        if j < r && lambdas[r - 1 - j] > 0.0 { directions[(i, r - 1 - j)] * lambdas[r - 1 - j].sqrt() } else { 0.0 }
    });
    let largest = lambdas.last().copied().unwrap_or(0.0);
    Ok(SpectralStart { q1: product(basis.as_ref(), top.as_ref(), Par::Seq), least, largest })
}

/// The eigenvalues above rounding, in increasing order, and their eigenvectors, of a semidefinite `a` (lower triangle).
///
/// Rows that are nearly parallel leave `a` with a low rank and rounding errors in the rest, on which the iteration for
/// eigenvalues may not converge. So `a = LLᵀ` is factored with pivots as far as possible; `LᵀL` has the same eigenvalues, and
/// `Lv/√λ` are the vectors.
fn eigen_semidefinite(mut a: Mat<f64>) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let n = a.nrows();
    if (0..n).all(|i| a[(i, i)] == 0.0) {
        return Ok((Vec::new(), Mat::zeros(n, 0)));
    }
    let (mut order, mut inverse) = (vec![0_usize; n], vec![0_usize; n]);
    let scratch = cholesky_in_place_scratch::<usize, f64>(n, Par::Seq, Spec::default());
    let stack = &mut MemBuffer::new(scratch);
    let (found, _) =
        cholesky_in_place(a.as_mut(), &mut order, &mut inverse, Par::Seq, MemStack::new(stack), Spec::default())
            .map_err(|_| Error::Overflow { quantity: "the inner products of the block", value: f64::NAN })?;
    let l = Mat::from_fn(n, found.rank, |i, j| if inverse[i] >= j { a[(inverse[i], j)] } else { 0.0 });
    let (values, v) = eigen(product(l.transpose(), l.as_ref(), Par::Seq).as_ref(), Par::Seq)?;
    let mut vectors = product(l.as_ref(), v.as_ref(), Par::Seq);
    // LᵀL rounds again: eigenvalues below that are rounding too.
    let smallest = n as f64 * f64::EPSILON * values.last().copied().unwrap_or(0.0);
    let dropped = values.iter().take_while(|&&value| value <= smallest).count();
    for (j, value) in values.iter().enumerate().skip(dropped) {
        let root = value.sqrt();
        for i in 0..n {
            vectors[(i, j)] /= root;
        }
    }
    Ok((values[dropped..].to_vec(), vectors.subcols(dropped, values.len() - dropped).to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `GGᵀ` of `n` rows that lie in two directions, graded over many powers of ten.
    fn nearly_parallel(n: usize) -> Mat<f64> {
        let g = Mat::from_fn(n, 2, |i, k| {
            if k == 0 { 1.0 + 1e-17 * i as f64 } else { 10_f64.powf(-(i as f64)) * (i as f64).sin() }
        });
        product(g.as_ref(), g.transpose(), Par::Seq)
    }

    #[test]
    fn eigenvectors_of_a_matrix_of_little_rank() {
        for n in [3, 40, 150, 300] {
            let a = nearly_parallel(n);
            let (values, vectors) = eigen_semidefinite(a.clone()).unwrap();
            assert_eq!(values.len(), 2, "{n}");
            let rebuilt =
                Mat::from_fn(n, n, |i, j| (0..2).map(|k| values[k] * vectors[(i, k)] * vectors[(j, k)]).sum::<f64>());
            let tolerance = 8.0 * n as f64 * f64::EPSILON * values[1];
            assert!((&rebuilt - &a).norm_max() <= tolerance, "{n}: {:e}", (&rebuilt - &a).norm_max());
            let gram = product(vectors.transpose(), vectors.as_ref(), Par::Seq);
            assert!((gram[(1, 1)] - 1.0).abs() <= 8.0 * n as f64 * f64::EPSILON);
        }
    }

    #[test]
    fn nothing_has_no_eigenvalues() {
        let (values, vectors) = eigen_semidefinite(Mat::zeros(4, 4)).unwrap();
        assert_eq!((values.len(), vectors.shape()), (0, (4, 0)));
        assert_eq!(start(Mat::zeros(3, 3).as_ref(), &[1.0, -0.5, 1.0], 2).unwrap().q1, Mat::<f64>::zeros(3, 2));
    }
}

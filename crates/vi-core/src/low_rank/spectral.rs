//! The spectral start: the best `W₁W₁ᵀ` inside the span of `F = [W X]`, from `K = FᵀΨ⁻¹F` alone.

use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
use vi_linalg::faer::{Col, Mat, MatRef, Par, Spec};

use super::em::product;
use crate::Error;

/// `W₁ = F·q₁`, and what it leaves.
pub(super) struct SpectralStart {
    /// `(p + k) × p`.
    pub(super) q1: Mat<f64>,
    /// `Ψ + FHFᵀ ⪰ least·Ψ`: 1 without negative curvatures.
    pub(super) least: f64,
}

/// The eigenvectors of `Ψ^(−½)(F H Fᵀ)Ψ^(−½)` with the `p` largest eigenvalues, as combinations of the columns of `F`.
///
/// `gram` is `K` (lower triangle), `weights` the diagonal of `H`. Without negative weights they are those of `DKD`,
/// `D = √H`: `q₁ = D·Q[:, ..p]` (`W₁ = F·q₁` has orthogonal columns in the metric `Ψ⁻¹`). With negative ones `K = CCᵀ` is taken
/// apart first and `CᵀHC` has the eigenvalues. Cost `O((p+k)³)`.
///
/// # Errors
/// [`Error::Overflow`] when the eigenvalues are not found, [`Error::NotPositiveDefinite`] when negative curvatures leave no Gaussian.
pub(super) fn start(gram: MatRef<'_, f64>, weights: &[f64], p: usize) -> Result<SpectralStart, Error> {
    let q = weights.len();
    if weights.iter().all(|&weight| weight >= 0.0) {
        let roots: Vec<f64> = weights.iter().map(|weight| weight.sqrt()).collect();
        let scaled = Mat::from_fn(q, q, |i, j| if i >= j { roots[i] * gram[(i, j)] * roots[j] } else { 0.0 });
        let (_, vectors) = eigen(scaled.as_ref())?;
        let q1 = Mat::from_fn(q, p, |i, j| roots[i] * vectors[(i, q - 1 - j)]);
        return Ok(SpectralStart { q1, least: 1.0 });
    }
    let (values, vectors) = eigen(gram)?;
    // Directions that F holds twice to rounding carry no more than rounding.
    let smallest = q as f64 * f64::EPSILON * values.last().copied().unwrap_or(0.0);
    let kept: Vec<usize> = (0..q).filter(|&j| values[j] > smallest).collect();
    let c = Mat::from_fn(q, kept.len(), |i, j| vectors[(i, kept[j])] * values[kept[j]].sqrt());
    let weighted = Mat::from_fn(q, kept.len(), |i, j| weights[i] * c[(i, j)]);
    let (lambdas, directions) = eigen(product(c.transpose(), weighted.as_ref()).as_ref())?;
    let least = 1.0 + lambdas.first().copied().unwrap_or(0.0).min(0.0);
    if least <= 0.0 || least.is_nan() {
        return Err(Error::NotPositiveDefinite { argument: "precision", pivot: 0 });
    }
    // F·V·Σ^(−½)·Y has orthonormal columns in the metric Ψ⁻¹.
    let basis = Mat::from_fn(q, kept.len(), |i, j| vectors[(i, kept[j])] / values[kept[j]].sqrt());
    let r = kept.len();
    let top = Mat::from_fn(r, p, |i, j| {
        if j < r && lambdas[r - 1 - j] > 0.0 { directions[(i, r - 1 - j)] * lambdas[r - 1 - j].sqrt() } else { 0.0 }
    });
    Ok(SpectralStart { q1: product(basis.as_ref(), top.as_ref()), least })
}

/// Eigenvalues in increasing order and eigenvectors of the lower triangle of `a`.
pub(super) fn eigen(a: MatRef<'_, f64>) -> Result<(Vec<f64>, Mat<f64>), Error> {
    let n = a.nrows();
    let (mut values, mut vectors) = (Col::<f64>::zeros(n), Mat::<f64>::zeros(n, n));
    let scratch = self_adjoint_evd_scratch::<f64>(n, ComputeEigenvectors::Yes, Par::Seq, Spec::default());
    self_adjoint_evd(
        a,
        values.as_diagonal_mut(),
        Some(vectors.as_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Spec::default(),
    )
    .map_err(|_| Error::Overflow { quantity: "an eigenvalue of the block", value: f64::NAN })?;
    Ok((values.iter().copied().collect(), vectors))
}

//! Products WᵀΨ⁻¹W and WᵀX of long factors, by row tiles.

use faer::linalg::matmul::matmul;
use faer::{Accum, ContiguousFwd, Mat, MatMut, MatRef, Par};

use crate::kernels::{add_lower_product, assert_shape};
use crate::tiles::Tiling;

/// Memory for [adding a tile](Self::add_tile) to a Gram matrix.
#[derive(Clone, Debug)]
struct GramScratch {
    /// The tile over ψ, row-major (its transpose, column-major).
    scaled: Mat<f64>,
}

impl GramScratch {
    /// Memory for tiles of `height` rows and p columns.
    fn new(height: usize, p: usize) -> Self {
        Self { scaled: Mat::zeros(p, height) }
    }

    /// gram ← gram + WᵀΨ⁻¹W on the lower triangle (p × p), for a tile of W (r × p) and its ψ. Cost rp² flops.
    ///
    /// The tile is best row-major. The strict upper triangle of `gram` is meaningless afterwards.
    fn add_tile(&mut self, gram: MatMut<'_, f64>, w: MatRef<'_, f64>, psi: &[f64]) {
        assert_shape("gram", gram.shape(), (w.ncols(), w.ncols()));
        let scaled = self.scale(w, psi);
        add_lower_product(gram, w.transpose(), scaled.transpose(), Par::Seq);
    }

    /// (W / ψ)ᵀ, p × r.
    fn scale(&mut self, w: MatRef<'_, f64>, psi: &[f64]) -> MatRef<'_, f64> {
        let (r, p) = w.shape();
        assert!(psi.len() == r, "psi has {} elements, the tile {r} rows", psi.len());
        let mut scaled = self.scaled.as_mut().submatrix_mut(0, 0, p, r);
        if let Some(w) = w.transpose().try_as_col_major() {
            scale_columns(scaled.as_mut(), w, psi);
        } else {
            for j in 0..p {
                for i in 0..r {
                    scaled[(j, i)] = w[(i, j)] / psi[i];
                }
            }
        }
        self.scaled.as_ref().submatrix(0, 0, p, r)
    }
}

fn scale_columns(out: MatMut<'_, f64>, columns: MatRef<'_, f64, usize, usize, ContiguousFwd>, psi: &[f64]) {
    for ((out, column), psi) in out.col_iter_mut().zip(columns.col_iter()).zip(psi) {
        let inverse = psi.recip();
        if let Some(out) = out.try_as_col_major_mut() {
            for (out, &value) in out.as_slice_mut().iter_mut().zip(column.as_slice()) {
                *out = value * inverse;
            }
        }
    }
}

/// The lower triangle of WᵀΨ⁻¹W (p × p) for W of d × p; the strict upper one is meaningless. Cost dp² flops in one pass over W.
///
/// ```
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::low_rank::weighted_gram;
/// let w = mat![[1.0, 2.0], [3.0, 4.0]];
/// let gram = weighted_gram(w.as_ref(), &[1.0, 0.5], Par::Seq);
/// assert_eq!((gram[(0, 0)], gram[(1, 0)], gram[(1, 1)]), (19.0, 26.0, 36.0));
/// ```
#[must_use]
pub fn weighted_gram(w: MatRef<'_, f64>, psi: &[f64], par: Par) -> Mat<f64> {
    let p = w.ncols();
    let tiling = Tiling::for_width(p);
    tiling.fold(
        (w, psi),
        par,
        || GramScratch::new(tiling.height().min(psi.len()), p),
        || Mat::zeros(p, p),
        |gram, scratch, _, (w, psi)| scratch.add_tile(gram.as_mut(), w, psi),
        |left, right| *left += right,
    )
}

/// Wᵀ X, or WᵀΨ⁻¹X if ψ is given (p × k), for W of d × p and X of d × k. Cost 2dpk flops in one pass over both.
pub(super) fn factor_product(w: MatRef<'_, f64>, x: MatRef<'_, f64>, psi: Option<&[f64]>, par: Par) -> Mat<f64> {
    let (d, p) = w.shape();
    let k = x.ncols();
    let tiling = Tiling::for_width(p + k);
    let start = || Mat::zeros(p, k);
    let merge = |left: &mut Mat<f64>, right: Mat<f64>| *left += right;
    match psi {
        None => tiling.fold(
            (w, x),
            par,
            || (),
            start,
            |sum, (), _, (w, x)| matmul(sum.as_mut(), Accum::Add, w.transpose(), x, 1.0, Par::Seq),
            merge,
        ),
        Some(psi) => tiling.fold(
            (w, x, psi),
            par,
            || Mat::zeros(tiling.height().min(d), k),
            start,
            |sum, scratch: &mut Mat<f64>, _, (w, x, psi)| {
                let mut scaled = scratch.as_mut().subrows_mut(0, psi.len());
                for j in 0..k {
                    for (i, psi) in psi.iter().enumerate() {
                        scaled[(i, j)] = x[(i, j)] / psi;
                    }
                }
                matmul(sum.as_mut(), Accum::Add, w.transpose(), scaled.as_ref(), 1.0, Par::Seq);
            },
            merge,
        ),
    }
}

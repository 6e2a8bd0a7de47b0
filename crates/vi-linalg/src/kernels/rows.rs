//! Products with matrices kept row by row, as the long factors of [`LowRank`](crate::LowRank) are.

use faer::linalg::matmul::matmul;
use faer::{Accum, ContiguousFwd, MatMut, MatRef, Par};
use pulp::{Arch, Simd, WithSimd};

use super::{assert_length, assert_shape};

/// Rows of the result that [`add_lower_product`] takes at a time: high enough for full speed, and what is computed above the
/// diagonal in vain stays small.
const STRIP: usize = 16;

/// Rows that share a pass over the vector.
const PANEL: usize = 4;

type Rows<'a> = MatRef<'a, f64, usize, usize, isize, ContiguousFwd>;

/// out ← W v for W of r × p with contiguous rows (a row-major view). Cost 2rp flops.
///
/// Other layouts are as fast as faer's product with a vector.
///
/// ```
/// use vi_linalg::{faer::MatRef, kernels::rows_mul_vec};
/// let w = MatRef::from_row_major_slice(&[1.0, 2.0, 3.0, 4.0], 2, 2);
/// let mut out = [f64::NAN; 2];
/// rows_mul_vec(&mut out, w, &[1.0, 10.0]);
/// assert_eq!(out, [21.0, 43.0]);
/// ```
#[track_caller]
pub fn rows_mul_vec(out: &mut [f64], w: MatRef<'_, f64>, v: &[f64]) {
    assert_length("out", out.len(), w.nrows());
    assert_length("v", v.len(), w.ncols());
    if let Some(w) = w.try_as_row_major() {
        Arch::new().dispatch(RowsMulVec { out, w, v });
    } else {
        let out = MatMut::from_column_major_slice_mut(out, w.nrows(), 1);
        matmul(out, Accum::Replace, w, MatRef::from_column_major_slice(v, v.len(), 1), 1.0, Par::Seq);
    }
}

struct RowsMulVec<'a> {
    out: &'a mut [f64],
    w: Rows<'a>,
    v: &'a [f64],
}

impl WithSimd for RowsMulVec<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { out, w, v } = self;
        let mut i = 0;
        let (fours, rest) = out.as_chunks_mut::<PANEL>();
        for four in fours {
            *four = dots(simd, [0, 1, 2, 3].map(|k| w.row(i + k).as_slice()), v);
            i += PANEL;
        }
        for out in rest {
            *out = dots(simd, [w.row(i).as_slice()], v)[0];
            i += 1;
        }
    }
}

/// The inner products of `N` rows with v.
#[inline(always)]
fn dots<S: Simd, const N: usize>(simd: S, rows: [&[f64]; N], v: &[f64]) -> [f64; N] {
    let (v, v_tail) = S::as_simd_f64s(v);
    let heads = rows.map(|row| &S::as_simd_f64s(row).0[..v.len()]);
    let mut sums = [simd.splat_f64s(0.0); N];
    for i in 0..v.len() {
        for k in 0..N {
            sums[k] = simd.mul_add_e_f64s(heads[k][i], v[i], sums[k]);
        }
    }
    let tails = rows.map(|row| S::as_simd_f64s(row).1);
    let mut out = [0.0; N];
    for k in 0..N {
        out[k] = simd.reduce_sum_f64s(sums[k]);
        for (x, v) in tails[k].iter().zip(v_tail) {
            out[k] += x * v;
        }
    }
    out
}

/// out ← out + A B on the lower triangle (n × n), A being n × r and B r × n.
///
/// The result stands for a symmetric matrix when A B is symmetric. For n up to a few hundred and long r this is faster than a
/// triangular product: strips of 16 rows, each a plain product. It writes, and means nothing by, up to 15 entries of each
/// row right of the diagonal. Cost n²r flops and 16nr. Any strides.
///
/// ```
/// use vi_linalg::{faer::{Mat, mat}, kernels::add_lower_product};
/// let a = mat![[1.0, 2.0], [0.0, 1.0]];
/// let mut out = Mat::<f64>::identity(2, 2);
/// add_lower_product(out.as_mut(), a.as_ref(), a.transpose());
/// assert_eq!((out[(0, 0)], out[(1, 0)], out[(1, 1)]), (6.0, 2.0, 2.0));
/// ```
#[track_caller]
pub fn add_lower_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    let n = out.nrows();
    assert_shape("out", out.shape(), (n, n));
    assert_shape("A", a.shape(), (n, b.nrows()));
    assert_shape("B", b.shape(), (b.nrows(), n));
    if b.nrows() == 0 {
        return;
    }
    let mut out = out;
    let mut first = 0;
    while first < n {
        let height = STRIP.min(n - first);
        let strip = out.as_mut().submatrix_mut(first, 0, height, first + height);
        matmul(strip, Accum::Add, a.subrows(first, height), b.subcols(0, first + height), 1.0, Par::Seq);
        first += height;
    }
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, absolute_product, column, matrix, product, rng, vector};

    #[test]
    fn rows_times_a_vector_are_the_dense_product() {
        for r in SIZES {
            for p in SIZES {
                let rng = &mut rng((100 * r + p) as u64);
                let (w, v) = (matrix(rng, r, p), vector(rng, p));
                let mut rows = vec![0.0; r * p];
                MatMut::from_row_major_slice_mut(&mut rows, r, p).copy_from(&w);
                let (dense, scale) = (product(w.as_ref(), column(&v)), absolute_product(w.as_ref(), column(&v)));
                for view in [MatRef::from_row_major_slice(&rows, r, p), w.as_ref()] {
                    let mut out = vec![f64::NAN; r];
                    rows_mul_vec(&mut out, view, &v);
                    for i in 0..r {
                        // Two sums of p terms, each off by at most p ε/2 |w||v| in any order.
                        assert!((out[i] - dense[(i, 0)]).abs() <= p as f64 * f64::EPSILON * scale[(i, 0)], "{r} x {p}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_lower_product_is_the_dense_one() {
        for n in SIZES {
            for r in [0, 1, 7, 40] {
                let rng = &mut rng((100 * n + r) as u64);
                let (a, b, start) = (matrix(rng, n, r), matrix(rng, r, n), matrix(rng, n, n));
                let mut out = start.clone();
                add_lower_product(out.as_mut(), a.as_ref(), b.as_ref());
                let (dense, scale) = (product(a.as_ref(), b.as_ref()), absolute_product(a.as_ref(), b.as_ref()));
                for j in 0..n {
                    for i in j..n {
                        let expected = start[(i, j)] + dense[(i, j)];
                        let size = start[(i, j)].abs() + scale[(i, j)];
                        // Two sums of r + 1 terms.
                        let tolerance = (r + 1) as f64 * f64::EPSILON * size;
                        assert!((out[(i, j)] - expected).abs() <= tolerance, "n = {n}, r = {r}");
                    }
                }
            }
        }
    }

    #[test]
    fn nothing_is_a_product_too() {
        let mut out = [f64::NAN; 2];
        rows_mul_vec(&mut out, Mat::zeros(2, 0).as_ref(), &[]);
        assert_eq!(out, [0.0; 2]);
    }
}

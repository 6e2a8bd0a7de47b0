//! Products with a symmetric matrix in one pass over its lower triangle, A x and xᵀA x, and with one of low rank.
//!
//! Columns are taken four at a time. Their 4 × 4 block on the diagonal is done by scalars, the rectangle below it
//! by vectors: each vector of the operand is then loaded once for four columns.

mod rank_one;

use faer::prelude::ReborrowMut;
use faer::{ColMut, ContiguousFwd, MatMut, MatRef};
use pulp::{Arch, Simd, WithSimd};

pub use rank_one::{symmetric_rank_one, symmetric_scaled_rank_one};

use self::rank_one::contiguous_mut;
use super::{assert_length, assert_shape, assert_square};

const PANEL: usize = 4;

type Columns<'a> = MatRef<'a, f64, usize, usize, ContiguousFwd>;

/// out ← A x for symmetric A (d × d, lower triangle), reading the triangle once.
///
/// Cost 2d² flops and d²/2 loads of A. What `out` held before is not read.
///
/// ```
/// use vi_linalg::{faer::mat, kernels::symmetric_mul_vec};
/// let a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// let mut out = [0.0; 2];
/// symmetric_mul_vec(&mut out, a.as_ref(), &[1.0, 10.0]);
/// assert_eq!(out, [12.0, 31.0]);
/// ```
#[track_caller]
pub fn symmetric_mul_vec(out: &mut [f64], lower: MatRef<'_, f64>, x: &[f64]) {
    assert_square(lower.nrows(), lower.ncols());
    assert_length("out", out.len(), lower.nrows());
    assert_length("x", x.len(), lower.nrows());
    let a = contiguous(lower);
    Arch::new().dispatch(MulVec { out: [out], a, x: [x], count: 1 });
}

/// xᵀA x for symmetric A (d × d, lower triangle). Cost d² flops and d²/2 loads of A; no storage.
///
/// ```
/// use vi_linalg::{faer::mat, kernels::quadratic_form};
/// let a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// assert_eq!(quadratic_form(a.as_ref(), &[1.0, 10.0]), 322.0);
/// ```
#[track_caller]
#[must_use]
pub fn quadratic_form(lower: MatRef<'_, f64>, x: &[f64]) -> f64 {
    assert_square(lower.nrows(), lower.ncols());
    assert_length("x", x.len(), lower.nrows());
    let a = contiguous(lower);
    Arch::new().dispatch(Quadratic { a, x })
}

/// out ← out − U·diag(c)·Uᵀx, U being d × k with contiguous columns.
///
/// Cost 4dk flops. Columns are taken four at a time.
///
/// ```
/// use vi_linalg::{faer::mat, kernels::deflate};
/// let u = mat![[1.0], [2.0]];
/// let mut out = [10.0, 10.0];
/// deflate(&mut out, u.as_ref(), &[0.5], &[1.0, 1.0]);
/// assert_eq!(out, [8.5, 7.0]);
/// ```
#[track_caller]
pub fn deflate(out: &mut [f64], u: MatRef<'_, f64>, c: &[f64], x: &[f64]) {
    assert_shape("U", u.shape(), (out.len(), c.len()));
    assert!(x.len() == out.len(), "x has {} elements, U has {} rows", x.len(), out.len());
    let u = contiguous(u);
    Arch::new().dispatch(Deflate { out, u, c, x });
}

#[track_caller]
#[expect(clippy::expect_used, reason = "a stated precondition on the layout")]
fn contiguous(a: MatRef<'_, f64>) -> Columns<'_> {
    a.try_as_col_major().expect("the matrix must have contiguous columns (row stride 1)")
}

/// out ← A X for symmetric A (d × d, lower triangle), X and out being d × k with contiguous columns: each column to the bit what
/// [`symmetric_mul_vec`] gives.
///
/// Cost 2d²k flops; the triangle is read once for four columns. What `out` held before is not read.
///
/// ```
/// use vi_linalg::faer::{Mat, mat};
/// use vi_linalg::kernels::symmetric_mul_vecs;
/// let a = mat![[2.0, f64::NAN], [1.0, 3.0]];
/// let x = mat![[1.0, 0.0], [10.0, 1.0]];
/// let mut out = Mat::zeros(2, 2);
/// symmetric_mul_vecs(out.as_mut(), a.as_ref(), x.as_ref());
/// assert_eq!(out, mat![[12.0, 1.0], [31.0, 3.0]]);
/// ```
#[track_caller]
pub fn symmetric_mul_vecs(out: MatMut<'_, f64>, lower: MatRef<'_, f64>, x: MatRef<'_, f64>) {
    assert_square(lower.nrows(), lower.ncols());
    assert_shape("X", x.shape(), (lower.nrows(), x.ncols()));
    assert_shape("out", out.shape(), x.shape());
    let (mut out, a, x) = (contiguous_mut(out), contiguous(lower), contiguous(x));
    for first in (0..x.ncols()).step_by(SIDES) {
        let count = SIDES.min(x.ncols() - first);
        let mut columns = out.rb_mut().subcols_mut(first, count).col_iter_mut().map(ColMut::as_slice_mut);
        let out: [&mut [f64]; SIDES] = std::array::from_fn(|_| columns.next().unwrap_or_default());
        let x = std::array::from_fn(|k| if k < count { x.col(first + k).as_slice() } else { &[] });
        Arch::new().dispatch(MulVec { out, a, x, count });
    }
}

/// The number of columns that share one pass over the triangle.
const SIDES: usize = 4;

/// The products of up to `N` vectors, in one pass over the triangle; each is computed as if it were alone.
struct MulVec<'a, const N: usize> {
    out: [&'a mut [f64]; N],
    a: Columns<'a>,
    x: [&'a [f64]; N],
    count: usize,
}

impl<const N: usize> WithSimd for MulVec<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { mut out, a, x, count } = self;
        let d = a.ncols();
        for out in &mut out {
            out.fill(0.0);
        }
        let panels = d - d % PANEL;
        for j in (0..panels).step_by(PANEL) {
            let columns = [0, 1, 2, 3].map(|k| a.col(j + k).as_slice().split_at(j + PANEL));
            let below = columns.map(|(_, below)| below);
            // The square on the diagonal, mirrored, so that a product with it is one of vectors.
            let mut square = [[0.0; PANEL]; PANEL];
            for k in 0..PANEL {
                for r in k..PANEL {
                    square[k][r] = columns[k].0[j + r];
                    square[r][k] = square[k][r];
                }
            }
            for (out, x) in out.iter_mut().zip(x).take(count) {
                let (out, out_below) = out[j..].split_at_mut(PANEL);
                let (x, x_below) = x[j..].split_at(PANEL);
                let x = [x[0], x[1], x[2], x[3]];
                let mut sums = mul_add_and_dot(simd, out_below, below, x, x_below);
                for (column, x) in square.iter().zip(x) {
                    for (sum, entry) in sums.iter_mut().zip(column) {
                        *sum += entry * x;
                    }
                }
                for (out, sum) in out.iter_mut().zip(sums) {
                    *out += sum;
                }
            }
        }
        for j in panels..d {
            for (out, x) in out.iter_mut().zip(x).take(count) {
                column_mul_add(&mut out[j..], &a.col(j).as_slice()[j..], &x[j..]);
            }
        }
    }
}

/// Adds the part of A x that comes from one column of the lower triangle, from its diagonal down, and its mirror image.
#[inline(always)]
fn column_mul_add(out: &mut [f64], column: &[f64], x: &[f64]) {
    let mut sum = column[0] * x[0];
    for i in 1..column.len() {
        out[i] += column[i] * x[0];
        sum += column[i] * x[i];
    }
    out[0] += sum;
}

/// out ← out + B w and the return value Bᵀx, for the four columns B, in one pass over them.
#[inline(always)]
fn mul_add_and_dot<S: Simd>(
    simd: S,
    out: &mut [f64],
    columns: [&[f64]; PANEL],
    w: [f64; PANEL],
    x: &[f64],
) -> [f64; PANEL] {
    let (x, x_tail) = S::as_simd_f64s(x);
    let n = x.len();
    let m = x_tail.len();
    let (out, out_tail) = S::as_mut_simd_f64s(out);
    let (out, out_tail) = (&mut out[..n], &mut out_tail[..m]);
    let [a0, a1, a2, a3] = columns.map(|column| &S::as_simd_f64s(column).0[..n]);
    let [w0, w1, w2, w3] = splat(simd, w);
    let [mut s0, mut s1, mut s2, mut s3] = [simd.splat_f64s(0.0); PANEL];
    for i in 0..n {
        let (xi, mut even, mut odd) = (x[i], out[i], simd.mul_f64s(a1[i], w1));
        even = simd.mul_add_e_f64s(a0[i], w0, even);
        even = simd.mul_add_e_f64s(a2[i], w2, even);
        odd = simd.mul_add_e_f64s(a3[i], w3, odd);
        out[i] = simd.add_f64s(even, odd);
        s0 = simd.mul_add_e_f64s(a0[i], xi, s0);
        s1 = simd.mul_add_e_f64s(a1[i], xi, s1);
        s2 = simd.mul_add_e_f64s(a2[i], xi, s2);
        s3 = simd.mul_add_e_f64s(a3[i], xi, s3);
    }
    let mut sums = sums_of(simd, [s0, s1, s2, s3]);
    let tails = columns.map(|column| &S::as_simd_f64s(column).1[..m]);
    for i in 0..m {
        for k in 0..PANEL {
            out_tail[i] += tails[k][i] * w[k];
            sums[k] += tails[k][i] * x_tail[i];
        }
    }
    sums
}

struct Quadratic<'a> {
    a: Columns<'a>,
    x: &'a [f64],
}

impl WithSimd for Quadratic<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let Self { a, x } = self;
        let d = x.len();
        let panels = d - d % PANEL;
        let mut diagonal = 0.0;
        let mut off_diagonal = 0.0;
        for j in (0..panels).step_by(PANEL) {
            let columns = [0, 1, 2, 3].map(|k| a.col(j + k).as_slice().split_at(j + PANEL));
            let sums = dots(simd, columns.map(|(_, below)| below), &x[j + PANEL..]);
            for k in 0..PANEL {
                let (square, product) = column_quadratic(&columns[k].0[j + k..], &x[j + k..]);
                diagonal += square;
                off_diagonal += product + x[j + k] * sums[k];
            }
        }
        for j in panels..d {
            let (square, product) = column_quadratic(&a.col(j).as_slice()[j..], &x[j..]);
            diagonal += square;
            off_diagonal += product;
        }
        diagonal + 2.0 * off_diagonal
    }
}

/// One column's diagonal term of xᵀA x, and half of what its other entries contribute.
#[inline(always)]
fn column_quadratic(column: &[f64], x: &[f64]) -> (f64, f64) {
    let mut sum = 0.0;
    for i in 1..column.len() {
        sum += column[i] * x[i];
    }
    (column[0] * x[0] * x[0], sum * x[0])
}

/// Bᵀx for the four columns B.
#[inline(always)]
fn dots<S: Simd>(simd: S, columns: [&[f64]; PANEL], x: &[f64]) -> [f64; PANEL] {
    let (x, x_tail) = S::as_simd_f64s(x);
    let n = x.len();
    let m = x_tail.len();
    let [a0, a1, a2, a3] = columns.map(|column| &S::as_simd_f64s(column).0[..n]);
    let [mut s0, mut s1, mut s2, mut s3] = [simd.splat_f64s(0.0); PANEL];
    for i in 0..n {
        s0 = simd.mul_add_e_f64s(a0[i], x[i], s0);
        s1 = simd.mul_add_e_f64s(a1[i], x[i], s1);
        s2 = simd.mul_add_e_f64s(a2[i], x[i], s2);
        s3 = simd.mul_add_e_f64s(a3[i], x[i], s3);
    }
    let mut sums = sums_of(simd, [s0, s1, s2, s3]);
    let tails = columns.map(|column| &S::as_simd_f64s(column).1[..m]);
    for i in 0..m {
        for k in 0..PANEL {
            sums[k] += tails[k][i] * x_tail[i];
        }
    }
    sums
}

struct Deflate<'a> {
    out: &'a mut [f64],
    u: Columns<'a>,
    c: &'a [f64],
    x: &'a [f64],
}

impl WithSimd for Deflate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { out, u, c, x } = self;
        let k = c.len();
        for first in (0..k).step_by(PANEL) {
            // Past the last column, that column again without weight.
            let column = |at: usize| u.col((first + at).min(k - 1)).as_slice();
            let columns = [column(0), column(1), column(2), column(3)];
            let sums = dots(simd, columns, x);
            let mut w = [0.0; PANEL];
            for (at, w) in w.iter_mut().enumerate().take(k - first) {
                *w = -c[first + at] * sums[at];
            }
            mul_add(simd, out, columns, w);
        }
    }
}

/// out ← out + B w for the four columns B.
#[inline(always)]
fn mul_add<S: Simd>(simd: S, out: &mut [f64], columns: [&[f64]; PANEL], w: [f64; PANEL]) {
    let (out, out_tail) = S::as_mut_simd_f64s(out);
    let n = out.len();
    let m = out_tail.len();
    let [a0, a1, a2, a3] = columns.map(|column| &S::as_simd_f64s(column).0[..n]);
    let [w0, w1, w2, w3] = splat(simd, w);
    for i in 0..n {
        let mut odd = simd.mul_f64s(a1[i], w1);
        let mut even = simd.mul_add_e_f64s(a0[i], w0, out[i]);
        odd = simd.mul_add_e_f64s(a3[i], w3, odd);
        even = simd.mul_add_e_f64s(a2[i], w2, even);
        out[i] = simd.add_f64s(even, odd);
    }
    let tails = columns.map(|column| &S::as_simd_f64s(column).1[..m]);
    for i in 0..m {
        for k in 0..PANEL {
            out_tail[i] += tails[k][i] * w[k];
        }
    }
}

// Closures in place of these two would be functions of their own, which need not use wide vectors.
#[inline(always)]
fn splat<S: Simd>(simd: S, [a, b, c, d]: [f64; PANEL]) -> [S::f64s; PANEL] {
    [simd.splat_f64s(a), simd.splat_f64s(b), simd.splat_f64s(c), simd.splat_f64s(d)]
}

#[inline(always)]
fn sums_of<S: Simd>(simd: S, [a, b, c, d]: [S::f64s; PANEL]) -> [f64; PANEL] {
    [simd.reduce_sum_f64s(a), simd.reduce_sum_f64s(b), simd.reduce_sum_f64s(c), simd.reduce_sum_f64s(d)]
}

#[cfg(test)]
mod tests {
    use faer::Mat;

    use super::*;
    use crate::testing::{SIZES, absolute_product, column, lower_only, matrix, product, rng, symmetric, vector};

    #[test]
    fn matrix_vector_product_is_the_dense_one() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let a = symmetric(rng, d);
            let x = vector(rng, d);
            let dense = product(a.as_ref(), column(&x));
            let scale = absolute_product(a.as_ref(), column(&x));
            let mut out = vec![f64::NAN; d];
            symmetric_mul_vec(&mut out, lower_only(a.as_ref()).as_ref(), &x);
            for i in 0..d {
                // Two sums of d terms, each off by at most d ε/2 |A||x| in any order.
                let tolerance = d as f64 * f64::EPSILON * scale[(i, 0)];
                assert!((out[i] - dense[(i, 0)]).abs() <= tolerance, "d = {d}, i = {i}");
            }
        }
    }

    #[test]
    fn several_products_are_those_one_by_one_to_the_bit() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let a = lower_only(symmetric(rng, d).as_ref());
            for k in [0, 1, 3, 4, 9] {
                let x = matrix(rng, d, k);
                let mut out = Mat::full(d, k, f64::NAN);
                symmetric_mul_vecs(out.as_mut(), a.as_ref(), x.as_ref());
                let mut alone = vec![f64::NAN; d];
                for j in 0..k {
                    let column: Vec<f64> = x.col(j).iter().copied().collect();
                    symmetric_mul_vec(&mut alone, a.as_ref(), &column);
                    assert!((0..d).all(|i| alone[i].to_bits() == out[(i, j)].to_bits()), "d = {d}, k = {k}, j = {j}");
                }
            }
        }
    }

    #[test]
    fn deflating_is_the_dense_product() {
        for d in SIZES {
            for k in [0, 1, 3, 4, 9] {
                let rng = &mut rng((100 * d + k) as u64);
                let (u, x, start, c) = (matrix(rng, d, k), vector(rng, d), vector(rng, d), vector(rng, k));
                let mut out = start.clone();
                deflate(&mut out, u.as_ref(), &c, &x);
                for i in 0..d {
                    let term = |j: usize| c[j] * u[(i, j)] * (0..d).map(|l| u[(l, j)] * x[l]).sum::<f64>();
                    let size =
                        |j: usize| (c[j] * u[(i, j)]).abs() * (0..d).map(|l| (u[(l, j)] * x[l]).abs()).sum::<f64>();
                    let expected = start[i] - (0..k).map(term).sum::<f64>();
                    // Two nested sums on either side.
                    let terms = (d + k + 2) as f64;
                    let tolerance = terms * f64::EPSILON * (start[i].abs() + (0..k).map(size).sum::<f64>());
                    assert!((out[i] - expected).abs() <= tolerance, "d = {d}, k = {k}, i = {i}");
                }
            }
        }
    }

    #[test]
    fn quadratic_form_is_the_dense_one() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let a = symmetric(rng, d);
            let x = vector(rng, d);
            let ax = product(a.as_ref(), column(&x));
            let dense: f64 = (0..d).map(|i| x[i] * ax[(i, 0)]).sum();
            let absolute = absolute_product(a.as_ref(), column(&x));
            let scale: f64 = (0..d).map(|i| x[i].abs() * absolute[(i, 0)]).sum();
            let value = quadratic_form(lower_only(a.as_ref()).as_ref(), &x);
            // Two nested sums of d terms on either side: 2d ε/2 |x|ᵀ|A||x| each.
            let tolerance = 2.0 * (d as f64 + 1.0) * f64::EPSILON * scale;
            assert!((value - dense).abs() <= tolerance, "d = {d}");
        }
    }

    #[test]
    fn integers_are_exact_in_a_strided_view() {
        // A view with a column stride of its own, starting off the alignment of the allocation.
        for d in SIZES {
            let mut big = Mat::from_fn(d + 3, d + 3, |i, j| ((i * j) % 7) as f64);
            let x: Vec<f64> = (0..d).map(|i| (i % 5) as f64 - 2.0).collect();
            let view = big.as_ref().submatrix(1, 2, d, d);
            let entry = |i: usize, j: usize| view[(i.max(j), i.min(j))];
            let exact: Vec<f64> = (0..d).map(|i| (0..d).map(|j| entry(i, j) * x[j]).sum()).collect();
            let form: f64 = (0..d).map(|i| x[i] * exact[i]).sum();
            let mut out = vec![0.0; d];
            symmetric_mul_vec(&mut out, view, &x);
            assert_eq!(out, exact, "d = {d}");
            assert_eq!(quadratic_form(view, &x), form, "d = {d}");

            let before = big.clone();
            symmetric_rank_one(big.as_mut().submatrix_mut(1, 2, d, d), 2.0, &x);
            for j in 0..d + 3 {
                for i in 0..d + 3 {
                    let inside = i > 0 && j > 1 && i <= d && j <= d + 1 && i > j - 2;
                    let change = if inside { 2.0 * x[i - 1] * x[j - 2] } else { 0.0 };
                    assert_eq!(big[(i, j)], before[(i, j)] + change, "d = {d}: ({i}, {j})");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "x has 2 elements, the matrix is 3 x 3")]
    fn lengths_must_agree() {
        let _ = quadratic_form(Mat::zeros(3, 3).as_ref(), &[0.0; 2]);
    }

    #[test]
    #[should_panic(expected = "contiguous columns")]
    fn columns_must_be_contiguous() {
        let a = Mat::<f64>::zeros(3, 3);
        let _ = quadratic_form(a.transpose(), &[0.0; 3]);
    }
}

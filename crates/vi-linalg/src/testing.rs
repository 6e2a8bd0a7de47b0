//! Matrices for the tests, and plain loops to compare with.

use faer::{Mat, MatRef};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Sizes on both sides of every panel and vector width.
pub(crate) const SIZES: [usize; 11] = [0, 1, 2, 3, 5, 15, 16, 17, 33, 64, 100];

pub(crate) fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

pub(crate) fn vector(rng: &mut ChaCha8Rng, d: usize) -> Vec<f64> {
    (0..d).map(|_| StandardNormal.sample(rng)).collect()
}

pub(crate) fn matrix(rng: &mut ChaCha8Rng, n: usize, m: usize) -> Mat<f64> {
    Mat::from_fn(n, m, |_, _| StandardNormal.sample(rng))
}

/// A symmetric matrix, indefinite, all of it filled.
pub(crate) fn symmetric(rng: &mut ChaCha8Rng, d: usize) -> Mat<f64> {
    let g = matrix(rng, d, d);
    Mat::from_fn(d, d, |i, j| g[(i.max(j), i.min(j))])
}

/// I + GGᵀ/d, all of it filled: no eigenvalue below 1, few above 5.
pub(crate) fn positive_definite(rng: &mut ChaCha8Rng, d: usize) -> Mat<f64> {
    let g = matrix(rng, d, d);
    let mut a = product(g.as_ref(), g.transpose());
    for j in 0..d {
        for i in 0..d {
            a[(i, j)] = a[(i, j)] / d as f64 + f64::from(u8::from(i == j));
        }
    }
    a
}

/// The same matrix with NaN in the strict upper triangle.
pub(crate) fn lower_only(a: MatRef<'_, f64>) -> Mat<f64> {
    Mat::from_fn(a.nrows(), a.ncols(), |i, j| if i < j { f64::NAN } else { a[(i, j)] })
}

/// A B by three loops.
pub(crate) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    assert_eq!(a.ncols(), b.nrows());
    Mat::from_fn(a.nrows(), b.ncols(), |i, j| (0..a.ncols()).map(|k| a[(i, k)] * b[(k, j)]).sum())
}

/// |A| |B|, the scale of the rounding error of A B.
pub(crate) fn absolute_product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let absolute = |m: MatRef<'_, f64>| Mat::from_fn(m.nrows(), m.ncols(), |i, j| m[(i, j)].abs());
    product(absolute(a).as_ref(), absolute(b).as_ref())
}

pub(crate) fn max_abs(a: MatRef<'_, f64>) -> f64 {
    let mut largest = 0.0_f64;
    for j in 0..a.ncols() {
        for i in 0..a.nrows() {
            let value = a[(i, j)].abs();
            if value.is_nan() {
                return f64::NAN;
            }
            largest = largest.max(value);
        }
    }
    largest
}

/// Largest |a - b|, NaN if any is NaN.
pub(crate) fn max_difference(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> f64 {
    assert_eq!(a.shape(), b.shape());
    max_abs((a - b).as_ref())
}

/// Largest row sum of |a|, at least the 2-norm of a symmetric matrix.
pub(crate) fn infinity_norm(a: MatRef<'_, f64>) -> f64 {
    let row_sum = |i| (0..a.ncols()).map(|j| a[(i, j)].abs()).sum();
    (0..a.nrows()).map(row_sum).fold(0.0, f64::max)
}

pub(crate) fn column(x: &[f64]) -> MatRef<'_, f64> {
    MatRef::from_column_major_slice(x, x.len(), 1)
}

//! Products and sums of vectors.

use pulp::{Arch, Simd, WithSimd};

/// Inner product xᵀy of two vectors of length d. Cost 2d flops.
///
/// ```
/// use vi_linalg::kernels::dot;
/// assert_eq!(dot(&[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
#[track_caller]
#[must_use]
pub fn dot(x: &[f64], y: &[f64]) -> f64 {
    assert!(x.len() == y.len(), "x has {} elements, y has {}", x.len(), y.len());
    Arch::new().dispatch(Dot { x, y })
}

/// y ← y + αx for vectors of length d. Cost 2d flops.
///
/// ```
/// use vi_linalg::kernels::axpy;
/// let mut y = [1.0, 1.0];
/// axpy(&mut y, 2.0, &[3.0, 4.0]);
/// assert_eq!(y, [7.0, 9.0]);
/// ```
#[track_caller]
pub fn axpy(y: &mut [f64], alpha: f64, x: &[f64]) {
    assert!(y.len() == x.len(), "y has {} elements, x has {}", y.len(), x.len());
    Arch::new().dispatch(Axpy { y, alpha, x });
}

/// (a, b) ← (c·a + s·b, c·b − s·a) for vectors of length d: a plane rotation when c² + s² = 1. Cost 6d flops.
///
/// ```
/// use vi_linalg::kernels::rotate;
/// let (mut a, mut b) = ([3.0, 1.0], [4.0, 0.0]);
/// rotate(&mut a, &mut b, 0.6, 0.8);
/// assert_eq!((a[0], a[1], b[1]), (5.0, 0.6, -0.8));
/// assert!(b[0].abs() < 1e-15);
/// ```
#[track_caller]
pub fn rotate(a: &mut [f64], b: &mut [f64], c: f64, s: f64) {
    assert!(a.len() == b.len(), "a has {} elements, b has {}", a.len(), b.len());
    Arch::new().dispatch(Rotate { a, b, c, s });
}

struct Dot<'a> {
    x: &'a [f64],
    y: &'a [f64],
}

impl WithSimd for Dot<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        let (x, x_tail) = S::as_simd_f64s(self.x);
        let (y, y_tail) = S::as_simd_f64s(self.y);
        let (x_fours, x_rest) = x.as_chunks::<4>();
        let (y_fours, y_rest) = y.as_chunks::<4>();
        // Four sums hide the latency of the multiply-add.
        let mut sums = [simd.splat_f64s(0.0); 4];
        for (x, y) in x_fours.iter().zip(y_fours) {
            for k in 0..4 {
                sums[k] = simd.mul_add_e_f64s(x[k], y[k], sums[k]);
            }
        }
        for (&x, &y) in x_rest.iter().zip(y_rest) {
            sums[0] = simd.mul_add_e_f64s(x, y, sums[0]);
        }
        let sum = simd.add_f64s(simd.add_f64s(sums[0], sums[1]), simd.add_f64s(sums[2], sums[3]));
        let mut total = simd.reduce_sum_f64s(sum);
        for (x, y) in x_tail.iter().zip(y_tail) {
            total += x * y;
        }
        total
    }
}

struct Axpy<'a> {
    y: &'a mut [f64],
    alpha: f64,
    x: &'a [f64],
}

impl WithSimd for Axpy<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (y, y_tail) = S::as_mut_simd_f64s(self.y);
        let (x, x_tail) = S::as_simd_f64s(self.x);
        let alpha = simd.splat_f64s(self.alpha);
        for (y, &x) in y.iter_mut().zip(x) {
            *y = simd.mul_add_e_f64s(alpha, x, *y);
        }
        for (y, x) in y_tail.iter_mut().zip(x_tail) {
            *y += self.alpha * x;
        }
    }
}

struct Rotate<'a> {
    a: &'a mut [f64],
    b: &'a mut [f64],
    c: f64,
    s: f64,
}

impl WithSimd for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let (a, a_tail) = S::as_mut_simd_f64s(self.a);
        let (b, b_tail) = S::as_mut_simd_f64s(self.b);
        let (c, s) = (simd.splat_f64s(self.c), simd.splat_f64s(self.s));
        for (a, b) in a.iter_mut().zip(b) {
            let turned = simd.mul_add_e_f64s(s, *b, simd.mul_f64s(c, *a));
            *b = simd.sub_f64s(simd.mul_f64s(c, *b), simd.mul_f64s(s, *a));
            *a = turned;
        }
        for (a, b) in a_tail.iter_mut().zip(b_tail) {
            let turned = self.c * *a + self.s * *b;
            *b = self.c * *b - self.s * *a;
            *a = turned;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{SIZES, rng, vector};

    #[test]
    fn dot_is_the_plain_sum() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let (x, y) = (vector(rng, d), vector(rng, d));
            let plain: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let scale: f64 = x.iter().zip(&y).map(|(x, y)| (x * y).abs()).sum();
            // Each of the two sums is off by at most d ε/2 |x|ᵀ|y|, whatever its order.
            let tolerance = d as f64 * f64::EPSILON * scale;
            assert!((dot(&x, &y) - plain).abs() <= tolerance, "d = {d}");
        }
    }

    #[test]
    fn dot_of_integers_is_exact() {
        for d in SIZES {
            let x: Vec<f64> = (0..d).map(|i| i as f64).collect();
            let exact: usize = (0..d).map(|i| i * i).sum();
            assert_eq!(dot(&x, &x), exact as f64, "d = {d}");
        }
    }

    #[test]
    fn axpy_is_the_plain_loop() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let (x, y) = (vector(rng, d), vector(rng, d));
            let mut out = y.clone();
            axpy(&mut out, -0.7, &x);
            for i in 0..d {
                let plain = y[i] - 0.7 * x[i];
                // At most two roundings here and two there.
                let tolerance = 2.0 * f64::EPSILON * (y[i].abs() + x[i].abs());
                assert!((out[i] - plain).abs() <= tolerance, "d = {d}, i = {i}");
            }
        }
    }

    #[test]
    fn rotate_is_the_plain_loop() {
        for d in SIZES {
            let rng = &mut rng(d as u64);
            let (mut a, mut b) = (vector(rng, d), vector(rng, d));
            let (before_a, before_b) = (a.clone(), b.clone());
            let (c, s) = (0.28, -0.96);
            rotate(&mut a, &mut b, c, s);
            for i in 0..d {
                let (p, q) = (before_a[i], before_b[i]);
                // At most three roundings here and three there.
                let tolerance = 3.0 * f64::EPSILON * (p.abs() + q.abs());
                assert!((a[i] - (c * p + s * q)).abs() <= tolerance, "d = {d}, i = {i}");
                assert!((b[i] - (c * q - s * p)).abs() <= tolerance, "d = {d}, i = {i}");
            }
        }
    }

    #[test]
    fn nan_goes_through() {
        let mut x = vec![1.0; 17];
        x[16] = f64::NAN;
        assert!(dot(&x, &[1.0; 17]).is_nan());
    }

    #[test]
    #[should_panic(expected = "x has 2 elements, y has 3")]
    fn lengths_must_agree() {
        let _ = dot(&[0.0; 2], &[0.0; 3]);
    }
}

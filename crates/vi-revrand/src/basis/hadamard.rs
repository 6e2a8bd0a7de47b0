//! The Walsh-Hadamard transform in `n log n`.

use pulp::{Arch, Simd, WithSimd};
use vi_core::Error;

use crate::RevrandError;

/// Transforms a vector whose length `n` is a power of two, `y ← H y`, `H` being the Hadamard matrix (entries ±1) in natural
/// order: `H₁ = 1`, `H₂ₙ = [Hₙ Hₙ; Hₙ −Hₙ]`. It is not normalised: `H² = n·I`. Cost `n log₂ n` additions.
///
/// # Errors
/// `Setting` unless the length is a power of two.
///
/// ```
/// use vi_revrand::basis::walsh_hadamard;
/// let mut y = [1.0, 2.0, 3.0, 4.0];
/// walsh_hadamard(&mut y)?;
/// assert_eq!(y, [10.0, -2.0, -4.0, 0.0]);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub fn walsh_hadamard(y: &mut [f64]) -> Result<(), RevrandError> {
    if y.len().is_power_of_two() {
        transform(y, 1);
        Ok(())
    } else {
        Err(Error::Setting { name: "length", value: y.len() as f64, requirement: "a power of two" }.into())
    }
}

/// For each row of the Hadamard matrix in sequency order, that is, sorted by its number of sign changes, its place in natural
/// order: bit-reversed Gray codes. `n` is a power of two.
///
/// # Errors
/// `Setting` unless `n` is a power of two.
///
/// ```
/// use vi_revrand::basis::sequency_order;
/// assert_eq!(sequency_order(8)?, [0, 4, 6, 2, 3, 7, 5, 1]);
/// # Ok::<(), vi_revrand::RevrandError>(())
/// ```
pub fn sequency_order(n: usize) -> Result<Vec<usize>, RevrandError> {
    if !n.is_power_of_two() {
        return Err(Error::Setting { name: "length", value: n as f64, requirement: "a power of two" }.into());
    }
    let unused = usize::BITS - n.trailing_zeros();
    let place = |i: usize| if n == 1 { 0 } else { (i ^ (i >> 1)).reverse_bits() >> unused };
    Ok((0..n).map(place).collect())
}

/// The transforms of `lanes` vectors at once, stored one beside the other: `y[i·lanes + r]` is entry `i` of vector `r`.
pub(super) fn transform(y: &mut [f64], lanes: usize) {
    struct Transform<'a>(&'a mut [f64], usize);

    impl WithSimd for Transform<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, _: S) {
            transform_inline(self.0, self.1);
        }
    }

    Arch::new().dispatch(Transform(y, lanes));
}

/// [`transform`] for a caller that has already chosen the vector instructions. It takes two levels at a time, so that the vectors
/// are read and written half as often.
#[inline(always)]
#[allow(clippy::inline_always, reason = "becomes part of the caller's loop over vectors")]
pub(super) fn transform_inline(y: &mut [f64], lanes: usize) {
    debug_assert!((y.len() / lanes).is_power_of_two());
    let mut half = lanes;
    while 4 * half <= y.len() {
        for block in y.chunks_exact_mut(4 * half) {
            let (left, right) = block.split_at_mut(2 * half);
            let (a, b) = left.split_at_mut(half);
            let (c, d) = right.split_at_mut(half);
            for (((a, b), c), d) in a.iter_mut().zip(b).zip(c).zip(d) {
                let (ab, a_b) = (*a + *b, *a - *b);
                let (cd, c_d) = (*c + *d, *c - *d);
                (*a, *b, *c, *d) = (ab + cd, a_b + c_d, ab - cd, a_b - c_d);
            }
        }
        half *= 4;
    }
    if 2 * half <= y.len() {
        let (a, b) = y.split_at_mut(half);
        for (a, b) in a.iter_mut().zip(b) {
            (*a, *b) = (*a + *b, *a - *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entry `(i, j)` of `H` is −1 to the number of ones that `i` and `j` share.
    fn entry(i: usize, j: usize) -> f64 {
        if (i & j).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 }
    }

    #[test]
    fn is_the_matrix_product() {
        for n in [1, 2, 4, 8, 16, 32, 64, 128] {
            for lanes in [1, 3, 16] {
                let x: Vec<f64> = (0..n * lanes).map(|k| (k * 37 % 101) as f64).collect();
                let mut y = x.clone();
                transform(&mut y, lanes);
                for r in 0..lanes {
                    for i in 0..n {
                        // Whole numbers: exact in any order.
                        let sum: f64 = (0..n).map(|j| entry(i, j) * x[j * lanes + r]).sum();
                        assert_eq!(y[i * lanes + r], sum, "n = {n}, lanes = {lanes}");
                    }
                }
            }
        }
    }

    #[test]
    fn sequency_counts_the_changes_of_sign() {
        for n in [1, 2, 8, 64] {
            for (changes, place) in sequency_order(n).unwrap().into_iter().enumerate() {
                let found = (1..n).filter(|&j| entry(place, j) != entry(place, j - 1)).count();
                assert_eq!(found, changes);
            }
        }
    }

    #[test]
    fn other_lengths_are_refused() {
        for n in [0, 3, 12] {
            assert!(walsh_hadamard(&mut vec![1.0; n]).is_err());
            assert!(sequency_order(n).is_err());
        }
    }
}

//! Standard normal points: random ones, and quasi-random ones with exact moments.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_core::special::normal_quantile;
use vi_linalg::check::room;
use vi_linalg::faer::{Mat, Par};
use vi_linalg::{Cholesky, cholesky};

use crate::BoostError;
use crate::error::setting;

/// The largest number of quasi-random points, `2¹⁶` and their mirror images.
pub const MOST_POINTS: usize = 1 << 17;

/// Quasi-random points of the standard normal distribution: `n` of them in `m` dimensions, one a row (`n × m`, column-major).
///
/// ```
/// use vi_boost::points;
/// let z = points::quasi(64, 2, 7)?;
/// let second: f64 = (0..64).map(|i| z[(i, 0)] * z[(i, 0)]).sum::<f64>() / 64.0;
/// assert!((second - 1.0).abs() < 1e-13);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
///
/// They are the points of an Owen-scrambled Sobol sequence, each followed by its mirror image, mapped by the normal
/// quantile, and whitened: their mean is exactly 0 and, where `n ≥ 4m`, their second moment is `I` to rounding, so that
/// averages of quadratic functions are exact. Two seeds give independent scramblings. Cost `n·m` quantiles and `nm²`.
///
/// # Errors
/// [`BoostError::Core`] with `Setting` unless `n` is even and `2 ≤ n ≤` [`MOST_POINTS`], with `Linalg` for more numbers than
/// memory holds.
pub fn quasi(n: usize, m: usize, seed: u64) -> Result<Mat<f64>, BoostError> {
    if n < 2 || !n.is_multiple_of(2) || n > MOST_POINTS {
        return Err(setting("points", n as f64, "even, at least 2 and at most 131072"));
    }
    let mut z = mirrored(n, m, seed)?;
    if n / 4 >= m {
        whiten(&mut z)?;
    }
    Ok(z)
}

/// The points of [`quasi`] before they are whitened: any even number of the first of them are as good as so many of their own.
pub(crate) fn mirrored(n: usize, m: usize, seed: u64) -> Result<Mat<f64>, BoostError> {
    room("points", &[n, m])?;
    let mut z = Mat::zeros(n, m);
    for j in 0..m {
        // The sequence has 256 dimensions; further ones are filled from another seed, independently.
        let seed = mix(seed.wrapping_add((j / DIMENSIONS) as u64));
        let dimension = u32::try_from(j % DIMENSIONS).unwrap_or(0);
        for i in 0..n / 2 {
            let index = u32::try_from(i).unwrap_or(0);
            let uniform = f64::from(sobol_burley::sample(index, dimension, seed)) + HALF_STEP;
            let value = normal_quantile(uniform);
            z[(2 * i, j)] = value;
            z[(2 * i + 1, j)] = -value;
        }
    }
    Ok(z)
}

/// The number of dimensions of the sequence.
const DIMENSIONS: usize = sobol_burley::NUM_DIMENSIONS as usize;

/// Half the spacing of single-precision numbers in [0, 1): keeps uniform numbers off 0 and 1.
const HALF_STEP: f64 = 1.0 / (1 << 25) as f64;

/// `n` independent draws (`n × m`).
pub(crate) fn random<R: Rng + ?Sized>(n: usize, m: usize, rng: &mut R) -> Mat<f64> {
    // Row by row, so that a longer set begins with a shorter one.
    let mut z = Mat::zeros(n, m);
    for i in 0..n {
        for j in 0..m {
            z[(i, j)] = StandardNormal.sample(rng);
        }
    }
    z
}

/// A 32-bit seed from 64 bits, all of which matter (the finaliser of SplitMix64).
fn mix(seed: u64) -> u32 {
    let mut x = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    u32::try_from((x ^ (x >> 31)) >> 32).unwrap_or(0)
}

/// `Z ← ZL⁻ᵀ` with `LLᵀ = ZᵀZ/n`.
fn whiten(z: &mut Mat<f64>) -> Result<(), BoostError> {
    let (n, m) = (z.nrows(), z.ncols());
    let second = z.transpose() * z.as_ref();
    let second = Mat::from_fn(m, m, |i, j| second[(i, j)] / n as f64);
    let factor = Cholesky::new(second.as_ref())?;
    cholesky::solve_lower_in_place(factor.factor(), z.as_mut().transpose_mut(), Par::Seq);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_match_and_points_are_mirrored() {
        for (n, m) in [(16, 1), (64, 3), (256, 20)] {
            let z = quasi(n, m, 3).unwrap();
            for j in 0..m {
                assert_eq!((0..n).map(|i| z[(i, j)]).sum::<f64>(), 0.0);
                for k in 0..=j {
                    let second = (0..n).map(|i| z[(i, j)] * z[(i, k)]).sum::<f64>() / n as f64;
                    let expected = if j == k { 1.0 } else { 0.0 };
                    // Whitening by an m × m factor of condition of order one.
                    assert!((second - expected).abs() <= 8.0 * (m + 1) as f64 * f64::EPSILON, "{n} {m}: {second}");
                }
            }
        }
    }

    #[test]
    fn integrals_converge_faster_than_by_chance() {
        // E|z₁ + z₂ + z₃| = √(6/π); by chance the error is √((3 − 6/π)/n) = 0.0163.
        let exact = (6.0 / std::f64::consts::PI).sqrt();
        let error = |seed| {
            let z = quasi(4096, 3, seed).unwrap();
            let sum: f64 = (0..4096).map(|i| (z[(i, 0)] + z[(i, 1)] + z[(i, 2)]).abs()).sum();
            (sum / 4096.0 - exact).abs()
        };
        let worst = (0..8).map(error).fold(0.0, f64::max);
        assert!(worst < 0.0163 / 4.0, "{worst}");
        assert_ne!(error(0), error(1));
    }

    #[test]
    fn counts_are_checked() {
        for n in [0, 1, 3, MOST_POINTS + 2] {
            assert!(matches!(quasi(n, 1, 0), Err(BoostError::Core(vi_core::Error::Setting { .. }))), "{n}");
        }
        assert_eq!(quasi(8, 300, 0).unwrap().shape(), (8, 300));
        for m in [usize::MAX, usize::MAX / 2, 1 << 60] {
            assert!(matches!(quasi(4, m, 1), Err(BoostError::Core(vi_core::Error::Linalg(_)))), "{m}");
        }
    }
}

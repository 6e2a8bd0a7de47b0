//! Cosine and sine of whole columns, as vector instructions.

use pulp::Arch;

/// `2/π`.
const TWO_OVER_PI: f64 = std::f64::consts::FRAC_2_PI;
/// `π/2` as a sum of three floats.
const HALF_PI: [f64; 3] = [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17, -1.4973849048591833e-33];
/// Beyond this, `2³⁰`, the multiple of `π/2` has too many digits for the three floats.
const LARGE: f64 = 1_073_741_824.0;
/// Adding it rounds to a whole number, which is then in the lowest bits: `1.5·2⁵²`.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `cos[i] ← scale·cos z[i]` and `sin[i] ← scale·sin z[i]`, where `z` is what `cos` holds before.
///
/// `z` is reduced to `r ∈ [−π/4, π/4]` by `π/2` in three pieces, so that `r` is off by half a unit in its last place; the
/// polynomials are those of fdlibm. The error is below `1.5·ε·scale`. Cost about 2 ns a pair with vectors of four.
pub(crate) fn cos_sin(cos: &mut [f64], sin: &mut [f64], scale: f64) {
    assert_eq!(cos.len(), sin.len(), "lengths of cos and sin");
    let small = cos.iter().fold(true, |small, z| small & (z.abs() < LARGE));
    if small {
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for (c, s) in cos.iter_mut().zip(sin.iter_mut()) {
                    (*c, *s) = reduced(*c, scale);
                }
            },
        );
    } else {
        for (c, s) in cos.iter_mut().zip(sin.iter_mut()) {
            let (sine, cosine) = libm::sincos(*c);
            (*c, *s) = (scale * cosine, scale * sine);
        }
    }
}

/// `(scale·cos z, scale·sin z)` without branches.
#[inline(always)]
#[allow(clippy::inline_always, reason = "becomes part of the loop over vectors")]
fn reduced(z: f64, scale: f64) -> (f64, f64) {
    let shifted = z.mul_add(TWO_OVER_PI, ROUND);
    let quadrant = shifted.to_bits();
    let k = shifted - ROUND;
    let r = (-k).mul_add(HALF_PI[2], (-k).mul_add(HALF_PI[1], (-k).mul_add(HALF_PI[0], z)));
    let r2 = r * r;
    // sin r = r + r³·S(r²), cos r = 1 − r²/2 + r⁴·C(r²).
    let s = poly(
        r2,
        [
            1.58969099521155e-10,
            -2.5050760253406863e-08,
            2.7557313707070068e-06,
            -0.0001984126982985795,
            0.00833333333332249,
            -0.16666666666666632,
        ],
    );
    let c = poly(
        r2,
        [
            -1.1359647557788195e-11,
            2.087572321298175e-09,
            -2.7557314351390663e-07,
            2.480158728947673e-05,
            -0.001388888888887411,
            0.0416666666666666,
        ],
    );
    let sine = (r * r2).mul_add(s, r);
    let cosine = (r2 * r2).mul_add(c, (-0.5_f64).mul_add(r2, 1.0));
    // Quadrants 1 and 3 exchange the two; cos is negative in 1 and 2, sin in 2 and 3.
    let odd = quadrant & 1 == 1;
    let (c, s) = if odd { (sine, cosine) } else { (cosine, sine) };
    let cos_sign = (quadrant.wrapping_add(1) & 2) << 62;
    let sin_sign = (quadrant & 2) << 62;
    (scale * f64::from_bits(c.to_bits() ^ cos_sign), scale * f64::from_bits(s.to_bits() ^ sin_sign))
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "becomes part of the loop over vectors")]
fn poly(x: f64, coefficients: [f64; 6]) -> f64 {
    coefficients.into_iter().fold(0.0, |sum, coefficient| sum.mul_add(x, coefficient))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(z: f64) -> (f64, f64) {
        let (mut c, mut s) = ([z; 5], [0.0; 5]);
        cos_sin(&mut c, &mut s, 1.0);
        assert!(c.iter().all(|v| v.to_bits() == c[0].to_bits()) && s.iter().all(|v| v.to_bits() == s[0].to_bits()));
        (c[0], s[0])
    }

    #[test]
    fn agrees_with_libm_everywhere() {
        let mut z = 1e-12_f64;
        while z < 1e12 {
            for z in [z, -z, std::f64::consts::FRAC_PI_4 * z.floor(), std::f64::consts::FRAC_PI_2 * z.floor()] {
                let (c, s) = both(z);
                // Two evaluations, each within 1.5 units of rounding at 1.
                assert!((c - libm::cos(z)).abs() <= 2.0 * f64::EPSILON, "cos {z:e}");
                assert!((s - libm::sin(z)).abs() <= 2.0 * f64::EPSILON, "sin {z:e}");
            }
            z *= 1.037;
        }
        assert_eq!(both(0.0), (1.0, 0.0));
    }

    #[test]
    fn quadrants_and_scale() {
        for k in 0..12_usize {
            let z = k as f64 * std::f64::consts::FRAC_PI_2;
            let (c, s) = both(z);
            assert!((c - [1.0, 0.0, -1.0, 0.0][k % 4]).abs() < 16.0 * f64::EPSILON);
            assert!((s - [0.0, 1.0, 0.0, -1.0][k % 4]).abs() < 16.0 * f64::EPSILON);
        }
        let (mut c, mut s) = ([0.5], [0.0]);
        cos_sin(&mut c, &mut s, 3.0);
        assert!((c[0] - 3.0 * 0.5_f64.cos()).abs() < 1e-15 && (s[0] - 3.0 * 0.5_f64.sin()).abs() < 1e-15);
    }

    #[test]
    fn one_large_argument_changes_no_other() {
        let (mut c, mut s) = ([0.3, 1e300], [0.0; 2]);
        cos_sin(&mut c, &mut s, 1.0);
        assert!((c[0] - 0.3_f64.cos()).abs() <= f64::EPSILON && (c[1] - 1e300_f64.cos()).abs() <= f64::EPSILON);
        assert!(c[1].abs() <= 1.0 && s[1].abs() <= 1.0);
    }
}

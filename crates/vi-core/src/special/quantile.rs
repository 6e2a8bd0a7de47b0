//! Quantiles of the standard normal.

use pulp::Scalar;

use super::lanes::polynomial;

/// The standard normal quantile `Φ⁻¹(p)` for `0 ≤ p ≤ 1`, to 4 ε relative; NaN outside.
///
/// `1 − p` rounds if `p` is near 1: for the far right tail take `−normal_quantile(q)` of the small `q`. Source: Wichura's AS 241 (1988), three ratios of
/// polynomials; some 6 ns, in the tails 12.
///
/// ```
/// use vi_core::special::normal_quantile;
/// assert!((normal_quantile(0.975) - 1.959_963_984_540_054).abs() < 1e-14);
/// assert!((normal_quantile(1e-300) + 37.047_096_299_361_2).abs() < 1e-12);
/// ```
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    let from_middle = p - 0.5;
    if from_middle.abs() <= 0.425 {
        return from_middle * ratio(&MIDDLE, 0.180625 - from_middle * from_middle);
    }
    let r = (-(if p < 0.5 { p } else { 1.0 - p }).ln()).sqrt();
    let away = match r {
        _ if r <= 5.0 => ratio(&TAIL, r - 1.6),
        f64::INFINITY => r,
        _ => ratio(&FAR, r - 5.0),
    };
    away.copysign(from_middle)
}

fn ratio([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    polynomial(Scalar::new(), above, x) / polynomial(Scalar::new(), below, x)
}

/// Numerator and denominator of `Φ⁻¹(½ + q)/q` in `0.425² − q²`.
const MIDDLE: [[f64; 8]; 2] = [
    [
        3.387_132_872_796_366_5,
        133.141_667_891_784_38,
        1_971.590_950_306_551_3,
        13_731.693_765_509_46,
        45_921.953_931_549_87,
        67_265.770_927_008_7,
        33_430.575_583_588_13,
        2_509.080_928_730_122_7,
    ],
    [
        1.0,
        42.313_330_701_600_91,
        687.187_007_492_057_9,
        5_394.196_021_424_751,
        21_213.794_301_586_597,
        39_307.895_800_092_71,
        28_729.085_735_721_943,
        5_226.495_278_852_854,
    ],
];
/// Of `−Φ⁻¹(p)` in `√(−log p) − 1.6`, from `p = e⁻²⁵` on.
const TAIL: [[f64; 8]; 2] = [
    [
        1.423_437_110_749_683_5,
        4.630_337_846_156_546,
        5.769_497_221_460_691,
        3.647_848_324_763_204_5,
        1.270_458_252_452_368_4,
        0.241_780_725_177_450_6,
        0.022_723_844_989_269_184,
        0.000_774_545_014_278_341_4,
    ],
    [
        1.0,
        2.053_191_626_637_759,
        1.676_384_830_183_803_8,
        0.689_767_334_985_1,
        0.148_103_976_427_480_08,
        0.015_198_666_563_616_457,
        0.000_547_593_808_499_534_5,
        1.050_750_071_644_416_9e-9,
    ],
];
/// The same in `√(−log p) − 5`, below.
const FAR: [[f64; 8]; 2] = [
    [
        6.657_904_643_501_103,
        5.463_784_911_164_114,
        1.784_826_539_917_291_3,
        0.296_560_571_828_504_87,
        0.026_532_189_526_576_124,
        0.001_242_660_947_388_078_4,
        2.711_555_568_743_487_6e-5,
        2.010_334_399_292_288_1e-7,
    ],
    [
        1.0,
        0.599_832_206_555_888,
        0.136_929_880_922_735_8,
        0.014_875_361_290_850_615,
        0.000_786_869_131_145_613_3,
        1.846_318_317_510_054_8e-5,
        1.421_511_758_316_446e-7,
        2.044_263_103_389_939_7e-15,
    ],
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    #[test]
    fn quantiles_are_those_of_a_table() {
        // 40-digit arithmetic; about every seam, on both sides, to the least number of all.
        let table = [
            (0.5, 0.0),
            (0.4999999999, -2.506_628_482_030_354e-10),
            (0.3, -0.524_400_512_708_041),
            (0.25, -0.674_489_750_196_081_7),
            (0.075, -1.439_531_470_938_456),
            (0.074_999_999_999_999_98, -1.439_531_470_938_456),
            (0.0228, -1.999_077_214_971_77),
            (0.001, -3.090_232_306_167_813_6),
            (1e-5, -4.264_890_793_922_825),
            (1e-8, -5.612_001_244_174_789),
            (1.388_794_386_496_5e-11, -6.657_904_643_501_093),
            (1.388_794_386_496_4e-11, -6.657_904_643_501_104),
            (1e-20, -9.262_340_089_798_408),
            (1e-100, -21.273_453_560_965_326),
            (1e-300, -37.047_096_299_361_2),
            (5e-324, -38.467_405_617_144_344),
            (0.0, f64::NEG_INFINITY),
        ];
        for (p, expected) in table {
            let found = normal_quantile(p);
            // Two polynomials of seven sums each, an ulp or two, and their ratio; the logarithm's error is halved by the root.
            assert!(found == expected || (found / expected - 1.0).abs() <= 4.0 * f64::EPSILON, "p = {p}: {found}");
            // 1 − p is exact in multiples of ε alone.
            let mirrored = 1.0 - p;
            assert_eq!(normal_quantile(mirrored), -normal_quantile(1.0 - mirrored));
        }
        assert!([-0.1, 1.1, f64::NAN].into_iter().all(|p| normal_quantile(p).is_nan()));
    }

    #[test]
    fn quantiles_undo_the_distribution_function() {
        for u in [1e-9, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.999, 1.0 - 1e-7] {
            // Φ is good to a few ε, relatively in the left tail; on the right 1 − u has the absolute error ε.
            let back = normal_cdf(normal_quantile(u));
            assert!((back - u).abs() <= 16.0 * f64::EPSILON * u.max(1.0 - u), "{u}: {back}");
        }
        assert_eq!(normal_quantile(0.5), 0.0);
    }
}

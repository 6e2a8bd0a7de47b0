//! A standard normal number that is known to lie in a range.

use vi_core::special::{HALF_LN_2PI, mills_ratio, normal_density};

/// Where the range begins so far out that the density falls in it as an exponential's.
const FAR: f64 = 200.0;

/// The width of a range, times the slope of the log density, below which the density is a parabola.
const NARROW: f64 = 1e-2;

/// `log P(low < Z < high)` of `Z ~ N(0, 1)`, and the mean and the variance of `Z` there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Truncated {
    pub(crate) log_mass: f64,
    pub(crate) mean: f64,
    pub(crate) variance: f64,
}

impl Truncated {
    /// Of a range whose ends may be infinite.
    pub(crate) fn new(low: f64, high: f64) -> Self {
        if low + high < 0.0 {
            let Self { log_mass, mean, variance } = Self::above(-high, -low);
            return Self { log_mass, mean: -mean, variance };
        }
        Self::above(low, high)
    }

    /// Of a range whose middle is not below 0.
    fn above(low: f64, high: f64) -> Self {
        let (width, middle) = (high - low, 0.5 * (low + high));
        if width * (1.0 + middle) < NARROW {
            let square = width * width;
            let log_mass = width.ln() - 0.5 * middle * middle - HALF_LN_2PI + (middle * middle - 1.0) * square / 24.0;
            return Self { log_mass, mean: middle * (1.0 - square / 12.0), variance: square / 12.0 };
        }
        // Densities at the ends over that at the lower one, if this is above 0, and the mass over the same.
        let beyond = (-width * middle).exp();
        let (top, here, there, mass) = if low < 0.0 {
            let tails =
                [-low, high].map(|end| if end.is_finite() { normal_density(end) * mills_ratio(end) } else { 0.0 });
            (0.0, normal_density(low), normal_density(high), 1.0 - tails[0] - tails[1])
        } else {
            let left = if beyond > 0.0 { beyond * mills_ratio(high) } else { 0.0 };
            (-0.5 * low * low - HALF_LN_2PI, 1.0, beyond, mills_ratio(low) - left)
        };
        let of_end = |end: f64, density: f64| if density > 0.0 { end * density } else { 0.0 };
        let mean = (here - there) / mass;
        let variance = if low > FAR {
            let fallen = of_end(width * width, beyond);
            (low * low).recip() - fallen / (1.0 - beyond).powi(2)
        } else {
            1.0 + (of_end(low, here) - of_end(high, there)) / mass - mean * mean
        };
        Self { log_mass: top + mass.ln(), mean, variance }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mass_and_moments_are_those_of_sums_over_the_range() {
        let ranges = [
            (-1.0, 2.0),
            (0.5, f64::INFINITY),
            (f64::NEG_INFINITY, -3.0),
            (2.0, 2.5),
            (-9.0, 0.1),
            (6.0, 6.004),
            (30.0, 31.0),
        ];
        for (low, high) in ranges {
            let (from, to) = (low.max(-40.0), high.min(40.0));
            // Simpson's rule of steps of at most 8/10⁵ over the density relative to its largest.
            let n = 1_000_000;
            let step = (to - from) / f64::from(n);
            let top = if from <= 0.0 && to >= 0.0 { 0.0 } else { from.abs().min(to.abs()) };
            let mut sums = [0.0; 3];
            for i in 0..=n {
                let z = from + step * f64::from(i);
                let weight = if i == 0 || i == n { 1.0 } else { f64::from(2 + 2 * (i % 2)) } * step / 3.0;
                let density = weight * (0.5 * (top * top - z * z)).exp();
                sums.iter_mut().zip([1.0, z, z * z]).for_each(|(sum, of)| *sum += density * of);
            }
            let found = Truncated::new(low, high);
            let mean = sums[1] / sums[0];
            let log_mass = sums[0].ln() - 0.5 * top * top - HALF_LN_2PI;
            assert!((found.log_mass - log_mass).abs() < 1e-9 * (1.0 + log_mass.abs()), "{low} {high}: {found:?}");
            assert!((found.mean - mean).abs() < 1e-9 * (1.0 + mean.abs()), "{low} {high}: {found:?} {mean}");
            let variance = sums[2] / sums[0] - mean * mean;
            // The variance is a difference of squares.
            let rounding = 1e-11 * (1.0 + mean * mean) * (1.0 + mean * mean);
            assert!(
                (found.variance - variance).abs() < 1e-6 * variance + rounding,
                "{low} {high}: {found:?} {variance}"
            );
        }
    }

    #[test]
    fn far_out_and_narrow_ranges_go_on_where_others_end() {
        for width in [0.01, 0.5, f64::INFINITY] {
            let (near, far) = (Truncated::new(FAR, FAR + width), Truncated::new(FAR * (1.0 + 1e-9), FAR + width));
            // The next term of an exponential's variance is a share 6/FAR² of it, and the difference of squares has lost FAR⁴ roundings.
            assert!((far.variance / near.variance - 1.0).abs() < 1e-3, "{width}: {near:?} {far:?}");
        }
        for low in [0.0, 1.0, 20.0] {
            let width = NARROW / (1.0 + low);
            let (narrow, wide) = (Truncated::new(low, low + 0.9 * width), Truncated::new(low, low + 1.1 * width));
            assert!((wide.log_mass - narrow.log_mass - f64::ln(11.0 / 9.0)).abs() < NARROW, "{low}");
            // A difference of squares has lost all but some four of its digits.
            assert!(
                (wide.variance / narrow.variance / (121.0 / 81.0) - 1.0).abs() < 1e-2,
                "{low}: {narrow:?} {wide:?}"
            );
        }
        let all = Truncated::new(f64::NEG_INFINITY, f64::INFINITY);
        assert_eq!(all, Truncated { log_mass: 0.0, mean: 0.0, variance: 1.0 });
        let (left, right) = (Truncated::new(-1e9, -1e5), Truncated::new(1e5, 1e9));
        assert_eq!((left.log_mass, left.mean), (right.log_mass, -right.mean));
        assert!((right.mean / 1e5 - 1.0).abs() < 1e-9 && (right.log_mass / -5e9 - 1.0).abs() < 1e-8);
    }
}

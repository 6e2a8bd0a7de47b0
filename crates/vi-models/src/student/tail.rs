//! Tails and quantiles of the standard Student-t distribution.

use vi_core::special::{HALF_LN_2PI, mills_ratio, normal_quantile};

use super::{LN_PI, ln_gamma_ratio, log_density, log_one_plus_square};

const MAX_TERMS: usize = 100_000;
const MAX_NEWTON: usize = 200;

/// `P(T > t)` for `t ≥ 0`: `½·I_x(k/2, ½)`, `x = k/(k+t²)`.
pub(super) fn upper_tail(t: f64, dof: f64) -> f64 {
    if is_near_normal(t, dof) {
        return near_normal_tail(t, dof);
    }
    let a = 0.5 * dof;
    let ratio = t / dof.sqrt();
    // x^a·(1−x)^½/B(a, ½), with 1 − x = (t²/k)·x.
    let front = (ln_gamma_ratio(a, 0.5) - 0.5 * LN_PI - (a + 0.5) * log_one_plus_square(t, dof) + ratio.ln()).exp();
    if t * t > 1.5 {
        // With u = t²/k: F(a+½, 1; a+1; x) = (1+1/u)·F(½, 1; a+1; −1/u), which has no difference in it.
        0.5 * front * far_fraction(a, 1.0 / (ratio * ratio)) * (1.0 + 1.0 / (ratio * ratio)) / a
    } else if t > 0.0 {
        let x = ratio * ratio / (1.0 + ratio * ratio);
        0.5 - front * near_fraction(a, x)
    } else {
        0.5
    }
}

/// `F(½, 1; a+1; −z)` for `z > 0` by Gauss's continued fraction (DLMF 15.7.1), all of whose terms are positive.
fn far_fraction(a: f64, z: f64) -> f64 {
    let mut fraction = Lentz::start(1.0);
    for m in 0..MAX_TERMS {
        let m = m as f64;
        fraction.term((m + 0.5) * ((a + m) / (a + 2.0 * m)) / (a + 2.0 * m + 1.0) * z);
        let m = m + 1.0;
        fraction.term(m * ((a + m - 0.5) / (a + 2.0 * m - 1.0)) / (a + 2.0 * m) * z);
        if fraction.settled {
            break;
        }
    }
    1.0 / fraction.value
}

/// The continued fraction of `I_x(½, a)·½·B(½, a)/(x^½(1−x)^a)` (DLMF 8.17.22), for `x` below `1.5/(a+1.5)` or so.
fn near_fraction(a: f64, x: f64) -> f64 {
    let mut fraction = Lentz::start(1.0);
    for m in 0..MAX_TERMS {
        let m = m as f64;
        fraction.term(-(m + 0.5) * (a + m + 0.5) * x / ((2.0 * m + 0.5) * (2.0 * m + 1.5)));
        let m = m + 1.0;
        fraction.term(m * (a - m) * x / ((2.0 * m - 0.5) * (2.0 * m + 0.5)));
        if fraction.settled {
            break;
        }
    }
    1.0 / fraction.value
}

/// `b₀ + c₁/(1 + c₂/(1 + …))` from the front, by Lentz's method.
struct Lentz {
    value: f64,
    c: f64,
    d: f64,
    settled: bool,
}

impl Lentz {
    fn start(value: f64) -> Self {
        Self { value, c: value, d: 0.0, settled: false }
    }

    fn term(&mut self, coefficient: f64) {
        const TINY: f64 = 1e-300;
        let guard = |v: f64| if v.abs() < TINY { TINY } else { v };
        self.d = 1.0 / guard(1.0 + coefficient * self.d);
        self.c = guard(1.0 + coefficient / self.c);
        let change = self.c * self.d;
        self.value *= change;
        self.settled = (change - 1.0).abs() < 2.0 * f64::EPSILON;
    }
}

/// Whether the expansion about the normal distribution is accurate to all digits: its terms are `(t²/6k)^2j` and
/// `(4j−1)!!/(6k)^2j` in size.
fn is_near_normal(t: f64, dof: f64) -> bool {
    dof >= 20.0 && t * t <= 0.6 * dof
}

/// `√((s/2)/sinh(s/2)) = Σ_j c_j·s^2j`, without the 1 at the front.
const COEFFICIENTS: [f64; 8] = [
    -0.020_833_333_333_333_333,
    0.000_390_625,
    -7.879_670_965_608_466e-6,
    1.696_766_579_172_178e-7,
    -3.805_064_191_721_907e-9,
    8.748_377_596_315_407e-11,
    -2.044_523_359_411_974e-12,
    4.833_351_797_967_704e-14,
];

/// `P(T > t)` by its integral over the normal scale `w² = k·log(1 + t²/k)`:
///
/// ```text
/// P(T > t) ∝ ∫_w^∞ √((v²/k)/(1−e^(−v²/k)))·φ(v) dv ∝ ∫_y^∞ √((v²/2m)/sinh(v²/2m))·φ(v) dv,   m = k − ½,   y² = m·log(1 + t²/k)
/// ```
///
/// The root is a power series in `(v²/m)²`, and `∫ v²ⁿφ = (2n−1)·∫ v²ⁿ⁻²φ + y²ⁿ⁻¹φ(y)` takes each power to the normal tail and the density;
/// that the whole is 1 gives the factor in front.
fn near_normal_tail(t: f64, dof: f64) -> f64 {
    let m = dof - 0.5;
    let square = m * (t * t / dof).ln_1p();
    let y = square.sqrt();
    // ∫ (v²/m)ⁿφ = whole·(1 − Φ(y)) + edge·y·φ(y).
    let (mut whole, mut edge, mut power) = (1.0, 0.0, 1.0);
    let (mut of_whole, mut of_edge) = (1.0, 0.0);
    let mut odd = 1.0;
    for coefficient in COEFFICIENTS {
        for _ in 0..2 {
            edge = (power + odd * edge) / m;
            whole *= odd / m;
            power *= square / m;
            odd += 2.0;
        }
        of_whole += coefficient * whole;
        of_edge += coefficient * edge;
    }
    (-0.5 * square - HALF_LN_2PI).exp() * (mills_ratio(y) + y * of_edge / of_whole)
}

/// The `t ≥ 0` with `P(T > t) = q`, `0 < q ≤ ½`: Newton's method on the logarithm of the tail by the logarithm of `t`,
/// kept in a bracket.
pub(super) fn upper_quantile(q: f64, dof: f64) -> f64 {
    if q == 0.5 {
        return 0.0;
    }
    let log_q = q.ln();
    let normal = -normal_quantile(q);
    let (mut low, mut high) = (0.0, f64::INFINITY);
    // The leading term of the expansion above; far out it is not far enough.
    let m = (dof - 0.5).max(0.5 * dof);
    let mut t = (dof.sqrt() * (normal * normal / m).exp_m1().sqrt()).clamp(1e-300, 1e300);
    for _ in 0..MAX_NEWTON {
        let tail = upper_tail(t, dof);
        let residual = tail.ln() - log_q;
        if residual > 0.0 {
            low = t;
        } else {
            high = t;
        }
        // d log P(T > t)/d log t = −t·p(t)/P(T > t).
        let newton = t * (residual * tail / (t * log_density(t, dof).exp())).exp();
        if (newton - t).abs() <= 4.0 * f64::EPSILON * t {
            return newton;
        }
        t = if newton > low && newton < high {
            newton
        } else if high.is_infinite() {
            (2.0 * t).min(1e300)
        } else if low > 0.0 {
            low.sqrt() * high.sqrt()
        } else {
            0.5 * high
        };
    }
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_are_the_closed_forms_of_one_two_and_four_degrees() {
        for t in [1e-8, 0.1, 0.7, 1.4, 1.8, 3.0, 20.0, 1e4, 1e8] {
            let cauchy = f64::atan2(1.0, t) / std::f64::consts::PI;
            // ½ − ½t/√(2+t²), without the difference.
            let two = 1.0 / ((2.0 + t * t).sqrt() * ((2.0 + t * t).sqrt() + t));
            let u = t / f64::sqrt(4.0 + t * t);
            let four = 0.5 - 0.75 * u + 0.25 * u * u * u; // loses digits beyond
            for (found, exact) in [(upper_tail(t, 1.0), cauchy), (upper_tail(t, 2.0), two)] {
                assert!((found / exact - 1.0).abs() < 1e-13, "{t}: {found} {exact}");
            }
            assert!((upper_tail(t, 4.0) - four).abs() < 1e-14, "{t}");
        }
        // 40-digit arithmetic (mpmath's betainc).
        let table = [(2.0, 30.0, 0.027312522481491547), (5.0, 1e4, 2.9151633068313236e-07)];
        for (t, dof, exact) in table {
            assert!((upper_tail(t, dof) / exact - 1.0).abs() < 1e-12, "{t}, {dof}: {}", upper_tail(t, dof));
        }
    }

    #[test]
    fn the_density_is_the_slope_of_the_distribution_for_all_degrees() {
        for dof in [0.3, 1.0, 2.5, 10.0, 1e3, 1e6, 9.9e7, 1.1e8, 1e12] {
            for t in [0.01, 0.5, 1.2, 1.9, 4.0, 8.0] {
                let h = 1e-4 * t;
                let slope = (upper_tail(t - h, dof) - upper_tail(t + h, dof)) / (2.0 * h);
                let density = log_density(t, dof).exp();
                // Truncation h²/6·p″/p, p″/p ≤ t² + 1 or so; rounding of a tail below ½.
                let rounding = 64.0 * f64::EPSILON * upper_tail(t, dof) / h;
                assert!((slope - density).abs() < density * h * h * (1.0 + t * t) + 100.0 * rounding, "{t}, {dof}");
            }
        }
        // Many degrees are a normal.
        for t in [0.5, 2.0, 6.0] {
            let normal = vi_core::special::normal_cdf(-t);
            assert!((upper_tail(t, 1e17) / normal - 1.0).abs() < 1e-13, "{t}");
        }
        // The two fractions meet.
        for dof in [0.3, 4.0, 1e6] {
            let (below, above) =
                (upper_tail(1.5_f64.sqrt() * (1.0 - 1e-15), dof), upper_tail(1.5_f64.sqrt() * (1.0 + 1e-15), dof));
            assert!((below - above).abs() < 1e-14, "{dof}: {below} {above}");
        }
    }
}

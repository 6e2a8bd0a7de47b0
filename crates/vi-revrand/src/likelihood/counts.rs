//! Probabilities of counts, in forms that keep their digits for counts of any size.

/// `½·log(2π)`.
const HALF_LN_2PI: f64 = 0.918_938_533_204_672_8;
/// Counts are integers that floats hold exactly.
const LARGEST: f64 = 9_007_199_254_740_992.0;
/// Terms of a series or a continued fraction; about `9√a` are needed for a count `a`.
const MOST_TERMS: usize = 1_000_000;

/// Whether `y` is an integer from 0 that a float holds exactly.
pub(super) fn is_count(y: f64) -> bool {
    (0.0..=LARGEST).contains(&y) && y.fract() == 0.0
}

/// The error of Stirling's formula, `log n! − [(n+½)·log n − n + ½·log 2π]`, for an integer `n ≥ 1`.
pub(super) fn stirling_error(n: f64) -> f64 {
    if n < 16.0 {
        return libm::lgamma(n + 1.0) - ((n + 0.5) * n.ln() - n + HALF_LN_2PI);
    }
    // The next term is below 1e-17.
    let m = 1.0 / (n * n);
    (1.0 / 12.0 - m * (1.0 / 360.0 - m * (1.0 / 1260.0 - m * (1.0 / 1680.0 - m / 1188.0)))) / n
}

/// `log P(y)` of a Poisson variable by its deviance: with `Δ = log rate − log y`,
/// `log p = −½·log(2πy) − δ(y) − y·(e^Δ − 1 − Δ)` (Loader 2000).
pub(super) fn poisson_log_mass(y: f64, rate: f64, log_rate: f64) -> f64 {
    if y == 0.0 {
        return -rate;
    }
    let delta = log_rate - y.ln();
    -HALF_LN_2PI - 0.5 * y.ln() - stirling_error(y) - y * (delta.exp_m1() - delta)
}

/// `log P(y)` of a binomial variable at its likeliest probability `y/n`, for `0 < y < n`.
pub(super) fn binomial_mode(y: f64, n: f64) -> f64 {
    let failures = n - y;
    -HALF_LN_2PI - 0.5 * (y * (failures / n)).ln() + stirling_error(n) - stirling_error(y) - stirling_error(failures)
}

/// `P(Y ≤ y) = Q(y+1, rate)`, the regularised upper incomplete gamma function, for an integer `y ≥ 0`; `log_mass` is
/// `log P(Y = y)`.
pub(super) fn poisson_cdf(y: f64, rate: f64, log_mass: f64) -> f64 {
    let a = y + 1.0;
    if rate == 0.0 {
        return 1.0;
    }
    if rate.is_infinite() {
        return 0.0;
    }
    // rateᵃ·e^(−rate)/Γ(a+1) = P(Y = y)·rate/a.
    if rate < a + 1.0 {
        let (mut term, mut sum) = (1.0, 1.0);
        for i in 1..MOST_TERMS {
            term *= rate / (a + i as f64);
            sum += term;
            if term <= sum * f64::EPSILON {
                break;
            }
        }
        return (1.0 - (log_mass.exp() * rate / a) * sum).max(0.0);
    }
    // Q(a, x) = x^a e^(−x)/Γ(a) · 1/(x+1−a − 1(1−a)/(x+3−a − …)), by Lentz's method.
    let fraction = lentz(rate + 1.0 - a, |i| (-i * (i - a), rate + 2.0 * i + 1.0 - a));
    (log_mass.exp() * rate * fraction).min(1.0)
}

/// `P(Y ≤ y) = I_q(n−y, y+1)`, the regularised incomplete beta function, for an integer `0 ≤ y < n`; `p + q = 1`, and `log_mass`
/// is `log P(Y = y)`.
pub(super) fn binomial_cdf(y: f64, n: f64, p: f64, q: f64, log_mass: f64) -> f64 {
    let (a, b) = (n - y, y + 1.0);
    // q^a·p^b/B(a, b) = P(Y = y)·(n−y)·p.
    let front = log_mass.exp() * a * p;
    if q * (a + b + 2.0) < a + 1.0 {
        (front * beta_fraction(a, b, q) / a).min(1.0)
    } else {
        (1.0 - front * beta_fraction(b, a, p) / b).max(0.0)
    }
}

/// The continued fraction of the incomplete beta function (DLMF 8.17.22).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    lentz(1.0, |i| {
        let m = (0.5 * i).floor();
        let numerator = if i % 2.0 == 0.0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (numerator, 1.0)
    })
}

/// `1/(b₀ + a₁/(b₁ + a₂/(b₂ + …)))`, `terms(i) = (a_i, b_i)`, by the modified Lentz method.
fn lentz(b0: f64, terms: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut f = away(b0);
    let (mut c, mut d) = (f, 0.0);
    for i in 1..MOST_TERMS {
        let (numerator, denominator) = terms(i as f64);
        d = 1.0 / away(denominator + numerator * d);
        c = away(denominator + numerator / c);
        let factor = c * d;
        f *= factor;
        if (factor - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    1.0 / f
}

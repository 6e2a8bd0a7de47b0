//! Mean and variance of a fraction whose log odds are a mixture.
//!
//! Every part is a mixture of Gaussians: a Student-t number of `k` degrees of freedom is one whose precision has the factor `eˣ`, `p(x) ∝ exp ½k(x − eˣ)`. For a
//! Gaussian of the deviation `s` equal steps of its deviate converge geometrically, the faster the farther the poles of `σ` are away, at `π/s`.

use std::f64::consts::PI;

use vi_core::special::{normal_cdf, normal_density, sigmoid};

use super::Part;
use crate::student::blurred::TAILS;

/// The deviation of log odds from which on `σ` is a normal distribution function of the variance `π²/3` to 10⁻⁵.
const WIDE: f64 = 20.0;

/// The deviates at which the integrals end, where the density is below rounding.
const FARTHEST: f64 = 8.5;

/// The log weight, in nats, below which a Gaussian of a Student-t number is left out.
const LEAST: f64 = -36.0;

/// `E σ(T)`.
pub(super) fn mean(parts: &[(f64, Part)]) -> f64 {
    average(parts, |m, v| expected(m, v, |y| y))
}

/// `Var σ(T)`.
pub(super) fn variance(parts: &[(f64, Part)]) -> f64 {
    let mean = mean(parts);
    average(parts, |m, v| expected(m, v, |y| (y - mean) * (y - mean)))
}

/// The average of `of` over the means and variances of all Gaussians.
fn average(parts: &[(f64, Part)], of: impl Fn(f64, f64) -> f64) -> f64 {
    let of_part = |part: &Part| match *part {
        Part::Gaussian { mean, deviation } => of(mean, deviation * deviation),
        Part::Blurred { mean, variance, scale, tail } => {
            TAILS[tail].gaussians(variance, scale).map(|(weight, v)| weight * of(mean, v)).sum()
        }
        Part::Student(part) => {
            let (k, square) = (part.dof(), part.scale() * part.scale());
            // As the tails of sums, whose trapezoidal rule is good to 5·10⁻⁶.
            let step = 1.2 / (0.5 * (k + 1.0) + 2.9).sqrt();
            let log = |x: f64| 0.5 * k * (x + 1.0 - x.exp());
            let (mut total, mut sum) = (0.0, 0.0);
            for (way, from) in [(1.0, 0), (-1.0, 1)] {
                for x in (from..).map(|j| way * step * f64::from(j)).take_while(|x| log(*x) > LEAST) {
                    let weight = log(x).exp();
                    total += weight;
                    sum += weight * of(part.location(), square * (-x).exp());
                }
            }
            sum / total
        }
    };
    parts.iter().filter(|(weight, _)| *weight > 0.0).map(|(weight, part)| weight * of_part(part)).sum()
}

/// `E f(σ(T))`, `T ~ N(m, v)`.
fn expected(m: f64, v: f64, f: impl Fn(f64) -> f64) -> f64 {
    let s = v.sqrt();
    if s == 0.0 {
        return f(sigmoid(m));
    }
    if s > WIDE {
        return of_wide(m, v, f);
    }
    // The error of the rule is e^(−2π²/h²) of a Gaussian, and e^(½p² − 2πp/h) of a pole at the distance p.
    let step = if s < 0.5 { 1.0 } else { (0.75 / s).min(0.5) };
    let (mut total, mut sum) = (1.0, f(sigmoid(m)));
    for z in (1..).map(|j| step * f64::from(j)).take_while(|z| *z < FARTHEST) {
        let weight = (-0.5 * z * z).exp();
        total += 2.0 * weight;
        sum += weight * (f(sigmoid(m + s * z)) + f(sigmoid(m - s * z)));
    }
    sum / total
}

/// [`expected`] of a polynomial `f` of degree two where `σ` is nearly 0 or 1: with `E σ` and `E σ′` of a normal distribution function in its place.
fn of_wide(m: f64, v: f64, f: impl Fn(f64) -> f64) -> f64 {
    let deviation = (v + PI * PI / 3.0).sqrt();
    let (above, between) = (normal_cdf(m / deviation), normal_density(m / deviation) / deviation);
    let (low, middle, high) = (f(0.0), f(0.5), f(1.0));
    // f(y) = low + (high − low)y − bend·y(1 − y), and y(1 − y) is the slope of σ.
    let bend = 2.0 * (low + high) - 4.0 * middle;
    low + (high - low) * above - bend * between
}

#[cfg(test)]
mod tests {
    use vi_core::Projection;

    use super::*;
    use crate::{Marginal, Student, Transform};

    /// Mean, variance and score by equal steps of the probability.
    fn by_quantiles(marginal: &Marginal, y: f64) -> [f64; 3] {
        let n = 20_000;
        let at = |i: i32| marginal.quantile((f64::from(i) + 0.5) / f64::from(n)).unwrap();
        let labels: Vec<f64> = (0..n).map(at).collect();
        let of = |f: &dyn Fn(f64) -> f64| labels.iter().map(|y| f(*y)).sum::<f64>() / f64::from(n);
        let mean = of(&|y| y);
        // ½E|Y − Y′| = ∫ y(2F(y) − 1) dF.
        let apart: f64 =
            labels.iter().zip(0..).map(|(y, i)| y * (f64::from(2 * i + 1) / f64::from(n) - 1.0)).sum::<f64>();
        [mean, of(&|y| (y - mean).powi(2)), of(&|own| (own - y).abs()) - apart / f64::from(n)]
    }

    #[test]
    fn moments_and_scores_of_fractions_are_those_of_their_quantiles() {
        let seen = |mean, variance| Projection { mean, variance };
        let student = |location, scale, dof| Student::new(location, scale, dof).unwrap();
        let all = [
            Marginal::of_gaussians(&[(1.0, seen(-1.3, 0.04))]),
            Marginal::of_gaussians(&[(0.3, seen(-4.0, 1.0)), (0.7, seen(0.5, 9.0))]),
            Marginal::of_gaussians(&[(1.0, seen(3.0, 900.0))]),
            Marginal::of_students(&[(0.5, student(0.4, 0.3, 3.0)), (0.5, student(1.0, 0.7, 40.0))]),
            Marginal::of_students(&[(1.0, student(-2.0, 1.5, 0.6))]),
            Marginal::of_sums([(0.4, seen(-5.0, 0.1), 0.3, 0), (0.6, seen(-4.0, 0.5), 0.6, 5)].into_iter()),
        ];
        for (k, marginal) in all.into_iter().enumerate() {
            let marginal = marginal.transformed(Transform::Logit);
            for y in [-0.5, 0.0, 0.003, 0.3, 0.9, 1.0] {
                let [mean, variance, crps] = by_quantiles(&marginal, y);
                // Midpoints of 1/n, and 10⁻⁵ of the rule of wide Gaussians and of tails.
                assert!((marginal.mean() - mean).abs() < 2e-5, "{k}: {} {mean}", marginal.mean());
                assert!((marginal.variance() - variance).abs() < 2e-5, "{k}: {} {variance}", marginal.variance());
                assert!((marginal.crps(y) - crps).abs() < 4e-5, "{k}, {y}: {} {crps}", marginal.crps(y));
            }
        }
    }

    /// Far narrower than the slope of σ, and far below 1, digits are relative.
    #[test]
    fn narrow_and_small_fractions_keep_their_digits() {
        let of = |mean: f64, deviation: f64| {
            let seen = Projection { mean, variance: deviation * deviation };
            Marginal::of_gaussians(&[(1.0, seen)]).transformed(Transform::Logit)
        };
        let narrow = of(0.7, 1e-6);
        let slope = sigmoid(0.7) * sigmoid(-0.7);
        // The curvature of σ adds a share of the deviation.
        assert!((narrow.standard_deviation() / (1e-6 * slope) - 1.0).abs() < 1e-6);
        let small = of(-40.0, 1.0);
        // That of a log-normal number, for which e⁻⁴⁰ stands.
        assert!((small.mean().ln() + 39.5).abs() < 1e-7, "{}", small.mean().ln());
        assert!(((small.standard_deviation() / small.mean()).powi(2) / 1_f64.exp_m1() - 1.0).abs() < 1e-6);
    }
}

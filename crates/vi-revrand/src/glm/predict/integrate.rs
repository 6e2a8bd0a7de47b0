//! Averages of smooth functions over a Gaussian.

use crate::{RevrandError, check};

/// The number of standard deviations beyond which there is less than 1e-20 of the mass.
const REACH: f64 = 9.5;
/// The first step, in standard deviations.
const FIRST_STEP: f64 = 0.5;
/// The most halvings of the step: 160 000 nodes.
const MOST_HALVINGS: usize = 12;
/// The tolerance, relative to the average of the absolute value.
const TOLERANCE: f64 = 1e-12;
/// The absolute tolerance of a probability: the rounding of a hundred numbers near 1. What lies beyond [`REACH`] is far below.
const PROBABILITY: f64 = 100.0 * f64::EPSILON;
/// If halving the step no longer reduces the error, it is the integrand's own rounding, which may be this large: a distribution
/// function of counts in the millions is accurate to 1e-11.
const ROUNDING: f64 = 1e-9;

/// `E g(f)` under `f ~ N(a, v)`, to [`TOLERANCE`].
///
/// # Errors
/// `Quadrature` if the tolerance is not reached; `Overflow` if the average is not finite.
pub(super) fn average(quantity: &'static str, a: f64, v: f64, g: impl Fn(f64) -> f64) -> Result<f64, RevrandError> {
    trapezoid(quantity, a, v, f64::MIN_POSITIVE, g)
}

/// The average of a `g` between 0 and 1, to [`TOLERANCE`] or [`PROBABILITY`], whichever is wider.
///
/// # Errors
/// `Quadrature`.
pub(super) fn probability(quantity: &'static str, a: f64, v: f64, g: impl Fn(f64) -> f64) -> Result<f64, RevrandError> {
    trapezoid(quantity, a, v, PROBABILITY / TOLERANCE, g)
}

/// The trapezoid rule, its step halved until nothing changes by more than [`TOLERANCE`], relative to the average of `|g|` or to
/// `least`. For an analytic `g` the error falls geometrically in the number of nodes.
fn trapezoid(quantity: &'static str, a: f64, v: f64, least: f64, g: impl Fn(f64) -> f64) -> Result<f64, RevrandError> {
    let root = v.sqrt();
    if root == 0.0 {
        return Ok(check::result(quantity, g(a))?);
    }
    let term = |z: f64| {
        let value = vi_core::special::normal_density(z) * g(a + root * z);
        [value, value.abs()]
    };
    let plus = |[x, y]: [f64; 2], [dx, dy]: [f64; 2]| [x + dx, y + dy];
    let mut step = FIRST_STEP;
    let at = |i: f64, step: f64| {
        let z = i * step;
        if z > REACH { None } else { Some(z) }
    };
    let mut sum = term(0.0);
    for i in 1.. {
        let Some(z) = at(f64::from(i), step) else { break };
        sum = plus(sum, plus(term(z), term(-z)));
    }
    let mut error = f64::INFINITY;
    for _ in 0..MOST_HALVINGS {
        let (value_before, error_before) = (sum[0] * step, error);
        step *= 0.5;
        for i in (1..).step_by(2) {
            let Some(z) = at(f64::from(i), step) else { break };
            sum = plus(sum, plus(term(z), term(-z)));
        }
        let [value, size] = sum.map(|sum| sum * step);
        check::result(quantity, value)?;
        error = (value - value_before).abs() / size.max(least);
        let only_rounding = error <= ROUNDING && error >= error_before;
        if error <= TOLERANCE || only_rounding || size < f64::MIN_POSITIVE {
            return Ok(value);
        }
    }
    Err(vi_core::Error::Quadrature { quantity, mean: a, variance: v, relative_error: error }.into())
}

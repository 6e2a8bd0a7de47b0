//! Averages of smooth functions over a Gaussian.

use crate::RevrandError;

/// Beyond this many standard deviations there is less than 1e-20 of the mass.
const REACH: f64 = 9.5;
/// The first step, in standard deviations.
const FIRST_STEP: f64 = 0.5;
/// The step is halved at most this often: 160 000 nodes.
const MOST_HALVINGS: usize = 12;
/// Relative to the average of the absolute value.
const TOLERANCE: f64 = 1e-12;

/// `E g(f)` under `f ~ N(a, v)`, by the trapezoid rule with its step halved until nothing changes. For an analytic `g` the error falls
/// geometrically in the number of nodes.
///
/// # Errors
/// `Quadrature` when [`TOLERANCE`] is not reached; `Overflow` when the average is not finite.
pub(super) fn average(quantity: &'static str, a: f64, v: f64, g: impl Fn(f64) -> f64) -> Result<f64, RevrandError> {
    let root = v.sqrt();
    if root == 0.0 {
        return finite(quantity, g(a));
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
        let before = sum[0] * step;
        step *= 0.5;
        for i in (1..).step_by(2) {
            let Some(z) = at(f64::from(i), step) else { break };
            sum = plus(sum, plus(term(z), term(-z)));
        }
        let [value, size] = sum.map(|sum| sum * step);
        finite(quantity, value)?;
        error = (value - before).abs() / size.max(f64::MIN_POSITIVE);
        if error <= TOLERANCE || size < f64::MIN_POSITIVE {
            return Ok(value);
        }
    }
    Err(vi_core::Error::Quadrature { quantity, mean: a, variance: v, relative_error: error }.into())
}

pub(super) fn finite(quantity: &'static str, value: f64) -> Result<f64, RevrandError> {
    if value.is_finite() { Ok(value) } else { Err(vi_core::Error::Overflow { quantity, value }.into()) }
}

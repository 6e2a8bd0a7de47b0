//! The quantile of a count.

use vi_core::Error;
use vi_core::special::normal_quantile;

use super::CountPrediction;
use crate::ModelError;

/// The largest whole number up to which floats are exact.
const LARGEST: f64 = 9_007_199_254_740_992.0;

/// The smallest whole number `y` with `cdf(y) ≥ p`, `0 < p < 1`, under `t ~ N(a, ν)`.
///
/// The search starts at the quantile that the count would have if its own variability were part of the predictor's, `t = a +
/// z·√(ν + 1/I)` with the Fisher information `I`; it goes on in growing steps until the quantile is between two labels, then
/// takes secants of `Φ⁻¹(cdf)`, which is nearly straight, and every third time the middle.
///
/// # Errors
/// `Overflow` for a quantile beyond 2⁵³, and those of `cdf`.
pub(super) fn search<L: CountPrediction>(
    likelihood: &L,
    p: f64,
    (a, nu): (f64, f64),
    cdf: impl Fn(f64) -> Result<f64, ModelError>,
) -> Result<f64, ModelError> {
    let largest = likelihood.largest();
    let z = normal_quantile(p);
    let information = likelihood.fisher_information(a);
    let sigma = (nu + information.recip()).sqrt();
    let guess = |z: f64| likelihood.predictive_moments(if z == 0.0 { a } else { a + z * sigma }, 0.0).0;
    let start = guess(z);
    let mut y = if start.is_finite() { start.floor().clamp(0.0, largest.min(LARGEST)) } else { 0.0 };
    // A standard deviation of the label there, for the first step.
    let mut stride = (guess(z + 0.25) - start).abs();
    if !stride.is_finite() || stride < 1.0 {
        stride = 1.0;
    }
    // Below: cdf < p. Above: cdf ≥ p.
    let (mut below, mut above) = ((-1.0, 0.0), (largest, 1.0));
    let mut bounded = largest.is_finite();
    let mut secants = 0;
    while !(bounded && above.0 - below.0 <= 1.0) {
        if y > LARGEST {
            return Err(Error::Overflow { quantity: "quantile of a count", value: y }.into());
        }
        let here = cdf(y)?;
        let was_below = here < p;
        if was_below {
            below = (y, here);
        } else {
            (above, bounded) = ((y, here), true);
        }
        let next = if above.1 < 1.0 && bounded && below.1 > 0.0 {
            secants += 1;
            if secants % 3 == 0 { 0.5 * below.0 + 0.5 * above.0 } else { secant(below, above, z) }
        } else if was_below {
            let step = step_towards(z, here, stride);
            stride = 2.0 * step.max(stride);
            y + step
        } else {
            let step = step_towards(z, here, stride);
            stride = 2.0 * step.max(stride);
            y - step
        };
        let next = next.floor();
        // Always inside the bracket, so that every step makes it smaller.
        y = next.max(below.0 + 1.0);
        if bounded {
            y = y.min(above.0 - 1.0);
        }
        if y <= below.0 || bounded && y >= above.0 {
            break; // beyond 2⁵³ neighbours are equal
        }
    }
    Ok(above.0)
}

/// The distance from `cdf` to the quantile, estimated on the normal scale, `stride` being a quarter of its unit; no less than 1
/// nor than `stride`.
fn step_towards(z: f64, cdf: f64, stride: f64) -> f64 {
    if cdf > 0.0 && cdf < 1.0 {
        let gap = (z - normal_quantile(cdf)).abs();
        (4.4 * gap * stride).ceil().clamp(1.0, 16.0 * stride)
    } else {
        4.0 * stride
    }
}

/// Where the line through two points of `Φ⁻¹(cdf)` reaches `z`, rounded to the side that has not been tried.
pub(super) fn secant(below: (f64, f64), above: (f64, f64), z: f64) -> f64 {
    let (low, high) = (normal_quantile(below.1), normal_quantile(above.1));
    let share = (z - low) / (high - low);
    if share.is_finite() { below.0 + share.clamp(0.0, 1.0) * (above.0 - below.0) } else { 0.5 * (below.0 + above.0) }
}

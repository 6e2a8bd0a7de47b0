//! Quantiles by bisection (report (26)).

use super::row::RowPrediction;
use crate::RevrandError;
use crate::likelihood::GlmLikelihood;

/// Doublings of a bracket before it is given up.
const MOST_DOUBLINGS: usize = 1100;

/// Checks a probability.
///
/// # Errors
/// `Setting`.
pub(super) fn check(name: &'static str, value: f64) -> Result<(), RevrandError> {
    if value > 0.0 && value < 1.0 {
        Ok(())
    } else {
        Err(vi_core::Error::Setting { name, value, requirement: "between 0 and 1, both excluded" }.into())
    }
}

/// The smallest `y` with `P(Y ≤ y) ≥ p`: to the next float for continuous labels, exactly for counts.
///
/// # Errors
/// `Quadrature`, `Overflow`.
pub(super) fn quantile<L: GlmLikelihood>(row: &RowPrediction<'_, L>, p: f64) -> Result<f64, RevrandError> {
    let reached = |y: f64| Ok::<_, RevrandError>(row.cdf(y)? >= p);
    let far = |value| vi_core::Error::Overflow { quantity: "a predictive quantile", value };
    if row.is_discrete() {
        if reached(0.0)? {
            return Ok(0.0);
        }
        let (mut below, mut above) = (0.0, 1.0);
        while !reached(above)? {
            (below, above) = (above, 2.0 * above);
            if above > 1e15 {
                return Err(far(above).into());
            }
        }
        while above - below > 1.0 {
            let middle: f64 = (0.5 * (below + above)).floor();
            if reached(middle)? { above = middle } else { below = middle }
        }
        return Ok(above);
    }
    let centre = row.mean()?;
    let mut width = row.variance()?.sqrt();
    let (mut below, mut above) = (centre - width, centre + width);
    for _ in 0..MOST_DOUBLINGS {
        if reached(above)? {
            break;
        }
        (below, above) = (above, above + width);
        width *= 2.0;
    }
    width = above - below;
    for _ in 0..MOST_DOUBLINGS {
        if !reached(below)? {
            break;
        }
        (below, above) = (below - width, below);
        width *= 2.0;
    }
    loop {
        let middle = f64::midpoint(below, above);
        if !(middle > below && middle < above) {
            return Ok(above);
        }
        if reached(middle)? { above = middle } else { below = middle }
    }
}

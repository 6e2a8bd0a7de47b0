//! Quantiles by bisection (report (26)).

use super::row::RowPrediction;
use crate::RevrandError;
use crate::likelihood::GlmLikelihood;

/// The number of doublings of a bracket after which the search fails.
const MOST_DOUBLINGS: usize = 1100;
/// The largest count that is returned as a quantile; larger floats skip whole numbers.
const LARGEST: f64 = 1e15;

/// The smallest `y` with `P(Y ≤ y) ≥ p`: to the next float for continuous labels, exactly for counts.
///
/// # Errors
/// `Quadrature`, `Overflow`.
pub(super) fn quantile<L: GlmLikelihood>(row: &RowPrediction<'_, L>, p: f64) -> Result<f64, RevrandError> {
    let reached = |y: f64| Ok(row.cdf(y)? >= p);
    if !row.is_discrete() {
        let (mut below, mut above) = bracket(row.mean()?, row.variance()?.sqrt(), reached)?;
        loop {
            let middle = f64::midpoint(below, above);
            if !(middle > below && middle < above) {
                return Ok(above);
            }
            if reached(middle)? { above = middle } else { below = middle }
        }
    }
    // A count near the middle of the distribution, where the probability is neither 0 nor 1; the mean may overflow.
    let centre = row.typical().min(LARGEST).floor();
    let (mut below, mut above) = bracket(centre, centre.sqrt().ceil().max(1.0), reached)?;
    if above > LARGEST {
        return Err(vi_core::Error::Overflow { quantity: "a predictive quantile", value: above }.into());
    }
    while above - below > 1.0 {
        let middle: f64 = (0.5 * (below + above)).floor();
        if reached(middle)? { above = middle } else { below = middle }
    }
    Ok(above)
}

/// Two numbers of which only the upper one is `reached`, from `centre` by steps that double. From integers it gives integers.
fn bracket(
    centre: f64,
    width: f64,
    reached: impl Fn(f64) -> Result<bool, RevrandError>,
) -> Result<(f64, f64), RevrandError> {
    let up = !reached(centre)?;
    let (mut edge, mut step) = (centre, if up { width } else { -width });
    for _ in 0..MOST_DOUBLINGS {
        let next = edge + step;
        if reached(next)? == up {
            return Ok(if up { (edge, next) } else { (next, edge) });
        }
        (edge, step) = (next, 2.0 * step);
    }
    Err(vi_core::Error::Overflow { quantity: "a predictive quantile", value: edge }.into())
}

//! A label's place in its own prediction, in normal deviations, and the label at a place.

use vi_core::special::{normal_cdf, normal_quantile};

use crate::online::{Observation, Prediction};
use crate::{Interval, ModelError, check};

/// Deviations beyond which a distribution function has few digits left; on from there a deviation is a fourth of the way from the median.
const STRAIGHT: f64 = 4.0;
/// Beyond all places of a class.
const FARTHEST: f64 = 40.0;
/// The largest distance of a label that is a place still.
const LARGEST: f64 = 1e300;

/// Where a label fell.
pub(super) enum Place {
    /// Of a number or a count: `Φ⁻¹(P(Y < y))` and `Φ⁻¹(P(Y ≤ y))`.
    Number { low: f64, high: f64 },
    /// Of a class, and those of all classes; the probability of all classes before it, and with it.
    Class { class: usize, all: Vec<f64>, within: (f64, f64) },
}

impl Place {
    /// The place of a label; `below` is [`Prediction::below_of`] it, which is that of a number in its range.
    pub(super) fn of(
        predicted: &Prediction,
        observed: Observation,
        below: Option<(f64, f64)>,
    ) -> Result<Option<Self>, ModelError> {
        let label = observed.label;
        if let Some(probabilities) = probabilities(predicted) {
            let classes = probabilities.len();
            let class = (0..classes).find(|class| *class as f64 == label);
            let class = class.ok_or(ModelError::ClassLabel { index: 0, value: label, classes })?;
            let below: f64 = probabilities[..class].iter().sum();
            let within = (below, below + probabilities[class]);
            return Ok(Some(Self::Class { class, all: of_classes(&probabilities), within }));
        }
        let (Some((below, up_to)), Some(line)) = (below, Line::of(predicted)) else { return Ok(None) };
        if !line.whole {
            let within = |p: f64| if p > 0.0 && p < 1.0 { (line.quantile)(p) } else { Ok(label) };
            let at = line.place(if observed.is_range() { within(up_to)? } else { label }, up_to)?;
            return Ok(Some(Self::Number { low: at, high: at }));
        }
        let low = if below > 0.0 { line.place(label - 1.0, below)? } else { f64::NEG_INFINITY };
        Ok(Some(Self::Number { low, high: line.place(label, up_to)? }))
    }

    /// The normal deviations of a label at a `share` of the way from `P(Y < y)` to `P(Y ≤ y)`.
    pub(super) fn score(&self, share: f64) -> f64 {
        match *self {
            Self::Number { low, high } if low == high => low,
            Self::Number { low, high } => at_share((normal_cdf(low), normal_cdf(high)), share),
            Self::Class { within, .. } => at_share(within, share),
        }
    }
}

/// The normal deviations at a `share` of the way between two probabilities, at most [`FARTHEST`].
pub(super) fn at_share((low, high): (f64, f64), share: f64) -> f64 {
    let below = low + share * (high - low);
    if below > 0.0 && below < 1.0 { normal_quantile(below) } else { FARTHEST.copysign(below - 0.5) }
}

/// The probabilities of a prediction of classes.
fn probabilities(predicted: &Prediction) -> Option<Vec<f64>> {
    match predicted {
        Prediction::Two(seen) => Some(vec![1.0 - seen.probability, seen.probability]),
        Prediction::Probit(seen) => Some(vec![1.0 - seen.mean, seen.mean]),
        Prediction::Classes(seen) => Some(seen.probabilities.clone()),
        _ => None,
    }
}

/// The place of each class, or none for other labels: `z` such that all that is more probable than the class has the probability of `|N(0, 1)| < z`.
pub(super) fn classes(predicted: &Prediction) -> Option<Vec<f64>> {
    probabilities(predicted).map(|probabilities| of_classes(&probabilities))
}

fn of_classes(probabilities: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..probabilities.len()).collect();
    order.sort_by(|a, b| probabilities[*b].total_cmp(&probabilities[*a]));
    let mut places = vec![0.0; probabilities.len()];
    // Summed from the least probable, so that what is nearly certain costs no digits.
    let mut rest = 0.0;
    for class in order.iter().skip(1).rev() {
        rest += probabilities[*class];
        let tail = 0.5 * rest;
        places[*class] = if tail > 0.0 { (-normal_quantile(tail.min(0.5))).clamp(0.0, FARTHEST) } else { FARTHEST };
    }
    places
}

/// A label that is a number: its distribution, read by deviations.
struct Line<'a> {
    quantile: Box<dyn Fn(f64) -> Result<f64, ModelError> + 'a>,
    /// True for whole numbers.
    whole: bool,
    /// It lies between these.
    range: (f64, f64),
}

impl<'a> Line<'a> {
    fn of(predicted: &'a Prediction) -> Option<Self> {
        let counts = |quantile| Some(Self { quantile, whole: true, range: (0.0, f64::INFINITY) });
        match predicted {
            Prediction::Number(seen) => {
                let range = seen.label.transform().range();
                Some(Self { quantile: Box::new(|p| seen.quantile(p)), whole: false, range })
            }
            Prediction::Count(seen) => counts(Box::new(|p| seen.quantile(p))),
            Prediction::Trials(seen) => counts(Box::new(|p| seen.quantile(p))),
            Prediction::Spread(seen) => counts(Box::new(|p| seen.quantile(p))),
            Prediction::Inflated(seen) => counts(Box::new(|p| seen.quantile(p))),
            Prediction::Two(_) | Prediction::Probit(_) | Prediction::Classes(_) | Prediction::Survival(_) => None,
        }
    }

    /// The median, and how far from it the quantile at [`STRAIGHT`] deviations is on the side of `z`.
    fn side(&self, z: f64) -> Result<(f64, f64), ModelError> {
        let median = (self.quantile)(0.5)?;
        let away = ((self.quantile)(normal_cdf(STRAIGHT.copysign(z)))? - median).abs();
        Ok((median, away.max(if self.whole { 1.0 } else { f64::MIN_POSITIVE })))
    }

    /// The place of `y`, whose distribution function is `p`.
    fn place(&self, y: f64, p: f64) -> Result<f64, ModelError> {
        let z = if p > 0.0 && p < 1.0 { normal_quantile(p) } else { (p - 0.5) / 0.0 };
        if z.abs() <= STRAIGHT {
            return Ok(z);
        }
        let (median, away) = self.side(z)?;
        Ok((STRAIGHT * ((y - median).abs() / away)).clamp(STRAIGHT, LARGEST).copysign(z))
    }

    /// The label at a place.
    fn label(&self, z: f64) -> Result<f64, ModelError> {
        if z.abs() <= STRAIGHT {
            return (self.quantile)(normal_cdf(z));
        }
        let (median, away) = self.side(z)?;
        let label = median + away * (z / STRAIGHT);
        // Of a count the largest label `y` with `y − 1` no farther up, or the least that is no farther down.
        let within = match (self.whole, z > 0.0) {
            (true, true) => label.floor() + 1.0,
            (true, false) => label.ceil(),
            (false, _) => label,
        };
        Ok(check::result("bound of an interval", within.clamp(self.range.0, self.range.1))?)
    }
}

/// The labels between two places, or none for classes.
pub(super) fn between(predicted: &Prediction, low: f64, high: f64) -> Result<Option<Interval>, ModelError> {
    let Some(line) = Line::of(predicted) else { return Ok(None) };
    Ok(Some(Interval { lower: line.label(low)?, upper: line.label(high)? }))
}

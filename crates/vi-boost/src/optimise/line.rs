//! The step along a direction.

use super::{Point, dot};

/// A direction of descent from a point.
pub(super) struct Along<'a> {
    pub(super) here: &'a Point,
    pub(super) direction: &'a [f64],
    /// `gᵀd < 0`.
    pub(super) slope: f64,
}

/// The least share of the decrease predicted by its slope that a step must achieve.
const GAIN: f64 = 1e-4;

/// The largest share that the slope at the end of a step may have of that at its start.
const SLOPE: f64 = 0.9;

/// The most evaluations of one line search.
const TRIALS: usize = 24;

/// The largest factor by which a step that is too short is lengthened.
const FURTHER: f64 = 4.0;

/// One end of a bracket: the step, and value and slope there (infinite where the function is not finite).
#[derive(Clone, Copy)]
struct Mark {
    step: f64,
    value: f64,
    slope: f64,
}

impl Along<'_> {
    /// A point that satisfies the strong Wolfe conditions, or the lowest found if the trials are used up; `None` if none is lower
    /// than `here`.
    pub(super) fn search<F>(&self, f: &mut F, left: &mut usize) -> Option<Point>
    where
        F: FnMut(&[f64], &mut [f64]) -> f64,
    {
        let mut low = Mark { step: 0.0, value: self.here.value, slope: self.slope };
        let mut high: Option<Mark> = None;
        let mut best: Option<Point> = None;
        let mut step = 1.0;
        for _ in 0..TRIALS {
            if *left == 0 {
                break;
            }
            *left -= 1;
            let point = self.at(step, f);
            let finite = point.is_finite();
            let slope = dot(&point.gradient, self.direction);
            let mark = if finite {
                Mark { step, value: point.value, slope }
            } else {
                Mark { step, value: f64::INFINITY, slope: f64::INFINITY }
            };
            let enough = mark.value <= self.here.value + GAIN * step * self.slope;
            let done = enough && mark.slope.abs() <= SLOPE * self.slope.abs();
            if finite && mark.value < best.as_ref().map_or(self.here.value, |best| best.value) {
                best = Some(point);
            }
            if done {
                break;
            }
            if !enough || mark.value >= low.value || mark.slope >= 0.0 {
                high = Some(mark);
            } else {
                low = mark;
            }
            step = match high {
                Some(high) => between(low, high),
                None => FURTHER * step,
            };
            if step == low.step || high.is_some_and(|high| step >= high.step) {
                break;
            }
        }
        best
    }

    fn at<F: FnMut(&[f64], &mut [f64]) -> f64>(&self, step: f64, f: &mut F) -> Point {
        let x: Vec<f64> = self.here.x.iter().zip(self.direction).map(|(x, d)| x + step * d).collect();
        let mut gradient = vec![0.0; x.len()];
        let value = f(&x, &mut gradient);
        Point { x, value, gradient }
    }
}

/// The minimum of the cubic through both ends, kept a tenth of the bracket away from them; a fifth of the way if the far end has
/// no finite value.
fn between(low: Mark, high: Mark) -> f64 {
    let width = high.step - low.step;
    let share = if high.value.is_finite() && high.slope.is_finite() {
        // Nocedal and Wright (3.59), with both slopes per bracket.
        let (a, b) = (low.slope * width, high.slope * width);
        let d1 = a + b - 3.0 * (high.value - low.value);
        let d2 = (d1 * d1 - a * b).max(0.0).sqrt();
        1.0 - (b + d2 - d1) / (b - a + 2.0 * d2)
    } else {
        0.2
    };
    let share = if share.is_finite() { share.clamp(0.1, 0.9) } else { 0.5 };
    low.step + share * width
}

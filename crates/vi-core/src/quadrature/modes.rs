//! The modes of the tilted density `p(y|t)·N(t|a, ν)`.

use crate::Error;
use crate::likelihood::Likelihood;

/// The most iterations of the search in one bracket; bisection alone ends in about 60.
const MAX_ITERATIONS: usize = 200;
/// The scan's first step, in standard deviations: steps are even up to `EVEN` and grow beyond.
const STEP: f64 = 0.125;
const EVEN: f64 = 8.0;
const GROWTH: f64 = 1.5;
const FARTHEST: f64 = 1e12;

/// A local maximum of `log p(y|t) − (t−a)²/2ν`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mode {
    /// `t − a`.
    pub(crate) offset: f64,
    /// The standard deviation of the Gaussian that has the same curvature there.
    pub(crate) scale: f64,
}

/// The mode, or the modes from left to right for a likelihood that is not log-concave.
///
/// For those the slope is scanned at steps of an eighth of a standard deviation, and every change of sign is followed to a mode:
/// structure that does not show in the slope at these points is missed.
///
/// # Errors
/// [`Error::ImproperSite`] when the slope is not finite or has no change of sign.
pub(crate) fn modes<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, nu: f64) -> Result<Vec<Mode>, Error> {
    let slope = |offset: f64| likelihood.slope(y, a + offset) - offset / nu;
    let lost = |slope: f64| Error::ImproperSite { slope, curvature: f64::NAN, variance: nu };
    let mode = |low: f64, high: f64| -> Result<Mode, Error> {
        let offset = climb(likelihood, y, a, nu, (low, high)).ok_or_else(|| lost(f64::NAN))?;
        let curvature = likelihood.curvature(y, a + offset) + 1.0 / nu;
        let scale = if curvature > 0.0 { curvature.sqrt().recip() } else { nu.sqrt() };
        Ok(Mode { offset, scale })
    };
    if likelihood.is_log_concave() {
        // The slope falls, so the mode is no further than it would be with the constant slope at a, nor beyond the likelihood's
        // own mode.
        let at = likelihood.slope(y, a);
        let far = nu * at;
        let peak = likelihood.peak(y).map_or(f64::INFINITY, |peak| (peak - a).abs());
        let far = if far.abs() > peak { peak.copysign(far) } else { far };
        return if far.is_finite() { Ok(vec![mode(far.min(0.0), far.max(0.0))?]) } else { Err(lost(at)) };
    }
    let sigma = nu.sqrt();
    let mut marks = vec![0.0];
    let mut mark = 0.0;
    while mark < FARTHEST {
        mark = if mark < EVEN { mark + STEP } else { mark * GROWTH };
        marks.push(sigma * mark);
        marks.insert(0, -sigma * mark);
    }
    let mut found = Vec::new();
    let mut left = slope(marks[0]);
    for pair in marks.windows(2) {
        let right = slope(pair[1]);
        if left > 0.0 && right <= 0.0 {
            found.push(mode(pair[0], pair[1])?);
        }
        left = right;
    }
    if found.is_empty() { Err(lost(slope(0.0))) } else { Ok(found) }
}

/// A zero of the slope in a bracket where it goes from positive to negative, to a small part of the mode's width.
fn climb<L: Likelihood + ?Sized>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
    (mut low, mut high): (f64, f64),
) -> Option<f64> {
    // The end where the slope says more of the way: the likelihood's own mode, if the bracket ends there, else a.
    let steepest = |offset: f64| likelihood.curvature(y, a + offset);
    let far = if high > 0.0 { high } else { low };
    let mut offset = if low < 0.0 && high > 0.0 {
        0.5 * (low + high)
    } else if steepest(far) > steepest(0.0) {
        far
    } else {
        0.0_f64.clamp(low, high)
    };
    let mut last_step = high - low;
    for _ in 0..MAX_ITERATIONS {
        let slope = likelihood.slope(y, a + offset) - offset / nu;
        let curvature = likelihood.curvature(y, a + offset) + 1.0 / nu;
        if slope.is_nan() || curvature.is_nan() {
            return None;
        }
        if slope > 0.0 {
            low = offset;
        } else {
            high = offset;
        }
        let newton = slope / curvature;
        let inside = curvature > 0.0 && offset + newton >= low && offset + newton <= high;
        let step = if inside && newton.abs() <= 0.5 * last_step { newton } else { 0.5 * (low + high) - offset };
        let small = if curvature > 0.0 { 1e-4 / curvature.sqrt() } else { 0.0 };
        if inside && newton.abs() <= small || high - low <= 4.0 * f64::EPSILON * offset.abs() {
            return Some(offset + step);
        }
        last_step = step.abs();
        offset += step;
    }
    None
}

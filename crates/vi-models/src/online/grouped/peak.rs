//! The peak of a smooth function of a few coordinates, by Newton's method with differences of slopes.

use vi_core::Error;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, Par};

/// A peak: where it is, how high, and minus the second derivatives there.
#[derive(Debug, Clone)]
pub(super) struct Peak {
    pub(super) at: Vec<f64>,
    pub(super) value: f64,
    pub(super) curvature: Mat<f64>,
}

/// The step of the differences of slopes.
const STEP: f64 = 1e-4;

/// The longest step of the search, in units of the coordinates.
const LONGEST: f64 = 2.0;

/// The most steps; most searches take three.
const MAX_STEPS: usize = 60;

/// Below this promised rise a step is judged by its slopes: values of many rows round by more.
const NEAR: f64 = 1e-5;

/// A value and its slopes.
type Valued = (f64, Vec<f64>);

/// Climbs from `start` until a step promises less than `tolerance`, in units of the value. Curvatures are differences of slopes at the start and
/// at the end, and follow the slopes that the steps meet in between.
///
/// # Errors
/// Those of `of` at `start`; elsewhere an error is a value that is too low.
pub(super) fn climb(
    start: Vec<f64>,
    tolerance: f64,
    mut of: impl FnMut(&[f64]) -> Result<Valued, Error>,
) -> Result<Peak, Error> {
    let mut at = start;
    let (mut value, mut slopes) = of(&at)?;
    let mut curvature = differences(&at, &slopes, &mut of)?;
    let mut is_here = true;
    for _ in 0..MAX_STEPS {
        let (step, promised) = newton(&curvature, &slopes)?;
        let next = if promised < tolerance { None } else { risen(&at, value, &step, promised, &mut of) };
        if let Some((share, next)) = next {
            at.iter_mut().zip(&step).for_each(|(at, step)| *at += share * step);
            let taken: Vec<f64> = step.iter().map(|step| share * step).collect();
            follow(&mut curvature, &taken, &slopes, &next.1);
            (value, slopes) = next;
            is_here = false;
        } else if is_here {
            break;
        } else {
            curvature = differences(&at, &slopes, &mut of)?;
            is_here = true;
        }
    }
    if !is_here {
        curvature = differences(&at, &slopes, &mut of)?;
    }
    Ok(Peak { at, value, curvature })
}

/// The largest of the shares 1, ½, ¼… of a step that leads to a sufficient rise, or near the peak to a slope along the step of no more than half,
/// and what is found there.
fn risen(
    at: &[f64],
    value: f64,
    step: &[f64],
    promised: f64,
    of: &mut impl FnMut(&[f64]) -> Result<Valued, Error>,
) -> Option<(f64, Valued)> {
    let mut share = 1.0;
    while share > 1e-6 {
        let next: Vec<f64> = at.iter().zip(step).map(|(at, step)| at + share * step).collect();
        if let Ok((higher, slopes)) = of(&next) {
            let along: f64 = step.iter().zip(&slopes).map(|(step, slope)| step * slope).sum();
            let rises = higher > value + 1e-4 * share * promised;
            if rises || (promised < NEAR && along.abs() < promised) {
                return Some((share, (higher, slopes)));
            }
        }
        share *= 0.5;
    }
    None
}

/// The symmetric rank-one change by which a curvature explains the change of slopes over a step.
fn follow(curvature: &mut Mat<f64>, step: &[f64], before: &[f64], after: &[f64]) {
    let r = step.len();
    let unexplained: Vec<f64> =
        (0..r).map(|i| before[i] - after[i] - (0..r).map(|j| curvature[(i, j)] * step[j]).sum::<f64>()).collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let along = dot(&unexplained, step);
    if along.abs() > 1e-8 * (dot(&unexplained, &unexplained) * dot(step, step)).sqrt() {
        for i in 0..r {
            (0..r).for_each(|j| curvature[(i, j)] += unexplained[i] * unexplained[j] / along);
        }
    }
}

/// Minus the second derivatives, by differences of slopes, made symmetric.
fn differences(
    at: &[f64],
    slopes: &[f64],
    of: &mut impl FnMut(&[f64]) -> Result<Valued, Error>,
) -> Result<Mat<f64>, Error> {
    let r = at.len();
    let mut columns = Vec::with_capacity(r);
    let mut moved = at.to_vec();
    for k in 0..r {
        moved[k] += STEP;
        let (_, there) = of(&moved)?;
        columns.push(there.iter().zip(slopes).map(|(there, here)| (here - there) / STEP).collect::<Vec<f64>>());
        moved[k] = at[k];
    }
    Ok(Mat::from_fn(r, r, |i, j| 0.5 * (columns[i][j] + columns[j][i])))
}

/// Newton's step with the sizes of the curvatures, no longer than [`LONGEST`], and half the rise that it promises to first order.
pub(super) fn newton(curvature: &Mat<f64>, slopes: &[f64]) -> Result<(Vec<f64>, f64), Error> {
    let (values, vectors) = eigen(curvature.as_ref(), Par::Seq)?;
    let mut step = vec![0.0; slopes.len()];
    for (k, value) in values.iter().enumerate() {
        let along: f64 = (0..slopes.len()).map(|i| vectors[(i, k)] * slopes[i]).sum();
        let length = (along / value.abs().max(1e-8)).clamp(-LONGEST, LONGEST);
        (0..slopes.len()).for_each(|i| step[i] += length * vectors[(i, k)]);
    }
    let promised = 0.5 * step.iter().zip(slopes).map(|(step, slope)| step * slope).sum::<f64>();
    Ok((step, promised))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curved_ridge_is_climbed() {
        let of = |at: &[f64]| {
            let (a, b) = (at[0], at[1]);
            let value = -(a - 1.0).powi(2) - 10.0 * (b - a * a).powi(2);
            let inner = b - a * a;
            Ok((value, vec![-2.0 * (a - 1.0) + 40.0 * a * inner, -20.0 * inner]))
        };
        let peak = climb(vec![-1.5, 2.0], 1e-16, of).unwrap();
        // A promised rise of 1e-16 is a distance of 1e-8 at curvatures of order 1.
        assert!((peak.at[0] - 1.0).abs() < 1e-7 && (peak.at[1] - 1.0).abs() < 1e-7, "{:?}", peak.at);
        assert!((peak.curvature[(0, 0)] - 82.0).abs() < 0.1);
    }
}

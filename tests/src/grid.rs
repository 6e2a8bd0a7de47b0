//! The true posterior of a two-dimensional problem, by the trapezoid rule.

use vi_core::{Belief, BernoulliLogit, DenseGaussian, Exact, GlmPosterior};
use vi_linalg::Cholesky;
use vi_linalg::faer::Mat;

use crate::CaseError;

/// Points per side of the box at first and at most; the error falls exponentially with them.
const POINTS: (usize, usize) = (160, 1280);
/// Change of the log normaliser, in nats, at which doubling the points ends: the next doubling would square it.
const SETTLED: f64 = 1e-8;
/// Nats below the largest value at which the density is cut off: `e⁻⁴⁵` is 3e-20.
const DEPTH: f64 = 45.0;
/// Points per side while looking for the box.
const COARSE: usize = 48;
/// Times the box is fitted to what it holds.
const FITS: usize = 40;

/// Moments of a density, and the logarithm of its integral.
#[derive(Debug, Clone)]
pub struct Moments {
    /// Mean, length 2.
    pub mean: Vec<f64>,
    /// Covariance, `2 × 2`.
    pub covariance: Mat<f64>,
    /// `log ∫ p̃(θ) dθ`, in nats.
    pub log_normaliser: f64,
}

/// A box in the coordinates `z` of `θ = m + Lz`: `(low, high)` for each axis.
type Region = [(f64, f64); 2];

/// Moments of the two-dimensional `posterior`, in coordinates in which `start` (Laplace's Gaussian, say) is standard.
///
/// A box is grown or shrunk until the density falls by 45 nats on all its sides, then summed over a grid that is refined
/// until the sum stands still.
///
/// # Errors
/// [`CaseError::Core`] if the dimension is not 2 or `start` has no Cholesky factor.
pub fn moments(
    posterior: &GlmPosterior<'_, BernoulliLogit<Exact>>,
    start: &DenseGaussian,
) -> Result<Moments, CaseError> {
    let map = Map { mean: start.mean(), factor: start.cholesky()? };
    let mut region = [(-8.0, 8.0); 2];
    for _ in 0..FITS {
        let fitted = fit(posterior, &map, region)?;
        let change = |axis: usize| {
            let width = region[axis].1 - region[axis].0;
            ((fitted[axis].0 - region[axis].0).abs() + (fitted[axis].1 - region[axis].1).abs()) / width
        };
        let settled = change(0).max(change(1)) < 0.1;
        region = fitted;
        if settled {
            break;
        }
    }
    let mut points = POINTS.0;
    let mut moments = sum(posterior, &map, region, points)?;
    while points < POINTS.1 {
        points *= 2;
        let finer = sum(posterior, &map, region, points)?;
        let change = (finer.log_normaliser - moments.log_normaliser).abs();
        moments = finer;
        if change <= SETTLED {
            break;
        }
    }
    Ok(moments)
}

struct Map<'a> {
    mean: &'a [f64],
    factor: Cholesky,
}

impl Map<'_> {
    fn theta(&self, z: [f64; 2]) -> [f64; 2] {
        let l = self.factor.factor();
        [self.mean[0] + l[(0, 0)] * z[0], self.mean[1] + l[(1, 0)] * z[0] + l[(1, 1)] * z[1]]
    }
}

fn knot((low, high): (f64, f64), i: usize, points: usize) -> f64 {
    low + (high - low) * i as f64 / (points - 1) as f64
}

/// The box around the points of a coarse grid that are within [`DEPTH`] of the largest, one cell wider; twice as wide
/// on a side that the density has not fallen at.
fn fit(
    posterior: &GlmPosterior<'_, BernoulliLogit<Exact>>,
    map: &Map<'_>,
    region: Region,
) -> Result<Region, CaseError> {
    let mut values = Mat::<f64>::zeros(COARSE, COARSE);
    let mut largest = f64::NEG_INFINITY;
    for j in 0..COARSE {
        for i in 0..COARSE {
            let z = [knot(region[0], i, COARSE), knot(region[1], j, COARSE)];
            values[(i, j)] = posterior.log_joint(&map.theta(z))?;
            largest = largest.max(values[(i, j)]);
        }
    }
    let mut used = [(COARSE, 0), (COARSE, 0)];
    for j in 0..COARSE {
        for i in 0..COARSE {
            if values[(i, j)] > largest - DEPTH {
                for (axis, index) in [i, j].into_iter().enumerate() {
                    used[axis] = (used[axis].0.min(index), used[axis].1.max(index));
                }
            }
        }
    }
    let side = |axis: usize| {
        let (low, high) = region[axis];
        let (first, last) = used[axis];
        let width = high - low;
        let new_low = if first == 0 { low - 0.5 * width } else { knot(region[axis], first - 1, COARSE) };
        let new_high = if last + 1 >= COARSE { high + 0.5 * width } else { knot(region[axis], last + 1, COARSE) };
        (new_low, new_high)
    };
    Ok([side(0), side(1)])
}

fn sum(
    posterior: &GlmPosterior<'_, BernoulliLogit<Exact>>,
    map: &Map<'_>,
    region: Region,
    points: usize,
) -> Result<Moments, CaseError> {
    // Scaled by the largest value so far, as the sums go along.
    let mut largest = f64::NEG_INFINITY;
    let (mut zeroth, mut first, mut second) = (0.0, [0.0; 2], [0.0; 3]);
    for j in 0..points {
        for i in 0..points {
            let theta = map.theta([knot(region[0], i, points), knot(region[1], j, points)]);
            let value = posterior.log_joint(&theta)?;
            if value > largest {
                let shrink = (largest - value).exp();
                zeroth *= shrink;
                first.iter_mut().chain(&mut second).for_each(|s| *s *= shrink);
                largest = value;
            }
            let weight = (value - largest).exp();
            // About the start's mean, so that the second moments do not cancel.
            let u = [theta[0] - map.mean[0], theta[1] - map.mean[1]];
            zeroth += weight;
            first[0] += weight * u[0];
            first[1] += weight * u[1];
            second[0] += weight * u[0] * u[0];
            second[1] += weight * u[0] * u[1];
            second[2] += weight * u[1] * u[1];
        }
    }
    let shift = [first[0] / zeroth, first[1] / zeroth];
    let central = |s: f64, a: f64, b: f64| s / zeroth - a * b;
    let (c00, c01, c11) = (
        central(second[0], shift[0], shift[0]),
        central(second[1], shift[0], shift[1]),
        central(second[2], shift[1], shift[1]),
    );
    let cell: f64 = region.iter().map(|(low, high)| (high - low) / (points - 1) as f64).product();
    Ok(Moments {
        mean: vec![map.mean[0] + shift[0], map.mean[1] + shift[1]],
        covariance: Mat::from_fn(2, 2, |i, j| [c00, c01, c11][i + j]),
        log_normaliser: largest + zeroth.ln() + cell.ln() + 0.5 * map.factor.log_det(),
    })
}

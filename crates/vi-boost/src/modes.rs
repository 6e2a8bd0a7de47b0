//! Modes of a target, and Laplace's approximations at them.

use vi_linalg::Cholesky;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, Par};

use crate::block::Block;
use crate::component::Component;
use crate::optimise::{Search, minimise};
use crate::target::{LogDensity, Probe};

/// The limits of a search for a mode, which need not be exact.
const MODE: Search = Search { evaluations: 300, tolerance: 1e-3 };

/// The distance, in standard deviations of the better one, below which two modes count as one.
pub(crate) const APART: f64 = 3.0;

/// Laplace's Gaussian at the mode near `from`; if the target is not concave there, with the absolute size of its curvature.
pub(crate) fn laplace<T: LogDensity + ?Sized>(probe: &Probe<'_, T>, from: &[f64]) -> Option<Component> {
    curved(probe, &ascent(probe, from)?)
}

/// The mode near `from`.
pub(crate) fn ascent<T: LogDensity + ?Sized>(probe: &Probe<'_, T>, from: &[f64]) -> Option<Vec<f64>> {
    let mut by = Block::default();
    let found = minimise(from, MODE, |x, gradient| {
        let mut value = [0.0];
        probe.values_and_gradients(&Block::point(x), &mut value, &mut by);
        for (j, gradient) in gradient.iter_mut().enumerate() {
            *gradient = -by.col(j)[0];
        }
        -value[0]
    })?;
    Some(found.x)
}

/// The Gaussian at `peak` with the curvature there, or its absolute size.
pub(crate) fn curved<T: LogDensity + ?Sized>(probe: &Probe<'_, T>, peak: &[f64]) -> Option<Component> {
    let precision = probe.hessian(peak);
    let d = peak.len();
    let precision = Mat::from_fn(d, d, |i, j| -precision[(i, j)]);
    if !precision.as_ref().norm_max().is_finite() {
        return Component::isotropic(peak, 1.0).ok();
    }
    let own =
        Cholesky::new(precision.as_ref()).ok().and_then(|factor| Component::full(peak, factor.inverse().as_ref()).ok());
    own.or_else(|| {
        let (values, vectors) = eigen(precision.as_ref(), Par::Seq).ok()?;
        // A flat or rising direction gets a standard deviation of one.
        let scaled =
            Mat::from_fn(d, d, |i, k| vectors[(i, k)] / if values[k].abs() > 1e-8 { values[k].abs() } else { 1.0 });
        Component::full(peak, (scaled * vectors.transpose()).as_ref()).ok()
    })
}

/// The peaks without those at the place of another.
pub(crate) fn distinct(peaks: Vec<Component>) -> Vec<Component> {
    let mut kept: Vec<Component> = Vec::new();
    for peak in peaks {
        if kept.iter().all(|other| distance(&peak, other) > 0.1) {
            kept.push(peak);
        }
    }
    kept
}

/// The largest distance of two means over a coordinate, in standard deviations of `to`.
pub(crate) fn distance(from: &Component, to: &Component) -> f64 {
    let covariance = to.covariance();
    (0..to.dim()).map(|j| (from.mean[j] - to.mean[j]).abs() / covariance[(j, j)].sqrt()).fold(0.0, f64::max)
}

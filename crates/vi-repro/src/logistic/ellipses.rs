//! Gaussians in the plane as ellipses.

use vi_core::{Belief, DenseGaussian};

use super::planar::deviations;
use crate::error::ReproError;
use crate::plot::palette::{GREY, Marker, Style};
use crate::plot::{Panel, ellipse};
use crate::report::number;

/// Share of a Gaussian's mass inside the ellipses drawn.
pub(crate) const MASS: f64 = 0.9;

/// What a panel shows of the plane.
pub(crate) type Window = [(f64, f64); 2];

/// Mean and covariance of a belief in two dimensions.
pub(crate) fn moments(belief: &DenseGaussian) -> ([f64; 2], [[f64; 2]; 2]) {
    let p = belief.covariance();
    let mean = belief.mean();
    ([mean[0], mean[1]], [[p[(0, 0)], p[(0, 1)]], [p[(1, 0)], p[(1, 1)]]])
}

/// Adds the ellipse of a Gaussian and its centre.
pub(crate) fn add_ellipse(
    panel: Panel,
    mean: [f64; 2],
    cov: [[f64; 2]; 2],
    style: Style,
    label: &str,
) -> Result<Panel, ReproError> {
    let outline = ellipse(mean, cov, deviations(MASS), 180)?;
    let centre = style.marker(if style.marker == Marker::None { Marker::Plus } else { style.marker });
    Ok(panel.overlay(outline, style, label).points(&[mean[0]], &[mean[1]], centre, 3.5, ""))
}

/// Says where a mean lies that the window does not show.
pub(crate) fn remark(panel: Panel, view: Window, what: &str, mean: [f64; 2]) -> Panel {
    if view.iter().zip(mean).all(|((lo, hi), m)| m >= *lo && m <= *hi) {
        return panel;
    }
    let [(x0, x1), (y0, y1)] = view;
    let text = format!("{what} outside: ({}, {})", number(mean[0]), number(mean[1]));
    panel.text(x0 - 0.03 * (x1 - x0), y0 - 0.01 * (y1 - y0), text, GREY)
}

/// Enlarges a window to hold the ellipse of a belief.
pub(crate) fn include(view: &mut Window, belief: &DenseGaussian) -> Result<(), ReproError> {
    let (mean, cov) = moments(belief);
    for (x, y) in ellipse(mean, cov, deviations(MASS), 90)? {
        for (side, v) in view.iter_mut().zip([x, y]) {
            *side = (side.0.min(v), side.1.max(v));
        }
    }
    Ok(())
}

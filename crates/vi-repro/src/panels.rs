//! Panels that several items draw.

use crate::plot::palette::{Colour, Marker, Style};
use crate::plot::{Axis, Panel};

/// Where dot `k` of a strip stands across it: dots side by side in a width of 1 about 0, so that none hides its neighbours.
pub(crate) fn scatter(k: usize) -> f64 {
    (k as f64 * 0.618_034).fract() - 0.5
}

/// A strip of dots for each name, from the top: one for each data set. `look` is the width of a strip, how opaque its dots are and how
/// large.
pub(crate) fn dots(
    title: impl Into<String>,
    axis: Axis,
    strips: &[(String, Colour, Vec<f64>)],
    (width, alpha, size): (f64, f64, f64),
) -> Panel {
    let names = strips.iter().rev().map(|(name, ..)| name.clone()).collect();
    strips.iter().rev().enumerate().fold(
        Panel::new(title, axis, Axis::categories("", names)),
        |panel, (i, (_, colour, values))| {
            let y: Vec<f64> = (0..values.len()).map(|k| i as f64 + width * scatter(k)).collect();
            panel.points(values, &y, Style::solid(*colour).marker(Marker::Disc).alpha(alpha), size, "")
        },
    )
}

/// The same with the strips upright, from the left.
pub(crate) fn dots_upright(
    title: &str,
    axis: Axis,
    strips: &[(String, Colour, Vec<f64>)],
    (width, alpha, size): (f64, f64, f64),
) -> Panel {
    let names = strips.iter().map(|(name, ..)| name.clone()).collect();
    strips.iter().enumerate().fold(
        Panel::new(title, Axis::categories("", names), axis),
        |panel, (i, (_, colour, values))| {
            let x: Vec<f64> = (0..values.len()).map(|k| i as f64 + width * scatter(k)).collect();
            panel.points(&x, values, Style::solid(*colour).marker(Marker::Disc).alpha(alpha), size, "")
        },
    )
}

//! Panels that several items draw.

use crate::plot::palette::{BLACK, CLASS_0, CLASS_1, Colour, Marker, Style, WHITE};
use crate::plot::{Axis, Panel};
use crate::report::median;

/// Where dot `k` of a strip stands across it: dots side by side in a width of 1 about 0, so that none hides its neighbours.
pub(crate) fn scatter(k: usize) -> f64 {
    (k as f64 * 0.618_034).fract() - 0.5
}

/// Adds rows of two inputs, those of class 0 and those of class 1.
pub(crate) fn classes<'a>(
    panel: Panel,
    rows: impl Iterator<Item = (&'a [f64], f64)>,
    alpha: f64,
    sizes: [f64; 2],
) -> Panel {
    let (ones, zeros): (Vec<_>, Vec<_>) = rows.partition(|(_, y)| *y == 1.0);
    let looks = [(zeros, CLASS_0, sizes[0], "class 0"), (ones, CLASS_1, sizes[1], "class 1")];
    looks.into_iter().fold(panel, |panel, (rows, style, size, label)| {
        let (x, y): (Vec<f64>, Vec<f64>) = rows.iter().map(|(x, _)| (x[0], x[1])).unzip();
        panel.points(&x, &y, style.alpha(alpha), size, label)
    })
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

/// The same on a logarithmic axis of nats, the first of each strip as a cross, and a bar of half width `bar` at its median.
pub(crate) fn dots_and_medians(
    title: String,
    strips: &[(String, Colour, Vec<f64>)],
    (alpha, size, cross, bar): (f64, f64, f64, f64),
) -> Panel {
    let names = strips.iter().rev().map(|(name, ..)| name.clone()).collect();
    let panel = Panel::new(title, Axis::log("KL (nats)"), Axis::categories("", names));
    strips.iter().rev().enumerate().fold(panel, |panel, (i, (_, colour, values))| {
        let y: Vec<f64> = (0..values.len()).map(|k| i as f64 + 0.44 * scatter(k)).collect();
        let first = Style::solid(if *colour == BLACK { WHITE } else { BLACK }).marker(Marker::Cross);
        let (style, middle) = (Style::solid(*colour).marker(Marker::Disc), median(values));
        panel
            .points(&values[1..], &y[1..], style.alpha(alpha), size, "")
            .points(&values[..1], &[i as f64], first, cross, "")
            .line_marked(&[middle, middle], &[i as f64 - bar, i as f64 + bar], style.width(3.0), 0, "")
    })
}

/// [`dots`] with the strips upright, from the left.
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

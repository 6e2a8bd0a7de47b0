//! Panels: axes and layers, described in data units.

use std::slice::from_ref;

use super::axis::Axis;
use super::contour::Grid;
use super::palette::{Colour, Marker, Style, WHITE};

/// The colours of a heat map's values.
#[derive(Clone, Copy, Debug)]
pub struct Ramp {
    /// Colour at the lower end.
    pub low: Colour,
    /// Colour half-way.
    pub middle: Colour,
    /// Colour at the upper end.
    pub high: Colour,
}

impl Ramp {
    /// Pale blue through white to pale orange, so that points of either class stay visible on it.
    pub const PROBABILITY: Self = Self { low: Colour(120, 178, 214), middle: WHITE, high: Colour(242, 206, 122) };

    pub(super) fn at(&self, t: f64) -> Colour {
        if t < 0.5 { self.low.mix(self.middle, 2.0 * t) } else { self.middle.mix(self.high, 2.0 * t - 1.0) }
    }
}

/// The sample of a layer in the legend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Key {
    Line(Style),
    Points(Style),
    Fill(Colour, f64),
}

#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A line; every `marks`-th point carries the style's marker (0: none does).
    Line {
        x: Vec<f64>,
        y: Vec<f64>,
        style: Style,
        marks: usize,
    },
    Points {
        x: Vec<f64>,
        y: Vec<f64>,
        style: Style,
        size: f64,
    },
    Band {
        x: Vec<f64>,
        lo: Vec<f64>,
        hi: Vec<f64>,
        colour: Colour,
        alpha: f64,
    },
    Vertical {
        at: f64,
        style: Style,
    },
    Horizontal {
        at: f64,
        style: Style,
    },
    /// Lines that do not widen the axes.
    Overlay {
        lines: Vec<Vec<(f64, f64)>>,
        style: Style,
    },
    Heat {
        grid: Grid,
        ramp: Ramp,
        range: (f64, f64),
        bar: bool,
    },
    Bars {
        left: Vec<f64>,
        right: Vec<f64>,
        height: Vec<f64>,
        colour: Colour,
        alpha: f64,
    },
    /// Intervals from `lo` to `hi` along y at x, or along x at y if `sideways`.
    Spread {
        at: Vec<f64>,
        lo: Vec<f64>,
        hi: Vec<f64>,
        style: Style,
        sideways: bool,
    },
    Text {
        at: (f64, f64),
        text: String,
        colour: Colour,
    },
}

#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) shape: Shape,
    pub(super) label: Option<String>,
}

/// One set of axes with everything drawn on it, later layers on top.
#[derive(Clone, Debug)]
pub struct Panel {
    pub(super) title: String,
    pub(super) x: Axis,
    pub(super) y: Axis,
    pub(super) equal: bool,
    pub(super) layers: Vec<Layer>,
}

impl Panel {
    /// An empty panel.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Self { title: title.into(), x, y, equal: false, layers: Vec::new() }
    }

    /// Makes one unit of x as long as one unit of y (linear axes only).
    #[must_use]
    pub fn equal_scales(mut self) -> Self {
        self.equal = true;
        self
    }

    fn push(mut self, shape: Shape, label: &str) -> Self {
        self.layers.push(Layer { shape, label: (!label.is_empty()).then(|| label.to_owned()) });
        self
    }

    /// A line through `(x, y)` with about nine markers; an empty label keeps it out of the legend.
    #[must_use]
    pub fn line(self, x: &[f64], y: &[f64], style: Style, label: &str) -> Self {
        let marks = x.len().div_ceil(9).max(1);
        self.line_marked(x, y, style, marks, label)
    }

    /// A line whose every `marks`-th point carries the marker (0: none does).
    #[must_use]
    pub fn line_marked(self, x: &[f64], y: &[f64], style: Style, marks: usize, label: &str) -> Self {
        let (x, y) = (x.to_vec(), y.to_vec());
        self.push(Shape::Line { x, y, style, marks }, label)
    }

    /// Unconnected markers, `size` pixels from centre to edge.
    #[must_use]
    pub fn points(self, x: &[f64], y: &[f64], style: Style, size: f64, label: &str) -> Self {
        let (x, y) = (x.to_vec(), y.to_vec());
        self.push(Shape::Points { x, y, style, size }, label)
    }

    /// A shaded band between `lo` and `hi`.
    #[must_use]
    pub fn band(self, x: &[f64], lo: &[f64], hi: &[f64], colour: Colour, alpha: f64, label: &str) -> Self {
        let (x, lo, hi) = (x.to_vec(), lo.to_vec(), hi.to_vec());
        self.push(Shape::Band { x, lo, hi, colour, alpha }, label)
    }

    /// A vertical reference line across the panel.
    #[must_use]
    pub fn vertical(self, at: f64, style: Style, label: &str) -> Self {
        self.push(Shape::Vertical { at, style }, label)
    }

    /// A horizontal reference line across the panel.
    #[must_use]
    pub fn horizontal(self, at: f64, style: Style, label: &str) -> Self {
        self.push(Shape::Horizontal { at, style }, label)
    }

    /// The level lines of a grid at each of `levels`.
    #[must_use]
    pub fn contours(self, grid: &Grid, levels: &[f64], style: Style, label: &str) -> Self {
        let lines = levels.iter().flat_map(|l| grid.level_lines(*l)).collect();
        self.push(Shape::Overlay { lines, style }, label)
    }

    /// A line that does not widen the axes, such as an ellipse that may lie far outside.
    #[must_use]
    pub fn overlay(self, line: Vec<(f64, f64)>, style: Style, label: &str) -> Self {
        self.push(Shape::Overlay { lines: vec![line], style }, label)
    }

    /// A grid in colours, `range` from end to end of the ramp, with a colour bar if `bar`.
    #[must_use]
    pub fn heat(self, grid: &Grid, ramp: Ramp, range: (f64, f64), bar: bool) -> Self {
        let grid = grid.clone();
        self.push(Shape::Heat { grid, ramp, range, bar }, "")
    }

    /// Upright bars from 0 to `height` between `left` and `right`.
    #[must_use]
    pub fn bars(self, left: &[f64], right: &[f64], height: &[f64], colour: Colour, alpha: f64, label: &str) -> Self {
        let (left, right, height) = (left.to_vec(), right.to_vec(), height.to_vec());
        self.push(Shape::Bars { left, right, height, colour, alpha }, label)
    }

    /// Upright intervals from `lo` to `hi` at each `x`.
    #[must_use]
    pub fn spread(self, x: &[f64], lo: &[f64], hi: &[f64], style: Style, label: &str) -> Self {
        let (at, lo, hi) = (x.to_vec(), lo.to_vec(), hi.to_vec());
        self.push(Shape::Spread { at, lo, hi, style, sideways: false }, label)
    }

    /// Level intervals from `lo` to `hi` at each `y`: the rows of a forest plot.
    #[must_use]
    pub fn spread_sideways(self, y: &[f64], lo: &[f64], hi: &[f64], style: Style, label: &str) -> Self {
        let (at, lo, hi) = (y.to_vec(), lo.to_vec(), hi.to_vec());
        self.push(Shape::Spread { at, lo, hi, style, sideways: true }, label)
    }

    /// A short text, starting at `(x, y)`.
    #[must_use]
    pub fn text(self, x: f64, y: f64, text: impl Into<String>, colour: Colour) -> Self {
        let text = text.into();
        self.push(Shape::Text { at: (x, y), text, colour }, "")
    }
}

impl Layer {
    pub(super) fn key(&self) -> Option<Key> {
        match &self.shape {
            Shape::Line { style, marks: 0, .. }
            | Shape::Vertical { style, .. }
            | Shape::Horizontal { style, .. }
            | Shape::Overlay { style, .. } => Some(Key::Line(style.marker(Marker::None))),
            Shape::Line { style, .. } | Shape::Spread { style, .. } => Some(Key::Line(*style)),
            Shape::Points { style, .. } => Some(Key::Points(*style)),
            Shape::Band { colour, alpha, .. } | Shape::Bars { colour, alpha, .. } => Some(Key::Fill(*colour, *alpha)),
            Shape::Heat { .. } | Shape::Text { .. } => None,
        }
    }

    /// The values this layer shows on the x axis (`horizontal`) or the y axis.
    pub(super) fn values(&self, horizontal: bool) -> Vec<f64> {
        let (across, up): (Vec<&[f64]>, Vec<&[f64]>) = match &self.shape {
            Shape::Line { x, y, .. } | Shape::Points { x, y, .. } => (vec![x], vec![y]),
            Shape::Band { x, lo, hi, .. } => (vec![x], vec![lo, hi]),
            Shape::Vertical { at, .. } => (vec![from_ref(at)], Vec::new()),
            Shape::Horizontal { at, .. } => (Vec::new(), vec![from_ref(at)]),
            Shape::Heat { grid, .. } => (vec![&grid.xs], vec![&grid.ys]),
            Shape::Bars { left, right, height, .. } => (vec![left, right], vec![height, &[0.0]]),
            Shape::Spread { at, lo, hi, sideways: true, .. } => (vec![lo, hi], vec![at]),
            Shape::Spread { at, lo, hi, .. } => (vec![at], vec![lo, hi]),
            Shape::Overlay { .. } | Shape::Text { .. } => (Vec::new(), Vec::new()),
        };
        if horizontal { across.concat() } else { up.concat() }
    }

    /// Lengths that must agree, and what the layer is called in an error.
    pub(super) fn lengths(&self) -> (&'static str, Vec<usize>) {
        match &self.shape {
            Shape::Line { x, y, .. } => ("a line", vec![x.len(), y.len()]),
            Shape::Points { x, y, .. } => ("points", vec![x.len(), y.len()]),
            Shape::Band { x, lo, hi, .. } => ("a band", vec![x.len(), lo.len(), hi.len()]),
            Shape::Bars { left, right, height, .. } => ("bars", vec![left.len(), right.len(), height.len()]),
            Shape::Spread { at, lo, hi, .. } => ("intervals", vec![at.len(), lo.len(), hi.len()]),
            _ => ("", Vec::new()),
        }
    }
}

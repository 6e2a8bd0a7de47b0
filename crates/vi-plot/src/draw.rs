//! Draws one panel into its rectangle.

use super::axis::{Scale, Span, Tick};
use super::bitmap::{Bitmap, CLEAR};
use super::canvas::{Anchor, Canvas, Px, Rect, text_width, wrapped};
use super::clip::{clip_line, clip_polygon, inside};
use super::contour::Grid;
use super::palette::{BLACK, GREY, Marker, PALE, Style};
use super::panel::{Layer, Panel, Ramp, Shape};
use crate::error::{PlotError, same_length};

pub(super) const TICK_SIZE: f64 = 12.5;
pub(super) const LABEL_SIZE: f64 = 14.0;
pub(super) const TITLE_SIZE: f64 = 15.0;
/// The number of steps from one end of a heat map's ramp to the other.
const HEAT_STEPS: u8 = 80;
const BAR_WIDTH: f64 = 14.0;
const TITLE_LINE: f64 = 18.0;
const TICK_LINE: f64 = 13.5;
const LABEL_LINE: f64 = 16.0;
/// By how much letters in a reader's font may be wider than [`text_width`] says: bold ones, and plain ones.
pub(super) const BOLD: f64 = 1.2;
const PLAIN: f64 = 1.1;

struct Frame {
    x: Span,
    y: Span,
    plot: Rect,
}

impl Frame {
    fn at(&self, x: f64, y: f64) -> Px {
        (
            self.plot.left + self.x.fraction(x) * self.plot.width(),
            self.plot.bottom - self.y.fraction(y) * self.plot.height(),
        )
    }
}

/// Draws `panel` with its title, axes and labels inside `outer`.
pub(super) fn panel(canvas: &Canvas, panel: &Panel, outer: &Rect) -> Result<(), PlotError> {
    for layer in &panel.layers {
        let (what, lengths) = layer.lengths();
        for n in &lengths {
            same_length(&format!("panel `{}`: {what}", panel.title), lengths[0], *n)?;
        }
    }
    let mut x = span(panel, true)?;
    let mut y = span(panel, false)?;

    let height = outer.height();
    let y_most = if panel.y.categories.is_empty() { most((height - 90.0) / 42.0) } else { 2 };
    let y_ticks = ticks(&panel.y.categories, &y, y_most);
    let tick_width = |t: &Tick| widest(&wrapped_label(t, &panel.y.categories, outer.width()), TICK_SIZE);
    let widest_tick = y_ticks.iter().map(tick_width).fold(0.0, f64::max);
    let label_room = if panel.y.label.is_empty() { 6.0 } else { 26.0 };
    let bar_room = if panel.layers.iter().any(|l| matches!(l.shape, Shape::Heat { bar: true, .. })) {
        BAR_WIDTH + 52.0
    } else {
        0.0
    };
    let title = title(panel, outer);
    let x_label = wrapped(&panel.x.label, PLAIN * LABEL_SIZE, outer.width() - 16.0);
    let plot = Rect {
        left: outer.left + label_room + widest_tick.max(24.0) + 12.0,
        right: outer.right - 14.0 - bar_room,
        top: outer.top + 10.0 + TITLE_LINE * title.len() as f64 + if title.is_empty() { 0.0 } else { 4.0 },
        bottom: outer.bottom - if x_label.is_empty() { 28.0 } else { 32.0 + LABEL_LINE * x_label.len() as f64 },
    };
    if panel.equal && x.scale == Scale::Linear && y.scale == Scale::Linear {
        equalise(&mut x, &mut y, &plot);
    }
    let y_ticks = ticks(&panel.y.categories, &y, y_most);
    let frame = Frame { x, y, plot };
    let x_ticks = ticks(&panel.x.categories, &x, most(plot.width() / 48.0));

    grid_lines(canvas, &frame, &x_ticks, &y_ticks);
    // On a bitmap, which does not change on a dark screen, ink does not change either.
    canvas.keep_ink(panel.layers.iter().any(|l| matches!(l.shape, Shape::Heat { .. })));
    for layer in &panel.layers {
        self::layer(canvas, &frame, layer);
    }
    canvas.keep_ink(false);
    axes(canvas, panel, &frame, (&x_ticks, &y_ticks), outer);
    let middle = f64::midpoint(plot.left, plot.right);
    for (i, line) in title.iter().enumerate() {
        let at = (centred(line, BOLD * TITLE_SIZE, middle, outer), outer.top + 14.0 + TITLE_LINE * i as f64);
        canvas.text(line, at, TITLE_SIZE, Anchor::Middle, BLACK, true);
    }
    for (i, line) in x_label.iter().enumerate() {
        let at = (centred(line, PLAIN * LABEL_SIZE, middle, outer), plot.bottom + 36.0 + LABEL_LINE * i as f64);
        canvas.text(line, at, LABEL_SIZE, Anchor::Middle, BLACK, false);
    }
    notes(canvas, panel, &frame);
    Ok(())
}

/// The title in lines that fit the panel.
fn title(panel: &Panel, outer: &Rect) -> Vec<String> {
    wrapped(&panel.title, BOLD * TITLE_SIZE, outer.width() - 16.0)
}

/// The position of the middle of a line of text: `middle`, or the nearest for which the line is inside `outer`.
fn centred(line: &str, size: f64, middle: f64, outer: &Rect) -> f64 {
    let half = text_width(line, size) / 2.0 + 4.0;
    middle.min(outer.right - half).max(outer.left + half)
}

fn widest(lines: &[String], size: f64) -> f64 {
    lines.iter().map(|l| text_width(l, size)).fold(0.0, f64::max)
}

/// The label of a tick on the y axis; a category's name takes at most a third of the panel's width.
fn wrapped_label(tick: &Tick, categories: &[String], width: f64) -> Vec<String> {
    if categories.is_empty() { vec![tick.label.clone()] } else { wrapped(&tick.label, TICK_SIZE, width / 3.0) }
}

/// The range of the x axis (`horizontal`) or the y axis; a heat map fills its panel.
fn span(panel: &Panel, horizontal: bool) -> Result<Span, PlotError> {
    let (axis, name) = if horizontal { (&panel.x, "x") } else { (&panel.y, "y") };
    let grid = panel.layers.iter().find_map(|l| match &l.shape {
        Shape::Heat { grid, .. } => Some(if horizontal { &grid.xs } else { &grid.ys }),
        _ => None,
    });
    if let (Some(side), None) = (grid, axis.range) {
        let filled = axis.clone().range(side[0], side[side.len() - 1]);
        return Span::fit(&filled, name, &panel.title, std::iter::empty());
    }
    let values = panel.layers.iter().flat_map(|l| l.values(horizontal));
    Span::fit(axis, name, &panel.title, values)
}

fn most(room: f64) -> usize {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to a small positive number")]
    let n = room.clamp(2.0, 12.0) as usize;
    n
}

fn ticks(categories: &[String], span: &Span, most: usize) -> Vec<Tick> {
    if categories.is_empty() {
        return span.ticks(most);
    }
    categories.iter().enumerate().map(|(i, name)| Tick { at: i as f64, label: name.clone() }).collect()
}

/// Widens the shorter axis until a unit is as long on both.
fn equalise(x: &mut Span, y: &mut Span, plot: &Rect) {
    let per_x = (x.hi - x.lo) / plot.width();
    let per_y = (y.hi - y.lo) / plot.height();
    let widen = |s: &mut Span, factor: f64| {
        let (c, h) = (f64::midpoint(s.lo, s.hi), (s.hi - s.lo) / 2.0 * factor);
        (s.lo, s.hi) = (c - h, c + h);
    };
    if per_x < per_y {
        widen(x, per_y / per_x);
    } else {
        widen(y, per_x / per_y);
    }
}

fn grid_lines(canvas: &Canvas, f: &Frame, xs: &[Tick], ys: &[Tick]) {
    let thin = Style::solid(PALE).width(0.8);
    for t in xs.iter().filter(|t| !t.label.is_empty()) {
        let x = f.at(t.at, f.y.lo).0;
        canvas.line(&[(x, f.plot.top), (x, f.plot.bottom)], &thin);
    }
    for t in ys.iter().filter(|t| !t.label.is_empty()) {
        let y = f.at(f.x.lo, t.at).1;
        canvas.line(&[(f.plot.left, y), (f.plot.right, y)], &thin);
    }
}

fn axes(canvas: &Canvas, panel: &Panel, f: &Frame, (xs, ys): (&[Tick], &[Tick]), outer: &Rect) {
    let ink = Style::solid(BLACK).width(1.0);
    let p = &f.plot;
    canvas.frame(p, &ink);
    // Names that would run into each other are written on two levels.
    let crowded = !panel.x.categories.is_empty()
        && xs.iter().any(|t| text_width(&t.label, TICK_SIZE) > p.width() / xs.len() as f64 - 4.0);
    for (i, t) in xs.iter().enumerate() {
        let x = f.at(t.at, f.y.lo).0;
        let length = if t.label.is_empty() { 3.0 } else { 5.0 };
        canvas.line(&[(x, p.bottom), (x, p.bottom + length)], &ink);
        let lower = if crowded && i % 2 == 1 { TICK_LINE } else { 0.0 };
        let at = (centred(&t.label, PLAIN * TICK_SIZE, x, outer), p.bottom + 14.0 + lower);
        canvas.text(&t.label, at, TICK_SIZE, Anchor::Middle, BLACK, false);
    }
    for t in ys {
        let y = f.at(f.x.lo, t.at).1;
        let length = if t.label.is_empty() { 3.0 } else { 5.0 };
        canvas.line(&[(p.left - length, y), (p.left, y)], &ink);
        let lines = wrapped_label(t, &panel.y.categories, outer.width());
        let first = y - TICK_LINE * (lines.len() as f64 - 1.0) / 2.0;
        for (i, line) in lines.iter().enumerate() {
            let at = (p.left - 8.0, first + TICK_LINE * i as f64);
            canvas.text(line, at, TICK_SIZE, Anchor::End, BLACK, false);
        }
    }
    let cy = f64::midpoint(p.top, p.bottom);
    canvas.text_upwards(&panel.y.label, (outer.left + 14.0, cy), LABEL_SIZE, BLACK);
}

/// Notes what the panel does not show in its true place: values at an axis' floor, curves and points beyond its ends.
fn notes(canvas: &Canvas, panel: &Panel, f: &Frame) {
    let mut notes = Vec::new();
    for (span, horizontal) in [(&f.x, true), (&f.y, false)] {
        let low = |v: &f64| span.floor.map_or(span.scale == Scale::Log && *v <= 0.0, |floor| *v < floor);
        if panel.layers.iter().any(|l| l.values(horizontal).iter().any(low)) {
            let floor = span.floor.map_or("0".to_owned(), crate::number);
            let sign = if span.floor.is_some() { "<" } else { "≤" };
            notes.push(format!("values {sign} {floor} drawn on the floor"));
        }
    }
    let beyond: usize = panel.layers.iter().map(|l| beyond(l, f)).sum();
    if beyond > 0 {
        let what = if beyond == 1 { "value lies" } else { "values lie" };
        notes.push(format!("{beyond} {what} outside the panel"));
    }
    for (i, note) in notes.iter().rev().enumerate() {
        let at = (f.plot.left + 8.0, f.plot.bottom - 12.0 - 14.0 * i as f64);
        canvas.text(note, at, 12.0, Anchor::Start, GREY, false);
    }
}

/// How many points of a curve or a scatter lie above or below the panel, or beside it.
fn beyond(layer: &Layer, f: &Frame) -> usize {
    let slack = 1e-9;
    let inside = |t: f64| (-slack..=1.0 + slack).contains(&t);
    match &layer.shape {
        Shape::Points { x, y, .. } => {
            let out = |(x, y): &(&f64, &f64)| {
                let (u, v) = (f.x.fraction(**x), f.y.fraction(**y));
                u.is_finite() && v.is_finite() && !(inside(u) && inside(v))
            };
            x.iter().zip(y).filter(out).count()
        }
        // A curve may be cut along x, where it ends with the axis.
        Shape::Line { x, y, .. } => {
            let out = |(x, y): &(&f64, &f64)| {
                let v = f.y.fraction(**y);
                inside(f.x.fraction(**x)) && v.is_finite() && !inside(v)
            };
            x.iter().zip(y).filter(out).count()
        }
        _ => 0,
    }
}

fn layer(canvas: &Canvas, f: &Frame, layer: &Layer) {
    match &layer.shape {
        Shape::Line { x, y, style, marks } => {
            let points: Vec<Px> = x.iter().zip(y).map(|(x, y)| f.at(*x, *y)).collect();
            polyline(canvas, f, &points, style);
            if *marks > 0 && style.marker != Marker::None {
                let shown: Vec<Px> = points.iter().step_by(*marks).filter(|p| inside(**p, &f.plot)).copied().collect();
                canvas.marks(&shown, style, 4.0);
            }
        }
        Shape::Points { x, y, style, size } => {
            let all = x.iter().zip(y).map(|(x, y)| f.at(*x, *y));
            canvas.marks(&all.filter(|p| inside(*p, &f.plot)).collect::<Vec<_>>(), style, *size);
        }
        Shape::Band { x, lo, hi, colour, alpha } => {
            let below = x.iter().zip(lo).map(|(x, y)| f.at(*x, *y));
            let above = x.iter().zip(hi).rev().map(|(x, y)| f.at(*x, *y));
            let polygon: Vec<Px> = below.chain(above).collect();
            canvas.fill(&clip_polygon(&polygon, &f.plot), *colour, *alpha);
        }
        Shape::Vertical { at, style } => {
            let x = f.at(*at, f.y.lo).0;
            polyline(canvas, f, &[(x, f.plot.top), (x, f.plot.bottom)], style);
        }
        Shape::Horizontal { at, style } => {
            let y = f.at(f.x.lo, *at).1;
            polyline(canvas, f, &[(f.plot.left, y), (f.plot.right, y)], style);
        }
        Shape::Overlay { lines, style } => {
            for line in lines {
                let points: Vec<Px> = line.iter().map(|(x, y)| f.at(*x, *y)).collect();
                polyline(canvas, f, &points, style);
            }
        }
        Shape::Heat { grid, ramp, range, bar } => {
            heat(canvas, f, grid, ramp, *range);
            if *bar {
                colour_bar(canvas, f, ramp, *range);
            }
        }
        Shape::Bars { left, right, height, colour, alpha } => {
            for ((l, r), h) in left.iter().zip(right).zip(height) {
                let (a, b) = (f.at(*l, 0.0), f.at(*r, *h));
                let corners = [a, (b.0, a.1), b, (a.0, b.1)];
                canvas.fill(&clip_polygon(&corners, &f.plot), *colour, *alpha);
            }
        }
        Shape::Spread { at, lo, hi, style, sideways } => {
            for ((c, lo), hi) in at.iter().zip(lo).zip(hi) {
                let ends = if *sideways { [f.at(*lo, *c), f.at(*hi, *c)] } else { [f.at(*c, *lo), f.at(*c, *hi)] };
                let cap = if *sideways { (0.0, 4.0) } else { (4.0, 0.0) };
                polyline(canvas, f, &ends, style);
                for e in ends {
                    polyline(canvas, f, &[(e.0 - cap.0, e.1 - cap.1), (e.0 + cap.0, e.1 + cap.1)], style);
                }
            }
        }
        Shape::Text { at, text, colour } => {
            let p = f.at(at.0, at.1);
            canvas.text(text, p, TICK_SIZE, Anchor::Start, *colour, false);
        }
    }
}

fn polyline(canvas: &Canvas, f: &Frame, points: &[Px], style: &Style) {
    for piece in clip_line(points, &f.plot) {
        canvas.line(&piece, style);
    }
}

/// The grid as a bitmap, a pixel for each of its points.
fn heat(canvas: &Canvas, f: &Frame, grid: &Grid, ramp: &Ramp, (lo, hi): (f64, f64)) {
    let index = |v: f64| {
        let t = ((v - lo) / (hi - lo)).clamp(0.0, 1.0) * f64::from(HEAT_STEPS);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and HEAT_STEPS")]
        let step = t.round() as u8;
        if v.is_finite() { step } else { CLEAR }
    };
    let (nx, ny) = (grid.xs.len(), grid.ys.len());
    let indices = (0..ny).rev().flat_map(|j| (0..nx).map(move |i| (i, j))).map(|(i, j)| index(grid.at(i, j)));
    let palette = (0..=HEAT_STEPS).map(|step| ramp.at(f64::from(step) / f64::from(HEAT_STEPS))).collect();
    let bitmap = Bitmap::new(nx, indices.collect(), palette);
    // The edge is half a cell beyond the outer points.
    let (left, right) = ends(&grid.xs);
    let (bottom, top) = ends(&grid.ys);
    let (a, b) = (f.at(left, top), f.at(right, bottom));
    canvas.image(&bitmap, &Rect { left: a.0, top: a.1, right: b.0, bottom: b.1 }, &f.plot);
}

/// Where the cells round evenly spaced points begin and end.
fn ends(at: &[f64]) -> (f64, f64) {
    let (first, last) = (at[0], at[at.len() - 1]);
    let half = (last - first) / (at.len() as f64 - 1.0) / 2.0;
    (first - half, last + half)
}

fn colour_bar(canvas: &Canvas, f: &Frame, ramp: &Ramp, (lo, hi): (f64, f64)) {
    let p = &f.plot;
    let bar = Rect { left: p.right + 12.0, right: p.right + 12.0 + BAR_WIDTH, ..*p };
    let palette = (0..=HEAT_STEPS).map(|step| ramp.at(f64::from(step) / f64::from(HEAT_STEPS))).collect();
    canvas.image(&Bitmap::new(1, (0..=HEAT_STEPS).rev().collect(), palette), &bar, &bar);
    // Beside the bitmap, ink changes with the paper again.
    canvas.keep_ink(false);
    let ink = Style::solid(BLACK).width(1.0);
    canvas.frame(&bar, &ink);
    let span = Span { scale: Scale::Linear, lo, hi, floor: None };
    for t in span.ticks(6) {
        let y = bar.bottom - span.fraction(t.at) * bar.height();
        canvas.line(&[(bar.right, y), (bar.right + 4.0, y)], &ink);
        canvas.text(&t.label, (bar.right + 7.0, y), TICK_SIZE, Anchor::Start, BLACK, false);
    }
    canvas.keep_ink(true);
}

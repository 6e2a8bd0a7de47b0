//! Draws one panel into its rectangle.

use super::axis::{Scale, Span, Tick};
use super::canvas::{Anchor, Canvas, Px, Rect, text_width};
use super::clip::{clip_line, clip_polygon, inside};
use super::contour::Grid;
use super::palette::{BLACK, Colour, GREY, Marker, PALE, Style, WHITE};
use super::panel::{Layer, Panel, Ramp, Shape};
use crate::error::{ReproError, same_length};

pub(super) const TICK_SIZE: f64 = 12.5;
pub(super) const LABEL_SIZE: f64 = 14.0;
pub(super) const TITLE_SIZE: f64 = 15.0;
/// Colours a heat map is quantised to, so that equal neighbours merge into one rectangle.
const HEAT_STEPS: f64 = 40.0;
const BAR_WIDTH: f64 = 14.0;

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
pub(super) fn panel(canvas: &Canvas<'_>, panel: &Panel, outer: &Rect) -> Result<(), ReproError> {
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
    let widest = y_ticks.iter().map(|t| text_width(&t.label, TICK_SIZE)).fold(0.0, f64::max);
    let label_room = if panel.y.label.is_empty() { 6.0 } else { 26.0 };
    let bar_room = if panel.layers.iter().any(|l| matches!(l.shape, Shape::Heat { bar: true, .. })) {
        BAR_WIDTH + 52.0
    } else {
        0.0
    };
    let plot = Rect {
        left: outer.left + label_room + widest.max(24.0) + 12.0,
        right: outer.right - 14.0 - bar_room,
        top: outer.top + if panel.title.is_empty() { 10.0 } else { 32.0 },
        bottom: outer.bottom - if panel.x.label.is_empty() { 28.0 } else { 48.0 },
    };
    if panel.equal && x.scale == Scale::Linear && y.scale == Scale::Linear {
        equalise(&mut x, &mut y, &plot);
    }
    let y_ticks = ticks(&panel.y.categories, &y, y_most);
    let frame = Frame { x, y, plot };
    let x_ticks = ticks(&panel.x.categories, &x, most(plot.width() / 48.0));

    grid_lines(canvas, &frame, &x_ticks, &y_ticks)?;
    for layer in &panel.layers {
        self::layer(canvas, &frame, layer)?;
    }
    axes(canvas, panel, &frame, (&x_ticks, &y_ticks), outer)?;
    floor_note(canvas, panel, &frame)
}

/// The range of the x axis (`horizontal`) or the y axis; a heat map fills its panel.
fn span(panel: &Panel, horizontal: bool) -> Result<Span, ReproError> {
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

fn grid_lines(canvas: &Canvas<'_>, f: &Frame, xs: &[Tick], ys: &[Tick]) -> Result<(), ReproError> {
    let thin = Style::solid(PALE).width(0.8);
    for t in xs.iter().filter(|t| !t.label.is_empty()) {
        let x = f.at(t.at, f.y.lo).0;
        canvas.line(&[(x, f.plot.top), (x, f.plot.bottom)], &thin)?;
    }
    for t in ys.iter().filter(|t| !t.label.is_empty()) {
        let y = f.at(f.x.lo, t.at).1;
        canvas.line(&[(f.plot.left, y), (f.plot.right, y)], &thin)?;
    }
    Ok(())
}

fn axes(
    canvas: &Canvas<'_>,
    panel: &Panel,
    f: &Frame,
    (xs, ys): (&[Tick], &[Tick]),
    outer: &Rect,
) -> Result<(), ReproError> {
    let ink = Style::solid(BLACK).width(1.0);
    let p = &f.plot;
    canvas.frame(p, &ink)?;
    for t in xs {
        let x = f.at(t.at, f.y.lo).0;
        let length = if t.label.is_empty() { 3.0 } else { 5.0 };
        canvas.line(&[(x, p.bottom), (x, p.bottom + length)], &ink)?;
        canvas.text(&t.label, (x, p.bottom + 16.0), TICK_SIZE, Anchor::Middle, BLACK, false)?;
    }
    for t in ys {
        let y = f.at(f.x.lo, t.at).1;
        let length = if t.label.is_empty() { 3.0 } else { 5.0 };
        canvas.line(&[(p.left - length, y), (p.left, y)], &ink)?;
        canvas.text(&t.label, (p.left - 8.0, y), TICK_SIZE, Anchor::End, BLACK, false)?;
    }
    let (cx, cy) = (f64::midpoint(p.left, p.right), f64::midpoint(p.top, p.bottom));
    canvas.text(&panel.title, (cx, outer.top + 17.0), TITLE_SIZE, Anchor::Middle, BLACK, true)?;
    canvas.text(&panel.x.label, (cx, p.bottom + 36.0), LABEL_SIZE, Anchor::Middle, BLACK, false)?;
    canvas.text_upwards(&panel.y.label, (outer.left + 14.0, cy), LABEL_SIZE, BLACK)
}

/// Says so when a logarithmic axis had to put values at its floor.
fn floor_note(canvas: &Canvas<'_>, panel: &Panel, f: &Frame) -> Result<(), ReproError> {
    let clipped = |span: &Span, horizontal| {
        span.scale == Scale::Log && panel.layers.iter().any(|l| l.values(horizontal).iter().any(|v| *v <= 0.0))
    };
    if clipped(&f.x, true) || clipped(&f.y, false) {
        let at = (f.plot.left + 8.0, f.plot.bottom - 12.0);
        canvas.text("values ≤ 0 drawn on the floor", at, 12.0, Anchor::Start, GREY, false)?;
    }
    Ok(())
}

fn layer(canvas: &Canvas<'_>, f: &Frame, layer: &Layer) -> Result<(), ReproError> {
    match &layer.shape {
        Shape::Line { x, y, style, marks } => {
            let points: Vec<Px> = x.iter().zip(y).map(|(x, y)| f.at(*x, *y)).collect();
            polyline(canvas, f, &points, style)?;
            if *marks > 0 && style.marker != Marker::None {
                for p in points.iter().step_by(*marks).filter(|p| inside(**p, &f.plot)) {
                    canvas.mark(*p, style, 4.0)?;
                }
            }
            Ok(())
        }
        Shape::Points { x, y, style, size } => {
            for p in x.iter().zip(y).map(|(x, y)| f.at(*x, *y)) {
                if inside(p, &f.plot) {
                    canvas.mark(p, style, *size)?;
                }
            }
            Ok(())
        }
        Shape::Band { x, lo, hi, colour, alpha } => {
            let below = x.iter().zip(lo).map(|(x, y)| f.at(*x, *y));
            let above = x.iter().zip(hi).rev().map(|(x, y)| f.at(*x, *y));
            let polygon: Vec<Px> = below.chain(above).collect();
            canvas.fill(&clip_polygon(&polygon, &f.plot), *colour, *alpha)
        }
        Shape::Vertical { at, style } => {
            let x = f.at(*at, f.y.lo).0;
            polyline(canvas, f, &[(x, f.plot.top), (x, f.plot.bottom)], style)
        }
        Shape::Horizontal { at, style } => {
            let y = f.at(f.x.lo, *at).1;
            polyline(canvas, f, &[(f.plot.left, y), (f.plot.right, y)], style)
        }
        Shape::Overlay { lines, style } => lines.iter().try_for_each(|line| {
            let points: Vec<Px> = line.iter().map(|(x, y)| f.at(*x, *y)).collect();
            polyline(canvas, f, &points, style)
        }),
        Shape::Heat { grid, ramp, range, bar } => {
            heat(canvas, f, grid, ramp, *range)?;
            if *bar { colour_bar(canvas, f, ramp, *range) } else { Ok(()) }
        }
        Shape::Bars { left, right, height, colour, alpha } => {
            for ((l, r), h) in left.iter().zip(right).zip(height) {
                let (a, b) = (f.at(*l, 0.0), f.at(*r, *h));
                let corners = [a, (b.0, a.1), b, (a.0, b.1)];
                canvas.fill(&clip_polygon(&corners, &f.plot), *colour, *alpha)?;
            }
            Ok(())
        }
        Shape::Spread { at, lo, hi, style, sideways } => {
            for ((c, lo), hi) in at.iter().zip(lo).zip(hi) {
                let ends = if *sideways { [f.at(*lo, *c), f.at(*hi, *c)] } else { [f.at(*c, *lo), f.at(*c, *hi)] };
                let cap = if *sideways { (0.0, 4.0) } else { (4.0, 0.0) };
                polyline(canvas, f, &ends, style)?;
                for e in ends {
                    let tips = [(e.0 - cap.0, e.1 - cap.1), (e.0 + cap.0, e.1 + cap.1)];
                    polyline(canvas, f, &tips, style)?;
                }
            }
            Ok(())
        }
        Shape::Text { at, text, colour } => {
            let p = f.at(at.0, at.1);
            canvas.text(text, p, TICK_SIZE, Anchor::Start, *colour, false)
        }
    }
}

fn polyline(canvas: &Canvas<'_>, f: &Frame, points: &[Px], style: &Style) -> Result<(), ReproError> {
    clip_line(points, &f.plot).iter().try_for_each(|piece| canvas.line(piece, style))
}

fn heat(canvas: &Canvas<'_>, f: &Frame, grid: &Grid, ramp: &Ramp, (lo, hi): (f64, f64)) -> Result<(), ReproError> {
    let colour = |v: f64| -> Option<Colour> {
        let t = ((v - lo) / (hi - lo)).clamp(0.0, 1.0);
        v.is_finite().then(|| ramp.at((t * HEAT_STEPS).round() / HEAT_STEPS))
    };
    for j in 0..grid.ys.len() {
        let (bottom, top) = cell(&grid.ys, j);
        let mut start = 0;
        for i in 0..grid.xs.len() {
            let here = colour(grid.at(i, j));
            let ends = i + 1 == grid.xs.len() || colour(grid.at(i + 1, j)) != here;
            if !ends {
                continue;
            }
            let (a, b) = (f.at(cell(&grid.xs, start).0, top), f.at(cell(&grid.xs, i).1, bottom));
            start = i + 1;
            // Half a pixel of overlap hides the seams between rectangles.
            let polygon = [a, (b.0 + 0.5, a.1), (b.0 + 0.5, b.1 + 0.5), (a.0, b.1 + 0.5)];
            if let Some(c) = here {
                canvas.fill(&clip_polygon(&polygon, &f.plot), c, 1.0)?;
            }
        }
    }
    Ok(())
}

/// Where the cell round grid line `i` begins and ends.
fn cell(at: &[f64], i: usize) -> (f64, f64) {
    let before = if i == 0 { at[0] } else { f64::midpoint(at[i - 1], at[i]) };
    let after = at.get(i + 1).map_or(at[i], |next| f64::midpoint(at[i], *next));
    (before, after)
}

fn colour_bar(canvas: &Canvas<'_>, f: &Frame, ramp: &Ramp, (lo, hi): (f64, f64)) -> Result<(), ReproError> {
    let p = &f.plot;
    let bar = Rect { left: p.right + 12.0, right: p.right + 12.0 + BAR_WIDTH, ..*p };
    canvas.fill_rect(&bar, WHITE, 1.0)?;
    let mut step = 0.0;
    while step <= HEAT_STEPS {
        let (a, b) = (step / (HEAT_STEPS + 1.0), (step + 1.0) / (HEAT_STEPS + 1.0));
        let stripe = Rect { top: bar.bottom - b * bar.height(), bottom: bar.bottom - a * bar.height() + 0.3, ..bar };
        canvas.fill_rect(&stripe, ramp.at(step / HEAT_STEPS), 1.0)?;
        step += 1.0;
    }
    let ink = Style::solid(BLACK).width(1.0);
    canvas.frame(&bar, &ink)?;
    let span = Span { scale: Scale::Linear, lo, hi };
    for t in span.ticks(6) {
        let y = bar.bottom - span.fraction(t.at) * bar.height();
        canvas.line(&[(bar.right, y), (bar.right + 4.0, y)], &ink)?;
        canvas.text(&t.label, (bar.right + 7.0, y), TICK_SIZE, Anchor::Start, BLACK, false)?;
    }
    Ok(())
}

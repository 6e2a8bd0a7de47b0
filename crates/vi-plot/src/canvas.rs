//! Strokes, fills, bitmaps and text in pixels, written as SVG.
//!
//! Coordinates are whole tenths of a pixel, lines are relative paths without points that nobody would see, and a style sheet
//! exchanges ink and paper for readers with a dark screen.

use std::cell::{Cell, RefCell};
use std::fmt::Write as _;

use super::bitmap::Bitmap;
use super::palette::{Colour, Marker, Style};
use super::text::markup;

/// SVG units per pixel.
const UNIT: f64 = 10.0;
const FAMILY: &str = "Helvetica, Arial, DejaVu Sans, sans-serif";
/// How far, in pixels, a line may pass from a point that is left out of it.
const SIMPLIFIED: f64 = 0.12;
/// Ink, paper, grid, reference lines and the darkest hue, for a dark screen.
const DARK: &str = "@media (prefers-color-scheme:dark){[fill='#000000']{fill:#e8ebee}[stroke='#000000']{stroke:#e8ebee}\
    [fill='#ffffff']{fill:#1c2127}[stroke='#ffffff']{stroke:#1c2127}[stroke='#e0e0e0']{stroke:#363d45}\
    [fill='#3c3c3c']{fill:#ccd2d8}[stroke='#3c3c3c']{stroke:#ccd2d8}[fill='#e0e0e0']{fill:#363d45}[fill='#696969']{fill:#9aa4ae}[stroke='#696969']{stroke:#9aa4ae}\
    [fill='#0072b2']{fill:#3d9fdd}[stroke='#0072b2']{stroke:#3d9fdd}}";

/// A point or a size in pixels, `x` to the right and `y` downwards.
pub(super) type Px = (f64, f64);

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rect {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Rect {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }
}

/// Which point of the text is at the given place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}

/// The body of an SVG document under construction.
pub(super) struct Canvas {
    svg: RefCell<String>,
    clips: Cell<usize>,
    kept_ink: Cell<bool>,
}

fn units(v: f64) -> i32 {
    // The cast saturates, and a NaN becomes 0.
    #[expect(clippy::cast_possible_truncation, reason = "a saturating cast is what is wanted")]
    let v = (v * UNIT).round() as i32;
    v
}

fn opacity(name: &str, alpha: f64) -> String {
    if alpha >= 1.0 { String::new() } else { format!(" {name}-opacity=\"{:.2}\"", alpha.max(0.0)) }
}

/// Draws a picture of `width` × `height` pixels and returns the SVG text.
pub(super) fn render<E>((width, height): Px, draw: impl FnOnce(&Canvas) -> Result<(), E>) -> Result<String, E> {
    let canvas = Canvas { svg: RefCell::new(String::new()), clips: Cell::new(0), kept_ink: Cell::new(false) };
    draw(&canvas)?;
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {} {}\" \
         font-family=\"{FAMILY}\" fill=\"none\" stroke-linejoin=\"round\">\n<style>{DARK}</style>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{}</svg>\n",
        units(width),
        units(height),
        canvas.svg.into_inner()
    ))
}

impl Canvas {
    fn push(&self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.svg.borrow_mut().write_fmt(text);
    }

    /// From here on the style sheet leaves dark strokes and fills as they are (`kept`), or exchanges them again.
    pub(super) fn keep_ink(&self, kept: bool) {
        self.kept_ink.set(kept);
    }

    /// A colour as text, changed slightly while ink is kept, so that the style sheet does not match it.
    fn hex(&self, c: Colour) -> String {
        let red = if self.kept_ink.get() { c.0.max(1) } else { c.0 };
        let red = if self.kept_ink.get() && c.0 == 60 { 61 } else { red };
        format!("#{red:02x}{:02x}{:02x}", c.1, c.2)
    }

    /// An open line through `points` in the style's colour, width and dash.
    pub(super) fn line(&self, points: &[Px], style: &Style) {
        if points.len() < 2 {
            return;
        }
        let pattern: Vec<String> = style.dash.pattern().iter().map(|v| units(*v).to_string()).collect();
        let dash =
            if pattern.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{}\"", pattern.join(" ")) };
        let look = format!(
            "stroke=\"{}\" stroke-width=\"{}\"{}{dash}",
            self.hex(style.colour),
            units(style.width).max(1),
            opacity("stroke", style.alpha)
        );
        self.stroke(&path(&simplified(points)), &look, style.alpha >= 1.0);
    }

    /// A stroke along the path `d`; it joins the previous one if both look alike and both are opaque.
    fn stroke(&self, d: &str, look: &str, opaque: bool) {
        let end = format!("\" {look}/>\n");
        let mut svg = self.svg.borrow_mut();
        if opaque && svg.ends_with(&end) {
            let kept = svg.len() - end.len();
            svg.truncate(kept);
        } else {
            svg.push_str("<path d=\"");
        }
        svg.push_str(d);
        svg.push_str(&end);
    }

    /// A filled polygon.
    pub(super) fn fill(&self, points: &[Px], c: Colour, alpha: f64) {
        if points.len() < 3 {
            return;
        }
        let fill = self.hex(c);
        self.push(format_args!(
            "<path d=\"{}z\" fill=\"{fill}\"{}/>\n",
            path(&simplified(points)),
            opacity("fill", alpha)
        ));
    }

    /// A filled rectangle.
    pub(super) fn fill_rect(&self, r: &Rect, c: Colour, alpha: f64) {
        self.fill(&[(r.left, r.top), (r.right, r.top), (r.right, r.bottom), (r.left, r.bottom)], c, alpha);
    }

    /// The outline of a rectangle.
    pub(super) fn frame(&self, r: &Rect, style: &Style) {
        let corners = [(r.left, r.top), (r.right, r.top), (r.right, r.bottom), (r.left, r.bottom), (r.left, r.top)];
        self.line(&corners, style);
    }

    /// A bitmap stretched over `at`, of which the part inside `window` is drawn.
    pub(super) fn image(&self, bitmap: &Bitmap, at: &Rect, window: &Rect) {
        let id = self.clips.get();
        self.clips.set(id + 1);
        let place = |r: &Rect| {
            let (x, y) = (units(r.left), units(r.top));
            format!("x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\"", units(r.right) - x, units(r.bottom) - y)
        };
        self.push(format_args!(
            "<clipPath id=\"c{id}\"><rect {}/></clipPath>\n<image {} preserveAspectRatio=\"none\" \
             clip-path=\"url(#c{id})\" href=\"{}\"/>\n",
            place(window),
            place(at),
            bitmap.data_uri()
        ));
    }

    /// Markers of the style at `places`, `radius` pixels from centre to edge.
    pub(super) fn marks(&self, places: &[Px], style: &Style, radius: f64) {
        if style.marker == Marker::None || places.is_empty() {
            return;
        }
        let r = radius;
        if style.marker == Marker::Disc {
            // A line of length 0 with round ends is a disc.
            let look = format!(
                "stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"{}",
                self.hex(style.colour),
                units(2.0 * r).max(1),
                opacity("stroke", style.alpha)
            );
            let discs = places.iter().map(|(x, y)| format!("M{} {}h0", units(*x), units(*y)));
            if style.alpha >= 1.0 {
                self.stroke(&discs.collect::<String>(), &look, true);
            } else {
                let mut each = String::new();
                for d in discs {
                    let _ = write!(each, "<path d=\"{d}\"/>");
                }
                self.push(format_args!("<g {look}>{each}</g>\n"));
            }
            return;
        }
        let outline: Vec<Px> = match style.marker {
            Marker::Square => [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(scale(0.88 * r)).to_vec(),
            Marker::Triangle => [(0.0, -1.0), (0.95, 0.7), (-0.95, 0.7)].map(scale(1.2 * r)).to_vec(),
            Marker::Diamond => [(0.0, -1.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)].map(scale(1.25 * r)).to_vec(),
            _ => Vec::new(),
        };
        for (x, y) in places {
            if outline.is_empty() {
                let (s, t) = if style.marker == Marker::Plus { (1.2 * r, 0.0) } else { (r, r) };
                let thin = Style::solid(style.colour).width(1.8).alpha(style.alpha);
                self.line(&[(x - s, y - t), (x + s, y + t)], &thin);
                self.line(&[(x - t, y + s), (x + t, y - s)], &thin);
            } else {
                let corners: Vec<Px> = outline.iter().map(|(u, v)| (x + u, y + v)).collect();
                self.fill(&corners, style.colour, style.alpha);
            }
        }
    }

    /// Horizontal text, vertically centred on `at`.
    pub(super) fn text(&self, text: &str, at: Px, size: f64, anchor: Anchor, c: Colour, bold: bool) {
        self.write(text, at, size, anchor, c, if bold { " font-weight=\"bold\"" } else { "" });
    }

    /// Text running upwards, centred on `at`.
    pub(super) fn text_upwards(&self, text: &str, at: Px, size: f64, c: Colour) {
        let turn = format!(" transform=\"rotate(-90 {} {})\"", units(at.0), units(at.1));
        self.write(text, at, size, Anchor::Middle, c, &turn);
    }

    fn write(&self, text: &str, at: Px, size: f64, anchor: Anchor, c: Colour, more: &str) {
        if text.is_empty() {
            return;
        }
        let text = markup(text);
        // The base line of centred letters is a third of the size below the middle.
        self.push(format_args!(
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\" text-anchor=\"{}\" fill=\"{}\"{more}>{text}</text>\n",
            units(at.0),
            units(at.1 + if more.contains("rotate") { 0.0 } else { 0.35 * size }),
            units(size),
            anchor.name(),
            self.hex(c)
        ));
    }
}

fn scale(by: f64) -> impl Fn(Px) -> Px {
    move |(x, y)| (by * x, by * y)
}

/// A path through the points, relative from the second on; a minus separates numbers as a space does.
fn path(points: &[Px]) -> String {
    let mut at = (units(points[0].0), units(points[0].1));
    let mut out = format!("M{} {}", at.0, at.1);
    for (i, p) in points[1..].iter().enumerate() {
        let next = (units(p.0), units(p.1));
        let (dx, dy) = (next.0 - at.0, next.1 - at.1);
        let before = if i == 0 { "l" } else { between(dx) };
        let _ = write!(out, "{before}{dx}{}{dy}", between(dy));
        at = next;
    }
    out
}

/// The separator that is needed between a number and `next`.
const fn between(next: i32) -> &'static str {
    if next < 0 { "" } else { " " }
}

/// The line without the points that it would pass within [`SIMPLIFIED`] pixels anyway (Douglas and Peucker).
fn simplified(points: &[Px]) -> Vec<Px> {
    let mut kept = vec![false; points.len()];
    kept[0] = true;
    kept[points.len() - 1] = true;
    let mut open = vec![(0, points.len() - 1)];
    while let Some((first, last)) = open.pop() {
        let (mut farthest, mut most) = (first, SIMPLIFIED);
        for i in first + 1..last {
            let off = distance(points[i], points[first], points[last]);
            if off > most {
                (farthest, most) = (i, off);
            }
        }
        if farthest > first {
            kept[farthest] = true;
            open.push((first, farthest));
            open.push((farthest, last));
        }
    }
    points.iter().zip(kept).filter(|(_, keep)| *keep).map(|(p, _)| *p).collect()
}

/// Distance of a point from a segment.
fn distance(p: Px, a: Px, b: Px) -> f64 {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let squared = dx * dx + dy * dy;
    let t = if squared > 0.0 { (((p.0 - a.0) * dx + (p.1 - a.1) * dy) / squared).clamp(0.0, 1.0) } else { 0.0 };
    (p.0 - a.0 - t * dx).hypot(p.1 - a.1 - t * dy)
}

/// The approximate width of `text` in pixels, for laying out legends.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    text.chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | 't' | 'f' | 'r' | '.' | ',' | ':' | ';' | '(' | ')' | ' ' | '|' => 0.33,
            'm' | 'w' | 'M' | 'W' => 0.86,
            c if c.is_uppercase() => 0.70,
            _ => 0.57,
        })
        .sum::<f64>()
        * size
}

/// `text` in lines of at most `width` pixels, broken at spaces.
pub(super) fn wrapped(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 0.33 * size <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::super::palette::BLUE;
    use super::*;
    use crate::error::PlotError;

    fn drawn(draw: impl Fn(&Canvas)) -> String {
        let drawn: Result<String, PlotError> = render((300.0, 200.0), |c| {
            draw(c);
            Ok(())
        });
        drawn.unwrap()
    }

    #[test]
    fn points_on_a_straight_line_are_left_out_and_corners_stay() {
        let line: Vec<Px> = (0..50).map(|i| (f64::from(i), if i < 25 { 0.0 } else { f64::from(i) - 25.0 })).collect();
        assert_eq!(simplified(&line), [(0.0, 0.0), (25.0, 0.0), (49.0, 24.0)]);
        let circle: Vec<Px> = (0..=400)
            .map(|i| f64::from(i) / 400.0 * std::f64::consts::TAU)
            .map(|a| (90.0 * a.cos(), 90.0 * a.sin()))
            .collect();
        let few = simplified(&circle);
        assert!(few.len() < 200, "{}", few.len());
        for p in &circle {
            let near = few.windows(2).map(|w| distance(*p, w[0], w[1])).fold(f64::INFINITY, f64::min);
            assert!(near <= SIMPLIFIED);
        }
    }

    #[test]
    fn the_header_is_in_pixels_and_the_view_box_in_units() {
        let svg = drawn(|_| {});
        assert!(svg.contains("width=\"300\" height=\"200\" viewBox=\"0 0 3000 2000\""));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn paths_are_relative_and_end_where_the_line_does() {
        assert_eq!(path(&[(1.0, 2.0), (1.04, 2.0), (3.0, -1.0)]), "M10 20l0 0 20-30");
        let svg = drawn(|c| c.line(&[(0.0, 0.0), (5.0, 5.0)], &Style::solid(BLUE).alpha(0.5)));
        assert!(
            svg.contains("d=\"M0 0l50 50\" stroke=\"#0072b2\" stroke-width=\"20\" stroke-opacity=\"0.50\""),
            "{svg}"
        );
    }

    #[test]
    fn strokes_that_look_alike_are_one_path_unless_they_let_shine_through() {
        let count = |alpha: f64, other: f64| {
            let svg = drawn(|c| {
                let style = Style::solid(BLUE).alpha(alpha).marker(Marker::Disc);
                c.line(&[(0.0, 0.0), (5.0, 5.0)], &style);
                c.line(&[(7.0, 0.0), (9.0, 5.0)], &style.width(other));
                c.marks(&[(1.0, 1.0), (2.0, 2.0)], &style, 3.0);
            });
            (svg.matches("<path").count(), svg)
        };
        let width = Style::solid(BLUE).width;
        let (all, svg) = count(1.0, width);
        assert_eq!(all, 2, "{svg}");
        assert!(svg.contains("d=\"M0 0l50 50M70 0l20 50\"") && svg.contains("d=\"M10 10h0M20 20h0\""), "{svg}");
        assert_eq!(count(1.0, 2.0 * width).0, 3);
        assert_eq!(count(0.5, width).0, 4);
    }

    #[test]
    fn markup_in_text_is_escaped() {
        let svg = drawn(|c| c.text("a < b & \u{1b}c", (10.0, 10.0), 14.0, Anchor::Start, Colour(0, 0, 0), false));
        assert!(svg.contains("a &lt; b &amp; \\u{1b}c"));
    }

    #[test]
    fn long_text_is_broken_at_spaces() {
        let lines = wrapped("one two three four five six", 10.0, 60.0);
        assert!(lines.len() > 1 && lines.iter().all(|l| text_width(l, 10.0) <= 60.0));
        assert_eq!(lines.join(" "), "one two three four five six");
    }
}

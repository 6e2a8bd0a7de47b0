//! Strokes, fills and text in pixels, on the plotters SVG back end.
//!
//! The back end rounds coordinates to integers, so everything is drawn ten times too large and the
//! SVG header scales it down again.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::palette::{Colour, Dash, Marker, Style};
use crate::error::ReproError;

/// Back-end units per pixel.
const UNIT: f64 = 10.0;
/// The back end divides font sizes by this.
const FONT_FACTOR: f64 = 1.24;
const FAMILY: &str = "Helvetica, Arial, DejaVu Sans, sans-serif";

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

/// Which point of the text sits at the given place.
#[derive(Clone, Copy, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

fn units(v: f64) -> i32 {
    // The cast saturates, and a NaN becomes 0.
    #[expect(clippy::cast_possible_truncation, reason = "a saturating cast is what is wanted")]
    let v = (v * UNIT).round() as i32;
    v
}

fn stroke_units(v: f64) -> u32 {
    units(v).max(1).unsigned_abs()
}

fn colour(c: Colour, alpha: f64) -> RGBAColor {
    RGBColor(c.0, c.1, c.2).mix(alpha.clamp(0.0, 1.0))
}

/// Draws a picture of `width` × `height` pixels and returns the SVG text.
pub(super) fn render(
    (width, height): Px,
    draw: impl FnOnce(&Canvas<'_>) -> Result<(), ReproError>,
) -> Result<String, ReproError> {
    let size = (stroke_units(width), stroke_units(height));
    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        area.fill(&plotters::style::WHITE).map_err(backend)?;
        let canvas = Canvas { area };
        draw(&canvas)?;
        canvas.area.present().map_err(backend)?;
    }
    let from = format!("width=\"{}\" height=\"{}\" viewBox", size.0, size.1);
    let to = format!("width=\"{width:.0}\" height=\"{height:.0}\" viewBox");
    Ok(svg.replacen(&from, &to, 1))
}

fn backend(e: impl std::fmt::Display) -> ReproError {
    ReproError::Backend(e.to_string())
}

impl Canvas<'_> {
    /// An open line through `points` in the style's colour, width and dash.
    pub(super) fn line(&self, points: &[Px], style: &Style) -> Result<(), ReproError> {
        if points.len() < 2 {
            return Ok(());
        }
        if style.dash == Dash::Solid {
            return self.stroke(points, style);
        }
        for piece in dashes(points, style.dash.pattern()) {
            self.stroke(&piece, style)?;
        }
        Ok(())
    }

    fn stroke(&self, points: &[Px], style: &Style) -> Result<(), ReproError> {
        let path: Vec<(i32, i32)> = points.iter().map(|p| (units(p.0), units(p.1))).collect();
        let shape = ShapeStyle {
            color: colour(style.colour, style.alpha),
            filled: false,
            stroke_width: stroke_units(style.width),
        };
        self.area.draw(&PathElement::new(path, shape)).map_err(backend)
    }

    /// A filled polygon.
    pub(super) fn fill(&self, points: &[Px], c: Colour, alpha: f64) -> Result<(), ReproError> {
        if points.len() < 3 {
            return Ok(());
        }
        let path: Vec<(i32, i32)> = points.iter().map(|p| (units(p.0), units(p.1))).collect();
        self.area.draw(&Polygon::new(path, colour(c, alpha).filled())).map_err(backend)
    }

    /// A filled rectangle.
    pub(super) fn fill_rect(&self, r: &Rect, c: Colour, alpha: f64) -> Result<(), ReproError> {
        let corners = [(units(r.left), units(r.top)), (units(r.right), units(r.bottom))];
        self.area.draw(&Rectangle::new(corners, colour(c, alpha).filled())).map_err(backend)
    }

    /// The outline of a rectangle.
    pub(super) fn frame(&self, r: &Rect, style: &Style) -> Result<(), ReproError> {
        let corners = [(r.left, r.top), (r.right, r.top), (r.right, r.bottom), (r.left, r.bottom), (r.left, r.top)];
        self.line(&corners, style)
    }

    /// One marker of the style, `radius` pixels from centre to edge.
    pub(super) fn mark(&self, at: Px, style: &Style, radius: f64) -> Result<(), ReproError> {
        let (x, y) = at;
        let r = radius;
        let (c, a) = (style.colour, style.alpha);
        let thin = Style::solid(c).width(1.8).alpha(a);
        match style.marker {
            Marker::None => Ok(()),
            Marker::Disc => {
                self.area.draw(&Circle::new((units(x), units(y)), units(r), colour(c, a).filled())).map_err(backend)
            }
            Marker::Square => {
                let s = 0.88 * r;
                self.fill(&[(x - s, y - s), (x + s, y - s), (x + s, y + s), (x - s, y + s)], c, a)
            }
            Marker::Triangle => {
                let s = 1.2 * r;
                self.fill(&[(x, y - s), (x + 0.95 * s, y + 0.7 * s), (x - 0.95 * s, y + 0.7 * s)], c, a)
            }
            Marker::Diamond => {
                let s = 1.25 * r;
                self.fill(&[(x, y - s), (x + s, y), (x, y + s), (x - s, y)], c, a)
            }
            Marker::Cross => {
                self.line(&[(x - r, y - r), (x + r, y + r)], &thin)?;
                self.line(&[(x - r, y + r), (x + r, y - r)], &thin)
            }
            Marker::Plus => {
                let s = 1.2 * r;
                self.line(&[(x - s, y), (x + s, y)], &thin)?;
                self.line(&[(x, y - s), (x, y + s)], &thin)
            }
        }
    }

    /// Horizontal text, vertically centred on `at`.
    pub(super) fn text(
        &self,
        text: &str,
        at: Px,
        size: f64,
        anchor: Anchor,
        c: Colour,
        bold: bool,
    ) -> Result<(), ReproError> {
        self.write(text, at, size, anchor, c, bold, FontTransform::None)
    }

    /// Text running upwards, centred on `at`.
    pub(super) fn text_upwards(&self, text: &str, at: Px, size: f64, c: Colour) -> Result<(), ReproError> {
        self.write(text, at, size, Anchor::Middle, c, false, FontTransform::Rotate270)
    }

    #[expect(clippy::too_many_arguments, reason = "one private place that builds a text style")]
    fn write(
        &self,
        text: &str,
        at: Px,
        size: f64,
        anchor: Anchor,
        c: Colour,
        bold: bool,
        transform: FontTransform,
    ) -> Result<(), ReproError> {
        let h = match anchor {
            Anchor::Start => HPos::Left,
            Anchor::Middle => HPos::Center,
            Anchor::End => HPos::Right,
        };
        let weight = if bold { FontStyle::Bold } else { FontStyle::Normal };
        let font = FontDesc::new(FontFamily::Name(FAMILY), size * UNIT * FONT_FACTOR, weight).transform(transform);
        let ink = colour(c, 1.0);
        let style = TextStyle::from(font).color(&ink).pos(Pos::new(h, VPos::Center));
        self.area.draw(&Text::new(text, (units(at.0), units(at.1)), style)).map_err(backend)
    }
}

/// Width of `text` in pixels, near enough for laying out legends.
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

/// Cuts a line into the strokes of a dash pattern.
fn dashes(points: &[Px], pattern: &[f64]) -> Vec<Vec<Px>> {
    let mut pieces = Vec::new();
    let mut index = 0;
    let mut left = pattern.first().copied().unwrap_or(f64::INFINITY);
    let mut piece = vec![points[0]];
    for pair in points.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        loop {
            let length = (to.0 - from.0).hypot(to.1 - from.1);
            if length.is_nan() || length <= left {
                left -= length.max(0.0);
                if index % 2 == 0 {
                    piece.push(to);
                }
                break;
            }
            let t = left / length;
            from = (from.0 + t * (to.0 - from.0), from.1 + t * (to.1 - from.1));
            if index % 2 == 0 {
                piece.push(from);
                pieces.push(std::mem::take(&mut piece));
            } else {
                piece.push(from);
            }
            index += 1;
            left = pattern[index % pattern.len()];
        }
    }
    if index % 2 == 0 && piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(p: &[Px]) -> f64 {
        p.windows(2).map(|w| (w[1].0 - w[0].0).hypot(w[1].1 - w[0].1)).sum()
    }

    #[test]
    fn dashes_cover_their_share_of_the_line() {
        // 100 px of pattern 6 on, 4 off is ten whole periods: 60 px of stroke, around a corner too.
        let line = [(0.0, 0.0), (33.0, 0.0), (33.0, 67.0)];
        let pieces = dashes(&line, &[6.0, 4.0]);
        let drawn: f64 = pieces.iter().map(|p| length(p)).sum();
        assert!((drawn - 60.0).abs() < 1e-9, "{drawn}");
        assert_eq!(pieces.len(), 10);
    }

    #[test]
    fn the_header_is_in_pixels_and_the_view_box_in_units() {
        let svg = render((300.0, 200.0), |_| Ok(())).unwrap();
        assert!(svg.contains("width=\"300\" height=\"200\" viewBox=\"0 0 3000 2000\""));
        assert!(svg.trim_end().ends_with("</svg>"));
    }

    #[test]
    fn markup_in_text_is_escaped() {
        let svg =
            render((300.0, 200.0), |c| c.text("a < b & c", (10.0, 10.0), 14.0, Anchor::Start, Colour(0, 0, 0), false))
                .unwrap();
        assert!(svg.contains("a &lt; b &amp; c"));
    }
}

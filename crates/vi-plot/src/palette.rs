//! The colours, dashes and markers of all methods, in one place.
//!
//! The colours are those of Okabe and Ito, which readers with any of the common colour-vision
//! deficiencies tell apart; methods that share a colour differ in dash and marker, so the pictures
//! also survive a black-and-white printer.

/// A colour, 8 bits a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Colour(pub u8, pub u8, pub u8);

/// Okabe-Ito black.
pub const BLACK: Colour = Colour(0, 0, 0);
/// Okabe-Ito orange.
pub const ORANGE: Colour = Colour(230, 159, 0);
/// Okabe-Ito sky blue.
pub const SKY: Colour = Colour(86, 180, 233);
/// Okabe-Ito bluish green.
pub const GREEN: Colour = Colour(0, 158, 115);
/// Okabe-Ito blue.
pub const BLUE: Colour = Colour(0, 114, 178);
/// Okabe-Ito vermillion.
pub const VERMILLION: Colour = Colour(213, 94, 0);
/// Okabe-Ito reddish purple.
pub const PURPLE: Colour = Colour(204, 121, 167);
/// A brown that differs from all of them, for one further method.
pub const BROWN: Colour = Colour(140, 86, 60);
/// A neutral grey for truths, contours and reference lines.
pub const GREY: Colour = Colour(105, 105, 105);
/// A pale grey for grids.
pub const PALE: Colour = Colour(224, 224, 224);
/// Plain white.
pub const WHITE: Colour = Colour(255, 255, 255);

/// What each colour stands for on every picture of the page.
pub const LEGEND: &[(Colour, &str)] = &[
    (BLUE, "the method of the paper, in the form that works"),
    (SKY, "a variant of it"),
    (ORANGE, "the same as printed, or by the authors’ rule"),
    (PURPLE, "what this library adds: sweeps, blocks, refits, tighter bounds"),
    (GREEN, "another method for streams: extended Kalman filter, natural gradient, online EM"),
    (BROWN, "quadratic Kalman filter, skip-covariance"),
    (VERMILLION, "a batch baseline: Laplace, mean field, maximum likelihood, Cholesky sampling"),
    (BLACK, "the best there is of its kind: batch optimum, exact process, converged EM"),
    (GREY, "the truth and lines of reference; points of the two classes are dark discs and pale triangles"),
];

impl Colour {
    /// Shade `i` of `n` of one colour, from pale to full, for the values of a number.
    #[must_use]
    pub fn shade(self, i: usize, n: usize) -> Self {
        self.mix(WHITE, 0.62 * (1.0 - (i as f64 + 1.0) / n as f64))
    }

    /// The colour a fraction `t` of the way to `other`; `t` is clamped to `[0, 1]`.
    #[must_use]
    pub fn mix(self, other: Self, t: f64) -> Self {
        let channel = |a: u8, b: u8| {
            let t = if t.is_nan() { 0.0 } else { t.clamp(0.0, 1.0) };
            let value = f64::from(a) + (f64::from(b) - f64::from(a)) * t;
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between two u8")]
            let value = value.round() as u8;
            value
        };
        Self(channel(self.0, other.0), channel(self.1, other.1), channel(self.2, other.2))
    }
}

/// The dash pattern of a stroke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dash {
    /// Unbroken.
    Solid,
    /// Medium dashes.
    Dashed,
    /// Dots.
    Dotted,
    /// Dash, dot, dash.
    DashDot,
    /// Long dashes.
    Long,
}

impl Dash {
    /// Lengths of stroke and gap in turn, in pixels; empty for an unbroken line.
    #[must_use]
    pub fn pattern(self) -> &'static [f64] {
        match self {
            Self::Solid => &[],
            Self::Dashed => &[6.0, 4.0],
            Self::Dotted => &[2.0, 3.0],
            Self::DashDot => &[8.0, 3.0, 2.0, 3.0],
            Self::Long => &[12.0, 4.0],
        }
    }
}

/// The marker on single points of a line or a scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Marker {
    /// No mark.
    None,
    /// A disc.
    Disc,
    /// A square.
    Square,
    /// A triangle pointing up.
    Triangle,
    /// A square standing on a corner.
    Diamond,
    /// A diagonal cross.
    Cross,
    /// An upright cross.
    Plus,
}

/// Colour, dash, marker and width of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Style {
    /// Colour of stroke and marker.
    pub colour: Colour,
    /// Dash pattern of the stroke.
    pub dash: Dash,
    /// Marker on single points.
    pub marker: Marker,
    /// Stroke width in pixels.
    pub width: f64,
    /// Opacity: 1 opaque, 0 invisible.
    pub alpha: f64,
}

impl Style {
    /// An unbroken, unmarked line, 2 pixels wide.
    #[must_use]
    pub const fn solid(colour: Colour) -> Self {
        Self { colour, dash: Dash::Solid, marker: Marker::None, width: 2.0, alpha: 1.0 }
    }

    /// This style with another dash.
    #[must_use]
    pub const fn dash(mut self, dash: Dash) -> Self {
        self.dash = dash;
        self
    }

    /// This style with another marker.
    #[must_use]
    pub const fn marker(mut self, marker: Marker) -> Self {
        self.marker = marker;
        self
    }

    /// This style with another width in pixels.
    #[must_use]
    pub const fn width(mut self, width: f64) -> Self {
        self.width = width;
        self
    }

    /// This style with another opacity.
    #[must_use]
    pub const fn alpha(mut self, alpha: f64) -> Self {
        self.alpha = alpha;
        self
    }

    /// This style with another colour.
    #[must_use]
    pub const fn colour(mut self, colour: Colour) -> Self {
        self.colour = colour;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixing_ends_at_its_ends_and_survives_nan() {
        assert_eq!(BLUE.mix(WHITE, 0.0), BLUE);
        assert_eq!(BLUE.mix(WHITE, 1.0), WHITE);
        assert_eq!(BLUE.mix(WHITE, f64::NAN), BLUE);
        assert_eq!(BLACK.mix(Colour(10, 20, 30), 0.5), Colour(5, 10, 15));
    }
}

//! The methods that pictures compare: their names and looks.

use vi_plot::palette::{BLACK, BLUE, BROWN, Colour, Dash, GREEN, GREY, Marker, PURPLE, SKY, Style, VERMILLION};

/// A method that appears in the pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// R-VGA, implicit scheme.
    RvgaImplicit,
    /// R-VGA, explicit scheme.
    RvgaExplicit,
    /// Extended Kalman filter.
    Ekf,
    /// Quadratic Kalman filter.
    Qkf,
    /// Batch Laplace approximation.
    Laplace,
    /// The posterior itself.
    TruePosterior,
    /// Maximum a posteriori.
    Map,
    /// Refinement sweeps over stored sites.
    Refinement,
    /// Batch variational Gaussian optimum.
    BatchVga,
    /// Mean-field approximation.
    MeanField,
    /// Mirror-prox step.
    MirrorProx,
    /// Natural gradient.
    NaturalGradient,
}

impl Method {
    /// Every method, in the order legends use.
    pub const ALL: [Self; 12] = [
        Self::RvgaImplicit,
        Self::RvgaExplicit,
        Self::Ekf,
        Self::Qkf,
        Self::Laplace,
        Self::TruePosterior,
        Self::Map,
        Self::Refinement,
        Self::BatchVga,
        Self::MeanField,
        Self::MirrorProx,
        Self::NaturalGradient,
    ];

    /// The name shown to people.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::RvgaImplicit => "R-VGA implicit",
            Self::RvgaExplicit => "R-VGA explicit",
            Self::Ekf => "EKF",
            Self::Qkf => "QKF",
            Self::Laplace => "Laplace (batch)",
            Self::TruePosterior => "true posterior",
            Self::Map => "MAP",
            Self::Refinement => "refinement sweeps",
            Self::BatchVga => "batch VGA",
            Self::MeanField => "mean field",
            Self::MirrorProx => "mirror-prox",
            Self::NaturalGradient => "natural gradient",
        }
    }

    /// The name used in CSV columns.
    #[must_use]
    pub const fn slug(self) -> &'static str {
        match self {
            Self::RvgaImplicit => "rvga_implicit",
            Self::RvgaExplicit => "rvga_explicit",
            Self::Ekf => "ekf",
            Self::Qkf => "qkf",
            Self::Laplace => "laplace",
            Self::TruePosterior => "true_posterior",
            Self::Map => "map",
            Self::Refinement => "refinement",
            Self::BatchVga => "batch_vga",
            Self::MeanField => "mean_field",
            Self::MirrorProx => "mirror_prox",
            Self::NaturalGradient => "natural_gradient",
        }
    }

    /// How the method is drawn, everywhere.
    #[must_use]
    pub const fn style(self) -> Style {
        let (colour, dash, marker) = match self {
            Self::RvgaImplicit => (BLUE, Dash::Solid, Marker::Disc),
            Self::RvgaExplicit => (SKY, Dash::Dashed, Marker::Triangle),
            Self::Ekf => (GREEN, Dash::DashDot, Marker::Square),
            Self::Qkf => (BROWN, Dash::Dotted, Marker::Diamond),
            Self::Laplace => (VERMILLION, Dash::Long, Marker::None),
            Self::TruePosterior => (GREY, Dash::Solid, Marker::None),
            Self::Map => (BLACK, Dash::Dotted, Marker::Cross),
            Self::Refinement => (PURPLE, Dash::Solid, Marker::Plus),
            Self::BatchVga => (BLACK, Dash::Long, Marker::None),
            Self::MeanField => (VERMILLION, Dash::Dotted, Marker::Triangle),
            Self::MirrorProx => (PURPLE, Dash::Dashed, Marker::Diamond),
            Self::NaturalGradient => (GREEN, Dash::Dashed, Marker::Square),
        };
        Style::solid(colour).dash(dash).marker(marker)
    }
}

/// Style of the points of class 0.
pub const CLASS_0: Style = Style::solid(Colour(60, 60, 60)).marker(Marker::Disc);
/// Style of the points of class 1.
pub const CLASS_1: Style = Style::solid(Colour(150, 150, 150)).marker(Marker::Triangle);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_methods_look_alike() {
        for (i, a) in Method::ALL.iter().enumerate() {
            for b in &Method::ALL[i + 1..] {
                let (s, t) = (a.style(), b.style());
                assert!((s.colour, s.dash) != (t.colour, t.dash), "{a:?} and {b:?} share colour and dash");
                assert_ne!(a.slug(), b.slug());
                assert_ne!(a.label(), b.label());
            }
        }
    }

    #[test]
    fn the_papers_methods_have_colours_of_their_own() {
        let first = &Method::ALL[..7];
        for (i, a) in first.iter().enumerate() {
            for b in &first[i + 1..] {
                assert_ne!(a.style().colour, b.style().colour, "{a:?} and {b:?}");
            }
        }
    }
}

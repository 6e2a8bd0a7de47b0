//! How each fit looks, and what several items share.

use crate::error::ReproError;
use crate::plot::palette::{BLACK, BLUE, Dash, GREEN, GREY, Marker, ORANGE, PURPLE, Style, VERMILLION};

/// A way to fit, as the pictures name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// What the data were made from.
    Truth,
    /// Maximum likelihood.
    Ml,
    /// One shrinkage.
    Vb,
    /// A shrinkage for each weight.
    Ard,
    /// One row at a time.
    Incremental,
    /// The tight bound.
    Softplus,
}

impl Way {
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Truth => "truth",
            Self::Ml => "maximum likelihood",
            Self::Vb => "VB",
            Self::Ard => "VB, relevance determination",
            Self::Incremental => "VB, one row at a time",
            Self::Softplus => "VB, softplus bound",
        }
    }

    pub(super) fn slug(self) -> &'static str {
        match self {
            Self::Truth => "truth",
            Self::Ml => "ml",
            Self::Vb => "vb",
            Self::Ard => "vb_ard",
            Self::Incremental => "vb_incremental",
            Self::Softplus => "vb_softplus",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Truth => Style::solid(BLACK).dash(Dash::Dotted),
            Self::Ml => Style::solid(GREY).dash(Dash::Dashed).marker(Marker::Cross),
            Self::Vb => Style::solid(BLUE).marker(Marker::Disc),
            Self::Ard => Style::solid(VERMILLION).dash(Dash::Long).marker(Marker::Triangle),
            Self::Incremental => Style::solid(GREEN).dash(Dash::DashDot).marker(Marker::Square),
            Self::Softplus => Style::solid(PURPLE).marker(Marker::Diamond),
        }
    }
}

/// A colour for a second quantity of the same fit.
pub(super) const SECOND: Style = Style::solid(ORANGE);

/// Wraps a library error with what was being computed.
pub(super) fn computation(what: &str, e: &impl std::fmt::Display) -> ReproError {
    ReproError::computation(what, e)
}

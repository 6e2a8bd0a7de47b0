//! How each fit looks, and what several items share.

use crate::error::ReproError;
use crate::plot::palette::{BLUE, Dash, GREEN, GREY, Marker, ORANGE, PURPLE, SKY, Style, VERMILLION};

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
    /// One shrinkage, stopped by the authors' rule.
    VbAuthors,
    /// A shrinkage for each weight, stopped by the authors' rule.
    ArdAuthors,
    /// Least squares on labels ±1.
    Discriminant,
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
            Self::VbAuthors => "VB, authors’ rule",
            Self::ArdAuthors => "relevance determination, authors’ rule",
            Self::Discriminant => "linear discriminant",
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
            Self::VbAuthors => "vb_authors",
            Self::ArdAuthors => "vb_ard_authors",
            Self::Discriminant => "discriminant",
            Self::Incremental => "vb_incremental",
            Self::Softplus => "vb_softplus",
        }
    }

    pub(super) fn style(self) -> Style {
        match self {
            Self::Truth => Style::solid(GREY).dash(Dash::Dotted),
            Self::Ml => Style::solid(VERMILLION).dash(Dash::Dashed).marker(Marker::Cross),
            Self::Vb => Style::solid(BLUE).marker(Marker::Disc),
            Self::Ard => Style::solid(SKY).dash(Dash::Long).marker(Marker::Triangle),
            Self::VbAuthors => Style::solid(ORANGE).marker(Marker::Disc),
            Self::ArdAuthors => Style::solid(ORANGE).dash(Dash::Long).marker(Marker::Triangle),
            Self::Discriminant => Style::solid(VERMILLION).dash(Dash::DashDot).marker(Marker::Plus),
            Self::Incremental => Style::solid(GREEN).dash(Dash::DashDot).marker(Marker::Square),
            Self::Softplus => Style::solid(PURPLE).marker(Marker::Diamond),
        }
    }
}

/// The same fit by the authors' rule, or what the note prints of it.
pub(super) const SECOND: Style = Style::solid(ORANGE);

/// Wraps a library error with what was being computed.
pub(super) fn computation(what: &str, e: &impl std::fmt::Display) -> ReproError {
    ReproError::computation(what, e)
}

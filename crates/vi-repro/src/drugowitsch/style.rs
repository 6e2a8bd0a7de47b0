//! How each fit looks, and what several items share.

use super::data::Sample;
use crate::looks::looks;
use crate::plot::palette::{Dash, GREY, Marker, ORANGE, Style};
use crate::plot::{Axis, Panel};

looks! {
    /// A way to fit: what the data were made from; maximum likelihood; one shrinkage, or one for each weight, and both stopped by the
    /// authors' rule; least squares on labels ±1; one row at a time; the tight bound.
    pub(super) enum Way {
        Truth: "truth", "truth", GREY Dotted None;
        Ml: "ml", "maximum likelihood", VERMILLION Dashed Cross;
        Vb: "vb", "VB", BLUE Solid Disc;
        Ard: "vb_ard", "VB, relevance determination", SKY Long Triangle;
        VbAuthors: "vb_authors", "VB, authors’ rule", ORANGE Solid Disc;
        ArdAuthors: "vb_ard_authors", "relevance determination, authors’ rule", ORANGE Long Triangle;
        Discriminant: "discriminant", "linear discriminant", VERMILLION DashDot Plus;
        Incremental: "vb_incremental", "VB, one row at a time", GREEN DashDot Square;
        Softplus: "vb_softplus", "VB, softplus bound", PURPLE Solid Diamond;
    }
}

/// The same fit by the authors' rule, or what the note prints of it.
pub(super) const SECOND: Style = Style::solid(ORANGE);

/// Fitted against true weights.
pub(super) fn weights_panel(way: Way, sample: &Sample, w: &[f64]) -> Panel {
    let reach = sample.w.iter().fold(0.5, |reach: f64, w| reach.max(w.abs()));
    let axis = |name| Axis::linear(name).range(-reach, reach);
    Panel::new(way.label(), axis("true weight"), axis("fitted weight"))
        .line_marked(&[-reach, reach], &[-reach, reach], Style::solid(GREY).dash(Dash::Dotted), 0, "fitted = true")
        .points(&sample.w, w, Style::solid(way.style().colour).marker(Marker::Disc).alpha(0.45), 2.6, "")
}

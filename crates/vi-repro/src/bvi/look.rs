//! How the methods look.

use crate::plot::palette::{BLACK, BLUE, Dash, GREY, Marker, ORANGE, PURPLE, Style, VERMILLION};

pub(super) const TRUTH: Style = Style::solid(GREY).width(3.0);
pub(super) const START: Style = Style::solid(BLACK).dash(Dash::Dotted).width(1.4);
pub(super) const PRINTED: Style = Style::solid(ORANGE).marker(Marker::Square);
/// The printed algorithm with each of [`super::runs::STEPS`].
pub(super) const PRINTED_BY_STEP: [Style; 2] = [PRINTED, Style::solid(ORANGE).dash(Dash::Dashed).marker(Marker::Cross)];
pub(super) const MEAN_FIELD: Style = Style::solid(VERMILLION).dash(Dash::Long).marker(Marker::Triangle);
pub(super) const FULL_RANK: Style = Style::solid(BLACK).dash(Dash::DashDot).marker(Marker::Diamond);
pub(super) const GREEDY: Style = Style::solid(BLUE).dash(Dash::Dashed).marker(Marker::Plus);
pub(super) const REFITTED: Style = Style::solid(PURPLE).marker(Marker::Disc);

pub(super) const TRUTH_LABEL: &str = "truth";
pub(super) const START_LABEL: &str = "start q₁";
pub(super) const PRINTED_LABEL: &str = "BVI as printed";
pub(super) const PRINTED_BY_STEP_LABELS: [&str; 2] = ["BVI as printed, b = 1", "BVI as printed, b = 0.1"];
pub(super) const MEAN_FIELD_LABEL: &str = "mean field";
pub(super) const FULL_RANK_LABEL: &str = "full-rank Gaussian";
pub(super) const GREEDY_LABEL: &str = "ours, greedy";
pub(super) const REFITTED_LABEL: &str = "ours, refitted";

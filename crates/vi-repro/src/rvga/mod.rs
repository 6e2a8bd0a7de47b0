//! Lambert, Bonnabel and Bach, *The recursive variational Gaussian approximation (R-VGA)*.

mod fixed_point;
mod leave_one_out;
mod mean_field;
mod methods;
mod output;
mod race;
mod real_data;
mod refined;
mod replicate;
mod section5;
mod section6_high;
mod section6_planar;
mod separability;
mod shared;
mod theorems;
mod two_dim;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "rvga",
    audience: Audience::Readers,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/rvga.txt"))),
    items: &[
        Item::new("fig1", section5::fig1),
        Item::new("fig2", section5::fig2),
        Item::new("theorems", theorems::theorems),
        Item::new("fig3", section6_planar::fig3),
        Item::new("fig4", section6_planar::fig4),
        Item::new("fig5", section6_planar::fig5),
        Item::new("fig6", section6_planar::fig6),
        Item::new("fig7", section6_high::fig7),
        Item::new("fig8", section6_high::fig8),
        Item::new("fig9", section6_high::fig9),
        Item::new("fig10", section6_high::fig10),
        Item::new("fig11", output::fig11),
        Item::new("fig12", fixed_point::fig12),
        Item::new("fig13", fixed_point::fig13),
        Item::new("fig14", separability::fig14),
        Item::new("fig15", separability::fig15),
        Item::new("fig16", separability::fig16),
        Item::new("breast-cancer", real_data::breast_cancer),
        Item::new("nodal", real_data::nodal),
        Item::new("refinement", race::refinement).alone(),
        Item::new("leave-one-out", leave_one_out::leave_one_out),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

//! Steinberg, Tiao and others, *revrand: technical report*: kernel machines on random features.

mod classes;
mod counts;
mod demo;
mod diabetes;
mod glm_line;
mod gp;
mod kernels;
mod line;
mod published;
mod scores;
mod traces;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "revrand",
    audience: Audience::Readers,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/revrand.txt"))),
    items: &[
        Item::new("kernels", kernels::kernels),
        Item::new("line", line::line),
        Item::new("glm", glm_line::glm_line),
        Item::new("counts", counts::counts),
        Item::new("classes", classes::classes),
        Item::new("traces", traces::traces),
        Item::new("diabetes", diabetes::diabetes),
        Item::new("published", published::published),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

//! For people with data: which method when, by accuracy against cost.

mod methods;
mod posteriors;
mod sparse;
mod study;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "practice",
    audience: Audience::Practitioners,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/practice.txt"))),
    items: &[
        Item::new("tumours", study::tumours).alone(),
        Item::new("nodal", study::nodal).alone(),
        Item::new("many", study::many).alone(),
        Item::new("posteriors", posteriors::run).alone(),
        Item::new("sparse", sparse::run).alone(),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

//! Guo, Wang, Fan, Broderick and Dunson, *Boosting variational inference*.

mod alternative;
mod fig1;
mod fig2;
mod grid;
mod look;
mod runs;
mod summary;
mod toys;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "bvi",
    audience: Audience::Readers,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/bvi.txt"))),
    items: &[
        Item::new("fig1a", fig1::cauchy),
        Item::new("fig1b", fig1::mixture4),
        Item::new("fig1c", fig1::mixture5),
        Item::new("fig2", fig2::nodal),
        Item::new("algorithm3", alternative::algorithm3),
        Item::new("kl", summary::table),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

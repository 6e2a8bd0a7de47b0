//! Lambert, Bonnabel and Bach, *The limited-memory recursive variational Gaussian approximation (L-RVGA)*.

mod covariance;
mod digits;
mod factorisers;
mod inputs;
mod memory;
mod mirror_prox;
mod moons;
mod network;
mod networks;
mod remark;
mod sampled;
mod sampled_run;
mod sampling;
mod scale;
mod scheme;
mod sensitivity;
mod table1;
mod table2;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "lrvga",
    audience: Audience::Readers,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/lrvga.txt"))),
    items: &[
        Item::new("fig1", covariance::fig1),
        Item::new("table1", table1::table1).alone(),
        Item::new("fig2", sensitivity::fig2),
        Item::new("fig3", sensitivity::fig3),
        Item::new("remark1", remark::remark1),
        Item::new("table2", table2::table2).alone(),
        Item::new("table3", sampling::table3).alone(),
        Item::new("fig4", sampled::fig4),
        Item::new("fig5", mirror_prox::fig5),
        Item::new("networks", networks::networks),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

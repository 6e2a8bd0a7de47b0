//! Guo, Wang, Fan, Broderick and Dunson, *Boosting variational inference*.

mod alternative;
pub(crate) mod claims;
mod fig1;
mod fig2;
mod grid;
mod look;
mod runs;
mod summary;
mod toys;

use crate::item::{Audience, Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "bvi",
    short: "BVI",
    title: "BVI: boosting variational inference",
    source: "F. Guo, X. Wang, K. Fan, T. Broderick, D. B. Dunson, Boosting variational inference, arXiv 1611.05559, 2016",
    audience: Audience::Readers,
    items: &[
        Item::new("fig1a", "A heavy-tailed density", "bvi/fig1.rs", fig1::cauchy),
        Item::new("fig1b", "Four modes on a line", "bvi/fig1.rs", fig1::mixture4),
        Item::new("fig1c", "Five modes in the plane", "bvi/fig1.rs", fig1::mixture5),
        Item::new("fig2", "Logistic regression on the Nodal data", "bvi/fig2.rs", fig2::nodal),
        Item::new("algorithm3", "Algorithm 3: the other direction", "bvi/alternative.rs", alternative::algorithm3),
        Item::new("kl", "Divergences of every method", "bvi/summary.rs", summary::table),
    ],
};

/// Wraps a library's error with what was being computed.
fn computation(what: &str, error: &impl std::fmt::Display) -> crate::ReproError {
    crate::ReproError::computation(what, error)
}

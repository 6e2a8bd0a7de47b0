//! Guo, Wang, Fan, Broderick and Dunson, *Boosting variational inference*.

mod fig1;
mod fig2;
mod grid;
mod look;
mod runs;
mod summary;
mod toys;

use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "bvi",
    title: "BVI: boosting variational inference",
    source: "F. Guo, X. Wang, K. Fan, T. Broderick, D. B. Dunson, Boosting variational inference, arXiv 1611.05559, 2016",
    items: &[
        Item { id: "fig1a", title: "A heavy-tailed density", run: fig1::cauchy },
        Item { id: "fig1b", title: "Four modes on a line", run: fig1::mixture4 },
        Item { id: "fig1c", title: "Five modes in the plane", run: fig1::mixture5 },
        Item { id: "fig2", title: "Logistic regression on the Nodal data", run: fig2::nodal },
        Item { id: "kl", title: "Divergences of every method", run: summary::table },
    ],
};

/// Wraps a library's error with what was being computed.
fn computation(what: &str, error: &impl std::fmt::Display) -> crate::ReproError {
    crate::ReproError::computation(what, error)
}

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
mod sampled;
mod sampled_run;
mod sampling;
mod scale;
mod scheme;
mod sensitivity;
mod table1;
mod table2;

use crate::error::ReproError;
use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "lrvga",
    title: "L-RVGA: the limited-memory recursive variational Gaussian approximation",
    source: "M. Lambert, S. Bonnabel, F. Bach, The limited-memory recursive variational Gaussian approximation (L-RVGA), \
             Statistics and Computing 33, 2023",
    items: &[
        Item { id: "fig1", title: "Factorisation of a covariance", run: covariance::fig1 },
        Item { id: "table1", title: "A covariance in a million dimensions", run: table1::table1 },
        Item { id: "fig2", title: "Sensitivity to the latent dimension, linear", run: sensitivity::fig2 },
        Item { id: "fig3", title: "Sensitivity to the latent dimension, logistic", run: sensitivity::fig3 },
        Item { id: "table2", title: "Linear regression in a million dimensions", run: table2::table2 },
        Item { id: "table3", title: "Ensemble sampling", run: sampling::table3 },
        Item { id: "fig4", title: "Expectations by draws", run: sampled::fig4 },
        Item { id: "fig5", title: "Schemes of one step in two dimensions", run: mirror_prox::fig5 },
        Item { id: "networks", title: "Beyond the paper: networks in one pass", run: networks::networks },
    ],
};

/// Wraps a library error with what was being computed.
fn computation(what: &str, e: &impl std::fmt::Display) -> ReproError {
    ReproError::computation(what, e)
}

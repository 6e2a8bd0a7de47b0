//! Lambert, Bonnabel and Bach, *The limited-memory recursive variational Gaussian approximation (L-RVGA)*.

pub(crate) mod claims;
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

use crate::error::ReproError;
use crate::item::{Audience, Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "lrvga",
    short: "L-RVGA",
    title: "L-RVGA: the limited-memory recursive variational Gaussian approximation",
    source: "M. Lambert, S. Bonnabel, F. Bach, The limited-memory recursive variational Gaussian approximation (L-RVGA), \
             Statistics and Computing 33, 2023",
    audience: Audience::Readers,
    items: &[
        Item::new("fig1", "Factorisation of a covariance", "lrvga/covariance.rs", covariance::fig1),
        Item::new("table1", "A covariance in a million dimensions", "lrvga/table1.rs", table1::table1).alone(),
        Item::new("fig2", "Sensitivity to the latent dimension, linear", "lrvga/sensitivity.rs", sensitivity::fig2),
        Item::new("fig3", "Sensitivity to the latent dimension, logistic", "lrvga/sensitivity.rs", sensitivity::fig3),
        Item::new("remark1", "Remark 1: uncertainty and process noise", "lrvga/remark.rs", remark::remark1),
        Item::new("table2", "Linear regression in a million dimensions", "lrvga/table2.rs", table2::table2).alone(),
        Item::new("table3", "Ensemble sampling", "lrvga/sampling.rs", sampling::table3).alone(),
        Item::new("fig4", "Expectations by draws", "lrvga/sampled.rs", sampled::fig4),
        Item::new("fig5", "Schemes of one step in two dimensions", "lrvga/mirror_prox.rs", mirror_prox::fig5),
        Item::new("networks", "Beyond the paper: networks in one pass", "lrvga/networks.rs", networks::networks),
    ],
};

/// Wraps a library error with what was being computed.
fn computation(what: &str, e: &impl std::fmt::Display) -> ReproError {
    ReproError::computation(what, e)
}

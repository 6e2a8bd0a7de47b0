//! Steinberg, Tiao and others, *revrand: technical report*: kernel machines on random features.

mod demo;
mod diabetes;
mod gp;
mod kernels;
mod line;
mod scores;

use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "revrand",
    title: "revrand: Bayesian linear models on random features",
    source: "D. Steinberg, L. Tiao, A. Reid, L. McCalman, S. O'Callaghan, revrand: Technical Report, Data61, 2017",
    items: &[
        Item { id: "kernels", title: "Kernels from random features", run: kernels::kernels },
        Item { id: "line", title: "The standard linear model as a Gaussian process in one dimension", run: line::line },
        Item { id: "diabetes", title: "Real data: progression of diabetes", run: diabetes::diabetes },
    ],
};

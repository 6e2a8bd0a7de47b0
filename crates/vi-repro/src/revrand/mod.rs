//! Steinberg, Tiao and others, *revrand: technical report*: kernel machines on random features.

mod classes;
mod counts;
mod demo;
mod diabetes;
mod glm_line;
mod gp;
mod kernels;
mod line;
mod scores;
mod traces;

use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "revrand",
    title: "revrand: Bayesian linear models on random features",
    source: "D. Steinberg, L. Tiao, A. Reid, L. McCalman, S. O'Callaghan, revrand: Technical Report, Data61, 2017",
    items: &[
        Item { id: "kernels", title: "Kernels from random features", run: kernels::kernels },
        Item { id: "line", title: "The standard linear model as a Gaussian process in one dimension", run: line::line },
        Item { id: "glm", title: "The GLM as a Gaussian process in one dimension", run: glm_line::glm_line },
        Item { id: "counts", title: "Poisson counts", run: counts::counts },
        Item { id: "classes", title: "Two classes", run: classes::classes },
        Item { id: "traces", title: "Stochastic gradients: traces of the objective", run: traces::traces },
        Item { id: "diabetes", title: "Real data: progression of diabetes", run: diabetes::diabetes },
    ],
};

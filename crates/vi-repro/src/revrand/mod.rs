//! Steinberg, Tiao and others, *revrand: technical report*: kernel machines on random features.

mod claims;
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

use crate::item::{Audience, Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "revrand",
    short: "revrand",
    title: "revrand: Bayesian linear models on random features",
    source: "D. Steinberg, L. Tiao, A. Reid, L. McCalman, S. O'Callaghan, revrand: Technical Report, Data61, 2017",
    audience: Audience::Readers,
    items: &[
        Item::new("kernels", "Kernels from random features", "revrand/kernels.rs", kernels::kernels),
        Item::new(
            "line",
            "The standard linear model as a Gaussian process in one dimension",
            "revrand/line.rs",
            line::line,
        ),
        Item::new("glm", "The GLM as a Gaussian process in one dimension", "revrand/glm_line.rs", glm_line::glm_line),
        Item::new("counts", "Poisson counts", "revrand/counts.rs", counts::counts),
        Item::new("classes", "Two classes", "revrand/classes.rs", classes::classes),
        Item::new("traces", "Stochastic gradients: traces of the objective", "revrand/traces.rs", traces::traces),
        Item::new("diabetes", "Real data: progression of diabetes", "revrand/diabetes.rs", diabetes::diabetes),
        Item::new(
            "published",
            "Published tables whose data are not there",
            "revrand/published.rs",
            published::published,
        ),
    ],
};

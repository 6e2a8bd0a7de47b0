//! Lambert, Bonnabel and Bach, *The recursive variational Gaussian approximation (R-VGA)*.

mod fixed_point;
mod leave_one_out;
mod mean_field;
mod methods;
mod output;
mod race;
mod real_data;
mod refined;
mod replicate;
mod section5;
mod section6_high;
mod section6_planar;
mod separability;
mod shared;
mod two_dim;

use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "rvga",
    title: "R-VGA: the recursive variational Gaussian approximation",
    source: "M. Lambert, S. Bonnabel, F. Bach, The recursive variational Gaussian approximation (R-VGA), \
             Statistics and Computing 32, 2022",
    items: &[
        Item { id: "fig1", title: "Logistic function and inverse probit", run: section5::fig1 },
        Item { id: "fig2", title: "The quadratic bound", run: section5::fig2 },
        Item { id: "fig3", title: "Two dimensions, σ₀ = 1", run: section6_planar::fig3 },
        Item { id: "fig4", title: "Two dimensions, σ₀ = 10", run: section6_planar::fig4 },
        Item { id: "fig5", title: "Two dimensions, σ₀ = 100", run: section6_planar::fig5 },
        Item { id: "fig6", title: "Two dimensions, hard case", run: section6_planar::fig6 },
        Item { id: "fig7", title: "Dimension, sharp prior", run: section6_high::fig7 },
        Item { id: "fig8", title: "Dimension, flat prior", run: section6_high::fig8 },
        Item { id: "fig9", title: "Separability in dimension 100", run: section6_high::fig9 },
        Item { id: "fig10", title: "Ill-conditioned inputs in dimension 100", run: section6_high::fig10 },
        Item { id: "fig11", title: "Iso-probabilities of the outputs", run: output::fig11 },
        Item { id: "fig12", title: "The implicit system F", run: fixed_point::fig12 },
        Item { id: "fig13", title: "Iterated bounds and plain iteration", run: fixed_point::fig13 },
        Item { id: "fig14", title: "Ellipses over time, s = 2", run: separability::fig14 },
        Item { id: "fig15", title: "Ellipses over time, s = 5", run: separability::fig15 },
        Item { id: "fig16", title: "Ellipses over time, s = 10", run: separability::fig16 },
        Item { id: "breast-cancer", title: "Real data: breast tumours as a stream", run: real_data::breast_cancer },
        Item { id: "nodal", title: "Real data: nodal involvement in prostate cancer", run: real_data::nodal },
        Item { id: "refinement", title: "Beyond the paper: closeness against time", run: race::refinement },
        Item { id: "leave-one-out", title: "Beyond the paper: leave-one-out", run: leave_one_out::leave_one_out },
    ],
};

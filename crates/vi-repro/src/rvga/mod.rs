//! Lambert, Bonnabel and Bach, *The recursive variational Gaussian approximation (R-VGA)*.

pub(crate) mod claims;
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
mod theorems;
mod two_dim;

use crate::item::{Audience, Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "rvga",
    short: "R-VGA",
    title: "R-VGA: the recursive variational Gaussian approximation",
    source: "M. Lambert, S. Bonnabel, F. Bach, The recursive variational Gaussian approximation (R-VGA), \
             Statistics and Computing 32, 2022",
    audience: Audience::Readers,
    items: &[
        Item::new("fig1", "Logistic function and inverse probit", "rvga/section5.rs", section5::fig1),
        Item::new("fig2", "The quadratic bound", "rvga/section5.rs", section5::fig2),
        Item::new("theorems", "Theorems 2 and 3 by numbers", "rvga/theorems.rs", theorems::theorems),
        Item::new("fig3", "Two dimensions, σ₀ = 1", "rvga/section6_planar.rs", section6_planar::fig3),
        Item::new("fig4", "Two dimensions, σ₀ = 10", "rvga/section6_planar.rs", section6_planar::fig4),
        Item::new("fig5", "Two dimensions, σ₀ = 100", "rvga/section6_planar.rs", section6_planar::fig5),
        Item::new("fig6", "Two dimensions, hard case", "rvga/section6_planar.rs", section6_planar::fig6),
        Item::new("fig7", "Dimension, sharp prior", "rvga/section6_high.rs", section6_high::fig7),
        Item::new("fig8", "Dimension, flat prior", "rvga/section6_high.rs", section6_high::fig8),
        Item::new("fig9", "Separability in dimension 100", "rvga/section6_high.rs", section6_high::fig9),
        Item::new("fig10", "Ill-conditioned inputs in dimension 100", "rvga/section6_high.rs", section6_high::fig10),
        Item::new("fig11", "Iso-probabilities of the outputs", "rvga/output.rs", output::fig11),
        Item::new("fig12", "The implicit system F", "rvga/fixed_point.rs", fixed_point::fig12),
        Item::new("fig13", "Iterated bounds and plain iteration", "rvga/fixed_point.rs", fixed_point::fig13),
        Item::new("fig14", "Ellipses over time, s = 2", "rvga/separability.rs", separability::fig14),
        Item::new("fig15", "Ellipses over time, s = 5", "rvga/separability.rs", separability::fig15),
        Item::new("fig16", "Ellipses over time, s = 10", "rvga/separability.rs", separability::fig16),
        Item::new(
            "breast-cancer",
            "Real data: breast tumours as a stream",
            "rvga/real_data.rs",
            real_data::breast_cancer,
        ),
        Item::new("nodal", "Real data: nodal involvement in prostate cancer", "rvga/real_data.rs", real_data::nodal),
        Item::new("refinement", "Beyond the paper: closeness against time", "rvga/race.rs", race::refinement).alone(),
        Item::new(
            "leave-one-out",
            "Beyond the paper: leave-one-out",
            "rvga/leave_one_out.rs",
            leave_one_out::leave_one_out,
        ),
    ],
};

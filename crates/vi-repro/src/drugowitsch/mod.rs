//! Drugowitsch, *Variational Bayesian inference for linear and logistic regression*: the examples that accompany the note,
//! and its models on real data.

pub(crate) mod claims;
mod data;
mod linear;
mod linear_many;
mod logit;
mod logit_many;
mod real_data;
mod selection;
mod style;

use crate::item::{Audience, Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "drugowitsch",
    short: "VB regression",
    title: "Variational Bayesian linear and logistic regression",
    source: "J. Drugowitsch, Variational Bayesian inference for linear and logistic regression, arXiv:1310.5438, and the examples \
             published with its code",
    audience: Audience::Readers,
    items: &[
        Item::new("linear", "Regression: a polynomial with few coefficients", "drugowitsch/linear.rs", linear::example),
        Item::new(
            "linear-highdim",
            "Regression in high dimension",
            "drugowitsch/linear_many.rs",
            linear_many::high_dimension,
        ),
        Item::new("linear-sparse", "Regression with sparse weights", "drugowitsch/linear_many.rs", linear_many::sparse),
        Item::new(
            "linear-selection",
            "Regression: model selection by the bound",
            "drugowitsch/selection.rs",
            selection::linear,
        ),
        Item::new("logit", "Classification: the bound’s price", "drugowitsch/logit.rs", logit::example),
        Item::new(
            "logit-coeff",
            "Classification: recovering coefficients",
            "drugowitsch/logit.rs",
            logit::coefficients,
        ),
        Item::new(
            "logit-sparse",
            "Classification with sparse weights",
            "drugowitsch/logit_many.rs",
            logit_many::sparse,
        ),
        Item::new(
            "logit-selection",
            "Classification: model selection by the bound",
            "drugowitsch/selection.rs",
            selection::logit,
        ),
        Item::new(
            "breast-cancer",
            "Breast tumours: calibration and prequential loss",
            "drugowitsch/real_data.rs",
            real_data::breast_cancer,
        ),
        Item::new(
            "nodal",
            "Nodal involvement: calibration and prequential loss",
            "drugowitsch/real_data.rs",
            real_data::nodal,
        ),
    ],
};

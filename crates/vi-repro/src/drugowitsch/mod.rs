//! Drugowitsch, *Variational Bayesian inference for linear and logistic regression*: the examples that accompany the note,
//! and its models on real data.

mod data;
mod linear;
mod linear_many;
mod logit;
mod logit_many;
mod real_data;
mod selection;
mod style;

use crate::item::{Item, Paper};

/// The paper and its items.
pub const PAPER: Paper = Paper {
    id: "drugowitsch",
    title: "Variational Bayesian linear and logistic regression",
    source: "J. Drugowitsch, Variational Bayesian inference for linear and logistic regression, arXiv:1310.5438, and the examples \
             published with its code",
    items: &[
        Item { id: "linear", title: "Regression: a polynomial with few coefficients", run: linear::example },
        Item { id: "linear-highdim", title: "Regression in high dimension", run: linear_many::high_dimension },
        Item { id: "linear-sparse", title: "Regression with sparse weights", run: linear_many::sparse },
        Item { id: "linear-selection", title: "Regression: model selection by the bound", run: selection::linear },
        Item { id: "logit", title: "Classification: the bound’s price", run: logit::example },
        Item { id: "logit-coeff", title: "Classification: recovering coefficients", run: logit::coefficients },
        Item { id: "logit-sparse", title: "Classification with sparse weights", run: logit_many::sparse },
        Item { id: "logit-selection", title: "Classification: model selection by the bound", run: selection::logit },
        Item {
            id: "breast-cancer",
            title: "Breast tumours: calibration and prequential loss",
            run: real_data::breast_cancer,
        },
        Item { id: "nodal", title: "Nodal involvement: calibration and prequential loss", run: real_data::nodal },
    ],
};

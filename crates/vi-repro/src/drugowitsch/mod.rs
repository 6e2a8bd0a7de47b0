//! Drugowitsch, *Variational Bayesian inference for linear and logistic regression*: the examples that accompany the note,
//! and its models on real data.

mod data;
mod errors;
mod linear;
mod linear_many;
mod logit;
mod logit_many;
mod real_data;
mod selection;
mod style;

use std::sync::LazyLock;

use crate::item::{Audience, Item, Paper};
use crate::report::Words;

/// The paper and its items.
pub static PAPER: Paper = Paper {
    id: "drugowitsch",
    audience: Audience::Readers,
    words: LazyLock::new(|| Words::parse(include_str!("../../text/drugowitsch.txt"))),
    items: &[
        Item::new("linear", linear::example),
        Item::new("linear-highdim", linear_many::high_dimension),
        Item::new("linear-sparse", linear_many::sparse),
        Item::new("linear-selection", selection::linear),
        Item::new("logit", logit::example),
        Item::new("logit-coeff", logit::coefficients),
        Item::new("logit-sparse", logit_many::sparse),
        Item::new("logit-selection", selection::logit),
        Item::new("breast-cancer", real_data::breast_cancer),
        Item::new("nodal", real_data::nodal),
    ],
};

/// What is said of the items.
fn words() -> &'static Words {
    &PAPER.words
}

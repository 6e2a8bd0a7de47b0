//! For people with data: which method when, by accuracy against cost.

mod methods;
mod posteriors;
mod sparse;
mod study;

use crate::item::{Audience, Item, Paper};

/// The section for practitioners and its items.
pub const PAPER: Paper = Paper {
    id: "practice",
    short: "Which method when",
    title: "Two classes, and any posterior: accuracy against cost",
    source: "Ten folds of each data set, or reference draws, the same for every method; no paper’s claim is tested here",
    audience: Audience::Practitioners,
    items: &[
        Item::new("tumours", "Breast tumours: 683 rows, 10 weights", "practice/study.rs", study::tumours).alone(),
        Item::new("nodal", "Nodal involvement: 53 rows, 6 weights", "practice/study.rs", study::nodal).alone(),
        Item::new("many", "Generated: 2000 rows, 100 weights", "practice/study.rs", study::many).alone(),
        Item::new("posteriors", "Any posterior: six with reference draws", "practice/posteriors.rs", posteriors::run)
            .alone(),
        Item::new("sparse", "Hashed features: a million weights, forty in a row", "practice/sparse.rs", sparse::run)
            .alone(),
    ],
};

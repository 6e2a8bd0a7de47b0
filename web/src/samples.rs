//! The tables that the page has in itself.

/// A table with its name and target.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) target: &'static str,
    pub(crate) text: &'static str,
}

/// The tables.
pub(crate) const SAMPLES: [Sample; 2] = [
    Sample { name: "biopsy.csv", target: "class", text: include_str!("../../crates/vi-data/data/biopsy.csv") },
    Sample { name: "houses.csv", target: "price", text: include_str!("../data/houses.csv") },
];

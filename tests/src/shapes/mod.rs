//! The shapes of reference files, one file each. To add one: write its file, list it in [`ALL`].
//!
//! A file carries no kind and its name means nothing: a shape is recognised by its keys, loosely, so that a broken file
//! of a known shape is a failure and not an unknown one.

mod bvi_attainable;
mod bvi_logistic;
mod bvi_toy;
mod drugowitsch;
mod factor_analysis;
mod kalman;
mod logistic_cases;
mod logistic_small;
mod lrvga_linear;
mod lrvga_logistic;
mod revrand_basis;
mod revrand_glm;
mod revrand_kernels;
mod revrand_metrics;
mod revrand_slm;
mod rvga_roots;
mod sampler;
mod student_tails;

use crate::CaseError;
use crate::json::Node;
use crate::report::Report;

/// A shape of file.
#[derive(Debug, Clone, Copy)]
pub struct Shape {
    /// What the files of this shape hold, in a few words.
    pub about: &'static str,
    /// Whether a file has this shape, from its keys.
    pub recognise: fn(&Node<'_>) -> bool,
    /// Recomputes what the file holds and files the comparisons.
    pub check: fn(&Node<'_>, &mut Report) -> Result<(), CaseError>,
}

/// All shapes, in the order in which they are tried.
pub const ALL: &[Shape] = &[
    rvga_roots::SHAPE,
    logistic_small::SHAPE,
    logistic_cases::SHAPE,
    kalman::SHAPE,
    drugowitsch::SHAPE,
    lrvga_linear::SHAPE,
    lrvga_logistic::SHAPE,
    factor_analysis::SHAPE,
    sampler::SHAPE,
    student_tails::SHAPE,
    revrand_glm::LIKELIHOODS,
    revrand_glm::OBJECTIVE,
    revrand_glm::SAMPLED,
    revrand_glm::PREDICT,
    revrand_glm::UPDATERS,
    revrand_basis::SHAPE,
    revrand_kernels::SHAPE,
    revrand_slm::SHAPE,
    revrand_metrics::SHAPE,
    revrand_metrics::CLAIMS,
    bvi_toy::SHAPE,
    bvi_logistic::SHAPE,
    bvi_attainable::SHAPE,
];

/// Checks the text of one file.
pub fn check(text: &str, report: &mut Report) {
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => {
            report.broken("", CaseError::Json(error.to_string()));
            return;
        }
    };
    let root = Node::root(&value);
    let Some(shape) = ALL.iter().find(|shape| (shape.recognise)(&root)) else {
        report.skip("", "unrecognised shape");
        return;
    };
    let before = report.lines().len();
    report.part("", |report| (shape.check)(&root, report));
    if report.lines().len() == before {
        report.skip("", "nothing to compare");
    }
}

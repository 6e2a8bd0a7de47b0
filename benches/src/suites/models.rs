//! The models that people use: batch variational Bayes beside scikit-learn and NumPy.

mod vb;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite = Suite {
    name: "models",
    about: "batch variational Bayes per iteration at n = 10⁴, d = 100 and n = d = 1000, beside scikit-learn and NumPy",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    vb::run(effort, &mut report)?;
    Ok(report)
}

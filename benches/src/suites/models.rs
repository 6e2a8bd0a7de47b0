//! The models that people use: batch variational Bayes beside scikit-learn and NumPy, the front door's throughput.

mod front_door;
mod vb;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite = Suite {
    name: "models",
    about: "batch variational Bayes per iteration at n = 10⁴, d = 100 and n = d = 1000, beside scikit-learn and NumPy; rows of the front door",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    vb::run(effort, &mut report)?;
    front_door::run(effort, &mut report)?;
    Ok(report)
}

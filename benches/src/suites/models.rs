//! The models that people use: batch variational Bayes beside scikit-learn and NumPy, and what a row of the
//! front door costs.

mod families;
mod row_cost;
mod vb;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite = Suite {
    name: "models",
    about: "batch variational Bayes per iteration at n = 10⁴, d = 100 and n = d = 1000, beside scikit-learn and NumPy; a row of the front door with one prior scale, the default and fading; of numbers, counts and classes",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    row_cost::run(effort, &mut report)?;
    vb::run(effort, &mut report)?;
    families::run(effort, &mut report)?;
    Ok(report)
}

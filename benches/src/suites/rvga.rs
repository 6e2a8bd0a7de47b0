//! R-VGA: the rules on a dense belief, the implicit root, the expectations, growth, and NumPy.

mod expectations;
mod growth;
mod numpy;
mod rules;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite =
    Suite { name: "rvga", about: "sequential filters at d = 10, 100, 1000; implicit root; growth; NumPy", run };

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    rules::run(effort, &mut report)?;
    expectations::run(effort, &mut report)?;
    growth::run(effort, &mut report)?;
    numpy::run(effort, &mut report)?;
    Ok(report)
}

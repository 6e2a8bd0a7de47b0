//! R-VGA: the rules on a dense belief, the implicit root, and NumPy.

mod numpy;
mod root;
mod rules;

pub(super) use rules::per_observation;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite =
    Suite { name: "rvga", about: "sequential filters at d = 10, 100, 1000; implicit root; NumPy", run };

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    rules::run(effort, &mut report)?;
    root::run(effort, &mut report)?;
    numpy::run(effort, &mut report)?;
    Ok(report)
}

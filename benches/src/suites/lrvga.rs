//! L-RVGA in up to a million dimensions: blocks, one inner loop, three, sparse rows; memory; growth; NumPy.

mod case;
mod growth;
mod sizes;
mod sparse;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) use case::child;

pub(super) const SUITE: Suite = Suite {
    name: "lrvga",
    about: "low-rank beliefs, d = 1e4 to 1e6, p = 1 to 100: time and peak memory of each form; sparse rows; growth; NumPy",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    sizes::run(effort, &mut report)?;
    sparse::run(effort, &mut report)?;
    growth::run(effort, &mut report)?;
    Ok(report)
}

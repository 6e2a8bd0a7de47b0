//! revrand: feature maps, FastFood against dense products, fits of the standard linear model, stochastic gradient steps.

mod features;
mod sgd;
mod slm;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite = Suite {
    name: "revrand",
    about: "feature maps, FastFood against dense; the linear model against D; stochastic gradients beside NumPy",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    features::run(effort, &mut report)?;
    slm::run(effort, &mut report)?;
    sgd::run(effort, &mut report)?;
    Ok(report)
}

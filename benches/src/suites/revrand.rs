//! revrand: feature maps, FastFood against dense products, fits of the standard linear model, steps of the GLM.

mod features;
mod glm;
mod slm;

use super::{Effort, Suite};
use crate::BenchError;
use crate::record::Report;

pub(super) const SUITE: Suite = Suite {
    name: "revrand",
    about: "feature maps, FastFood against dense; the linear model against D; steps of the GLM; NumPy",
    run,
};

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    features::run(effort, &mut report)?;
    slm::run(effort, &mut report)?;
    glm::run(effort, &mut report)?;
    Ok(report)
}

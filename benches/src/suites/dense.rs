//! Dense beliefs: sequential, blocked and square-root filters against matrix multiplication and NumPy.

mod fraction;
mod growth;
mod numpy;
mod threads;

use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::{BernoulliLogit, Implicit, ProbitApproximation};
use vi_linalg::faer::Par;

use super::{Effort, Suite};
use crate::BenchError;
use crate::measure::seconds;
use crate::record::Report;
use crate::stream::Stream;

pub(super) const SUITE: Suite = Suite {
    name: "dense",
    about: "blocked and square-root filters at d = 100 to 3000: share of faer's matrix-multiply rate; growth; NumPy; two threads",
    run,
};

/// The rule of every run: the papers' implicit step, whose scalar part is small beside the belief's.
const RULE: Implicit<BernoulliLogit<ProbitApproximation>> = Implicit(BernoulliLogit(ProbitApproximation));

fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    fraction::run(effort, &mut report)?;
    growth::run(effort, &mut report)?;
    numpy::run(effort, &mut report)?;
    threads::run(effort, &mut report)?;
    Ok(report)
}

/// Seconds per observation of one blocked pass over the stream from `prior`, with blocks chosen from `d`; scratch is made before
/// the clock starts, the pass's own copy of the belief is counted.
fn blocked<B: BlockBelief + Clone>(prior: &B, stream: &Stream, par: Par) -> Result<f64, BenchError> {
    let mut belief = prior.clone();
    let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(stream.dim()));
    let mut done = Ok(());
    let elapsed = seconds(|| {
        let pass = block::run(&mut belief, &RULE, stream.inputs(), stream.labels(), &mut scratch, par, |_, _, _| {});
        done = pass.map(|_| ());
    });
    std::hint::black_box(belief.mean());
    done?;
    Ok(elapsed / stream.len() as f64)
}

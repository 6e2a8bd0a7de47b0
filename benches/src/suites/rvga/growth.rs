//! Exponents of the cost's growth with dimension and with the number of observations.

use vi_core::{BernoulliLogit, DenseGaussian, Implicit, ProbitApproximation, filter};

use super::{Effort, rules};
use crate::BenchError;
use crate::fit::growth;
use crate::measure::seconds;
use crate::record::{Report, Target};
use crate::stream::{SIGMA0, Stream};

const RULE: Implicit<BernoulliLogit<ProbitApproximation>> = Implicit(BernoulliLogit(ProbitApproximation));

/// Dimensions at which the covariance is far larger than caches are. Smaller ones would add the steps from cache to
/// cache to the memory's own growth (and need less than these do, which is 0.6 GB).
const DIMENSIONS: [usize; 3] = [3000, 4200, 6000];
const OBSERVATIONS: [usize; 5] = [250, 500, 1000, 2000, 4000];
/// Dimension of the runs over [`OBSERVATIONS`].
const DIM: usize = 50;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let streams = DIMENSIONS.map(|d| Stream::new(d, 4));
    let by_dimension = growth("rvga/growth/d", effort.choose(7, 2), &streams, |stream| {
        let prior = DenseGaussian::isotropic(&vec![0.0; stream.dim()], SIGMA0)?;
        let time = rules::per_observation(&prior, &RULE, stream, stream.labels())?;
        Ok((stream.dim() as f64, time))
    })?;
    // Timings good to 10 % over a factor of 2 in d: 2·0.1/ln 2.
    report.push(by_dimension.target(Target::Near { value: 2.0, margin: 0.3 }));

    let streams = OBSERVATIONS.map(|n| Stream::new(DIM, n));
    let by_count = growth("rvga/growth/n", effort.choose(15, 3), &streams, |stream| {
        let prior = DenseGaussian::isotropic(&[0.0; DIM], SIGMA0)?;
        Ok((stream.len() as f64, whole_run(&prior, stream)?))
    })?;
    // Timings good to 10 % over a factor of 16 in n: 2·0.1/ln 16.
    report.push(by_count.target(Target::Near { value: 1.0, margin: 0.07 }));
    Ok(())
}

/// Seconds of one whole [`filter::run`].
fn whole_run(prior: &DenseGaussian, stream: &Stream) -> Result<f64, BenchError> {
    let mut belief = prior.clone();
    let mut done = Ok(());
    let elapsed = seconds(|| done = filter::run(&mut belief, &RULE, stream.inputs(), stream.labels(), |_, _, _| {}));
    done?;
    Ok(elapsed)
}

//! Exponents of the cost's growth with dimension and with the number of observations.

use vi_core::{BernoulliLogit, DenseGaussian, Implicit, Probit, filter};

use super::{Effort, rules};
use crate::BenchError;
use crate::fit::exponent;
use crate::measure::{measure, seconds};
use crate::record::{Record, Report, Target, Unit};
use crate::stream::{SIGMA0, Stream};

const RULE: Implicit<BernoulliLogit<Probit>> = Implicit(BernoulliLogit(Probit));

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

/// The exponent of `(size, seconds)` over all sizes, fitted anew in each round over them, so that what slows the
/// machine down for a while slows every size down.
fn growth(
    name: &str,
    rounds: usize,
    streams: &[Stream],
    time: impl Fn(&Stream) -> Result<(f64, f64), BenchError>,
) -> Result<Record, BenchError> {
    eprintln!("{name}");
    let round = || Ok::<_, BenchError>(exponent(&streams.iter().map(&time).collect::<Result<Vec<_>, _>>()?));
    Ok(Record::alone(name, measure(rounds, round)?, Unit::Exponent))
}

/// Seconds of one whole [`filter::run`].
fn whole_run(prior: &DenseGaussian, stream: &Stream) -> Result<f64, BenchError> {
    let mut belief = prior.clone();
    let mut done = Ok(());
    let elapsed = seconds(|| done = filter::run(&mut belief, &RULE, stream.inputs(), stream.labels(), |_, _, _| {}));
    done?;
    Ok(elapsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponent_is_that_of_the_times() {
        let streams = [2, 4, 8].map(|d| Stream::new(d, 1));
        let cubic = |stream: &Stream| Ok((stream.dim() as f64, 1e-9 * (stream.dim() as f64).powi(3)));
        let record = growth("s/growth/d", 1, &streams, cubic).unwrap();
        // Roundings of logarithms of size 20 over a range of 1.4.
        assert!((record.value - 3.0).abs() < 100.0 * f64::EPSILON * 20.0);
    }
}

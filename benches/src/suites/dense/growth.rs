//! Exponents of the blocked filter's cost in `d` and `n`.

use vi_core::DenseGaussian;
use vi_linalg::faer::Par;

use super::{Effort, blocked};
use crate::BenchError;
use crate::fit::growth;
use crate::record::{Report, Target};
use crate::stream::{SIGMA0, Stream};

/// Dimensions from which products run at full speed.
const DIMENSIONS: [usize; 3] = [750, 1500, 3000];
const OBSERVATIONS: [usize; 4] = [1000, 2000, 4000, 8000];
/// Dimension of the runs over [`OBSERVATIONS`].
const DIM: usize = 200;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let streams = DIMENSIONS.map(|d| Stream::new(d, 600));
    let by_dimension = growth("dense/growth/blocked/d", effort.choose(5, 1), &streams, |stream| {
        let prior = DenseGaussian::isotropic(&vec![0.0; stream.dim()], SIGMA0)?;
        Ok((stream.dim() as f64, blocked(&prior, stream, Par::Seq)?))
    })?;
    // Timings good to 15 % over a factor of 4 in d: 2·0.15/ln 4.
    report.push(by_dimension.target(Target::Near { value: 2.0, margin: 0.22 }));

    let streams = OBSERVATIONS.map(|n| Stream::new(DIM, n));
    let by_count = growth("dense/growth/blocked/n", effort.choose(9, 1), &streams, |stream| {
        let prior = DenseGaussian::isotropic(&[0.0; DIM], SIGMA0)?;
        Ok((stream.len() as f64, stream.len() as f64 * blocked(&prior, stream, Par::Seq)?))
    })?;
    // Timings good to 10 % over a factor of 8 in n: 2·0.1/ln 8.
    report.push(by_count.target(Target::Near { value: 1.0, margin: 0.1 }));
    Ok(())
}

//! Two threads against one, in blocks.

use vi_core::DenseGaussian;
use vi_linalg::faer::Par;

use super::{Effort, blocked};
use crate::BenchError;
use crate::measure::compare;
use crate::record::{Record, Report, Target};
use crate::stream::{SIGMA0, Stream};

/// `(d, observations)`.
const SIZES: [(usize, usize); 3] = [(300, 4000), (1000, 2000), (3000, 800)];

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    for (d, n) in SIZES {
        let stream = Stream::new(d, n);
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let name = format!("dense/threads/two/d{d}");
        eprintln!("{name}");
        let two = || blocked(&prior, &stream, Par::rayon(2));
        let compared = compare(effort.choose(9, 2), two, || blocked(&prior, &stream, Par::Seq))?;
        // A second thread pays from d = 1000 on; below it must not cost.
        let least = if d < 1000 { 0.95 } else { 1.7 };
        report.push(Record::compared(name, compared, "one thread").target(Target::RatioAtLeast(least)));
    }
    Ok(())
}

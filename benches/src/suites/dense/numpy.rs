//! The blocked implicit filter next to the sequential one in plain NumPy and SciPy.

use vi_core::DenseGaussian;
use vi_linalg::faer::Par;

use super::{Effort, blocked};
use crate::measure::measure;
use crate::python::{Environment, beside_numpy};
use crate::record::{Report, Target};
use crate::stream::{SIGMA0, Stream};
use crate::{BenchError, folder};

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let environment = Environment::set_up(&folder());
    for (d, n, theirs) in [(100, 4000, 500), (1000, 2000, 60)] {
        let name = format!("dense/implicit/blocked/d{d}");
        eprintln!("{name}");
        let stream = Stream::new(d, n);
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let ours = || Ok(measure(3, || blocked(&prior, &stream, Par::Seq))?.median);
        let theirs = format!("rvga_implicit --d {d} --n {theirs}");
        let record = beside_numpy(&environment, name, effort.choose(5, 1), ours, &theirs)?;
        report.push(if d == 1000 { record.target(Target::RatioAtLeast(60.0)) } else { record });
    }
    Ok(())
}

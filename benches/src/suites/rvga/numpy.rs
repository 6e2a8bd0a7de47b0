//! The implicit filter next to the same filter in plain NumPy and SciPy.

use vi_core::{BernoulliLogit, DenseGaussian, Implicit, ProbitApproximation};

use super::{Effort, rules};
use crate::measure::measure;
use crate::python::{Environment, beside_numpy};
use crate::record::Report;
use crate::stream::{SIGMA0, Stream};
use crate::{BenchError, folder};

/// `(d, n)` of both programs.
const SIZES: [(usize, usize); 2] = [(100, 500), (1000, 60)];

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let environment = Environment::set_up(&folder());
    for (d, n) in SIZES {
        let name = format!("rvga/implicit/sequential/d{d}");
        eprintln!("{name}");
        let stream = Stream::new(d, n);
        let prior = DenseGaussian::isotropic(&vec![0.0; d], SIGMA0)?;
        let rule = Implicit(BernoulliLogit(ProbitApproximation));
        // The script gives its median over observations, which drops what disturbed it: so does this one.
        let pass = || rules::per_observation(&prior, &rule, &stream, stream.labels());
        let ours = || Ok(measure(5, pass)?.median);
        let theirs = format!("rvga_implicit --d {d} --n {n}");
        report.push(beside_numpy(&environment, name, effort.choose(5, 1), ours, &theirs)?);
    }
    Ok(())
}

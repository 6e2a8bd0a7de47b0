//! Exponents of the cost's growth with the dimension.

use vi_core::{Belief, Explicit, GaussianLikelihood, LowRankGaussian};
use vi_linalg::faer::Par;

use super::Effort;
use super::case::Form;
use crate::BenchError;
use crate::fit::growth;
use crate::measure::seconds;
use crate::record::{Report, Target};
use crate::stream::Stream;

/// Dimensions at which the belief is larger than most caches are.
const DIMENSIONS: [usize; 3] = [100_000, 200_000, 400_000];
/// Columns of `W`.
const RANK: usize = 20;
/// Observations of a run: one block.
const OBSERVATIONS: usize = 64;

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let streams = DIMENSIONS.map(|d| Stream::new(d, OBSERVATIONS));
    for form in [Form::Blocked, Form::Step1] {
        let record = growth(&format!("lrvga/growth/{}/d", form.name()), effort.choose(5, 1), &streams, |stream| {
            Ok((stream.dim() as f64, whole_run(form, stream)?))
        })?;
        // Timings good to 10 % over a factor of 4 in d: 2·0.1/ln 4.
        report.push(record.target(Target::Near { value: 1.0, margin: 0.15 }));
    }
    Ok(())
}

/// Seconds of one pass over the stream, row by row a quarter of it.
fn whole_run(form: Form, stream: &Stream) -> Result<f64, BenchError> {
    let mut belief = LowRankGaussian::isotropic(&vec![0.0; stream.dim()], 1.0, form.settings(RANK)?)?;
    let rule = Explicit(GaussianLikelihood::new(1.0)?);
    let par = Par::rayon(0);
    let mut done = Ok(());
    let elapsed = seconds(|| {
        done = match form {
            Form::Blocked => belief.step_block(&rule, stream.inputs(), stream.responses(), par).map(|_| ()),
            Form::Step1 | Form::Step3 => {
                let mut rows = stream.rows().zip(stream.responses()).take(OBSERVATIONS / 4);
                rows.try_for_each(|(x, y)| belief.step(&rule, x, *y, par).map(|_| ()))
            }
        };
    });
    done?;
    std::hint::black_box(belief.mean());
    Ok(elapsed)
}

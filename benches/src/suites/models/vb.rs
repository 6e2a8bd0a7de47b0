//! Seconds per iteration of the batch fits, one thread on both sides.
//!
//! Beside scikit-learn both programs take as many iterations of the same fit, and the whole time is divided by their number: ours spends most
//! of a linear fit decomposing the rows once, and so does `BayesianRidge`. NumPy's script times iterations alone, so beside it ours are
//! the difference of a long fit and a short one.

use vi_linalg::faer::Par;
use vi_models::ModelError;
use vi_models::vb::{self, LinearPrior, LogitBound, LogitPrior, VbInfo, VbSettings};

use super::Effort;
use crate::measure::timed;
use crate::python::{Environment, PythonError, beside};
use crate::record::{Report, Target};
use crate::stream::Stream;
use crate::{BenchError, folder};

/// `(n, d)`, and of a quick run.
const SIZES: [(usize, usize); 2] = [(10_000, 100), (1000, 1000)];
const QUICK: [(usize, usize); 2] = [(1000, 20), (100, 100)];
const ITERATIONS: usize = 20;
/// Of the short fit.
const FEW: usize = 5;

/// Data, settings that never stop early, and a fit.
struct Case {
    stream: Stream,
    /// Responses with noise.
    y: Vec<f64>,
    settings: VbSettings,
}

impl Case {
    fn new(n: usize, d: usize) -> Self {
        let stream = Stream::new(d, n);
        let y = stream.responses().iter().zip(stream.labels()).map(|(t, label)| t + label - 0.5).collect();
        let settings = VbSettings { tolerance: Some(f64::MIN_POSITIVE), max_iterations: ITERATIONS };
        Self { stream, y, settings }
    }

    /// Seconds of a fit, and its iterations.
    fn timed(&self, fit: Fitted) -> Result<(f64, f64), BenchError> {
        let (elapsed, info) = timed(|| fit(self))?;
        Ok((elapsed, info.iterations as f64))
    }

    /// Seconds of a whole fit, divided by its iterations.
    fn whole(&self, fit: Fitted) -> Result<f64, BenchError> {
        let (time, iterations) = self.timed(fit)?;
        Ok(time / iterations)
    }

    /// Seconds that an iteration adds to a `short` fit.
    fn marginal(&self, short: &Self, fit: Fitted) -> Result<f64, BenchError> {
        let ((long, iterations), (short, few)) = (self.timed(fit)?, short.timed(fit)?);
        Ok((long - short) / (iterations - few).max(1.0))
    }

    fn with_iterations(&self, max_iterations: usize) -> Self {
        let settings = VbSettings { max_iterations, ..self.settings };
        Self { stream: self.stream.clone(), y: self.y.clone(), settings }
    }
}

type Fitted = fn(&Case) -> Result<VbInfo, ModelError>;

/// What is fitted, and what with: script, its arguments, and the least ratio.
type Fit = (&'static str, Fitted, &'static str, &'static str, f64);

const FITS: [Fit; 4] = [
    ("linear", linear, "vb_sklearn.py", "bayesian_ridge", 5.0),
    ("linear_ard", linear_ard, "vb_sklearn.py", "ard", 5.0),
    ("logit", logit, "plain_numpy.py", "vb_logit", 3.0),
    // NumPy's is without relevance determination, which costs it nothing.
    ("logit_ard", logit_ard, "plain_numpy.py", "vb_logit", 3.0),
];

fn linear(case: &Case) -> Result<VbInfo, ModelError> {
    let fit = vb::linear(case.stream.inputs(), &case.y, LinearPrior::default(), &case.settings, Par::Seq)?;
    Ok(fit.info().clone())
}

fn linear_ard(case: &Case) -> Result<VbInfo, ModelError> {
    let fit = vb::linear_ard(case.stream.inputs(), &case.y, LinearPrior::default(), &case.settings, Par::Seq)?;
    Ok(fit.info().clone())
}

fn logit(case: &Case) -> Result<VbInfo, ModelError> {
    let (x, y) = (case.stream.inputs(), case.stream.labels());
    let bound = LogitBound::JaakkolaJordan;
    Ok(vb::logit(x, y, LogitPrior::default(), bound, &case.settings, Par::Seq)?.info().clone())
}

fn logit_ard(case: &Case) -> Result<VbInfo, ModelError> {
    let (x, y) = (case.stream.inputs(), case.stream.labels());
    let bound = LogitBound::JaakkolaJordan;
    Ok(vb::logit_ard(x, y, LogitPrior::default(), bound, &case.settings, Par::Seq)?.info().clone())
}

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let environment: Result<Environment, PythonError> = Environment::set_up(&folder()).map(|e| e.with_threads(1));
    let sizes = if effort == Effort::Full { SIZES } else { QUICK };
    for (n, d) in sizes {
        let case = Case::new(n, d);
        let short = case.with_iterations(FEW);
        for (what, fit, script, theirs, least) in FITS {
            let name = format!("models/vb_{what}/iteration/n{n}_d{d}");
            eprintln!("{name}");
            let ours = || if script == "vb_sklearn.py" { case.whole(fit) } else { case.marginal(&short, fit) };
            let iterations =
                if script == "vb_sklearn.py" { format!(" --iterations {ITERATIONS}") } else { String::new() };
            let arguments = format!("{theirs} --n {n} --d {d}{iterations}");
            let record = beside(&environment, script, name, effort.choose(5, 1), ours, &arguments)?;
            report.push(record.target(Target::RatioAtLeast(least)));
        }
    }
    Ok(())
}

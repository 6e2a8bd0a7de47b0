//! Time and peak memory of each form at each size, NumPy's recursion beside it.

use super::Effort;
use super::case::{Case, Form, Found};
use crate::python::{Environment, PythonError};
use crate::record::{Record, Report, Target, Unit};
use crate::{BenchError, child, folder, memory};

/// `(d, p, name, repetitions in blocks, repetitions row by row, rows of NumPy)`.
const SIZES: [(usize, usize, &str, usize, usize, usize); 7] = [
    (10_000, 10, "d1e4_p10", 50, 100, 100),
    (100_000, 10, "d1e5_p10", 10, 50, 20),
    (100_000, 100, "d1e5_p100", 3, 9, 5),
    (1_000_000, 1, "d1e6_p1", 3, 15, 9),
    (1_000_000, 2, "d1e6_p2", 3, 15, 9),
    (1_000_000, 10, "d1e6_p10", 3, 9, 5),
    (1_000_000, 100, "d1e6_p100", 3, 7, 3),
];

/// The size of the targets.
const TARGET: &str = "d1e6_p100";

const NUMPY: &str = "plain_numpy, 1 inner loop";

pub(super) fn run(effort: Effort) -> Result<Report, BenchError> {
    let mut report = Report::default();
    let environment = Environment::set_up(&folder());
    for (d, p, size, blocks, steps, rows) in SIZES {
        let numpy = numpy(&environment, d, p, effort.choose(rows, 1));
        for form in Form::ALL {
            let repetitions = match form {
                Form::Blocked => blocks,
                Form::Step1 | Form::Step3 => steps,
            };
            let name = format!("lrvga/{}/{size}", form.name());
            eprintln!("{name}");
            let case = Case { form, d, p, repetitions: effort.choose(repetitions, 1) };
            let found: Found = child::run(&case.job())?;
            report.push(time(name, &found, &numpy, form, size));
            push_memory(&mut report, &found, form, size);
        }
    }
    Ok(report)
}

/// Seconds per observation of NumPy's recursion, or why there are none.
fn numpy(environment: &Result<Environment, PythonError>, d: usize, p: usize, rows: usize) -> Result<f64, String> {
    // Eight arrays of d × p at once, a million dimensions and 100 columns making 9 GB.
    let wanted = 11 * 8 * (d * p) as u64 + (1 << 28);
    if let Some(available) = memory::available()
        && available < wanted
    {
        return Err(format!("it wants {} MiB of memory, {} are free", wanted >> 20, available >> 20));
    }
    let environment = environment.as_ref().map_err(ToString::to_string)?;
    let script = crate::root().join("benches").join("python").join("plain_numpy.py");
    let arguments = format!("recursive_em --d {d} --p {p} --n {rows} --inner 1");
    environment.number(&script, &arguments, "seconds").map_err(|reason| reason.to_string())
}

fn time(name: String, found: &Found, numpy: &Result<f64, String>, form: Form, size: &str) -> Record {
    let record = Record::alone(name, found.time(), Unit::Seconds);
    let record = match numpy {
        Ok(theirs) => {
            let ratio = Some(theirs / record.value);
            Record { baseline: Some(NUMPY.to_owned()), ratio, ..record }
        }
        Err(reason) => record.note(format!("NumPy skipped: {reason}")),
    };
    match (form, size) {
        (Form::Blocked, TARGET) => record.target(Target::RatioAtLeast(100.0)),
        (Form::Step1, TARGET) => record.target(Target::RatioAtLeast(10.0)),
        _ => record,
    }
}

/// Peak memory, and how many times the state it is without the rows that the caller holds.
fn push_memory(report: &mut Report, found: &Found, form: Form, size: &str) {
    let Some(peak) = found.peak else {
        let record = Record::number(format!("lrvga/peak/{}/{size}", form.name()), f64::NAN, Unit::Bytes);
        report.push(record.note("skipped: the kernel does not tell or reset the peak of memory"));
        return;
    };
    report.push(Record::number(format!("lrvga/peak/{}/{size}", form.name()), peak, Unit::Bytes));
    let over_state = (peak - found.rows) / found.state;
    let record = |name: String| Record::number(name, over_state, Unit::Fraction);
    match (form, size) {
        (Form::Blocked, TARGET) => {
            report.push(record(format!("lrvga/peak_over_state/{size}")).target(Target::Below(1.3)));
        }
        (_, TARGET) => report.push(record(format!("lrvga/peak_over_state/{}/{size}", form.name()))),
        _ => {}
    }
}

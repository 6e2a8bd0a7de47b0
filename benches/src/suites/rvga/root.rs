//! The scalar half of a filter: the implicit root.

use std::hint::black_box;

use vi_core::expectation::LogisticExpectation;
use vi_core::{Exact, Mixture8, ProbitApproximation};

use super::Effort;
use crate::BenchError;
use crate::measure::{measure, timed};
use crate::record::{Record, Report, Target, Unit};

/// Projected means of the grid.
const MEANS: [f64; 10] = [0.0, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1e3, 1e4];
/// Projected variances of the grid.
const VARIANCES: [f64; 14] = [1e-8, 1e-4, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 1e4, 1e6, 1e8];

/// One `(a, ν, y)` at which a root is wanted.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Case {
    a: f64,
    nu: f64,
    y: f64,
}

/// The 532 cases of the stored reference roots: means of both signs, both labels.
fn grid() -> Vec<Case> {
    let mut cases = Vec::new();
    for nu in VARIANCES {
        for mean in MEANS {
            for y in [0.0, 1.0] {
                cases.push(Case { a: mean, nu, y });
                if mean > 0.0 {
                    cases.push(Case { a: -mean, nu, y });
                }
            }
        }
    }
    cases
}

pub(super) fn run(effort: Effort, report: &mut Report) -> Result<(), BenchError> {
    let all = grid();
    let moderate: Vec<Case> = all.iter().copied().filter(|case| case.nu <= 10.0).collect();
    let repetitions = effort.choose(15, 3);

    // The passes make each repetition about a millisecond long or more.
    let probit = roots("probit/all", ProbitApproximation, &all, 20, repetitions)?;
    report.push(probit.target(Target::Below(1000.0)));
    let probit = roots("probit/nu_le_10", ProbitApproximation, &moderate, 40, repetitions)?;
    report.push(probit.target(Target::Below(300.0)));
    let mixture = roots("mixture8/all", Mixture8, &all, 4, repetitions)?;
    report.push(mixture.target(Target::Below(5000.0)).target(Target::Aim(2000.0)));
    report.push(roots("exact/all", Exact, &all, 1, repetitions)?);
    Ok(())
}

/// The implicit step (R-VGA eqs 73-74).
fn roots<M: LogisticExpectation>(
    name: &str,
    class: M,
    cases: &[Case],
    passes: usize,
    repetitions: usize,
) -> Result<Record, BenchError> {
    let name = format!("rvga/root/{name}");
    mean_time(name, cases, passes, repetitions, |case| class.implicit_root(case.y, case.a, case.nu))
}

/// Mean nanoseconds of `call` over `cases`.
fn mean_time<T>(
    name: String,
    cases: &[Case],
    passes: usize,
    repetitions: usize,
    call: impl Fn(Case) -> Result<T, vi_core::Error>,
) -> Result<Record, BenchError> {
    eprintln!("{name}");
    let spread = measure(repetitions, || {
        let (elapsed, ()) = timed(|| {
            (0..passes)
                .flat_map(|_| cases)
                .try_for_each(|case| call(black_box(*case)).map(|value| drop(black_box(value))))
        })?;
        Ok::<_, vi_core::Error>(elapsed / (passes * cases.len()) as f64)
    })?;
    Ok(Record::alone(name, spread.scaled(1e9), Unit::Nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_that_of_the_stored_roots() {
        let path = crate::root().join("tests").join("golden").join("rvga").join("implicit_roots.json");
        let stored: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let columns = stored["columns"].as_array().unwrap();
        let [a, nu, y] = ["alpha0", "nu0", "y"].map(|name| columns.iter().position(|column| column == name).unwrap());
        let rows = stored["rows"].as_array().unwrap();
        let cases = grid();
        assert_eq!((cases.len(), rows.len()), (14 * 19 * 2, 14 * 19 * 2));
        for row in rows {
            let number = |column: usize| row[column].as_f64().unwrap();
            let case = Case { a: number(a), nu: number(nu), y: number(y) };
            assert_eq!(cases.iter().filter(|other| **other == case).count(), 1, "{case:?}");
        }
    }

    #[test]
    fn a_call_that_fails_ends_the_measurement() {
        let fail = |_: Case| Err::<(), _>(vi_core::Error::Empty { argument: "x" });
        assert!(mean_time("s/a/b/c".into(), &grid(), 1, 1, fail).is_err());
    }
}

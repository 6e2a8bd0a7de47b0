//! The suites that `bench` knows.

mod bandit;
mod boost;
mod calibration;
mod dense;
mod drift;
mod lrvga;
mod models;
mod page;
mod peers;
mod policies;
mod posteriors;
mod revrand;
mod rvga;
mod tables;

use crate::BenchError;
use crate::record::Report;

/// A named set of measurements.
#[derive(Debug, Clone, Copy)]
pub struct Suite {
    /// Its name: of its files, and the first part of every record's name.
    pub name: &'static str,
    /// What it measures, in a line.
    pub about: &'static str,
    /// Measures.
    pub run: fn(Effort) -> Result<Report, BenchError>,
}

/// Every suite, in the order in which they run.
pub const SUITES: &[Suite] = &[
    rvga::SUITE,
    dense::SUITE,
    lrvga::SUITE,
    revrand::SUITE,
    models::SUITE,
    drift::SUITE,
    bandit::SUITE,
    policies::SUITE,
    boost::SUITE,
    calibration::SUITE,
    posteriors::SUITE,
    peers::SUITE,
    tables::SUITE,
];

/// Measures what a [child process](crate::child) is asked for: the answer as a line of JSON.
///
/// # Errors
/// [`BenchError::Child`] for a job that no suite knows; those of the measurement.
pub fn child(job: &str) -> Result<String, BenchError> {
    if job.starts_with(peers::SUITE.name) { peers::child(job) } else { lrvga::child(job) }
}

/// How long to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effort {
    /// Enough for figures to be quoted.
    Full,
    /// A few repetitions, to see that everything works.
    Quick,
    /// As [`Full`](Self::Full), and so many replications in a Monte-Carlo study.
    Replications(usize),
}

impl Effort {
    /// The count for this effort: of repetitions, or of whatever a suite can do less of.
    #[must_use]
    pub fn choose(self, full: usize, quick: usize) -> usize {
        match self {
            Self::Full | Self::Replications(_) => full,
            Self::Quick => quick,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_fit_for_a_file() {
        for (index, suite) in SUITES.iter().enumerate() {
            assert!(suite.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()), "{}", suite.name);
            assert!(SUITES[..index].iter().all(|other| other.name != suite.name), "{}", suite.name);
        }
    }
}

//! What came of each comparison.

use std::fmt;

use vi_linalg::faer::MatRef;

use crate::json::Node;
use crate::{CaseError, compare};

/// What came of one comparison.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Two numbers were compared: passed if the error is at most the tolerance.
    Compared {
        /// Scaled error.
        error: f64,
        /// The largest error that passes.
        tolerance: f64,
        /// Where the largest error was, if that needs saying.
        place: Option<String>,
    },
    /// There was nothing to compare because the case is broken: a failure.
    Broken(CaseError),
    /// Not compared, and why.
    Skipped(String),
}

/// One line of the runner's answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// Which file and which quantity in it: no spaces.
    pub name: String,
    /// What came of it.
    pub outcome: Outcome,
}

impl Line {
    /// Whether a comparison was made and held.
    #[must_use]
    pub fn passed(&self) -> bool {
        matches!(self.outcome, Outcome::Compared { error, tolerance, .. } if error <= tolerance)
    }

    /// Whether the case was left alone.
    #[must_use]
    pub fn skipped(&self) -> bool {
        matches!(self.outcome, Outcome::Skipped(_))
    }

    /// Whether a comparison was made and did not hold, or could not be made.
    #[must_use]
    pub fn failed(&self) -> bool {
        !self.passed() && !self.skipped()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        match &self.outcome {
            Outcome::Compared { error, tolerance, place } => {
                let verdict = if self.passed() { "pass" } else { "FAIL" };
                write!(f, "{verdict} {name} {error:.2e} {tolerance:.1e}")?;
                match place {
                    Some(place) if !self.passed() => write!(f, " at {place}"),
                    _ => Ok(()),
                }
            }
            Outcome::Broken(error) => write!(f, "FAIL {name} - - {}", one_line(&error.to_string())),
            Outcome::Skipped(reason) => write!(f, "skip {name} {}", one_line(reason)),
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The lines of one file.
#[derive(Debug, Clone)]
pub struct Report {
    prefix: String,
    lines: Vec<Line>,
}

impl Report {
    /// An empty report on the case `name`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self { prefix: name.replace(char::is_whitespace, "_"), lines: Vec::new() }
    }

    /// The lines so far.
    #[must_use]
    pub fn lines(&self) -> &[Line] {
        &self.lines
    }

    /// Runs `part` on a report whose names go one level deeper, and files what stops it as a failure of that part.
    pub fn part(&mut self, name: &str, part: impl FnOnce(&mut Self) -> Result<(), CaseError>) {
        let outer = self.prefix.len();
        if !name.is_empty() {
            self.prefix.push('/');
            self.prefix.push_str(&name.replace(char::is_whitespace, "_"));
        }
        if let Err(error) = part(self) {
            self.push("", Outcome::Broken(error));
        }
        self.prefix.truncate(outer);
    }

    /// Files a comparison.
    pub fn compare(&mut self, name: &str, error: f64, tolerance: f64) {
        self.push(name, Outcome::Compared { error, tolerance, place: None });
    }

    /// Files the comparison with the number that `at` has under `key`, relative to its size or to `floor`; nothing where there is none.
    ///
    /// # Errors
    /// [`CaseError::Type`].
    pub fn number(
        &mut self,
        at: &Node<'_>,
        key: &str,
        found: f64,
        floor: f64,
        tolerance: f64,
    ) -> Result<(), CaseError> {
        let Some(stored) = at.find(key) else { return Ok(()) };
        let stored = stored.number()?;
        self.compare(key, compare::scaled(found, stored, stored.abs().max(floor)), tolerance);
        Ok(())
    }

    /// The same of a vector, by norms: see [`compare::vectors`].
    ///
    /// # Errors
    /// [`CaseError::Type`], [`CaseError::Length`].
    pub fn vector(
        &mut self,
        at: &Node<'_>,
        key: &str,
        found: &[f64],
        floor: f64,
        tolerance: f64,
    ) -> Result<(), CaseError> {
        let Some(stored) = at.find(key) else { return Ok(()) };
        self.compare(key, compare::vectors(found, &stored.vector_of(found.len())?, floor), tolerance);
        Ok(())
    }

    /// The same of a matrix, by norms.
    ///
    /// # Errors
    /// [`CaseError::Type`], [`CaseError::Length`].
    pub fn matrix(
        &mut self,
        at: &Node<'_>,
        key: &str,
        found: MatRef<'_, f64>,
        tolerance: f64,
    ) -> Result<(), CaseError> {
        let Some(stored) = at.find(key) else { return Ok(()) };
        let stored = stored.matrix_of(found.nrows(), found.ncols())?;
        self.compare(key, compare::matrices(found, stored.as_ref()), tolerance);
        Ok(())
    }

    /// Files the worst of several comparisons under one name; `errors` are told by where they were made.
    pub fn compare_worst(&mut self, name: &str, errors: impl IntoIterator<Item = (String, f64)>, tolerance: f64) {
        let mut worst: Option<(String, f64)> = None;
        for (place, error) in errors {
            // NaN is worse than anything.
            if worst.as_ref().is_none_or(|(_, largest)| error.is_nan() || error > *largest) {
                worst = Some((place, error));
            }
        }
        if let Some((place, error)) = worst {
            self.push(name, Outcome::Compared { error, tolerance, place: Some(place) });
        }
    }

    /// Files something left alone.
    pub fn skip(&mut self, name: &str, reason: &str) {
        self.push(name, Outcome::Skipped(reason.to_owned()));
    }

    /// Files something broken.
    pub fn broken(&mut self, name: &str, error: CaseError) {
        self.push(name, Outcome::Broken(error));
    }

    fn push(&mut self, name: &str, outcome: Outcome) {
        let name = if name.is_empty() { self.prefix.clone() } else { format!("{}/{name}", self.prefix) };
        self.lines.push(Line { name, outcome });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_as_documented() {
        let mut report = Report::new("a file");
        report.compare("mean", 1e-12, 1e-9);
        report.compare("cov", f64::NAN, 1e-9);
        report.compare_worst("alpha", [("row 0".to_owned(), 1.0), ("row 1".to_owned(), f64::NAN)], 1e-12);
        report.skip("", "unrecognised\nshape");
        report.part("ekf", |_| Err(CaseError::Missing { path: "ekf.mean".to_owned() }));
        let lines: Vec<String> = report.lines().iter().map(Line::to_string).collect();
        assert_eq!(
            lines,
            [
                "pass a_file/mean 1.00e-12 1.0e-9",
                "FAIL a_file/cov NaN 1.0e-9",
                "FAIL a_file/alpha NaN 1.0e-12 at row 1",
                "skip a_file unrecognised shape",
                "FAIL a_file/ekf - - ekf.mean is missing",
            ]
        );
    }
}

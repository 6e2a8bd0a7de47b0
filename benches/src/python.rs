//! Programs in Python, in a virtual environment of their own with pinned packages.
//!
//! Python is never needed: where there is none, or no network to fetch the packages, [`PythonError`] says so and a
//! suite leaves the comparison out.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use serde_json::Value;

use crate::BenchError;
use crate::child::output_within;
use crate::measure::{compare, measure};
use crate::record::{Record, Unit};

/// The packages and their versions.
const REQUIREMENTS: &str = include_str!("../python/requirements.txt");

/// Why a program in Python could not be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PythonError {
    /// No interpreter that is recent enough.
    #[error("there is no Python 3.11 or later as `python3` or `python` on the path")]
    NoPython,
    /// The virtual environment could not be made.
    #[error("`python -m venv` failed: {0}")]
    NoEnvironment(String),
    /// The packages could not be installed.
    #[error("`pip install` failed: {0}")]
    NoPackages(String),
    /// The script ended with an error, or could not be started.
    #[error("{script} failed: {message}")]
    Script {
        /// The script's file name.
        script: String,
        /// The last line that it wrote to its error stream.
        message: String,
    },
    /// The script's last line is not what was asked for.
    #[error("{script} did not end with a line of JSON that has a number `{field}`")]
    Output {
        /// The script's file name.
        script: String,
        /// What was looked for.
        field: String,
    },
}

/// A virtual environment with the pinned packages.
#[derive(Debug, Clone)]
pub struct Environment {
    python: PathBuf,
    /// Threads that NumPy's and SciPy's libraries may use; nothing for as many as they like.
    threads: Option<usize>,
}

impl Environment {
    /// The environment in `folder/venv`: made on the first call, and again whenever the pins change.
    ///
    /// # Errors
    /// [`PythonError::NoPython`], [`PythonError::NoEnvironment`], [`PythonError::NoPackages`].
    pub fn set_up(folder: &Path) -> Result<Self, PythonError> {
        let install = |python: &Path| {
            succeed(pip(python).args(REQUIREMENTS.split_whitespace())).map_err(PythonError::NoPackages).map(|_| true)
        };
        Self::with(folder, REQUIREMENTS, install)
    }

    /// The environment in `folder/venv` with each of the packages `names` that installs at the versions of `pins`
    /// (a line `name==version` for it and for all that it needs), and why each other does not.
    ///
    /// # Errors
    /// [`PythonError::NoPython`], [`PythonError::NoEnvironment`].
    pub fn with_packages(
        folder: &Path,
        pins: &str,
        names: &[&str],
    ) -> Result<(Self, Vec<(String, String)>), PythonError> {
        let mut left_out = Vec::new();
        let constraints = folder.join("pins.txt");
        let environment = Self::with(folder, pins, |python| {
            fs::write(&constraints, pins).map_err(|error| PythonError::NoEnvironment(error.to_string()))?;
            for name in names {
                if let Err(reason) = succeed(pip(python).arg("--constraint").arg(&constraints).arg(name)) {
                    left_out.push(((*name).to_owned(), reason));
                }
            }
            Ok(left_out.is_empty())
        })?;
        Ok((environment, left_out))
    }

    /// The environment in `folder/venv`, unless it is there with these pins: made, and filled by `install`, which says whether all
    /// is there.
    fn with(
        folder: &Path,
        pins: &str,
        install: impl FnOnce(&Path) -> Result<bool, PythonError>,
    ) -> Result<Self, PythonError> {
        let venv = folder.join("venv");
        let parts = if cfg!(windows) { ["Scripts", "python.exe"] } else { ["bin", "python"] };
        let python = parts.iter().fold(venv.clone(), |path, part| path.join(part));
        // Written last, so that an interrupted installation is not taken for a whole one.
        let stamp = venv.join("installed.txt");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == pins) && recent(&python) {
            return Ok(Self { python, threads: None });
        }

        let system = ["python3", "python"].into_iter().find(recent).ok_or(PythonError::NoPython)?;
        eprintln!("setting up a Python environment in {} (once)", venv.display());
        succeed(Command::new(system).args(["-m", "venv", "--clear"]).arg(&venv)).map_err(PythonError::NoEnvironment)?;
        if install(&python)? {
            fs::write(&stamp, pins).map_err(|error| PythonError::NoEnvironment(error.to_string()))?;
        }
        Ok(Self { python, threads: None })
    }

    /// The same with a number of threads for the libraries below NumPy and SciPy.
    #[must_use]
    pub fn with_threads(self, threads: usize) -> Self {
        Self { threads: Some(threads), ..self }
    }

    /// Runs `script` with `arguments` and returns the number `field` of the JSON object on its last line.
    ///
    /// # Errors
    /// [`PythonError::Script`], [`PythonError::Output`].
    pub fn number(&self, script: &Path, arguments: &str, field: &str) -> Result<f64, PythonError> {
        let words: Vec<&OsStr> = arguments.split_whitespace().map(OsStr::new).collect();
        self.numbers(script, &words, [field]).map(|[number]| number)
    }

    /// Runs `script` with `arguments` and returns the numbers `fields` of the JSON object on its last line.
    ///
    /// # Errors
    /// [`PythonError::Script`], [`PythonError::Output`].
    pub fn numbers<const N: usize>(
        &self,
        script: &Path,
        arguments: &[&OsStr],
        fields: [&str; N],
    ) -> Result<[f64; N], PythonError> {
        let output = self.run(script, arguments)?;
        let mut numbers = [0.0; N];
        for (number, field) in numbers.iter_mut().zip(fields) {
            *number = last_number(&output.stdout, field)
                .ok_or_else(|| PythonError::Output { script: file_name(script), field: field.to_owned() })?;
        }
        Ok(numbers)
    }

    /// Runs `script` with `arguments` to its end, or to the end of `limit`.
    ///
    /// # Errors
    /// [`PythonError::Script`].
    pub fn run_within(&self, script: &Path, arguments: &[&OsStr], limit: Duration) -> Result<Output, PythonError> {
        let failed = |message| PythonError::Script { script: file_name(script), message };
        output_within(&mut self.command(script, arguments), limit).and_then(succeeded).map_err(failed)
    }

    /// Runs `script` with `arguments` to its end.
    ///
    /// # Errors
    /// [`PythonError::Script`].
    pub fn run(&self, script: &Path, arguments: &[&OsStr]) -> Result<Output, PythonError> {
        succeed(&mut self.command(script, arguments))
            .map_err(|message| PythonError::Script { script: file_name(script), message })
    }

    fn command(&self, script: &Path, arguments: &[&OsStr]) -> Command {
        let mut command = Command::new(&self.python);
        if let Some(threads) = self.threads {
            for variable in ["OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS"] {
                command.env(variable, threads.to_string());
            }
        }
        command.arg(script).args(arguments);
        command
    }
}

fn file_name(script: &Path) -> String {
    script.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// A silent installation of what its arguments name.
fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1"]);
    command
}

/// Ours, in seconds, in turns with `python/plain_numpy.py` called with `arguments`: see [`beside`].
///
/// # Errors
/// The first error of `ours`.
pub fn beside_numpy(
    environment: &Result<Environment, PythonError>,
    name: impl Into<String>,
    repetitions: usize,
    ours: impl FnMut() -> Result<f64, BenchError>,
    arguments: &str,
) -> Result<Record, BenchError> {
    beside(environment, "plain_numpy.py", name, repetitions, ours, arguments)
}

/// Ours, in seconds, in turns with a `script` of the folder `python`, called with `arguments`, whose last line has its `seconds`.
///
/// Where Python is missing or the script fails, ours alone, and the reason in a note: `skipped: …`.
///
/// # Errors
/// The first error of `ours`.
pub fn beside(
    environment: &Result<Environment, PythonError>,
    script: &str,
    name: impl Into<String>,
    repetitions: usize,
    mut ours: impl FnMut() -> Result<f64, BenchError>,
    arguments: &str,
) -> Result<Record, BenchError> {
    let path = crate::root().join("benches").join("python").join(script);
    let reason = match environment {
        Err(reason) => reason.to_string(),
        Ok(environment) => {
            let theirs = || environment.number(&path, arguments, "seconds").map_err(Stop::Theirs);
            match compare(repetitions, || ours().map_err(Stop::Ours), theirs) {
                Ok(compared) => return Ok(Record::compared(name, compared, script.trim_end_matches(".py"))),
                Err(Stop::Ours(error)) => return Err(error),
                Err(Stop::Theirs(reason)) => reason.to_string(),
            }
        }
    };
    let alone = measure(repetitions, ours)?;
    Ok(Record::alone(name, alone, Unit::Seconds).note(format!("{script} skipped: {reason}")))
}

/// What stops a comparison: only ours is a failure of the suite.
enum Stop {
    Ours(BenchError),
    Theirs(PythonError),
}

/// The number `field` of the JSON object on the last line of `text`.
fn last_number(text: &[u8], field: &str) -> Option<f64> {
    let text = String::from_utf8_lossy(text);
    serde_json::from_str::<Value>(text.trim().lines().last()?).ok()?.get(field)?.as_f64()
}

/// Whether `program` is a Python that is recent enough.
fn recent(program: &(impl AsRef<std::ffi::OsStr> + ?Sized)) -> bool {
    succeed(Command::new(program).args(["-c", "import sys; sys.exit(sys.version_info < (3, 11))"])).is_ok()
}

/// Runs a command silently; the error is the last line it wrote to its error stream, or why it did not start.
fn succeed(command: &mut Command) -> Result<Output, String> {
    succeeded(command.output().map_err(|error| error.to_string())?)
}

fn succeeded(output: Output) -> Result<Output, String> {
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    Err(errors.trim().lines().last().map_or_else(|| output.status.to_string(), str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        assert_eq!(last_number(b"warming up\n{\"seconds\": 0.25, \"what\": \"x\"}\n\n", "seconds"), Some(0.25));
        assert_eq!(last_number(b"{\"seconds\": 0.25}\nbye\n", "seconds"), None);
        assert_eq!(last_number(b"{\"seconds\": \"fast\"}", "seconds"), None);
        assert_eq!(last_number(b"", "seconds"), None);
    }

    #[test]
    fn every_requirement_is_pinned() {
        assert!(REQUIREMENTS.split_whitespace().count() >= 2);
        assert!(REQUIREMENTS.split_whitespace().all(|line| line.split("==").count() == 2));
    }

    #[test]
    fn a_missing_program_is_a_reason_and_not_a_panic() {
        assert!(!recent("no-such-python"));
        let environment = Environment { python: PathBuf::from("no-such-python"), threads: None };
        let error = environment.number(Path::new("scripts/a.py"), "--n 1", "seconds").unwrap_err();
        assert!(matches!(&error, PythonError::Script { script, .. } if script == "a.py"), "{error}");
    }

    #[test]
    fn without_python_ours_is_measured_alone_and_the_reason_noted() {
        let broken = Environment { python: PathBuf::from("no-such-python"), threads: None };
        for environment in [Err(PythonError::NoPython), Ok(broken)] {
            let record = beside_numpy(&environment, "s/a/b/c", 3, || Ok(0.5), "rvga_implicit").unwrap();
            assert_eq!((record.value, record.baseline.as_deref(), record.ratio), (0.5, None, None));
            assert!(record.note.is_some_and(|note| note.starts_with("plain_numpy.py skipped: ")));
        }
    }

    #[test]
    fn a_failure_of_ours_is_not_taken_for_one_of_python() {
        let ours = || Err(BenchError::Core(vi_core::Error::Empty { argument: "x" }));
        assert!(beside_numpy(&Err(PythonError::NoPython), "s/a/b/c", 3, ours, "").is_err());
    }
}

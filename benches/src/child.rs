//! Measurements in processes of their own: their peak of memory is theirs alone, and they leave none behind.
//!
//! The suite calls [`run`] with a line of words that says what to measure. That starts the program again with the line in
//! [`VARIABLE`]; it hands the line to the suite ([`crate::suites::child`]), prints the answer as JSON and ends.

use std::process::Command;

use serde::de::DeserializeOwned;

use crate::BenchError;

/// The environment variable that holds what a child is to measure.
pub const VARIABLE: &str = "VI_BENCH_CHILD";

/// Measures `job` in a child process.
///
/// # Errors
/// [`BenchError::Child`] if it cannot be started or ends with an error, [`BenchError::Json`] for another answer.
pub fn run<T: DeserializeOwned>(job: &str) -> Result<T, BenchError> {
    let failed = |message: String| BenchError::Child { job: job.to_owned(), message };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = Command::new(program).env(VARIABLE, job).output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, text.trim().lines().last().unwrap_or_default())));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

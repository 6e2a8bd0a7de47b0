//! Measurements in processes of their own: their peak of memory is theirs alone, and they leave none behind.
//!
//! The suite calls [`run`] with a line of words that says what to measure. That starts the program again with the line in
//! [`VARIABLE`]; it hands the line to the suite ([`crate::suites::child`]), prints the answer as JSON and ends.

use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::de::DeserializeOwned;

use crate::BenchError;

/// The environment variable that holds what a child is to measure.
pub const VARIABLE: &str = "VI_BENCH_CHILD";

/// Measures `job` in a child process.
///
/// # Errors
/// [`BenchError::Child`] if it cannot be started or ends with an error, [`BenchError::Json`] for another answer.
pub fn run<T: DeserializeOwned>(job: &str) -> Result<T, BenchError> {
    run_within(job, Duration::MAX)
}

/// [`run`], ended where it takes longer than `limit`.
///
/// # Errors
/// Those of [`run`]; [`BenchError::Child`] for a child that was ended.
pub fn run_within<T: DeserializeOwned>(job: &str, limit: Duration) -> Result<T, BenchError> {
    let failed = |message: String| BenchError::Child { job: job.to_owned(), message };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let output = output_within(Command::new(program).env(VARIABLE, job), limit).map_err(failed)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("{}: {}", output.status, text.trim().lines().last().unwrap_or_default())));
    }
    Ok(serde_json::from_slice(&output.stdout)?)
}

/// What a command writes, which is little, until it ends; the error is why it did not start, or that it was ended after `limit`.
pub(crate) fn output_within(command: &mut Command, limit: Duration) -> Result<Output, String> {
    let start = Instant::now();
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| error.to_string())?;
    while child.try_wait().map_err(|error| error.to_string())?.is_none() {
        if start.elapsed() > limit {
            child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
            return Err(format!("not done in {} s", limit.as_secs()));
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn what_takes_too_long_is_ended() {
        let start = Instant::now();
        let ended = output_within(Command::new("sleep").arg("60"), Duration::from_millis(50));
        assert_eq!(ended.unwrap_err(), "not done in 0 s");
        assert!(start.elapsed() < Duration::from_secs(30));
        let done = output_within(Command::new("echo").arg("here"), Duration::from_secs(30)).unwrap();
        assert_eq!(done.stdout, b"here\n");
    }
}

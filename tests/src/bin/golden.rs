//! `golden [DIR]...`: compares the workspace with stored reference numbers.
//!
//! Checks every `*.json` under the folders given, or under `tests/golden`, and prints one line per comparison:
//! `pass NAME error tolerance`, `FAIL NAME error tolerance` (`FAIL NAME - - reason` where there is nothing to
//! compare) or `skip NAME reason`. Exit code 1 if any failed or none ran.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use vi_tests::runner::{self, Tally};

fn main() -> ExitCode {
    match run() {
        Ok(tally) if tally.succeeded() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run() -> io::Result<Tally> {
    let mut folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        folders.push(runner::default_folder());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let tally = runner::run(&folders, |line| writeln!(out, "{line}"))?;
    out.flush()?;
    let Tally { passed, failed, skipped } = tally;
    writeln!(io::stderr(), "{passed} passed, {failed} failed, {skipped} skipped")?;
    Ok(tally)
}

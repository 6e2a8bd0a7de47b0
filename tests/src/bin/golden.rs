//! `golden [DIR]...`: compares the workspace with stored reference numbers.
//!
//! Checks every `*.json` under the folders given, or under `tests/golden`, and prints one line per comparison:
//! `pass NAME error tolerance`, `FAIL NAME error tolerance` (`FAIL NAME - - reason` where there is nothing to
//! compare) or `skip NAME reason`. Exit code 1 if any failed or none ran, 2 for an unknown option.

use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use vi_tests::runner::{self, Tally};

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let Some(option) = arguments.iter().find(|argument| argument.to_string_lossy().starts_with('-')) {
        let _ = writeln!(io::stderr(), "golden: unknown option `{}`\nusage: golden [DIR]...", option.display());
        return ExitCode::from(2);
    }
    match run(arguments) {
        Ok(tally) if tally.succeeded() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn run(mut folders: Vec<PathBuf>) -> io::Result<Tally> {
    if folders.is_empty() {
        folders.push(runner::default_folder());
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let tally = runner::run(&folders, |line| writeln!(out, "{line}"))?;
    out.flush()?;
    let Tally { passed, failed, skipped } = tally;
    writeln!(io::stderr(), "{passed} passed, {failed} failed, {skipped} skipped")?;
    if passed + failed == 0 {
        writeln!(io::stderr(), "golden: nothing was compared")?;
    }
    Ok(tally)
}

//! `cargo xtask test`: everything that must hold before a change is taken in.

use std::process::Command;
use std::time::Instant;

use crate::run::{Failure, cargo, finish};
use crate::sql;
use crate::venv::python;

/// Runs every section in turn and stops at the first that fails.
///
/// Slow tests run where the variable `VI_SLOW` is 1, which is what `slow` sets.
pub(crate) fn run(slow: bool) -> Result<(), Failure> {
    let start = Instant::now();
    // Where there is no Python its tests are left out, but not by a machine that has to run all.
    let python = slow && (std::env::var_os("CI").is_some() || python("python").is_ok());
    if slow && !python {
        println!(
            "No Python 3.11 or later: the tests of the Python packages and of the extension for DuckDB are left out."
        );
    }
    let mut ahead = None;
    for (name, mut command) in sections(slow, python) {
        println!("\n== {name}");
        match (slow, name) {
            (true, "tests") => ahead = sql::built_ahead(),
            (true, "sql") => drop(ahead.take().map(|mut child| child.wait())),
            _ => {}
        }
        let begun = Instant::now();
        let done = finish(&mut command);
        let seconds = begun.elapsed().as_secs_f64();
        match done {
            Ok(()) => println!("== {name}: passed in {seconds:.1} s"),
            Err(failure) => {
                println!("== {name}: FAILED after {seconds:.1} s");
                drop(ahead.map(|mut child| child.kill()));
                let message = failure.message.unwrap_or_else(|| format!("`{}` failed", line(&command)));
                return Err(Failure { message: Some(format!("{name}: {message}")), ..failure });
            }
        }
    }
    println!("\nEverything passed in {:.1} s.", start.elapsed().as_secs_f64());
    Ok(())
}

/// The sections: name and command.
fn sections(slow: bool, python: bool) -> Vec<(&'static str, Command)> {
    let section = |name, arguments: &str| {
        let mut command = cargo();
        command.args(arguments.split_whitespace());
        (name, command)
    };
    let mut sections = vec![
        section("format", "fmt --all --check"),
        section("lints", "clippy --workspace --all-targets --all-features -- -D warnings"),
        // Without `--examples`: the tests of `vi-tests` run them.
        section("tests", "test --workspace --lib --bins --tests"),
        section("doctests", "test --workspace --doc"),
        // With all features, as `lints` has checked the crates beneath.
        section("documentation", "doc --workspace --no-deps --all-features"),
    ];
    if slow {
        // Each library crate alone, by this program itself.
        sections.push(section("packages", "xtask packages"));
        // Of the workspace `bindings`, with an engine of two hundred crates.
        sections.push(section("sql", "xtask sql --test"));
    }
    if python {
        sections.push(section("python", "xtask python --test"));
        // Of the same workspace; it needs the engine from Python.
        sections.push(section("duckdb", "xtask duckdb --test"));
        // The functions of `sql` from Python.
        sections.push(section("sql from Python", "xtask sql --python"));
    }
    for (name, command) in &mut sections {
        if *name == "documentation" {
            command.env("RUSTDOCFLAGS", "-D warnings");
        }
        if slow {
            command.env("VI_SLOW", "1");
        }
    }
    sections
}

/// A command as it would be typed.
fn line(command: &Command) -> String {
    let arguments = command.get_args().map(|argument| argument.to_string_lossy());
    std::iter::once("cargo".into()).chain(arguments).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(command: &Command, name: &str) -> Option<String> {
        let (_, value) = command.get_envs().find(|(key, _)| *key == name)?;
        value.map(|value| value.to_string_lossy().into_owned())
    }

    #[test]
    fn the_slow_tests_are_asked_for_by_a_variable() {
        for (name, command) in sections(true, true) {
            assert_eq!(variable(&command, "VI_SLOW").as_deref(), Some("1"), "{name}");
        }
        for (name, command) in sections(false, false) {
            assert_eq!(variable(&command, "VI_SLOW"), None, "{name}");
        }
    }

    #[test]
    fn crates_are_built_alone_and_the_engine_where_there_is_time() {
        assert!(sections(true, false).iter().any(|(name, _)| *name == "packages"));
        let last = |slow| sections(slow, false).pop().map(|(name, _)| name);
        assert_eq!((last(true), last(false)), (Some("sql"), Some("documentation")));
        let last: Vec<_> = sections(true, true).iter().rev().map(|(name, _)| *name).take(3).collect();
        assert_eq!(last, ["sql from Python", "duckdb", "python"]);
    }

    #[test]
    fn warnings_are_errors_in_lints_and_documentation() {
        let sections = sections(false, false);
        assert!(line(&sections[1].1).ends_with("-- -D warnings"));
        assert_eq!(variable(&sections[4].1, "RUSTDOCFLAGS").as_deref(), Some("-D warnings"));
    }
}

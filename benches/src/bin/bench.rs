//! `bench [NAME] [--quick | --replications N]`: runs the suite of that name, or all of them.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line program")]

use std::fmt::Write as _;
use std::process::ExitCode;

use vi_benches::suites::{Effort, SUITES, Suite};
use vi_benches::{BenchError, child, folder, suites};

fn main() -> ExitCode {
    if let Ok(job) = std::env::var(child::VARIABLE) {
        return answer(&job);
    }
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (suites, effort) = match parse(&arguments) {
        Ok(Some(chosen)) => chosen,
        Ok(None) => {
            println!("{}", usage());
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("bench: {message}\n\n{}", usage());
            return ExitCode::from(2);
        }
    };
    if cfg!(debug_assertions) {
        eprintln!("bench: this is not an optimised build; its figures mean little (use `cargo xtask bench`)");
    }
    for suite in suites {
        if let Err(error) = run(suite, effort) {
            eprintln!("bench: {}: {error}", suite.name);
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// Measures what the parent asked for.
fn answer(job: &str) -> ExitCode {
    match suites::child(job) {
        Ok(json) => {
            println!("{json}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(suite: &Suite, effort: Effort) -> Result<(), BenchError> {
    let report = (suite.run)(effort)?;
    report.write(&folder(), suite.name)?;
    println!("{}", report.table());
    println!("written: {}.json and .md", folder().join(suite.name).display());
    Ok(())
}

/// The suites to run and how long; nothing where help is asked for. The error is a message for the user.
fn parse(arguments: &[String]) -> Result<Option<(&'static [Suite], Effort)>, String> {
    let mut suites = None;
    let mut effort = Effort::Full;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--quick" => effort = Effort::Quick,
            "--replications" => {
                let count = arguments.next().and_then(|count| count.parse().ok()).filter(|&count| count >= 2);
                effort = Effort::Replications(count.ok_or("--replications takes a number, 2 or more")?);
            }
            option if option.starts_with('-') => return Err(format!("there is no option `{option}`")),
            _ if suites.is_some() => return Err(format!("one suite at a time, not `{argument}` too")),
            name => {
                let index = SUITES.iter().position(|suite| suite.name == name);
                let index = index.ok_or_else(|| format!("there is no suite `{name}`"))?;
                suites = Some(&SUITES[index..=index]);
            }
        }
    }
    Ok(Some((suites.unwrap_or(SUITES), effort)))
}

fn usage() -> String {
    let mut text = String::from(
        "Usage: cargo xtask bench [NAME] [--quick | --replications N]\n\nSuites (all of them without a name):",
    );
    for suite in SUITES {
        let _ = write!(text, "\n  {:11} {}", suite.name, suite.about);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Option<(Vec<&str>, Effort)>, String> {
        let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let names = |suites: &'static [Suite]| suites.iter().map(|suite| suite.name).collect();
        Ok(parse(&arguments)?.map(|(suites, effort)| (names(suites), effort)))
    }

    #[test]
    fn a_name_chooses_one_suite_and_none_all() {
        assert_eq!(parsed("rvga --quick"), Ok(Some((vec!["rvga"], Effort::Quick))));
        assert_eq!(parsed("--quick rvga"), parsed("rvga --quick"));
        assert_eq!(parsed(""), Ok(Some((SUITES.iter().map(|suite| suite.name).collect(), Effort::Full))));
        assert_eq!(parsed("rvga --help"), Ok(None));
    }

    #[test]
    fn what_is_unknown_is_named_and_the_suites_listed() {
        assert!(parsed("rgva").unwrap_err().contains("`rgva`"));
        assert!(parsed("rvga --fast").unwrap_err().contains("`--fast`"));
        assert!(parsed("rvga rvga").is_err());
        assert_eq!(parsed("calibration --replications 20"), Ok(Some((vec!["calibration"], Effort::Replications(20)))));
        assert!(parsed("calibration --replications few").is_err() && parsed("--replications").is_err());
        assert!(SUITES.iter().all(|suite| usage().contains(suite.name)));
    }
}

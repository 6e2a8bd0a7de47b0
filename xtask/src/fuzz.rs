//! `cargo xtask fuzz`: bytes that a search finds, at every place where bytes come in.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};

use crate::run::{Failure, finish, root};

/// The targets in `fuzz/fuzz_targets`.
pub(crate) const TARGETS: [&str; 5] = ["record", "document", "csv", "implicit", "operations"];

/// What to fuzz, and for how long each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// One target, or all.
    pub(crate) target: Option<&'static str>,
    /// Seconds for each target.
    pub(crate) seconds: u32,
}

impl Plan {
    /// The plan in the words after `fuzz`; the error is for the user.
    pub(crate) fn parse(words: &[OsString]) -> Result<Self, String> {
        let mut plan = Self { target: None, seconds: 60 };
        let mut words = words.iter().map(|word| word.to_string_lossy());
        while let Some(word) = words.next() {
            if word == "--seconds" {
                let number = words.next().and_then(|number| number.parse().ok()).filter(|&seconds| seconds > 0);
                plan.seconds = number.ok_or("`--seconds` takes a number above 0")?;
            } else if plan.target.is_none() {
                plan.target = TARGETS.into_iter().find(|target| *target == word);
                if plan.target.is_none() {
                    return Err(format!("there is no target `{word}`; there are {}", TARGETS.join(", ")));
                }
            } else {
                return Err(format!("`fuzz` does not take `{word}`"));
            }
        }
        Ok(plan)
    }
}

/// Runs each target in turn and stops at the first finding, which `fuzz/artifacts` then holds.
pub(crate) fn run(plan: &Plan) -> Result<(), Failure> {
    let installed = |program: &str, argument: &str| {
        let status = Command::new(program).arg(argument).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    if !installed("cargo-fuzz", "--version") {
        return Err(Failure::new("`fuzz` needs cargo-fuzz, and found none: cargo install cargo-fuzz --locked"));
    }
    if !installed("c++", "--version") {
        return Err(Failure::new(
            "`fuzz` needs a C++ compiler as `c++`, with which libFuzzer is built, and found none",
        ));
    }
    let mut nightly = Command::new("cargo");
    nightly.args(["+nightly", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    let nightly = nightly.status().is_ok_and(|status| status.success());
    for target in TARGETS.into_iter().filter(|target| plan.target.is_none_or(|one| one == *target)) {
        let corpus = root().join("fuzz").join("corpus").join(target);
        fs::create_dir_all(&corpus)
            .map_err(|error| Failure::new(format!("cannot create {}: {error}", corpus.display())))?;
        let seeds = root().join("fuzz").join("seeds").join(target);
        println!("\n== {target}, {} s", plan.seconds);
        let mut command = Command::new("cargo");
        command.current_dir(root());
        if nightly {
            command.arg("+nightly");
        } else {
            // A stable compiler takes the sanitiser's flags when it is told that it builds itself.
            command.env("RUSTC_BOOTSTRAP", "1");
        }
        // No crate that is fuzzed has unsafe code: what a sanitiser of memory would find is a panic already.
        command
            .args(["fuzz", "run", "--fuzz-dir", "fuzz", "--sanitizer", "none", target])
            .arg(corpus)
            .arg(seeds)
            .arg("--");
        command.arg(format!("-max_total_time={}", plan.seconds));
        // A hang is ten seconds for one input, and no input may take more than a gibibyte.
        command.args([
            "-timeout=10",
            "-rss_limit_mb=2048",
            "-malloc_limit_mb=1024",
            "-max_len=4096",
            "-print_final_stats=1",
        ]);
        finish(&mut command)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Plan, String> {
        Plan::parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn every_target_is_a_program_with_seeds() {
        let manifest = fs::read_to_string(root().join("fuzz").join("Cargo.toml")).unwrap();
        for target in TARGETS {
            assert!(root().join("fuzz").join("fuzz_targets").join(format!("{target}.rs")).is_file(), "{target}");
            assert!(manifest.contains(&format!("name = \"{target}\"")), "{target}");
            let seeds = root().join("fuzz").join("seeds").join(target);
            assert!(fs::read_dir(seeds).unwrap().next().is_some(), "{target}");
        }
    }

    #[test]
    fn a_plan_is_a_target_and_a_time() {
        assert_eq!(parsed(""), Ok(Plan { target: None, seconds: 60 }));
        assert_eq!(parsed("csv --seconds 5"), Ok(Plan { target: Some("csv"), seconds: 5 }));
        assert_eq!(parsed("--seconds 600"), Ok(Plan { target: None, seconds: 600 }));
        assert!(parsed("tsv").unwrap_err().contains("`tsv`"));
        assert!(parsed("csv --seconds").is_err() && parsed("csv --seconds 0").is_err());
        assert!(parsed("csv record").unwrap_err().contains("`record`"));
    }
}

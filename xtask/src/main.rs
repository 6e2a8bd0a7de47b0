//! The project's task runner, called as `cargo xtask COMMAND`: it parses the command and runs cargo.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "this is a command-line program")]

mod command;
mod count;
mod data;
mod docs;
mod duckdb;
mod fuzz;
mod packages;
mod python;
mod run;
mod sql;
mod test;
mod venv;
mod web;

use std::env;
use std::process::ExitCode;

use command::Command;

fn main() -> ExitCode {
    let done = match command::parse(env::args_os().skip(1)) {
        Ok(Command::Help) => {
            print!("{}", command::HELP);
            Ok(())
        }
        Ok(Command::Test { slow }) => test::run(slow),
        Ok(Command::Golden(folders)) => run::binary("vi-tests", "golden", &run::absolute(folders)),
        Ok(Command::Bench(arguments)) if arguments == ["python"] => python::bench(),
        Ok(Command::Bench(arguments)) if arguments == ["duckdb"] => duckdb::bench(),
        Ok(Command::Bench(arguments)) => run::binary("vi-benches", "bench", &arguments),
        Ok(Command::Reproduce(arguments)) => run::binary("vi-repro", "vi-repro", &arguments),
        Ok(Command::Fuzz(plan)) => fuzz::run(&plan),
        // It starts the command `rvi`, which lies beside it.
        Ok(Command::Soak(arguments)) => run::finish(run::cargo().args(["build", "--release", "--package", "vi-cli"]))
            .and_then(|()| run::binary("vi-tests", "soak", &arguments)),
        Ok(Command::Packages) => packages::run(),
        Ok(Command::Docs) => docs::run(),
        Ok(Command::Python(goal)) => python::run(goal),
        Ok(Command::Sql(goal)) => sql::run(goal),
        Ok(Command::Duckdb { test }) => duckdb::run(test),
        Ok(Command::Web { test }) => web::run(test),
        Ok(Command::Count(folder)) => count::run(folder.as_deref()),
        Ok(Command::Data(names)) => data::run(&names),
        Err(message) => {
            eprintln!("xtask: {message}\nTry `cargo xtask help`.");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            if let Some(message) = &failure.message {
                eprintln!("xtask: {message}");
            }
            ExitCode::from(failure.code)
        }
    }
}

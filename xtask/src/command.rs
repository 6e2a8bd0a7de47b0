//! What may be typed after `cargo xtask`.

use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::fuzz::Plan;
use crate::python::Goal;
use crate::sql;

/// The text of `cargo xtask help`.
pub(crate) const HELP: &str = "\
The tasks of this project. Usage: cargo xtask COMMAND

  test [--slow]                       everything that must hold: format, lints, tests, documentation;
                                      --slow adds the tests that take long, `packages`, `sql --test`,
                                      `python --test`, `duckdb --test` and `sql --python` (left out without
                                      Python 3.11, unless the variable CI is set); the page has `web --test`
  golden [DIR]...                     compare with the stored reference numbers: those of the project,
                                      or the files found in DIR
  bench [NAME] [OPTION]...            measure; results go to target/bench/NAME.json; `python`
                                      measures the Python package, `duckdb` the extension for DuckDB
  reproduce [PAPER [ITEM]] [--quick]  compute the papers' figures; open target/reproduce/index.html
  fuzz [TARGET] [--seconds N]         search for bytes that do harm, N seconds (60) for each target of fuzz/;
                                      needs cargo-fuzz and a C++ compiler
  soak [--minutes N]                  kill a learning process at random and compare what is left with a twin;
                                      let processes update one model at once, and kill some of these
  packages                            check each library crate alone, outside the workspace, as its README's
                                      first example uses it, without and with its features; three of
                                      them also for WebAssembly where that target is installed
  python [--test | --sdist]           build the Python package rvi into target/wheels; --test builds it to be
                                      tested, installs it under target/python and runs its tests; --sdist
                                      packs its sources and builds them in a folder outside the project
  sql [--test | --wheel | --python]   build the functions of posteriors for Apache DataFusion under target/sql;
                                      --test runs their tests; --wheel builds them for the engine's Python
                                      package into target/wheels/datafusion, --python builds that to be tested,
                                      installs it under target/sql and runs its tests
  duckdb [--test]                     build the same functions for DuckDB, an extension to be loaded, into
                                      target/duckdb; --test runs their tests (needs Python 3.11 or later)
  web [--test]                        build the page that computes, for a browser, into target/web (needs Rust's
                                      library for WebAssembly); --test tests it in Chromium (needs Node.js)
  docs                                build the guide with its gallery, notebooks and references into target/guide;
                                      notebooks and Python's reference need the wheel (needs Python 3.11 or later)
  data [NAME]...                      fetch larger real data sets into target/data as CSV, those there
                                      already left alone, checksums compared, what cannot be had skipped
                                      and named (needs Python 3.11 or later, and a network)
  count [DIR]                         lines and public items of each crate, of this project or of a copy in DIR
  help                                show this text

Examples:
  cargo xtask reproduce rvga          every figure of the R-VGA paper
  cargo xtask reproduce rvga fig5     one of them
  cargo xtask data digits phishing    two data sets
";

/// A command as parsed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Command {
    /// Show [`HELP`].
    Help,
    /// Run every check, the slow tests too if `slow`.
    Test { slow: bool },
    /// Run the golden cases; the arguments are folders.
    Golden(Vec<OsString>),
    /// Run the benches; the arguments are theirs.
    Bench(Vec<OsString>),
    /// Reproduce figures; the arguments are the reproduction's.
    Reproduce(Vec<OsString>),
    /// Fuzz targets.
    Fuzz(Plan),
    /// Kill and restart a learning process; the arguments are its own.
    Soak(Vec<OsString>),
    /// Build each library crate alone.
    Packages,
    /// Build the guide.
    Docs,
    /// Build the Python package, test it, or pack its sources.
    Python(Goal),
    /// Build the functions for a query engine, test them, or do so for its Python package.
    Sql(sql::Goal),
    /// Build the extension for DuckDB; run its tests if `test`.
    Duckdb { test: bool },
    /// Build the page that computes; run its tests if `test`.
    Web { test: bool },
    /// Fetch data sets; the arguments are names, none for all.
    Data(Vec<OsString>),
    /// Count lines and public items, of the copy in a folder if one is named.
    Count(Option<PathBuf>),
}

/// Parses the arguments after the program's name; the error is a message for the user.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, String> {
    let mut arguments = arguments.into_iter();
    let Some(name) = arguments.next() else {
        return Ok(Command::Help);
    };
    let rest: Vec<OsString> = arguments.collect();
    let texts: Vec<_> = rest.iter().map(|argument| argument.to_string_lossy()).collect();
    let name = name.to_string_lossy();
    match name.as_ref() {
        "help" | "--help" | "-h" => Ok(Command::Help),
        "test" => goal(&name, &texts, &[("", false), ("--slow", true)]).map(|slow| Command::Test { slow }),
        "python" => goal(&name, &texts, &[("", Goal::Wheel), ("--test", Goal::Test), ("--sdist", Goal::Sources)])
            .map(Command::Python),
        "sql" => {
            use sql::Goal::{Build, Python, Test, Wheel};
            goal(&name, &texts, &[("", Build), ("--test", Test), ("--wheel", Wheel), ("--python", Python)])
                .map(Command::Sql)
        }
        "duckdb" => goal(&name, &texts, &[("", false), ("--test", true)]).map(|test| Command::Duckdb { test }),
        "web" => goal(&name, &texts, &[("", false), ("--test", true)]).map(|test| Command::Web { test }),
        "packages" => goal(&name, &texts, &[("", ())]).map(|()| Command::Packages),
        "docs" => goal(&name, &texts, &[("", ())]).map(|()| Command::Docs),
        "golden" => Ok(Command::Golden(rest)),
        "bench" => Ok(Command::Bench(rest)),
        "reproduce" => Ok(Command::Reproduce(rest)),
        "fuzz" => Plan::parse(&rest).map(Command::Fuzz),
        "soak" => Ok(Command::Soak(rest)),
        "data" => {
            if let Some(option) = texts.iter().find(|text| text.starts_with('-')) {
                return Err(format!("`data` takes names of data sets, not `{option}`"));
            }
            Ok(Command::Data(rest))
        }
        "count" => match rest.as_slice() {
            [] => Ok(Command::Count(None)),
            [folder] if !texts[0].starts_with('-') => Ok(Command::Count(Some(folder.into()))),
            _ => Err(format!("`count` takes one folder, not `{}`", texts.join(" "))),
        },
        unknown => Err(format!("there is no command `{unknown}`")),
    }
}

/// Which of the goals a command's one option names, the first without any.
fn goal<T: Copy>(name: &str, texts: &[Cow<'_, str>], goals: &[(&str, T)]) -> Result<T, String> {
    let given = texts.join(" ");
    let found = goals.iter().find(|(option, _)| *option == given).map(|(_, goal)| *goal);
    let known: Vec<String> = goals[1..].iter().map(|(option, _)| format!("`{option}`")).collect();
    let takes = if known.is_empty() { "nothing".to_owned() } else { known.join(" or ") };
    found.ok_or_else(|| format!("`{name}` does not know `{given}`; it takes {takes}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(line.split_whitespace().map(OsString::from))
    }

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    #[test]
    fn every_command_is_known_and_in_the_help() {
        for name in [
            "test",
            "golden",
            "bench",
            "reproduce",
            "fuzz",
            "soak",
            "packages",
            "python",
            "sql",
            "duckdb",
            "web",
            "docs",
            "data",
            "count",
            "help",
        ] {
            assert!(parsed(name).is_ok(), "{name}");
            assert!(HELP.contains(&format!("\n  {name}")), "{name}");
        }
    }

    #[test]
    fn arguments_reach_the_program_that_they_are_for() {
        assert_eq!(parsed("test"), Ok(Command::Test { slow: false }));
        assert_eq!(parsed("test --slow"), Ok(Command::Test { slow: true }));
        assert_eq!(parsed("python"), Ok(Command::Python(Goal::Wheel)));
        assert_eq!(parsed("python --test"), Ok(Command::Python(Goal::Test)));
        assert_eq!(parsed("python --sdist"), Ok(Command::Python(Goal::Sources)));
        assert_eq!(parsed("sql"), Ok(Command::Sql(sql::Goal::Build)));
        assert_eq!(parsed("sql --test"), Ok(Command::Sql(sql::Goal::Test)));
        assert_eq!(parsed("sql --wheel"), Ok(Command::Sql(sql::Goal::Wheel)));
        assert_eq!(parsed("sql --python"), Ok(Command::Sql(sql::Goal::Python)));
        assert_eq!(parsed("duckdb"), Ok(Command::Duckdb { test: false }));
        assert_eq!(parsed("duckdb --test"), Ok(Command::Duckdb { test: true }));
        assert_eq!(parsed("web"), Ok(Command::Web { test: false }));
        assert_eq!(parsed("web --test"), Ok(Command::Web { test: true }));
        assert_eq!(parsed("golden a b"), Ok(Command::Golden(words("a b"))));
        assert_eq!(parsed("bench rvga --quick"), Ok(Command::Bench(words("rvga --quick"))));
        assert_eq!(parsed("reproduce rvga fig5 --quick"), Ok(Command::Reproduce(words("rvga fig5 --quick"))));
        assert_eq!(parsed("soak --minutes 2"), Ok(Command::Soak(words("--minutes 2"))));
        assert_eq!(parsed("fuzz csv"), Plan::parse(&words("csv")).map(Command::Fuzz));
        assert_eq!((parsed("packages"), parsed("docs")), (Ok(Command::Packages), Ok(Command::Docs)));
        assert_eq!(
            (parsed("count"), parsed("count a")),
            (Ok(Command::Count(None)), Ok(Command::Count(Some("a".into()))))
        );
        assert_eq!(parsed("data digits"), Ok(Command::Data(words("digits"))));
    }

    #[test]
    fn help_is_shown_without_arguments() {
        for line in ["", "help", "--help", "-h"] {
            assert_eq!(parsed(line), Ok(Command::Help));
        }
    }

    #[test]
    fn what_is_unknown_is_named() {
        assert_eq!(parsed("tset"), Err("there is no command `tset`".to_owned()));
        assert!(parsed("test --fast").unwrap_err().contains("`--fast`"));
        assert!(parsed("test --slow extra").unwrap_err().contains("`--slow extra`"));
        assert!(parsed("python --quick").unwrap_err().contains("`--quick`"));
        assert!(parsed("python --test --sdist").unwrap_err().contains("`--test --sdist`"));
        assert!(parsed("sql --quick").unwrap_err().contains("`--quick`"));
        assert!(parsed("sql --test --python").unwrap_err().contains("`--test --python`"));
        assert!(parsed("duckdb --quick").unwrap_err().contains("`--quick`"));
        assert!(parsed("web --quick").unwrap_err().contains("`--quick`"));
        assert!(parsed("docs --open").unwrap_err().contains("`--open`"));
        assert!(parsed("count a b").unwrap_err().contains("`a b`"));
        assert!(parsed("data --all").unwrap_err().contains("`--all`"));
    }
}

//! `cargo xtask sql`: the functions of posteriors for a query engine, and their tests, in Rust and from Python.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::python::{PORTABLE, build};
use crate::run::{Failure, bindings, cargo, finish, root};
use crate::venv::{environment, install, pip, python};

/// The crate, of the workspace `bindings`.
const MANIFEST: &str = "bindings/vi-datafusion/Cargo.toml";
/// The crate beneath the Python package, another one.
const PACKAGE: &str = "bindings/vi-datafusion-py";
/// What the package is built and its tests run with.
const REQUIREMENTS: &str = "bindings/vi-datafusion-py/tests/requirements.txt";

/// What the task leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The crate, built with all its features.
    Build,
    /// The crate, tested.
    Test,
    /// The wheel of the Python package in `target/wheels`.
    Wheel,
    /// A wheel of the Python package that has been tested.
    Python,
}

/// Builds the crate or the Python package above it, and for a test checks their formatting and runs their tests.
///
/// The engine and its two hundred crates are built in `target/bindings`, apart from what the ordinary build makes.
pub(crate) fn run(goal: Goal) -> Result<(), Failure> {
    match goal {
        Goal::Build => library("build"),
        Goal::Test => {
            finish(cargo().args(["fmt", "--check", "--manifest-path", MANIFEST]))?;
            library("test")
        }
        Goal::Wheel => package(false),
        Goal::Python => package(true),
    }
}

fn folder() -> PathBuf {
    root().join("target").join("sql")
}

/// The tests with the engine's two hundred crates, built at the lowest priority, while other tests leave a core idle. [`Goal::Test`] reports what fails.
pub(crate) fn built_ahead() -> Option<Child> {
    let program = cargo();
    let mut command = Command::new("nice");
    command.args(["-n", "19"]).arg(program.get_program()).current_dir(root()).env("CARGO_TARGET_DIR", bindings());
    command.args(arguments("test")).args(["--quiet", "--no-run"]);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()
}

/// The arguments of cargo for a task of the crate.
fn arguments(task: &str) -> [&str; 5] {
    [task, "--locked", "--all-features", "--manifest-path", MANIFEST]
}

fn library(task: &str) -> Result<(), Failure> {
    finish(cargo().env("CARGO_TARGET_DIR", bindings()).args(arguments(task)))
}

/// Builds the wheel; for `test` one without optimisation, which is installed beside the engine's own package and tested there.
fn package(test: bool) -> Result<(), Failure> {
    let (folder, package) = (folder(), root().join(PACKAGE));
    let manifest = package.join("Cargo.toml");
    if test {
        finish(cargo().args(["fmt", "--check", "--manifest-path"]).arg(&manifest))?;
    }
    let python = environment(python("sql --python")?, &folder)?;
    install(&python, &folder, REQUIREMENTS)?;
    // Beside the wheel of the package `rvi`, where both are to be given away.
    let wheels = if test { folder.join("wheels") } else { root().join("target").join("wheels").join("datafusion") };
    let profile: &[_] = if test { &["--profile", "dev", "--features", "tested"] } else { PORTABLE };
    let wheel = build(&package, &folder, &wheels, profile)?;
    println!("The wheel: {}", wheel.display());
    if !test {
        return Ok(());
    }
    finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let pytest = ["-m", "pytest", "-q", "-p", "no:cacheprovider"];
    finish(
        Command::new(&python)
            // From a folder where the package is not the source, but what has been installed.
            .current_dir(&folder)
            .env("VI_ROOT", root())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .args(pytest)
            .arg("--config-file")
            .arg(package.join("pyproject.toml"))
            .arg(package.join("tests")),
    )
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    fn version(path: &str) -> String {
        let text = fs::read_to_string(root().join(path)).unwrap();
        text.lines().find(|line| line.starts_with("version = ")).unwrap().to_owned()
    }

    /// A crate of the workspace `bindings` has its version and lints.
    pub(crate) fn assert_pinned(manifest: &str) {
        let text = fs::read_to_string(root().join(manifest)).unwrap();
        assert!(text.contains("\nversion.workspace = true\n") && text.contains("\n[lints]\nworkspace = true\n"));
    }

    #[test]
    fn the_crates_have_the_version_of_the_workspace_and_pinned_dependencies() {
        assert_eq!(version("bindings/Cargo.toml"), version("Cargo.toml"));
        assert!(root().join("bindings/Cargo.lock").is_file());
        assert_pinned(MANIFEST);
        assert_pinned("bindings/vi-datafusion-py/Cargo.toml");
        assert_eq!(version("bindings/vi-datafusion-py/pyproject.toml"), version("Cargo.toml"));
        let requirements = fs::read_to_string(root().join(REQUIREMENTS)).unwrap();
        let mut lines = requirements.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.all(|line| line.split("==").count() == 2));
    }

    /// The major version of a dependency in a text.
    fn major(path: &str, before: &str) -> String {
        let text = fs::read_to_string(root().join(path)).unwrap();
        let rest = text.split_once(before).unwrap_or_else(|| panic!("{path} has no {before}")).1;
        rest.chars().take_while(char::is_ascii_digit).collect()
    }

    #[test]
    fn both_sides_of_the_boundary_are_of_one_major_version() {
        let engine = major("bindings/Cargo.toml", "datafusion-expr = { version = \"");
        for (path, before) in [
            ("bindings/Cargo.toml", "datafusion-ffi = { version = \""),
            ("bindings/vi-datafusion-py/pyproject.toml", "datafusion>="),
            (REQUIREMENTS, "\ndatafusion=="),
        ] {
            assert_eq!(major(path, before), engine, "{path}");
        }
    }
}

//! `cargo xtask duckdb`: the functions of posteriors as an extension for DuckDB, and its tests.

use std::env::consts;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, bindings, cannot, cargo, finish, root};
use crate::venv::{environment, install, python};

/// The crate, of the workspace `bindings`.
const MANIFEST: &str = "bindings/vi-duckdb/Cargo.toml";
/// What the tests run with.
const REQUIREMENTS: &str = "bindings/vi-duckdb/tests/requirements.txt";
/// The name of the library, of the extension and in that of its entry point.
const NAME: &str = "vi_duckdb";
/// The oldest version of the engine's interface for C that has what the extension calls, by which the engine tells whether it can load it.
const INTERFACE: &str = "v1.2.0";

/// Builds the extension; for `test` checks its formatting and lints, and runs its tests in an environment with the engine.
pub(crate) fn run(test: bool) -> Result<(), Failure> {
    if test {
        finish(cargo().args(["fmt", "--check", "--manifest-path", MANIFEST]))?;
        let clippy = ["clippy", "--locked", "--all-targets", "--manifest-path", MANIFEST];
        finish(cargo().env("CARGO_TARGET_DIR", bindings()).args(clippy).args(["--", "-D", "warnings"]))?;
    }
    let extension = build(if test { "dev" } else { "release" })?;
    println!("The extension: {}", extension.display());
    if !test {
        return Ok(());
    }
    finish(
        with_engine("duckdb --test", &extension)?.args(["-m", "pytest", "-q", "-p", "no:cacheprovider"]).arg(tests()),
    )
}

/// Measures the extension beside the same sums in the engine's own SQL.
pub(crate) fn bench() -> Result<(), Failure> {
    let extension = build("release")?;
    finish(with_engine("bench duckdb", &extension)?.arg(root().join("bindings").join("vi-duckdb").join("bench.py")))
}

fn folder() -> PathBuf {
    root().join("target").join("duckdb")
}

fn tests() -> PathBuf {
    root().join("bindings").join("vi-duckdb").join("tests")
}

/// Python with the engine and the extension's place, for the task `what`.
fn with_engine(what: &str, extension: &Path) -> Result<Command, Failure> {
    let python = environment(python(what)?, &folder())?;
    install(&python, &folder(), REQUIREMENTS)?;
    let mut command = Command::new(python);
    command
        .current_dir(folder())
        .env("VI_DUCKDB", extension)
        .env("VI_ROOT", root())
        .env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// Builds the library in a profile and puts the engine's footer behind it.
fn build(profile: &str) -> Result<PathBuf, Failure> {
    let build = ["build", "--locked", "--profile", profile, "--manifest-path", MANIFEST];
    finish(cargo().env("CARGO_TARGET_DIR", bindings()).args(build))?;
    let built = bindings().join(if profile == "dev" { "debug" } else { profile });
    let library = built.join(format!("{}{NAME}{}", consts::DLL_PREFIX, consts::DLL_SUFFIX));
    let mut bytes = fs::read(&library).map_err(|error| cannot("read", &library, &error))?;
    bytes.extend(footer(consts::OS, consts::ARCH)?);
    fs::create_dir_all(folder()).map_err(|error| cannot("create", &folder(), &error))?;
    let extension = folder().join(format!("{NAME}.duckdb_extension"));
    fs::write(&extension, bytes).map_err(|error| cannot("write", &extension, &error))?;
    Ok(extension)
}

/// What the engine reads before it loads a library: eight fields of 32 bytes, and the place of a signature, which is none.
fn footer(os: &str, architecture: &str) -> Result<[u8; 512], Failure> {
    let os = if os == "macos" { "osx" } else { os };
    let architecture = match architecture {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => return Err(Failure::new(format!("DuckDB has no name for a machine of type {other}"))),
    };
    let platform = format!("{os}_{architecture}");
    let version = concat!("v", env!("CARGO_PKG_VERSION"));
    let mut footer = [0; 512];
    for (field, text) in ["", "", "", "C_STRUCT", version, INTERFACE, &platform, "4"].into_iter().enumerate() {
        footer[field * 32..field * 32 + text.len()].copy_from_slice(text.as_bytes());
    }
    Ok(footer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_crate_has_the_version_of_the_workspace_and_pinned_dependencies() {
        crate::sql::tests::assert_pinned(MANIFEST);
        let requirements = fs::read_to_string(root().join(REQUIREMENTS)).unwrap();
        let mut lines = requirements.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.all(|line| line.split("==").count() == 2) && requirements.contains("\nduckdb==2."));
    }

    #[test]
    fn the_footer_names_the_machine_and_the_interface() {
        let footer = footer("linux", "x86_64").unwrap();
        let field = |i: usize| String::from_utf8(footer[32 * i..32 * i + 32].to_vec()).unwrap();
        let text = |i| field(i).trim_end_matches('\0').to_owned();
        assert_eq!([text(0), text(3), text(5), text(6), text(7)], ["", "C_STRUCT", "v1.2.0", "linux_amd64", "4"]);
        assert!(footer[256..].iter().all(|byte| *byte == 0));
        assert!(super::footer("linux", "riscv64").unwrap_err().message.unwrap().contains("riscv64"));
    }
}

//! `cargo xtask python`: the Python package as a wheel, and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, cannot, cargo, finish, root};
use crate::venv::{environment, pip, program, python};

/// What maturin, the tests and the tools of the wheel are taken from.
const REQUIREMENTS: &str = include_str!("../../python/requirements.txt");

/// Builds the wheel into `target/wheels`, and for `test` installs it and runs its tests.
///
/// The wheel of a test is built without optimisation across crates, which takes most of the time and gives a tenth of the speed.
pub(crate) fn run(test: bool) -> Result<(), Failure> {
    let (python, folder) = prepared("python")?;
    // A test's wheel is not one to be given away, and lies apart.
    let wheels = if test { folder.join("wheels") } else { root().join("target").join("wheels") };
    let wheel = build(&folder, &wheels, if test { "dev" } else { "release" })?;
    println!("The wheel: {}", wheel.display());
    if !test {
        return finish(Command::new(program(&folder.join("venv"), "abi3audit")).arg("--strict").arg(&wheel));
    }
    finish(cargo().args(["fmt", "--check", "--manifest-path", "crates/vi-py/Cargo.toml"]))?;
    finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let tests = root().join("python");
    // From a folder where `rvi` is not the source, but what has been installed.
    let pytest = ["-m", "pytest", "--import-mode=importlib", "--config-file"];
    finish(
        Command::new(&python)
            .current_dir(&folder)
            // As many threads as there are cores, for matrices of ten columns, wait for each other.
            .env("OPENBLAS_NUM_THREADS", "1")
            .env("VI_ROOT", root())
            .args(pytest)
            .arg(tests.join("pyproject.toml"))
            .arg(tests.join("tests")),
    )
}

/// Measures the package beside the front door and other packages: `cargo xtask bench python`.
pub(crate) fn bench() -> Result<(), Failure> {
    let (python, folder) = prepared("bench python")?;
    let wheel = build(&folder, &root().join("target").join("wheels"), "release")?;
    finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let bare =
        ["build", "--quiet", "--locked", "--release", "--bin", "bare", "--manifest-path", "crates/vi-py/Cargo.toml"];
    finish(cargo().env("CARGO_TARGET_DIR", &folder).args(bare))?;
    let out = root().join("target").join("bench");
    fs::create_dir_all(&out).map_err(|error| cannot("create", &out, &error))?;
    finish(
        Command::new(&python)
            .current_dir(&folder)
            .env("OPENBLAS_NUM_THREADS", "1")
            .arg(root().join("python").join("bench.py"))
            .arg(folder.join("release").join("bare"))
            .arg(out.join("python.json")),
    )
}

/// The interpreter of the environment with all packages, and the folder in which it lies.
fn prepared(what: &str) -> Result<(PathBuf, PathBuf), Failure> {
    let folder = root().join("target").join("python");
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    let python = environment(python(what)?, &folder)?;
    install_requirements(&python, &folder)?;
    Ok((python, folder))
}

/// Installs what `requirements.txt` names, unless it is there.
fn install_requirements(python: &Path, folder: &Path) -> Result<(), Failure> {
    // Written last, so that an interrupted installation is taken up again.
    let stamp = folder.join("venv").join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(());
    }
    println!("Installing the packages of python/requirements.txt (once)");
    finish(pip(python).arg("--requirement").arg(root().join("python").join("requirements.txt")))?;
    fs::write(&stamp, REQUIREMENTS).map_err(|error| cannot("write", &stamp, &error))
}

/// Builds one wheel into `wheels`, from which older ones are removed.
fn build(folder: &Path, wheels: &Path, profile: &str) -> Result<PathBuf, Failure> {
    for old in files(wheels, "whl") {
        fs::remove_file(&old).map_err(|error| cannot("remove", &old, &error))?;
    }
    let maturin = program(&folder.join("venv"), "maturin");
    finish(
        Command::new(maturin)
            .current_dir(root().join("python"))
            .env("CARGO_TARGET_DIR", folder)
            .args(["build", "--quiet", "--locked", "--profile", profile, "--interpreter"])
            .arg(program(&folder.join("venv"), "python"))
            .arg("--out")
            .arg(wheels),
    )?;
    files(wheels, "whl").pop().ok_or_else(|| Failure::new("maturin has built no wheel"))
}

/// The files of a folder with an ending; none where there is no folder.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned() {
        let mut lines = REQUIREMENTS.lines().filter(|line| !line.starts_with('#'));
        assert!(lines.all(|line| line.split("==").count() == 2));
        for package in
            ["maturin", "scikit-learn", "river", "pandas", "polars", "pyarrow", "scipy", "pytest", "abi3audit"]
        {
            assert!(REQUIREMENTS.contains(&format!("\n{package}==")), "{package}");
        }
    }

    #[test]
    fn a_folder_that_is_not_there_has_no_files() {
        assert!(files(Path::new("no-such-folder"), "whl").is_empty());
        let own = files(&root().join("xtask").join("src"), "rs");
        assert!(own.iter().any(|path| path.ends_with("python.rs")));
    }

    #[test]
    fn the_package_has_the_version_of_the_crate_beneath() {
        let version = |text: &str| text.lines().find(|line| line.starts_with("version = ")).map(str::to_owned);
        let of = |path: &str| version(&fs::read_to_string(root().join(path)).unwrap()).unwrap();
        assert_eq!(of("python/pyproject.toml"), of("crates/vi-py/Cargo.toml"));
        assert_eq!(of("python/pyproject.toml"), of("Cargo.toml"));
    }
}

//! `cargo xtask python`: the Python package as a wheel, and its tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::run::{Failure, bindings, cannot, cargo, finish, root};
use crate::venv::{environment, install, pip, program, python};

/// What maturin, the tests and the tools of the wheel are taken from.
const REQUIREMENTS: &str = "python/requirements.txt";

/// What the task leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goal {
    /// The wheel in `target/wheels`.
    Wheel,
    /// A wheel that has been tested.
    Test,
    /// The source distribution in `target/wheels`, tried outside the project.
    Sources,
}

/// A fit by what has been installed, in as few words as show that the extension is there.
const FIT: &str = "import sys, numpy, rvi; from rvi.sklearn import BayesianLinearRegression as M; X = numpy.eye(9); \
                   assert rvi.__file__.startswith(sys.argv[1]) and M().fit(X, X[:, 0]).predict(X).shape == (9,)";

/// Unpacks the first argument into the second; files are as old as their unpacking, so that cargo sees new ones.
const UNPACK: &str = "import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], \
                      filter=lambda own, to: tarfile.data_filter(own.replace(mtime=None), to))";

/// Builds the wheel into `target/wheels`, and for a test installs it and runs its tests; or the source distribution.
///
/// The wheel of a test is built in the profile of development, as the other doors are for their tests.
pub(crate) fn run(goal: Goal) -> Result<(), Failure> {
    if goal == Goal::Sources {
        return sources();
    }
    let test = goal == Goal::Test;
    let (python, folder) = prepared("python")?;
    // A test's wheel is not one to be given away, and lies apart.
    let wheels = if test { folder.join("wheels") } else { root().join("target").join("wheels") };
    let wheel = build(&root().join("python"), &folder, &wheels, if test { &["--profile", "dev"] } else { PORTABLE })?;
    println!("The wheel: {}", wheel.display());
    if !test {
        return finish(Command::new(program(&folder.join("venv"), "abi3audit")).arg("--strict").arg(&wheel));
    }
    finish(cargo().args(["fmt", "--check", "--manifest-path", "bindings/vi-py/Cargo.toml"]))?;
    finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let tests = root().join("python");
    for beside in [&["-m", "not timed", "--numprocesses=auto", "--dist=worksteal"][..], &["-m", "timed"]] {
        finish(
            Command::new(&python)
                // From a folder where `rvi` is not the source, but what has been installed.
                .current_dir(&folder)
                // As many threads as there are cores, for matrices of ten columns, wait for each other.
                .env("OPENBLAS_NUM_THREADS", "1")
                .env("VI_ROOT", root())
                .args(["-m", "pytest", "--import-mode=importlib", "--config-file"])
                .arg(tests.join("pyproject.toml"))
                .args(beside)
                .arg(tests.join("tests")),
        )?;
    }
    Ok(())
}

/// Builds the source distribution into `target/wheels`, and from it, unpacked in a folder outside the project, a wheel that fits a model.
///
/// What the project depends on is built in the folder of the tests' wheel, the project's own crates anew.
fn sources() -> Result<(), Failure> {
    let (python, folder) = prepared("python")?;
    let out = root().join("target").join("wheels");
    remove(&out, "gz")?;
    finish(
        Command::new(program(&folder.join("venv"), "maturin"))
            .current_dir(root().join("python"))
            .args(["sdist", "--out"])
            .arg(&out),
    )?;
    let sources = files(&out, "gz").pop().ok_or_else(|| Failure::new("maturin has packed no sources"))?;

    let outside = std::env::temp_dir().join(format!("rvi-sources-{}", std::process::id()));
    fs::create_dir(&outside).map_err(|error| cannot("create", &outside, &error))?;
    let tried = tried(&python, &sources, &outside);
    fs::remove_dir_all(&outside).map_err(|error| cannot("remove", &outside, &error))?;
    tried?;
    println!("The sources: {}", sources.display());
    Ok(())
}

/// Unpacks `sources` into `outside`, makes a wheel of them there, installs it there and fits a model with it.
fn tried(python: &Path, sources: &Path, outside: &Path) -> Result<(), Failure> {
    finish(Command::new(python).args(["-c", UNPACK]).arg(sources).arg(outside))?;
    let name = sources.file_name().unwrap_or_default().to_string_lossy();
    let unpacked = outside.join(name.trim_end_matches(".tar.gz"));
    let (wheels, site) = (outside.join("wheels"), outside.join("site"));
    let quiet = ["-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--wheel-dir"];
    finish(
        Command::new(python)
            .current_dir(outside)
            .env("CARGO_TARGET_DIR", bindings())
            // Not `--locked`: the lock file is that of a workspace, of which the sources hold one crate.
            .env("MATURIN_PEP517_ARGS", "--profile dev")
            .args(quiet)
            .arg(&wheels)
            .arg(&unpacked),
    )?;
    let wheel = files(&wheels, "whl").pop().ok_or_else(|| Failure::new("pip has built no wheel of the sources"))?;
    finish(pip(python).args(["--no-deps", "--target"]).arg(&site).arg(&wheel))?;
    finish(Command::new(python).current_dir(outside).env("PYTHONPATH", &site).args(["-c", FIT]).arg(&site))
}

/// Measures the package beside the front door and other packages: `cargo xtask bench python`.
pub(crate) fn bench() -> Result<(), Failure> {
    let (python, folder) = prepared("bench python")?;
    // At the versions of the benches, so that both tables speak of the same; not everywhere is there a wheel of it.
    let peers = root().join("benches").join("python").join("peers.txt");
    if finish(pip(&python).arg("--constraint").arg(peers).arg("vowpalwabbit")).is_err() {
        println!("Vowpal Wabbit cannot be installed here and is left out");
    }
    let wheel = build(&root().join("python"), &folder, &root().join("target").join("wheels"), RELEASE)?;
    finish(pip(&python).args(["--no-deps", "--force-reinstall"]).arg(&wheel))?;
    let bare =
        ["build", "--quiet", "--locked", "--release", "--bin", "bare", "--manifest-path", "bindings/vi-py/Cargo.toml"];
    finish(cargo().env("CARGO_TARGET_DIR", bindings()).args(bare))?;
    let out = root().join("target").join("bench");
    fs::create_dir_all(&out).map_err(|error| cannot("create", &out, &error))?;
    finish(
        Command::new(&python)
            .current_dir(&folder)
            .env("OPENBLAS_NUM_THREADS", "1")
            // What has been installed, not the source beside the program.
            .arg("-P")
            .arg(root().join("python").join("bench.py"))
            .arg(bindings().join("release").join("bare"))
            .arg(out.join("python.json")),
    )
}

/// The interpreter of the environment with all packages, and the folder in which it lies.
pub(crate) fn prepared(what: &str) -> Result<(PathBuf, PathBuf), Failure> {
    let folder = root().join("target").join("python");
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    let python = environment(python(what)?, &folder)?;
    install(&python, &folder, REQUIREMENTS)?;
    Ok((python, folder))
}

/// The arguments for a wheel that is used here.
const RELEASE: &[&str] = &["--profile", "release"];

/// Those for a wheel that is given away: on Linux it is linked by zig to the interface of glibc 2.28, which systems have had since 2018.
pub(crate) const PORTABLE: &[&str] = if cfg!(target_os = "linux") {
    &["--profile", "release", "--zig", "--compatibility", "manylinux_2_28"]
} else {
    RELEASE
};

/// The requirement of the linker of a portable wheel.
const LINKER: &str = "python/release.txt";

/// Builds one wheel of the package in `package` into `wheels`, from which older ones are removed; `profile` is that, and what features it has.
pub(crate) fn build(package: &Path, folder: &Path, wheels: &Path, profile: &[&str]) -> Result<PathBuf, Failure> {
    remove(wheels, "whl")?;
    let python = program(&folder.join("venv"), "python");
    if profile.contains(&"--zig") {
        install(&python, folder, LINKER)?;
    }
    finish(
        Command::new(program(&folder.join("venv"), "maturin"))
            .current_dir(package)
            .env("CARGO_TARGET_DIR", bindings())
            .env("CARGO_ZIGBUILD_PYTHON_PATH", &python)
            .args(["build", "--quiet", "--locked"])
            .args(profile)
            .arg("--interpreter")
            .arg(&python)
            .arg("--out")
            .arg(wheels),
    )?;
    files(wheels, "whl").pop().ok_or_else(|| Failure::new("maturin has built no wheel"))
}

/// Removes the files of a folder with an ending.
fn remove(folder: &Path, ending: &str) -> Result<(), Failure> {
    files(folder, ending).iter().try_for_each(|old| fs::remove_file(old).map_err(|error| cannot("remove", old, &error)))
}

/// The files of a folder with an ending; none where there is no folder.
pub(crate) fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let paths = files.filter_map(|file| Some(file.ok()?.path()));
    paths.filter(|path| path.extension().is_some_and(|own| own == ending)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_is_pinned() {
        let read = |name| fs::read_to_string(root().join(name)).unwrap();
        let requirements = read(REQUIREMENTS);
        for text in [&requirements, &read(LINKER)] {
            let mut lines = text.lines().filter(|line| !line.starts_with('#'));
            assert!(lines.all(|line| line.split("==").count() == 2));
        }
        for package in
            ["maturin", "scikit-learn", "river", "pandas", "polars", "pyarrow", "scipy", "pytest", "abi3audit"]
        {
            assert!(requirements.contains(&format!("\n{package}==")), "{package}");
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
        assert_eq!(of("python/pyproject.toml"), of("bindings/Cargo.toml"));
        assert_eq!(of("python/pyproject.toml"), of("Cargo.toml"));
    }
}

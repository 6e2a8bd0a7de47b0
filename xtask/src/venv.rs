//! A virtual environment of Python.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::run::{Failure, cannot, finish, root};

/// The name of a Python that is recent enough, which the task `what` needs.
pub(crate) fn python(what: &str) -> Result<&'static str, Failure> {
    let check = "import sys; sys.exit(sys.version_info < (3, 11))";
    let recent = |name: &&str| {
        let status = Command::new(name).args(["-c", check]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    ["python3", "python"].into_iter().find(recent).ok_or_else(|| {
        Failure::new(format!(
            "`{what}` needs Python 3.11 or later as `python3` or `python` on the path, and found none; \
             nothing else in this project needs it but the tasks `data`, `docs`, `duckdb`, `python` and `sql`"
        ))
    })
}

/// The interpreter of the virtual environment `folder/venv`, made if it is not there.
pub(crate) fn environment(system: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let venv = folder.join("venv");
    let python = program(&venv, "python");
    let pip =
        Command::new(&python).args(["-m", "pip", "--version"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if pip.is_ok_and(|status| status.success()) {
        return Ok(python);
    }
    println!("Setting up a Python environment in {} (once)", venv.display());
    finish(Command::new(system).args(["-m", "venv"]).arg(&venv)).map_err(|_| {
        Failure::new("`python3 -m venv` failed; Debian and Ubuntu have it in the package `python3-venv`")
    })?;
    Ok(python)
}

/// Where an environment has a program.
pub(crate) fn program(venv: &Path, name: &str) -> PathBuf {
    if cfg!(windows) { venv.join("Scripts").join(format!("{name}.exe")) } else { venv.join("bin").join(name) }
}

/// A silent installation of what its arguments name.
pub(crate) fn pip(python: &Path) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    command
}

/// Installs what the file `requirements` of the project names into the environment in `folder`, unless it is there.
pub(crate) fn install(python: &Path, folder: &Path, requirements: &str) -> Result<(), Failure> {
    let file = root().join(requirements);
    let wanted = fs::read_to_string(&file).map_err(|error| cannot("read", &file, &error))?;
    // Written last, so that an interrupted installation is taken up again.
    let stamp = folder.join("venv").join(format!("installed-{}", requirements.replace('/', "-")));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("Installing the packages of {requirements} (once)");
    finish(pip(python).arg("--requirement").arg(&file))?;
    fs::write(&stamp, wanted).map_err(|error| cannot("write", &stamp, &error))
}

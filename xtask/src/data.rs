//! `cargo xtask data`: larger real data sets, out of the Python packages that carry them.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{Failure, finish, root};

/// The packages at the versions that the sets were checked with.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// Writes the sets of the given names, all for none, into `target/data`.
pub(crate) fn run(names: &[OsString]) -> Result<(), Failure> {
    let folder = root().join("target").join("data");
    fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    let script = root().join("xtask").join("data.py");
    let with = |python: &Path| {
        let mut command = Command::new(python);
        command.arg(&script).arg(&folder);
        command
    };

    let system = python()?;
    // The script knows which sets are there; it needs no package to say so.
    let missing = with(Path::new(system)).arg("--missing").args(names).stdout(Stdio::piped()).output();
    let missing = missing.map_err(|error| Failure::new(format!("cannot start `{system}`: {error}")))?;
    if !missing.status.success() {
        eprint!("{}", String::from_utf8_lossy(&missing.stderr));
        return Err(Failure::of(missing.status));
    }
    let missing = String::from_utf8_lossy(&missing.stdout);
    if missing.trim().is_empty() {
        println!("Nothing to do: the data sets are in {}", folder.display());
        return Ok(());
    }
    let environment = environment(system, &folder)?;
    finish(with(&environment).args(missing.split_whitespace()))?;
    println!("The data sets are in {}", folder.display());
    Ok(())
}

/// The name of a Python that is recent enough.
fn python() -> Result<&'static str, Failure> {
    let check = "import sys; sys.exit(sys.version_info < (3, 11))";
    let recent = |name: &&str| {
        let status = Command::new(name).args(["-c", check]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    ["python3", "python"].into_iter().find(recent).ok_or_else(|| {
        Failure::new(
            "`data` needs Python 3.11 or later as `python3` or `python` on the path, and found none; \
             nothing else in this project needs it",
        )
    })
}

/// The interpreter of a virtual environment with the packages, made if it is not there.
fn environment(system: &str, folder: &Path) -> Result<std::path::PathBuf, Failure> {
    let venv = folder.join("venv");
    let python = if cfg!(windows) { venv.join("Scripts").join("python.exe") } else { venv.join("bin").join("python") };
    // Written last, so that an interrupted installation is taken up again.
    let stamp = venv.join("installed.txt");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(python);
    }

    println!("Setting up a Python environment in {} (once)", venv.display());
    finish(Command::new(system).args(["-m", "venv"]).arg(&venv)).map_err(|_| {
        Failure::new("`python3 -m venv` failed; Debian and Ubuntu have it in the package `python3-venv`")
    })?;
    let requirements = root().join("xtask").join("requirements.txt");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"];
    finish(Command::new(&python).args(quiet).arg(requirements))
        .map_err(|_| Failure::new("`pip install` failed, see above; it needs a network, and can be repeated"))?;
    fs::write(&stamp, REQUIREMENTS).map_err(|error| cannot("write", &stamp, &error))?;
    Ok(python)
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

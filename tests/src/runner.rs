//! Finding the files and checking them.

use std::fs;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use crate::report::{Line, Report};
use crate::{CaseError, shapes};

/// How many lines of each kind there were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tally {
    /// Comparisons that held.
    pub passed: usize,
    /// Comparisons that did not hold or could not be made.
    pub failed: usize,
    /// Cases left alone.
    pub skipped: usize,
}

impl Tally {
    /// Whether something was compared and all of it held.
    #[must_use]
    pub fn succeeded(&self) -> bool {
        self.passed > 0 && self.failed == 0
    }

    fn count(&mut self, line: &Line) {
        if line.passed() {
            self.passed += 1;
        } else if line.skipped() {
            self.skipped += 1;
        } else {
            self.failed += 1;
        }
    }
}

/// The folder of the project's own cases, in the clone that cargo runs in: a binary built in another may share the target
/// folder.
#[must_use]
pub fn default_folder() -> PathBuf {
    let package =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    package.join("golden")
}

/// Checks every `*.json` under each of `folders` (or each file named), in order of path, and hands each line to `emit`.
///
/// A folder that cannot be read, and a file that cannot, are failures. A case is named by its path under the folder.
///
/// # Errors
/// What `emit` returns.
pub fn run(folders: &[PathBuf], mut emit: impl FnMut(&Line) -> io::Result<()>) -> io::Result<Tally> {
    let mut tally = Tally::default();
    for folder in folders {
        let mut files = Vec::new();
        let mut unreadable = Vec::new();
        collect(folder, &mut files, &mut unreadable);
        let mut lines: Vec<Line> = Vec::new();
        for (path, error) in unreadable {
            let mut report = Report::new(&path.to_string_lossy());
            report.broken("", CaseError::Io(error.to_string()));
            lines.extend_from_slice(report.lines());
        }
        for line in lines {
            tally.count(&line);
            emit(&line)?;
        }
        files.sort();
        for file in files {
            for line in check_file(folder, &file).lines() {
                tally.count(line);
                emit(line)?;
            }
        }
    }
    Ok(tally)
}

/// The files to check: `path` itself if it is a file, else the `*.json` under it. Linked folders are not entered.
fn collect(path: &Path, files: &mut Vec<PathBuf>, unreadable: &mut Vec<(PathBuf, io::Error)>) {
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(_) if path.is_file() => return files.push(path.to_path_buf()),
        Err(error) => return unreadable.push((path.to_path_buf(), error)),
    };
    for entry in entries {
        match entry.and_then(|entry| Ok((entry.path(), entry.file_type()?))) {
            Ok((inner, kind)) if kind.is_dir() => collect(&inner, files, unreadable),
            Ok((inner, _)) if inner.extension().is_some_and(|extension| extension == "json") => files.push(inner),
            Ok(_) => {}
            Err(error) => unreadable.push((path.to_path_buf(), error)),
        }
    }
}

/// Checks one file; one that makes the code panic has failed, and stops no other.
fn check_file(folder: &Path, file: &Path) -> Report {
    let inner = file.strip_prefix(folder).ok().filter(|inner| inner.components().next().is_some());
    let name = match inner {
        Some(inner) => inner.with_extension("").to_string_lossy().into_owned(),
        None => file.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    let text = match fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) => {
            let mut report = Report::new(&name);
            report.broken("", CaseError::Io(error.to_string()));
            return report;
        }
    };
    let checked = catch_unwind(AssertUnwindSafe(|| {
        let mut report = Report::new(&name);
        shapes::check(&text, &mut report);
        report
    }));
    checked.unwrap_or_else(|_| {
        let mut report = Report::new(&name);
        let reason = "the code under test panicked".to_owned();
        report.broken("", CaseError::Value { path: name.clone(), reason });
        report
    })
}

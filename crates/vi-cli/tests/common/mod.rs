//! Running the command in a folder.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of its own for each test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _absent = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

pub(crate) fn command(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rvi"));
    command.current_dir(folder).args(line.split_whitespace());
    command
}

pub(crate) fn rvi(folder: &Path, line: &str) -> Output {
    command(folder, line).output().unwrap()
}

/// Standard output of a command that must succeed.
pub(crate) fn told(folder: &Path, line: &str) -> String {
    let output = rvi(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The line of a command that must fail with code 1 and say why.
pub(crate) fn refused(folder: &Path, line: &str) -> String {
    let output = rvi(folder, line);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{line}: {text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

pub(crate) fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

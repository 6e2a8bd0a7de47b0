//! Running other programs from the root of the project.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

/// Why a task failed.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What to tell the user; nothing where the program that failed has said it.
    pub(crate) message: Option<String>,
    /// Exit code of the task, not 0.
    pub(crate) code: u8,
}

impl Failure {
    /// A failure of the task runner's own, exit code 1.
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: Some(message.into()), code: 1 }
    }

    /// The failure of another program, with its exit code where it has one.
    pub(crate) fn of(status: ExitStatus) -> Self {
        let code = status.code().and_then(|code| u8::try_from(code).ok()).filter(|&code| code != 0);
        Self { message: None, code: code.unwrap_or(1) }
    }
}

/// The failure to do something with a file or folder.
pub(crate) fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("cannot {what} {}: {error}", path.display()))
}

/// The root of the project: the folder above this crate's, as cargo names it at run time. A binary built in another clone that
/// shares the target folder would otherwise work on that clone.
pub(crate) fn root() -> PathBuf {
    let here =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}

/// The cargo that runs this program, to be started in the root of the project.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The folder in which the second workspace, `bindings`, is built, whatever its part.
pub(crate) fn bindings() -> PathBuf {
    root().join("target").join("bindings")
}

/// Runs a command to its end.
pub(crate) fn finish(command: &mut Command) -> Result<(), Failure> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::of(status)),
        Err(error) => {
            let program = command.get_program().to_string_lossy().into_owned();
            Err(Failure::new(format!("cannot start `{program}`: {error}")))
        }
    }
}

/// Builds a binary of the workspace optimised and runs it.
pub(crate) fn binary(package: &str, name: &str, arguments: &[OsString]) -> Result<(), Failure> {
    finish(cargo().args(["run", "--release", "--package", package, "--bin", name, "--"]).args(arguments))
}

/// Makes relative folders absolute, since the program starts in the root of the project and the
/// user may stand elsewhere. Options stay as they are.
pub(crate) fn absolute(arguments: Vec<OsString>) -> Vec<OsString> {
    let resolve = |argument: OsString| {
        if argument.to_string_lossy().starts_with('-') {
            return argument;
        }
        std::path::absolute(&argument).map_or(argument, PathBuf::into_os_string)
    };
    arguments.into_iter().map(resolve).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("xtask").join("Cargo.toml").is_file());
    }

    #[test]
    fn folders_become_absolute_and_options_stay() {
        let found = absolute(vec!["a/b".into(), "--list".into()]);
        assert_eq!(found[0], env::current_dir().unwrap().join("a/b").into_os_string());
        assert_eq!(found[1], "--list");
    }

    #[test]
    fn a_program_that_fails_or_is_missing() {
        let missing = finish(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(missing.code, 1);
        assert!(missing.message.unwrap().contains("no-such-program"));
        let failing = finish(cargo().args(["--quiet", "no-such-command"])).unwrap_err();
        assert_eq!(failing.code, 101);
        assert!(finish(cargo().arg("--version")).is_ok());
    }
}

//! `cargo xtask sql`: the functions of posteriors for a query engine, and their tests.

use crate::run::{Failure, cargo, finish, root};

/// The crate, a workspace of its own.
const MANIFEST: &str = "crates/vi-datafusion/Cargo.toml";

/// Builds the crate with all its features; for `test` checks its formatting and runs its tests too.
///
/// The engine and its two hundred crates are built in `target/sql`, apart from what the ordinary build makes.
pub(crate) fn run(test: bool) -> Result<(), Failure> {
    if test {
        finish(cargo().args(["fmt", "--check", "--manifest-path", MANIFEST]))?;
    }
    let task = if test { "test" } else { "build" };
    finish(cargo().env("CARGO_TARGET_DIR", root().join("target").join("sql")).args([
        task,
        "--locked",
        "--all-features",
        "--manifest-path",
        MANIFEST,
    ]))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    /// The crate of a workspace of its own has the version of this one and a lock file.
    pub(crate) fn assert_pinned(manifest: &str) {
        let version = |text: &str| text.lines().find(|line| line.starts_with("version = ")).map(str::to_owned);
        let of = |path: &str| version(&fs::read_to_string(root().join(path)).unwrap()).unwrap();
        assert_eq!(of(manifest), of("Cargo.toml"));
        assert!(root().join(manifest).with_file_name("Cargo.lock").is_file());
    }

    #[test]
    fn the_crate_has_the_version_of_the_workspace_and_pinned_dependencies() {
        assert_pinned(MANIFEST);
    }
}

//! Measurements: how long each method takes, next to a plain program that does the same.
//!
//! `cargo xtask bench [NAME] [--quick]` runs a suite, prints its table and writes `target/bench/NAME.json` and
//! `target/bench/NAME.md`. A suite is one entry of [`suites::SUITES`] and one module beside it.
//!
//! | module | what it holds |
//! |---|---|
//! | [`measure`] | repetitions, medians, ours against a baseline in turns |
//! | [`child`], [`memory`] | measurements in processes of their own, and their peak of memory |
//! | [`record`] | what is reported, as JSON and as a table, and the targets |
//! | [`python`] | programs in Python, in a virtual environment of their own |
//! | [`stream`] | the observations that filters are timed on |
//! | [`plain`] | the textbook belief, the baseline of the dense filters |
//! | [`suites`] | the suites |

#![allow(clippy::inline_always, reason = "vector loops have to be compiled inside the dispatch that calls them")]
#![allow(clippy::print_stderr, reason = "an application: progress goes to the terminal")]

pub mod child;
pub mod error;
pub mod measure;
pub mod memory;
pub mod plain;
pub mod posteriors;
pub mod python;
pub mod record;
pub mod stream;
pub mod suites;

pub use error::BenchError;

use std::path::PathBuf;

/// The root of the project: the folder above this package's, as cargo names it at run time, since a binary built in another
/// clone may share the target folder.
#[must_use]
pub fn root() -> PathBuf {
    let here =
        std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    here.parent().unwrap_or(&here).to_path_buf()
}

/// Where results and the Python environment go: `target/bench` of the project.
#[must_use]
pub fn folder() -> PathBuf {
    root().join("target").join("bench")
}

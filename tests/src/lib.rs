//! The case runner that compares this workspace with stored reference numbers, and what its tests share.
//!
//! A reference file is JSON: inputs, and what must come out. [`runner::run`] finds the files, [`shapes`] recognises each
//! by its keys and recomputes what it holds, [`tolerance`] says how close is close enough and why, and each comparison
//! becomes one [`report::Line`]. The program `golden` prints them.
//!
//! ```
//! use vi_tests::{report::Report, shapes};
//!
//! let mut report = Report::new("example");
//! shapes::check(r#"{"columns": ["nu0", "alpha0", "y", "alpha", "nu"], "rows": [[0.0, 0.5, 1, 0.5, 0.0]]}"#, &mut report);
//! assert!(report.lines().iter().all(|line| line.passed()));
//! ```

pub mod boosting;
pub mod compare;
pub mod error;
pub mod grid;
pub mod hostile;
pub mod json;
pub mod logistic;
pub mod low_rank;
pub mod problem;
pub mod report;
pub mod runner;
pub mod shapes;
pub mod soak;
pub mod tolerance;

pub use error::CaseError;

/// The code of the project's README, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The code of the guide, compiled and run: one item for each page that holds any.
#[cfg(doctest)]
pub mod guide {
    /// A page.
    #[doc = include_str!("../../docs/src/index.md")]
    pub struct Index;

    /// A page.
    #[doc = include_str!("../../docs/src/choosing.md")]
    pub struct Choosing;

    /// A page.
    #[doc = include_str!("../../docs/src/uncertainty.md")]
    pub struct Uncertainty;

    /// A page.
    #[doc = include_str!("../../docs/src/priors.md")]
    pub struct Priors;

    /// A page.
    #[doc = include_str!("../../docs/src/groups.md")]
    pub struct Groups;

    /// A page.
    #[doc = include_str!("../../docs/src/drift.md")]
    pub struct Drift;

    /// A page.
    #[doc = include_str!("../../docs/src/checkpoints.md")]
    pub struct Checkpoints;

    /// A page.
    #[doc = include_str!("../../docs/src/diagnostics.md")]
    pub struct Diagnostics;
}

include!("slow.rs");

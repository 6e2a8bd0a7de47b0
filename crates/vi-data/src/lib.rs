//! Data for Bayesian inference: the papers' synthetic generators, three small real sets, and readers whose errors name the row and
//! the column.
//!
//! All but the streams of records give a [`Dataset`]: n observations, each a contiguous row x ∈ ℝᵈ with a label or response y, all
//! finite.
//!
//! ```
//! use rand::SeedableRng;
//! use vi_data::synthetic::{Normalisation, TwoClassesSettings};
//!
//! let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(7);
//! let settings = TwoClassesSettings {
//!     n: 500,
//!     d: 30,
//!     s: 2.0,
//!     c: 0.0,
//!     normalisation: Normalisation::AsRun,
//! };
//! let drawn = settings.draw(&mut rng)?;
//! for (x, y) in drawn.data.observations() {
//!     assert_eq!(x.len(), 30);
//!     assert!(y == 0.0 || y == 1.0);
//! }
//! # Ok::<(), vi_data::DataError>(())
//! ```
//!
//! | from | by |
//! | :-- | :-- |
//! | R-VGA §6, two Gaussian classes (eq 91) | [`synthetic::TwoClassesSettings::draw`] |
//! | linear regression with the same inputs | [`synthetic::LinearSettings::draw`] |
//! | two interleaved half circles | [`synthetic::TwoMoonsSettings::draw`] |
//! | a CSV file, or any other reader | [`read_csv`] |
//! | a stream of records: CSV, JSON lines, LIBSVM, Vowpal Wabbit, Parquet, Arrow IPC, spreadsheets, also compressed | [`records::Records`] |
//! | nodal involvement in 53 prostate-cancer patients | [`nodal`] |
//! | 683 breast tumours | [`breast_cancer`] |
//! | 1000 handwritten digits of 8 × 8 pixels | [`digits`] |
//!
//! Nothing here opens a file or has a random generator of its own.
//!
//! Cargo features: `json` reads JSON lines, `compressed` gzip and zstd, `columnar` Parquet and Arrow IPC, `sheets` spreadsheets of Excel and OpenDocument, `arrow` tables of Arrow in memory.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod csv;
mod dataset;
mod error;
pub mod fnv;
pub mod records;
mod sets;
pub mod synthetic;

pub use crate::csv::{CsvSettings, Label, read_csv};
pub use dataset::Dataset;
pub use error::DataError;
pub use sets::{breast_cancer, breast_cancer_with_id, digits, nodal};

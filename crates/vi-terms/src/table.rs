//! Tables with named columns of numbers, texts and dates: from rows of fields to a learned model and its file.
//!
//! The first rows decide the kinds of the columns, the curves and products of the inputs, and the family of the target ([`begin`]); every row
//! is then predicted, scored and learned, once and in order ([`learn`]); rows whose labels come in runs are learned again in a random order
//! ([`reorder`]). [`fit`] is all of it. A [`Source`] hands the rows over one at a time, a [`Document`] is the model with what feeds it, and its
//! [`text`](Document::text) is the file of the command `rvi`.
//!
//! ```
//! # use vi_terms::TermsError;
//! use vi_terms::table::{self, Columns, Input, Options, Rows};
//!
//! let columns = Columns::new(["size".to_owned(), "price".to_owned()], None);
//! let rows: Vec<[String; 2]> = (1..60).map(|k| [format!("{k}"), format!("{}", 3.0 * f64::from(k))]).collect();
//! let options = Options { target: Some("price".to_owned()), ..Options::default() };
//! let table = || Ok(Rows::new(&columns, rows.iter().map(|row| row.iter().collect())));
//! let model = table::fit(&options, &Input::in_memory("prices", false), false, table)?;
//!
//! let mut answers = model.answers(&columns)?;
//! let predicted = answers.predict(&["70", ""].into_iter().collect(), 1)?;
//! assert!((predicted.mean().unwrap() - 210.0).abs() < 5.0);
//! # Ok::<(), TermsError>(())
//! ```

mod answered;
mod begin;
mod certificate;
mod choose;
mod correlate;
mod document;
mod effects;
mod explain;
mod file;
mod fit;
mod grouped;
mod known;
mod learn;
mod means;
mod merge;
mod options;
mod page;
mod pictures;
mod plan;
mod pooled;
mod predict;
mod ranges;
mod refine;
mod relevance;
mod reorder;
mod robust;
mod schema;
mod scores;
mod source;
pub mod summary;
mod target;
#[cfg(test)]
mod tests;
pub mod text;
mod times;
mod versus;

pub use answered::{Asked, Notes, Part, left_out};
pub use begin::begin;
pub use certificate::{Basis, Finding, as_html, calibration, certificate, of_model, told};
pub use document::{Document, Pass};
pub use effects::{Curve, curves};
pub use explain::{Explainer, Explanation};
pub use file::{Begun, FileError, FileRows, Place};
pub use fit::{Step, fit, fit_watched, update};
pub use grouped::GroupEffect;
pub use known::Known;
pub use learn::learn;
pub use merge::merge;
pub use options::{Family, Input, InputFormat, NOTHING, Options, parse_shape};
pub use page::{drawing, page, sections};
pub use pictures::{Drawn, explained, learning, pictures};
pub use plan::RANK;
pub use predict::{Answers, Intervals};
pub use ranges::Ranges;
pub use refine::{check as check_refine, refine};
pub use reorder::{Beside, reorder};
pub use robust::{Errors, RobustErrors};
pub use schema::Schema;
pub use scores::{BANDS, Scores, Seen, Summary};
pub use source::{Columns, Rows, Source};
pub use target::{Target, TargetKind};
pub use times::Event;
pub use versus::Versus;

//! Numbers, pictures and the pages: what is written, and where.
//!
//! Each item leaves `PAPER/ITEM.csv` (and further tables), `PAPER/ITEM.svg`, `PAPER/ITEM-narrow.svg` and `PAPER/ITEM.json`
//! under the output folder; `index.html`, `methods.html` and `manifest.json` are rebuilt from all records present, so a run of
//! one item keeps the page of the others. An item that was skipped or failed leaves a record that says so.

mod check;
mod page;
mod quartiles;
mod record;
mod table;
mod verdict;
mod words;

pub use check::{Cause, Check, Fault, Kind, MOST};
pub use page::rebuild;
pub use quartiles::{median, quartiles};
pub use record::{Outcome, Provenance, Quantity, Record, Shown, State, read, write, write_absent};
pub use table::{Table, View, cell, short};
pub use verdict::{Tally, Verdict};
pub use vi_benches::measure::mean_and_error;
pub use vi_plot::number;
pub use words::{Said, Words, join};

use check::share_text;

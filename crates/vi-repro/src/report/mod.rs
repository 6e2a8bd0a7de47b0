//! Numbers, pictures and the page: what is written, and where.
//!
//! Each item leaves `PAPER/ITEM.csv` (and further tables), `PAPER/ITEM.svg` and `PAPER/ITEM.json`
//! under the output folder; `index.html` and `manifest.json` are rebuilt from all records present,
//! so a run of one item keeps the page of the others.

mod page;
mod quartiles;
mod record;
mod table;
mod verdict;

pub use page::rebuild;
pub use quartiles::quartiles;
pub use record::{Outcome, Provenance, Record, Shown, read, write};
pub use table::{Table, cell};
pub use verdict::{Check, MOST, Verdict, number};

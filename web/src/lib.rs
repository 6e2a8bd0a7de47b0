//! The page that computes: tables, models and reports of `rvi` in a browser, for its worker.
//!
//! A [`Desk`] holds one table and one model. It takes a request, which is JSON, with the bytes of a file, and answers JSON in which all that a page shows is
//! HTML, so that the page itself only moves bytes. In WebAssembly `door` is its interface; `web/` has the page.

mod desk;
#[cfg(target_arch = "wasm32")]
mod door;
mod html;
mod samples;

pub use desk::{Desk, Tell};

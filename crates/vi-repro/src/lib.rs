//! Reproduces the papers' figures and tables: numbers first, then pictures, then a page with
//! verdicts computed from the numbers.
//!
//! [`item`] is the registry, [`plot`] draws, [`report`] writes, and there is one module for each
//! paper with one file for each section of it.

pub mod bvi;
pub mod drugowitsch;
pub mod error;
pub mod item;
mod logistic;
mod looks;
pub mod lrvga;
mod method;
mod panels;
pub mod plot;
pub mod practice;
pub mod report;
pub mod revrand;
pub mod rvga;
mod streams;

pub use error::ReproError;

/// Counts the bytes on the heap, for the tables that tell how much memory a method takes.
#[global_allocator]
static HEAP: peak_alloc::PeakAlloc = peak_alloc::PeakAlloc;

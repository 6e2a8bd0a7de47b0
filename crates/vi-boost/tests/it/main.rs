//! Tests of the crate from outside.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod bad_input;
mod boosting;
mod checkpoint;
mod common;
mod divergence;
mod fit;
mod latent;
mod mixture;
mod printed;
mod single;
mod targets;
mod transform;
mod verdicts;

include!("../../../../tests/src/slow.rs");

//! Tests that span several crates, in one binary.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test panics on what it does not expect")]

mod bad_input;
mod boosting;
mod common;
mod examples;
mod front_door_mixture;
mod golden;
mod hostile;
mod low_rank;
mod matrix;
mod nonlinear;
mod other_sizes;
mod properties;
mod refinement;
mod tampering;
mod threads;

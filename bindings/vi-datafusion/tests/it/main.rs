//! Queries against the direct folds that they stand for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod answers;
mod common;
mod driver;
mod files;
mod glm;
mod linear;
mod plans;
mod pooled;
mod refused;
mod scalars;
mod sources;

include!("../../../../tests/src/slow.rs");

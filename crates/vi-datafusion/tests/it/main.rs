//! Queries against the direct folds that they stand for.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper that fails is a failed test")]

mod common;
mod driver;
mod glm;
mod linear;
mod refused;
mod scalars;

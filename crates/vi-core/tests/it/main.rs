//! The papers' theorems as identities, and divergences against brute force.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod block;
mod checkpoint;
mod common;
mod divergences;
mod evidence;
mod forgetting;
mod merge;
mod rules;
mod theorems;

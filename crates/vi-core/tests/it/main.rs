//! The papers' theorems as identities, and divergences against brute force.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bad_input;
mod block;
mod common;
mod divergences;
mod rules;
mod theorems;
mod weights;

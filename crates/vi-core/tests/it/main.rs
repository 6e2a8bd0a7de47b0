//! The papers' theorems as identities, and divergences against brute force.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod bad_input;
mod batch;
mod block;
mod common;
mod diagonal;
mod divergences;
mod hyper;
mod refine;
mod rules;
mod square_root;
mod theorems;

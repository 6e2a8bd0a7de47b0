//! The models through their public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod coverage;
mod edges;
mod expectations;
mod looks;
mod off_policy;
mod oracle;
mod propagation;
mod softmax;
mod three_ways;
mod vb_coverage;
mod vb_front;

include!("../../../../tests/src/slow.rs");

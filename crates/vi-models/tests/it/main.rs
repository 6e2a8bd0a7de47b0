//! What `vi-models` promises, through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod vb_coverage;
mod vb_front;

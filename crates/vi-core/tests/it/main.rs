//! What `vi-core` promises, through its public interface.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod bad_input;
mod batch;
mod block;
mod checkpoint;
mod common;
mod diagonal;
mod divergences;
mod fading_steps;
mod forgetting;
mod joined;
mod low_rank;
mod low_rank_lazy;
mod low_rank_lazy_state;
mod low_rank_state;
mod low_rank_sweep;
mod low_rank_twins;
mod merge;
mod precision;
mod propagation;
mod quiet;
mod range;
mod refine;
mod resume;
mod rows;
mod rules;
mod square_root;
mod theorems;
mod waiting;
mod weights;

include!("../../../../tests/src/slow.rs");

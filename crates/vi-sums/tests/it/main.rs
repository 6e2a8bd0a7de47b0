//! Tests of the sums against the direct fits that they stand for.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod common;
mod glm;
mod hostile;
mod linear;
mod model;
mod newton;
mod pool;
mod robust;
mod slice;
mod stored;

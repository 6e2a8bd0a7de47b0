//! The clock of the standard library under the names of the crate `web-time`.

pub use std::time::{Duration, Instant, SystemTime, SystemTimeError, UNIX_EPOCH};

//! L-RVGA in up to a million dimensions: blocks, one inner loop, three; memory; NumPy.

mod case;
mod sizes;

use super::{Effort, Suite};

pub(super) use case::child;

pub(super) const SUITE: Suite = Suite {
    name: "lrvga",
    about: "low-rank beliefs, d = 1e4 to 1e6, p = 1 to 100: time and peak memory of each form; NumPy",
    run: sizes::run,
};

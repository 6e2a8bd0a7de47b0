//! Without a program here, Cargo would leave out the crates that macros of others are built with.

fn main() {}

//! Tests of the sums against the direct fits that they stand for.

mod common;
mod glm;
mod hostile;
mod linear;
mod stored;

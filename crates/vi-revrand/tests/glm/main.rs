//! The GLM as a whole.

mod demo;

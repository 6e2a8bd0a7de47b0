//! Tests of the models through their public interface.

mod common;
mod expectations;
mod three_ways;

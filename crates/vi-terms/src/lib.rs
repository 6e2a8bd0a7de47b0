//! From the columns of a row to the inputs of a linear model, in blocks that share a prior scale.
//!
//! A *term* makes inputs of one or several columns. All are fixed by the first rows: knots, centres, spreads and frequencies.
//!
//! | term | inputs | prior N(0, s²I) of its block |
//! |---|---|---|
//! | [`Term::Bent`] | `asinh(x/s)` of a skewed input | a line in the logarithm |
//! | [`Term::Smooth`] | [`Smooth`]: natural cubic splines beside constant and line | `∫f″²` |
//! | [`Term::Tensor`] | products of the curves of two columns | roughness in both directions |
//! | [`Term::Pairs`] | `z_i·z_j` of standardised inputs | one scale for all products |
//! | [`Term::Kernel`] | random Fourier features at three length scales | a Gaussian process, one block for each length scale |
//!
//! [`table`] learns tables with named columns of numbers, texts and dates. [`formula`] reads formulas. [`Terms`] holds them; [`Terms::automatic`] chooses them by the kinds of the inputs and a [`Budget`].

#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod automatic;
mod coordinate;
mod curved;
mod effects;
mod error;
mod fitted;
pub mod formula;
mod smooth;
pub mod table;
mod terms;
mod told;

pub use automatic::{Budget, Shape};
pub use effects::Effect;
pub use error::TermsError;
pub use smooth::Smooth;
pub use terms::{Block, Input, Kind, Term, Terms};

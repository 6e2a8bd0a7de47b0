//! In-place kernels on vectors and on the lower triangle of a symmetric matrix.
//!
//! No kernel allocates. Vectors are plain slices; a symmetric matrix is the lower triangle of a column-major view
//! and its strict upper triangle is neither read nor written (except by [`mirror_lower`], which writes it).
//! The vector kernels need columns that are contiguous in memory, as those of a [`faer::Mat`] are, and assert it.
//! Vector instructions are chosen when the program runs.
//!
//! Shapes that do not agree are a mistake of the caller and panic with both shapes. NaN and infinities propagate to the result.

#![allow(
    clippy::inline_always,
    reason = "vector code must be inlined into the function that carries the processor's features"
)]

mod lower_product;
mod matrix;
mod symmetric;
mod tiled;
mod vector;

pub use lower_product::{add_lower_product, lower_mul_mat};
pub use matrix::{mirror_lower, product, symmetric_mul_mat, symmetric_rank_r};
pub use symmetric::{
    deflate, quadratic_form, symmetric_mul_vec, symmetric_mul_vecs, symmetric_rank_one, symmetric_scaled_rank_one,
};
pub use tiled::{tiled_lower_product, tiled_mul_mat, tiled_rank_r};
pub use vector::{axpy, dot, rotate};

#[track_caller]
pub(crate) fn assert_square(nrows: usize, ncols: usize) {
    assert!(nrows == ncols, "the matrix must be square, it is {nrows} x {ncols}");
}

#[track_caller]
pub(crate) fn assert_length(name: &str, length: usize, d: usize) {
    assert!(length == d, "{name} has {length} elements, the matrix is {d} x {d}");
}

#[track_caller]
pub(crate) fn assert_shape(name: &str, shape: (usize, usize), expected: (usize, usize)) {
    assert!(
        shape == expected,
        "{name} is {} x {}, the other arguments ask for {} x {}",
        shape.0,
        shape.1,
        expected.0,
        expected.1
    );
}

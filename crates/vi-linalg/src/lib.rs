//! Linear algebra for Gaussian inference: products with a symmetric matrix, its low-rank updates, and its
//! Cholesky factor, in place on the caller's memory; matrices Ψ + WWᵀ of any dimension, never formed.
//!
//! ```
//! use vi_linalg::faer::mat;
//! use vi_linalg::Cholesky;
//!
//! // Only the lower triangle is read.
//! let a = mat![[4.0, f64::NAN], [2.0, 5.0]];
//! let factor = Cholesky::new(a.as_ref())?;
//! assert_eq!(factor.solve(mat![[8.0], [8.0]].as_ref())?, mat![[1.5], [1.0]]);
//! assert_eq!(factor.quadratic_form_inverse(&[8.0, 8.0])?, 20.0);
//! assert!((factor.log_det() - 16.0_f64.ln()).abs() < 1e-15);
//! # Ok::<(), vi_linalg::LinalgError>(())
//! ```
//!
//! # Where to look
//!
//! | to compute | call |
//! | :-- | :-- |
//! | A x, xᵀA x | [`kernels::symmetric_mul_vec`], [`kernels::quadratic_form`] |
//! | A X | [`kernels::symmetric_mul_mat`] |
//! | A + αvvᵀ, A + αUVᵀ | [`kernels::symmetric_rank_one`], [`kernels::symmetric_rank_r`] |
//! | xᵀy, y + αx, a plane rotation | [`kernels::dot`], [`kernels::axpy`], [`kernels::rotate`] |
//! | A = LLᵀ, A⁻¹b, log det A, L⁻¹b, L z, xᵀA⁻¹x, A⁻¹ | [`Cholesky`] |
//! | the factor of LLᵀ + U diag(α) Uᵀ | [`Cholesky::update`] |
//! | the factor of LLᵀ + BBᵀ at the speed of a matrix product | [`cholesky::panel_update_in_place`] |
//! | the factor of LLᵀ ± xxᵀ | [`cholesky::rank_one_update_in_place`], [`cholesky::rank_one_downdate_in_place`] |
//! | L with LLᵀ = A for an A that may be singular | [`cholesky::semidefinite_in_place`] |
//! | the same without allocation | [`cholesky`] |
//! | eigenvalues and eigenvectors of A | [`mod@eigen`] |
//! | everything with Ψ + WWᵀ, its inverse included, without forming it | [`LowRank`], [`low_rank::Factored`] |
//! | draws from N(0, Ψ + WWᵀ) and N(0, (Ψ + WWᵀ)⁻¹), divergences | [`low_rank`] |
//! | a symmetric matrix known by its action | [`SymmetricOperator`] |
//! | sums and maps over the rows of long matrices, any number of threads | [`tiles`] |
//!
//! # Symbols
//!
//! | symbol | meaning | shape |
//! | :-- | :-- | :-- |
//! | d | dimension | |
//! | k | number of right-hand sides | |
//! | r | rank of an update | |
//! | A | symmetric matrix | d × d, lower triangle |
//! | L | lower Cholesky factor of A | d × d |
//! | x, v, b | vectors | d |
//! | X, B | several vectors, one per column | d × k |
//! | U, V | factors of an update | d × r |
//! | ε | [`f64::EPSILON`] | |
//! | κ | condition number of A in the 2-norm | |
//!
//! # How a symmetric matrix is stored
//!
//! In the **lower triangle** of a column-major `Mat<f64>`. Nothing in this crate reads the strict upper triangle of a
//! symmetric or triangular argument: it may hold anything, NaN included. [`kernels::mirror_lower`] fills it where
//! a full matrix is wanted, for instance for output.
//!
//! # Errors and panics
//!
//! Values that data can produce (a matrix that is not positive definite, a NaN) are reported as [`LinalgError`].
//! The in-place layers ([`kernels`], [`cholesky`]) assert that the shapes of their arguments agree: a mismatch there is
//! a mistake in the calling program. [`Cholesky`] checks shapes too and returns an error.
//!
//! # Reproducibility
//!
//! A result depends on the arguments and on the vector width of the processor (sums are taken in one order per width),
//! never on time or on earlier calls. The dense products that take a [`faer::Par`] may also sum in another order for another
//! number of threads; what runs over [`tiles`] may not.

#![cfg_attr(doctest, doc = include_str!("../README.md"))]

pub mod check;
pub mod cholesky;
pub mod eigen;
mod error;
pub mod kernels;
pub mod low_rank;
pub mod operator;
pub mod tiles;

#[cfg(test)]
mod testing;

pub use cholesky::Cholesky;
pub use error::LinalgError;
pub use faer;
pub use low_rank::LowRank;
pub use operator::{DenseSymmetric, SymmetricOperator};

//! Likelihoods beyond those of `vi-core`.
//!
//! | likelihood | labels | `p(y\|t)` | log-concave | Gaussian expectations |
//! |---|---|---|---|---|
//! | [`BernoulliProbit`] | 0 and 1 | `Φ(t)`, `Φ(−t)` | yes | quadrature |
//! | [`Binomial`] | 0 to `n` | `C(n,y)·s(t)ʸ·s(−t)ⁿ⁻ʸ` | yes | those of the logistic |
//! | [`Poisson`] | counts | `mʸe⁻ᵐ/y!`, `m = E·eᵗ` | yes | closed forms |
//! | [`NegativeBinomial`] | counts | mean `m = E·eᵗ`, variance `m + m²/r` | yes | those of the logistic |
//! | [`ZeroInflated`] | counts | `π` and the rest of 1 for a negative binomial | no | those of that one, at 0 quadrature |
//! | [`StudentT`] | real | `t_k((y−t)/s)/s` | no | quadrature |
//!
//! More than two classes are in [`softmax`](crate::softmax).
//!
//! # What a row has besides its label
//!
//! A number of trials and an exposure are part of the likelihood; a known [`Offset`] and a weight
//! ([`Weighted`](vi_core::Weighted)) wrap any likelihood. A likelihood with them is a small value made for the row. A set of rows
//! has a slice of them, which as a [`PerRow`](vi_core::PerRow) can replace a single likelihood or rule everywhere: in the filter
//! and its blocked form, refinement, the batch optimum, the posterior and its divergences.
//!
//! ```
//! use vi_core::{Belief, DenseGaussian, Implicit, PerRow, Weighted, batch, block, refine};
//! use vi_linalg::faer::{Par, mat};
//! use vi_models::likelihood::{Offset, Poisson};
//!
//! let x = mat![[1.0, 0.3], [1.0, -1.0], [1.0, 0.8]];
//! let y = [4.0, 0.0, 11.0];
//! let (exposures, offsets, weights) = ([2.0, 1.0, 3.0], [0.1, 0.0, -0.2], [1.0, 1.0, 2.0]);
//! let rows: Vec<_> = (0..3)
//!     .map(|i| Weighted::new(Offset::new(Poisson::new(exposures[i])?, offsets[i])?, weights[i]))
//!     .collect::<Result<_, _>>()?;
//! let rules: Vec<_> = rows.iter().map(Implicit).collect();
//!
//! let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
//! let mut fit = refine::first_pass(&prior, &PerRow(&rules), x.as_ref(), &y, Par::Seq)?;
//! refine::refine(&prior, &mut fit, x.as_ref(), &y, &PerRow(&rows), &Default::default(), Par::Seq)?;
//! let (best, _) = batch::optimum(
//!     &prior, &prior, x.as_ref(), &y, &PerRow(&rows), &Default::default(), Par::Seq)?;
//! assert!((fit.belief.mean()[1] - best.mean()[1]).abs() < 1e-4);
//! # Ok::<(), vi_core::Error>(())
//! ```

mod binomial;
mod logistic_counts;
mod negative_binomial;
mod offset;
mod poisson;
mod probit;
mod probit_average;
pub(crate) mod saddle;
mod student_t;
#[cfg(test)]
mod tests;
mod zero_inflated;

pub use binomial::Binomial;
pub use negative_binomial::NegativeBinomial;
pub use offset::Offset;
pub use poisson::Poisson;
pub use probit::BernoulliProbit;
pub use student_t::StudentT;
pub use zero_inflated::ZeroInflated;

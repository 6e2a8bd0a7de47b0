//! The theorems of R-VGA and L-RVGA as code: other forms of the same algorithms, for any likelihood and by other names.
//!
//! | theorem | says | code |
//! |---|---|---|
//! | Theorem 1, Corollary 1.1 | the implicit step for any log-likelihood, by gradients and Hessians | [`black_box`] |
//! | Theorem 2 | online Newton descent on a linear model is the Kalman filter | [`OnlineNewton`] |
//! | Theorem 3 | online natural gradient is the extended Kalman filter | [`NaturalGradient`] |
//! | Theorem 4 | in natural parameters the step adds a gradient by mean parameters | [`NaturalParameters`], [`MeanParameters`] |
//! | L-RVGA, Proposition 1 | the likelihood of factor analysis and its EM have the same fixed points | [`likelihood_step`], [`likelihood_factor`] |
//!
//! To filter a stream, see [`filter`](crate::filter): it costs `d²` for a row where these cost `d³`.

pub mod black_box;
mod natural;
mod online;

pub use crate::factor::em::{likelihood_factor, likelihood_step};
pub use natural::{MeanParameters, NaturalParameters};
pub use online::{NaturalGradient, OnlineNewton};

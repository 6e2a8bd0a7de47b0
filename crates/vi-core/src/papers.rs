//! What stands here for the papers alone: the theorems of R-VGA and L-RVGA as code, other forms of the same algorithms, for any
//! likelihood and by other names. No product calls them.
//!
//! | theorem | says | code |
//! |---|---|---|
//! | Theorem 1, Corollary 1.1 | the implicit step for any log-likelihood, by gradients and Hessians | [`black_box`] |
//! | Theorem 2 | online Newton descent on a linear model is the Kalman filter | [`OnlineNewton`], [`kalman`] |
//! | Theorem 3 | online natural gradient is the extended Kalman filter | [`NaturalGradient`], [`ekf`] |
//! | Theorem 4 | in natural parameters the step adds a gradient by mean parameters | [`NaturalParameters`](crate::NaturalParameters), [`MeanParameters`] |
//! | L-RVGA, Proposition 1 | the likelihood of factor analysis and its EM have the same fixed points | [`likelihood_step`], [`likelihood_factor`] |
//!
//! To filter a stream, see [`filter`](crate::filter): it costs `d²` for a row where these cost `d³`. Elsewhere the papers' own are the forms
//! [`recursive`](crate::LowRankSettings::recursive) and [`one_loop`](crate::LowRankSettings::one_loop) of the low-rank belief, its box
//! [as printed](crate::low_rank::as_printed), [`factor`](crate::factor), and the rules [`MirrorProxPrinted`](crate::MirrorProxPrinted) and
//! [`SkipCovariance`](crate::SkipCovariance).

pub mod black_box;
pub mod ekf;
pub mod kalman;
mod online;

pub use crate::factor::em::{likelihood_factor, likelihood_step};
pub use crate::natural::MeanParameters;
pub use online::{NaturalGradient, OnlineNewton};

//! Nonlinear models in high dimension: the general L-RVGA (§4.2) for `p(y|η)`, `η = h(θ, x)`.
//!
//! An observation of an exponential family with natural parameter `η ∈ ℝᵐ` changes the precision by the generalised
//! Gauss-Newton matrix, an outer product that needs no label and no second derivative of `h`:
//!
//! ```text
//! −E_q[∇²log p(y|θ)] ≈ E_q[(∂h/∂θ)·Cov(y|θ)·(∂h/∂θ)ᵀ] ≈ XXᵀ                         (41)
//! X = K^(−½)·(c_1 … c_K),  c_i = (∂h/∂θ)(θ_i)·Cov(y|θ_i)^½,  θ_i ~ q              (44)-(46)
//! ```
//!
//! and `XXᵀ` joins `Ψ + WWᵀ` as `K·m` rows. The draws come from the [ensemble sampler](crate::LowRankGaussian::draws), fresh at each
//! use, so memory and work stay linear in `d`.
//!
//! A [`NonlinearModel`] is a [`NaturalMap`] (what `h` is) times an [`OutputFamily`] (what `p(y|η)` is):
//!
//! | `h` | | `p(y\|η)` | |
//! | :-- | :-- | :-- | :-- |
//! | [`LinearMap`] | `η_c = xᵀθ_c` | [`Scalar`] | any scalar [`Likelihood`](crate::Likelihood): logit, Gaussian, … |
//! | [`OneHiddenLayer`] | a network of tanh units | [`Categorical`] | softmax over classes |
//!
//! ```
//! use rand::SeedableRng;
//! use vi_core::nonlinear::{self, Categorical, LinearMap, NonlinearModel, NonlinearSettings};
//! use vi_core::{LowRankGaussian, LowRankSettings};
//! use vi_linalg::faer::{Par, mat};
//!
//! // Softmax regression on two inputs and three classes: d = 2·2.
//! let model = NonlinearModel::new(LinearMap::new(2, 2)?, Categorical::new(3)?)?;
//! let mut belief = LowRankGaussian::isotropic(&[0.0; 4], 3.0, LowRankSettings::blocked(4)?)?;
//! let x = mat![[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]];
//! let classes = mat![[0.0], [1.0], [2.0]];
//! let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
//! let settings = NonlinearSettings::new(20);
//! nonlinear::run(&mut belief, &model, x.as_ref(), classes.as_ref(), &settings, &mut rng, Par::Seq, |_, _| {})?;
//!
//! let draws = belief.draws(200, &mut rng, Par::Seq)?;
//! let probability = model.log_predictive(draws.as_ref(), &[1.0, 0.0], &[0.0])?.exp();
//! assert!(probability > 0.5);
//! # Ok::<(), vi_core::Error>(())
//! ```
//!
//! [`LowRankGaussian`]: crate::LowRankGaussian
//! [`LowRankGaussian::draws`]: crate::LowRankGaussian::draws

mod expectations;
mod family;
mod linear;
mod model;
mod network;
mod settings;
mod step;

#[cfg(test)]
mod tests;

pub use family::{Categorical, OutputFamily, Scalar};
pub use linear::LinearMap;
pub use model::{NaturalMap, NonlinearModel};
pub use network::OneHiddenLayer;
pub use settings::{NonlinearSettings, Sampling, Scheme};
pub use step::{run, step};

//! Bayesian generalised linear models on random features: large-scale approximations of Gaussian processes.
//!
//! The crate holds nothing yet. It will stand on `vi-models` and hold composable bases, linear models with learned kernels, and
//! GLMs with a mixture of diagonal Gaussians trained by stochastic gradients.

//! Boosting variational inference: posteriors as Gaussian mixtures grown one component at a time.
//!
//! The crate holds nothing yet. It will stand on `vi-core` alone and take any target with a log-density, a gradient where
//! there is one, and a Hessian where there is one.

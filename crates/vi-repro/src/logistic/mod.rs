//! Bayesian logistic regression as the papers' figures need it: the exact posterior, Laplace's approximation, and in two
//! dimensions the posterior on a grid and Gaussians as ellipses.

mod ellipses;
mod planar;
mod posterior;

pub(crate) use ellipses::{Window, add_ellipse, include, moments, remark};
pub(crate) use planar::Planar;
pub(crate) use posterior::{Posterior, breakdown, laplace};

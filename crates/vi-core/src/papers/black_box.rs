//! R-VGA for any log-likelihood of `θ ∈ ℝᵈ`: Theorem 1 and its Corollary 1.1 in usable form.
//!
//! A step needs `E_q[log p]`, `E_q[∇log p]` and `−E_q[∇²log p]` at a Gaussian `q`. A [`Form`] computes them: from Hessians
//! ([`Order2`]), from gradients alone ([`Order1`]), from values alone ([`Order0`]), or from the gradients of `E_q[log p]` itself
//! ([`GradientForm`]). [`Nodes`] are the points at which, by quadrature or draws.

mod form;
mod nodes;
mod step;

pub use form::{Form, Gradient, GradientForm, Hessian, LogLikelihood, Moments, Order0, Order1, Order2};
pub use nodes::Nodes;
pub use step::{StepInfo, StepSettings, explicit_step, implicit_step};

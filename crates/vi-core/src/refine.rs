//! Refinement: sweeps over the rows that turn a one-pass posterior into the best Gaussian, in either direction of KL.
//!
//! One pass leaves each observation's [site](crate::Sites) as the belief at that time made it. A sweep removes each site again,
//! which leaves its cavity, and makes the implicit step anew from there:
//!
//! ```text
//! c = 1 − hν      ν_c = ν/c,  a_c = (a − νr)/c                    the cavity
//! (e′, h′) = implicit step from (a_c, ν_c);   r′ = e′ + h′(a_c + ν_c·e′)
//! Δh = h′ − h,  Δr = r′ − r;   P⁻¹ += Δh·xxᵀ,   e = (Δr − Δh·a)/(1 + Δh·ν),   μ += e·Px
//! ```
//!
//! Its fixed points are the stationary points of `KL(q‖posterior)`, unique for a log-concave likelihood: [`refine`]. The same
//! sweep with the mean and variance of the cavity's tilted density instead of the implicit step is [`expectation_propagation`].

mod leave_one_out;
mod propagation;
mod settings;
mod sites;
mod sweep;

pub use leave_one_out::leave_one_out;
pub use propagation::{Progress, expectation_propagation, propagate};
pub use settings::{RefineInfo, RefineSettings};
pub use sites::{Refinement, first_pass};
pub use sweep::refine;

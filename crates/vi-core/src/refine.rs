//! Refinement: sweeps that take a one-pass posterior to the best Gaussian there is.
//!
//! One pass leaves each observation's [site](crate::Sites) where the belief of its time put it. A sweep takes each site out
//! again, leaving its cavity, and makes the implicit step anew from there:
//!
//! ```text
//! c = 1 − hν      ν_c = ν/c,  a_c = (a − νr)/c                    the cavity
//! (e′, h′) = implicit step from (a_c, ν_c);   r′ = e′ + h′(a_c + ν_c·e′)
//! Δh = h′ − h,  Δr = r′ − r;   P⁻¹ += Δh·xxᵀ,   e = (Δr − Δh·a)/(1 + Δh·ν),   μ += e·Px
//! ```
//!
//! Its fixed points are the stationary points of `KL(q‖posterior)`, unique for a log-concave likelihood.

mod sweep;

pub use sweep::{RefineInfo, RefineSettings, Refinement, first_pass, leave_one_out, refine};

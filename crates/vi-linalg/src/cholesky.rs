//! Cholesky factorisation A = LLᵀ, with solves, updates and determinants from the factor.
//!
//! [`Cholesky`] owns its factor, allocates what it needs and checks its arguments. The functions of this module are the same
//! operations on the caller's memory and with the caller's threads: they assert that shapes agree, and for those that need
//! scratch a function whose name ends in `_scratch` says how much.
//!
//! ```
//! use vi_linalg::cholesky::{factor_in_place, factor_in_place_scratch, log_det, solve_in_place};
//! use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
//! use vi_linalg::faer::{Par, mat};
//!
//! let mut memory = MemBuffer::new(factor_in_place_scratch(2, Par::Seq));
//! let mut a = mat![[4.0, f64::NAN], [2.0, 5.0]];
//! factor_in_place(a.as_mut(), Par::Seq, MemStack::new(&mut memory))?;
//! assert_eq!((a[(0, 0)], a[(1, 0)], a[(1, 1)]), (2.0, 1.0, 2.0));
//!
//! let mut b = mat![[8.0], [8.0]];
//! solve_in_place(a.as_ref(), b.as_mut(), Par::Seq);
//! assert_eq!(b, mat![[1.5], [1.0]]);
//! assert!((log_det(a.as_ref()) - 16.0_f64.ln()).abs() < 1e-15);
//! # Ok::<(), vi_linalg::LinalgError>(())
//! ```

mod in_place;
mod owned;
mod panel_update;
mod rank_one;
mod semidefinite;

pub use in_place::{
    factor_in_place, factor_in_place_scratch, inverse, inverse_scratch, log_det, mul_lower, solve_in_place,
    solve_lower_in_place, solve_upper_in_place,
};
pub use owned::Cholesky;
pub use panel_update::{panel_update_in_place, panel_update_scratch};
pub use rank_one::{downdate_whitened_in_place, rank_one_downdate_in_place, rank_one_update_in_place};
pub use semidefinite::semidefinite_in_place;

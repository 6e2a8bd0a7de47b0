//! Likelihoods beyond those of `vi-core`.
//!
//! | likelihood | labels | `p(y\|t)` | log-concave |
//! |---|---|---|---|
//! | [`BernoulliProbit`] | 0 and 1 | `Φ(t)`, `Φ(−t)` | yes |
//! | [`StudentT`] | real | `t_k((y−t)/s)/s` | no |

mod probit;
mod student_t;
#[cfg(test)]
mod tests;

pub use probit::BernoulliProbit;
pub use student_t::StudentT;

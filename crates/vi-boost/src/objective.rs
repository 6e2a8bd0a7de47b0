//! The effective discrepancy `D̃(q) = E_q[log(q/f)]` (paper eq 4, without `log p(X)`) on fixed points, as a function of
//! what a search may move, with its exact gradient.
//!
//! Points are maps of fixed standard normal ones, so each objective is one smooth function without noise. Its gradient has two
//! parts, from the points' motion and from the density's change at fixed points; the second has mean zero, but not on finitely
//! many points, so it is included.

mod charts;
mod greedy;
mod joint;
mod natural;
mod resting;
mod single;

pub(crate) use greedy::{Greedy, Reference};
pub(crate) use joint::Joint;
pub(crate) use resting::{Rest, Resting};
pub(crate) use single::{Best, Single};

#[cfg(test)]
mod tests;

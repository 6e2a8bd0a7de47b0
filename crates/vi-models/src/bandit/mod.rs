//! Decisions by a posterior: which arm to choose, and what another policy would have earned.
//!
//! An *arm* is one of the things that can be done at a *context*; its reward is seen afterwards, and only its own. The arms' rewards are
//! what models of [`online`](crate::online) predict: a model for each arm, or one model with a row for each arm.
//!
//! | to | use |
//! |---|---|
//! | choose an arm | [`Policy::choose`] |
//! | choose from draws of the arms' rewards, of whatever model | [`information_directed`] |
//! | tell from a log of choices what a policy would earn | [`value()`] |
//! | the same, looked at after every round | [`ValueSequence`] |
//!
//! # Which policy
//!
//! Regret (%) of that of random choice, mean over 40 worlds and standard error, of a model for each arm with its defaults. The default was chosen by
//! the first six; the others were looked at once, afterwards. `bench bandit` has these worlds, and other programs.
//!

mod directed;
mod logged;
mod policy;
mod sequence;
mod value;

pub use directed::information_directed;
pub use logged::Logged;
pub use policy::{Arms, Policy};
pub use sequence::ValueSequence;
pub use value::{Estimator, Value, value};

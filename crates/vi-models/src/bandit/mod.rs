//! Decisions by a posterior: choices among arms, and the value of another policy from a log.
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
//! Regret in percent of that of random choice, mean over 12 seeds and standard error, of models with their defaults. The default was chosen by
//! the first six worlds; the others judge it. `cargo xtask bench policies` has them, and other programs; the guide tells what they are.
//!
//! | world | [`Directed`](Policy::Directed) | [`Thompson`](Policy::Thompson) | [`Bound`](Policy::Bound), 1 deviation | ½ deviation | [`Greedy`](Policy::Greedy) |
//! |---|--:|--:|--:|--:|--:|
//! | few | 8.3 ± 0.7 | 11.5 ± 0.8 | 10.5 ± 1.8 | 18.3 ± 3.0 | 29.0 ± 7.4 |
//! | many | 26.6 ± 1.2 | 43.5 ± 1.3 | 23.6 ± 2.6 | 26.7 ± 3.5 | 27.3 ± 2.8 |
//! | numbers | 3.4 ± 0.2 | 5.3 ± 0.3 | 4.7 ± 0.8 | 11.2 ± 2.5 | 13.0 ± 2.5 |
//! | plain | 4.2 ± 0.9 | 7.3 ± 1.3 | 16.5 ± 9.4 | 24.4 ± 10.9 | 23.0 ± 11.4 |
//! | rare | 40.2 ± 5.0 | 52.5 ± 5.9 | 57.6 ± 10.4 | 61.6 ± 10.2 | 77.9 ± 12.7 |
//! | drift | 25.9 ± 2.7 | 28.9 ± 2.9 | 29.6 ± 3.2 | 36.3 ± 4.6 | 45.8 ± 4.7 |
//! | tastes | 2.4 ± 0.2 | 6.6 ± 0.3 | 16.6 ± 2.4 | 39.3 ± 3.5 | 58.9 ± 0.7 |
//! | news | 6.7 ± 0.8 | 10.6 ± 1.0 | 7.1 ± 1.0 | 11.8 ± 3.9 | 20.1 ± 5.2 |
//! | digits | 34.7 ± 1.4 | 46.2 ± 0.8 | 30.2 ± 1.5 | 25.8 ± 1.1 | 25.3 ± 1.0 |
//! | waves | 39.5 ± 2.8 | 40.7 ± 2.9 | 46.5 ± 4.3 | 56.7 ± 4.8 | 62.0 ± 5.4 |
//! | sparse | 13.2 ± 1.1 | 20.8 ± 1.0 | 15.4 ± 1.8 | 21.1 ± 6.4 | 27.9 ± 6.2 |
//! | heavy | 4.8 ± 1.0 | 4.8 ± 0.3 | 9.8 ± 2.2 | 20.8 ± 3.4 | 21.6 ± 3.7 |

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

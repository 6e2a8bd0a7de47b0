//! The GLM on random features: likelihoods, objectives, predictions, update rules.

mod family;
mod likelihoods;
mod objective;
mod predict;
mod sampled;
mod updaters;

pub(super) use likelihoods::SHAPE as LIKELIHOODS;
pub(super) use objective::SHAPE as OBJECTIVE;
pub(super) use predict::SHAPE as PREDICT;
pub(super) use sampled::SHAPE as SAMPLED;
pub(super) use updaters::SHAPE as UPDATERS;

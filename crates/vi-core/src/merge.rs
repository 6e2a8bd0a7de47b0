//! Merging the posteriors of shards: many machines that started from one prior get one posterior.
//!
//! ```text
//! Λ = Λ₀ + Σ_k (Λ_k − Λ₀),    Λμ = Λ₀μ₀ + Σ_k (Λ_kμ_k − Λ₀μ₀)
//! ```
//!
//! This is exact for linear models with a known noise variance, whose sites depend on no belief. For all other models it is an
//! approximation: each shard chose its sites without knowing the others, so the result depends on how the data was divided, and
//! differs from one pass over all the data as that pass differs under another order.
//!
//! Diagonal beliefs are not exact even for linear models: each shard starts again from the prior, and many shards of few rows
//! each leave the weights near it. [`pull`] tells how near, from the number of rows; the models of `vi-models`, which know that
//! number, refuse such merges ([`Error::ThinShards`]). [`merge`] does not know it and does not refuse.

mod dense;
mod diagonal;
mod pull;
mod square_root;

pub use pull::{Part, Pull, pull};

use serde::{Deserialize, Serialize};

use crate::check;
use crate::checkpoint::Checkpoint;
use crate::{Belief, Error, Fingerprint, Forget, Forgetting};

/// A belief whose posteriors from shards can be merged.
pub trait Mergeable: Belief + Checkpoint + Clone {
    /// The [`Checkpoint::KIND`] of a [`ShardPosterior`] of such beliefs.
    const SHARD_KIND: &'static str;

    /// The posterior of all shards: `prior` times the factors that `parts` have gained over it, all of one dimension.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] when the result is not a Gaussian, which only rounding or negative curvatures can
    /// bring about.
    fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error>;

    /// How much nearer to the prior [`merge`](Self::merge) ends than one pass over all rows, for forms of belief that lose
    /// anything: see [`pull()`].
    fn pull(_prior: &Self, _merged: &Self, _parts: &[Part<'_, Self>]) -> Pull {
        Pull::default()
    }
}

/// The posterior of one shard, with the fingerprints of the prior and of the settings that it comes from.
///
/// It can be checkpointed, and so sent from machine to machine.
///
/// ```
/// use vi_core::{Belief, DenseGaussian, Explicit, Forgetting, GaussianLikelihood, ShardPosterior, filter, merge};
/// use vi_linalg::faer::MatRef;
/// let prior = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// let rule = Explicit(GaussianLikelihood::new(1.0)?);
/// let mut shards = Vec::new();
/// for y in [[1.0, 2.0], [3.0, 4.0]] {
///     let mut belief = prior.clone();
///     filter::run(&mut belief, &rule, MatRef::from_row_major_slice(&[1.0, 1.0], 2, 1), &y, |_, _, _| {})?;
///     shards.push(ShardPosterior::new(belief, &prior, "Kalman, σ² = 1", &Forgetting::none())?);
/// }
/// let merged = merge::merge(&prior, &shards)?.into_belief();
/// assert!((merged.mean()[0] - 10.0 / 5.0).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct ShardPosterior<B> {
    belief: B,
    prior: Fingerprint,
    settings: Fingerprint,
    forgot: bool,
}

impl<B: Mergeable> ShardPosterior<B> {
    /// The posterior `belief` that a shard computed from `prior` with this forgetting and with `settings`: any text that
    /// describes rule, likelihood and weights and is equal if and only if they are.
    ///
    /// # Errors
    /// [`Error::Dimension`]; [`Error::Checkpoint`] for a prior that is no longer positive definite.
    pub fn new(belief: B, prior: &B, settings: &str, forgetting: &Forgetting<B>) -> Result<Self, Error>
    where
        B: Forget,
    {
        check::length("belief", prior.dim(), belief.dim())?;
        let (prior, settings) = (Fingerprint::of(prior)?, Fingerprint::of_settings(settings));
        Ok(Self { belief, prior, settings, forgot: !forgetting.is_none() })
    }

    /// The posterior of the shard.
    #[must_use]
    pub fn belief(&self) -> &B {
        &self.belief
    }

    /// The posterior of the shard, without its fingerprints.
    #[must_use]
    pub fn into_belief(self) -> B {
        self.belief
    }

    fn check(&self, d: usize, prior: Fingerprint, settings: Fingerprint) -> Result<(), Error> {
        check::length("dimension of the belief", d, self.belief.dim())?;
        if self.prior != prior {
            return Err(Error::OtherPrior { expected: prior, found: self.prior });
        }
        if self.settings != settings {
            return Err(Error::OtherSettings { expected: settings, found: self.settings });
        }
        if self.forgot { Err(Error::Forgetful) } else { Ok(()) }
    }
}

/// Merges the posteriors of shards that all started from `prior`; the result is again such a posterior, so merging can be done in
/// stages.
///
/// A single shard is returned unchanged, to the bit. Cost `K·d³` for dense beliefs.
///
/// # Errors
/// [`Error::Empty`] for no shards; [`Error::Shard`] with [`Error::Dimension`], [`Error::OtherPrior`],
/// [`Error::OtherSettings`] (than the first shard's) or [`Error::Forgetful`]; [`Error::NotPositiveDefinite`] when the
/// result is not a Gaussian.
pub fn merge<B: Mergeable>(prior: &B, shards: &[ShardPosterior<B>]) -> Result<ShardPosterior<B>, Error> {
    let Some(first) = shards.first() else {
        return Err(Error::Empty { argument: "shards" });
    };
    let fingerprint = Fingerprint::of(prior)?;
    for (k, shard) in shards.iter().enumerate() {
        shard.check(prior.dim(), fingerprint, first.settings).map_err(|error| error.at_shard(k))?;
    }
    if shards.len() == 1 {
        return Ok(first.clone());
    }
    let parts: Vec<&B> = shards.iter().map(ShardPosterior::belief).collect();
    Ok(ShardPosterior { belief: B::merge(prior, &parts)?, ..first.clone() })
}

/// The stored form of a [`ShardPosterior`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ShardWire<W> {
    prior: u64,
    settings: u64,
    forgot: bool,
    belief: W,
}

impl<B: Mergeable> Checkpoint for ShardPosterior<B> {
    const KIND: &'static str = B::SHARD_KIND;

    type Wire = ShardWire<B::Wire>;

    fn to_wire(&self) -> Result<Self::Wire, Error> {
        Ok(ShardWire {
            prior: self.prior.0,
            settings: self.settings.0,
            forgot: self.forgot,
            belief: self.belief.to_wire()?,
        })
    }

    fn from_wire(wire: Self::Wire) -> Result<Self, Error> {
        Ok(Self {
            belief: B::from_wire(wire.belief)?,
            prior: Fingerprint(wire.prior),
            settings: Fingerprint(wire.settings),
            forgot: wire.forgot,
        })
    }
}

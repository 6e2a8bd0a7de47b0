//! Storing normal-gamma posteriors as bytes, and merging those of shards.

use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use vi_core::merge::Part;
use vi_core::{
    Belief, Checkpoint, CheckpointError, DenseGaussian, DiagonalGaussian, Error, Mergeable, SquareRootGaussian,
};

use super::{NoisePrecision, NormalGamma};
use crate::{ModelError, check};

/// The stored form of a [`NormalGamma`].
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NormalGammaWire<W> {
    belief: W,
    noise: NoisePrecision,
}

/// A belief with which a [`NormalGamma`] can be stored and merged.
pub trait NoiseScaled: Mergeable {
    /// The [`Checkpoint::KIND`] of a [`NormalGamma`] with such a belief.
    const NORMAL_GAMMA_KIND: &'static str;

    /// The squared distance `(m−μ)ᵀV⁻¹(m−μ)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    fn squared_distance(&self, mean: &[f64]) -> Result<f64, Error>;
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

impl NoiseScaled for DenseGaussian {
    const NORMAL_GAMMA_KIND: &'static str = "vi-models/ng-dense";

    fn squared_distance(&self, mean: &[f64]) -> Result<f64, Error> {
        Ok(self.cholesky()?.quadratic_form_inverse(&difference(mean, self.mean()))?)
    }
}

impl NoiseScaled for SquareRootGaussian {
    const NORMAL_GAMMA_KIND: &'static str = "vi-models/ng-root";

    /// `‖Lᵀ(m−μ)‖²`.
    fn squared_distance(&self, mean: &[f64]) -> Result<f64, Error> {
        let (root, delta) = (self.root(), difference(mean, self.mean()));
        let along = |j: usize| (j..delta.len()).map(|i| root[(i, j)] * delta[i]).sum::<f64>();
        Ok((0..delta.len()).map(|j| along(j).powi(2)).sum())
    }
}

impl NoiseScaled for DiagonalGaussian {
    const NORMAL_GAMMA_KIND: &'static str = "vi-models/ng-diagonal";

    fn squared_distance(&self, mean: &[f64]) -> Result<f64, Error> {
        Ok(difference(mean, self.mean()).iter().zip(self.precisions()).map(|(d, p)| d * d * p).sum())
    }
}

impl<B: NoiseScaled> NormalGamma<B> {
    /// The posterior of all observations, from posteriors of shards that each started from `prior` (exact).
    ///
    /// ```text
    /// Λ = Λ₀ + Σ(Λ_k − Λ₀),  Λμ = Λ₀μ₀ + Σ(Λ_kμ_k − Λ₀μ₀),  a = a₀ + Σ(a_k − a₀)
    /// b = b₀ + Σ[b_k − b₀ + ½(μ−μ_k)ᵀΛ_k(μ−μ_k)] − ½(K−1)·(μ−μ₀)ᵀΛ₀(μ−μ₀)
    /// ```
    ///
    /// Cost `K·d³` for dense beliefs. For diagonal beliefs it is an approximation that needs many rows in each shard: see
    /// [`vi_core::merge::pull()`]. A posterior that was merged before counts as one shard of all its rows.
    ///
    /// # Errors
    /// [`ModelError::Core`] with `Empty` for no shards, `ThinShards` for diagonal beliefs of too few rows each, `Shard` with
    /// `Dimension`, `NotPositiveDefinite`, or `Setting` if the resulting shape or rate is not positive, which means that the
    /// shards did not start from `prior`.
    ///
    /// ```
    /// use vi_core::DenseGaussian;
    /// use vi_core::filter::Scratch;
    /// use vi_models::linear::NormalGamma;
    /// let prior = NormalGamma::new(DenseGaussian::isotropic(&[0.0], 10.0)?, 1.0, 1.0)?;
    /// let (mut one, mut two, mut scratch) = (prior.clone(), prior.clone(), Scratch::default());
    /// one.step(&[1.0], 2.0, &mut scratch)?;
    /// two.step(&[1.0], 3.0, &mut scratch)?;
    /// let both = NormalGamma::merge(&prior, &[&one, &two])?;
    /// one.step(&[1.0], 3.0, &mut scratch)?;
    /// assert!((both.noise().rate() - one.noise().rate()).abs() < 1e-13);
    /// # Ok::<(), vi_models::ModelError>(())
    /// ```
    pub fn merge(prior: &Self, shards: &[&Self]) -> Result<Self, ModelError> {
        if shards.is_empty() {
            return Err(Error::Empty { argument: "shards" }.into());
        }
        for (k, shard) in shards.iter().enumerate() {
            check::length("dimension of the model", prior.dim(), shard.dim()).map_err(|error| error.at_shard(k))?;
        }
        if let [only] = shards {
            return Ok((*only).clone());
        }
        let beliefs: Vec<&B> = shards.iter().map(|shard| shard.scaled_belief()).collect();
        let belief = B::merge(prior.scaled_belief(), &beliefs)?;
        let start = prior.noise();
        let parts: Vec<Part<'_, B>> = shards
            .iter()
            .map(|shard| Part {
                belief: shard.scaled_belief(),
                rows: 2.0 * (shard.noise().shape() - start.shape()),
                runs: 1.0,
            })
            .collect();
        let pull = B::pull(prior.scaled_belief(), &belief, &parts);
        let (mut shape, mut rate) = (start.shape(), start.rate());
        for shard in shards {
            let noise = shard.noise();
            shape += noise.shape() - start.shape();
            rate += noise.rate() - start.rate() + 0.5 * shard.scaled_belief().squared_distance(belief.mean())?;
        }
        // The noise variance as the shards saw it, without their disagreement.
        let seen: f64 = shards.iter().map(|shard| shard.noise().rate() - start.rate()).sum();
        pull.in_units_of((start.rate() + seen) / shape).check()?;
        rate -= 0.5 * (shards.len() as f64 - 1.0) * prior.scaled_belief().squared_distance(belief.mean())?;
        Self::new(belief, shape, rate)
    }
}

impl<B: NoiseScaled> Checkpoint for NormalGamma<B> {
    const KIND: &'static str = B::NORMAL_GAMMA_KIND;

    type Wire = NormalGammaWire<B::Wire>;

    fn to_wire(&self) -> Result<Self::Wire, Error> {
        let belief = self.scaled_belief().to_wire()?;
        Ok(NormalGammaWire { belief, noise: self.noise() })
    }

    fn from_wire(wire: Self::Wire) -> Result<Self, Error> {
        let contents = |error| Error::Checkpoint(CheckpointError::Contents(Box::new(error)));
        let belief = B::from_wire(wire.belief)?;
        wire.noise.check(belief.dim()).map_err(contents)?;
        Ok(Self::with_noise(belief, wire.noise))
    }
}

impl<B: NoiseScaled> Serialize for NormalGamma<B> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_wire().map_err(S::Error::custom)?.serialize(serializer)
    }
}

impl<'de, B: NoiseScaled> Deserialize<'de> for NormalGamma<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::from_wire(NormalGammaWire::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

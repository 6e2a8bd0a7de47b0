//! Posteriors of shards brought together.

use vi_core::Error;

use super::family::Family;
use super::learn::bank;
use super::{Engine, Member};
use crate::ModelError;
use crate::online::Memory;
use crate::online::belief::AnyBelief;

impl<F: Family> Engine<F> {
    /// Brings in the posteriors of shards that started from the same settings.
    pub(in crate::online) fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        for (k, other) in others.iter().enumerate() {
            self.check_merge(other).map_err(|what| ModelError::Unlike { shard: k, what })?;
        }
        let priors = bank(&self.settings, &self.family, self.design.columns())?;
        let mut members = Vec::with_capacity(self.members.len());
        for (m, prior) in priors.iter().enumerate() {
            let parts: Vec<&Member<F::State>> =
                std::iter::once(&self.members[m]).chain(others.iter().map(|other| &other.members[m])).collect();
            let beliefs: Vec<&AnyBelief> = parts.iter().map(|part| &part.belief).collect();
            let belief = AnyBelief::merge(&prior.belief, &beliefs)?;
            let spread = spread(&prior.belief, &beliefs, belief.mean())?;
            let states: Vec<&F::State> = parts.iter().map(|part| &part.state).collect();
            members.push(Member {
                prior_scale: prior.prior_scale,
                belief,
                state: self.family.merge(&states, spread),
                evidence: parts.iter().map(|part| part.evidence).sum(),
            });
        }
        (self.members, self.diagnosis) = (members, None);
        for other in others {
            self.observations = self.observations.saturating_add(other.observations);
            self.rows.extend(other.rows.iter().cloned());
        }
        Ok(())
    }

    fn check_merge(&self, other: &Self) -> Result<(), &'static str> {
        if self.settings != other.settings {
            Err("settings")
        } else if self.family != other.family {
            Err("family")
        } else if !(self.fixed && other.fixed) {
            Err("scales, which one of the two is still taking from its first rows")
        } else if self.design != other.design {
            Err("number of inputs or standardisation (merge needs Standardise::Fixed or Never)")
        } else if self.settings.memory != Memory::Everything {
            Err("what it forgot, which cannot be merged")
        } else {
            Ok(())
        }
    }
}

/// `Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ = Σ_k (μ_k−μ)ᵀΛ_k(μ_k−μ) − (K−1)·μᵀΛ₀μ`, for `Λ = Λ₀ + Σ(Λ_k−Λ₀)`, `Λμ = ΣΛ_kμ_k`.
fn spread(prior: &AnyBelief, parts: &[&AnyBelief], mean: &[f64]) -> Result<f64, Error> {
    let mut total = -((parts.len() - 1) as f64) * prior.precision_form(mean)?;
    for part in parts {
        let deviation: Vec<f64> = part.mean().iter().zip(mean).map(|(a, b)| a - b).collect();
        total += part.precision_form(&deviation)?;
    }
    Ok(total)
}

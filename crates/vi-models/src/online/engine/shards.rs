//! Merging of posteriors learned on different rows.

use std::borrow::Cow;

use vi_core::merge::{Part, Pull};
use vi_core::{Belief, Error, GaussianBelief};

use super::family::Family;
use super::place::{Spectra, moved, normalise, placed};
use super::{Engine, Member};
use crate::ModelError;
use crate::online::Memory;
use crate::online::belief::AnyBelief;
use crate::online::design::Design;

impl<F: Family> Engine<F> {
    /// Merges the posteriors of shards that started from the same settings.
    pub(in crate::online) fn merge(&mut self, others: &[&Self]) -> Result<(), ModelError> {
        for (k, other) in others.iter().enumerate() {
            self.check_merge(other).map_err(|what| ModelError::Unlike { shard: k, what })?;
        }
        let shards: Vec<Vec<Member<F::State>>> =
            others.iter().map(|other| other.members_at(&self.members, &self.design)).collect::<Result<_, _>>()?;
        let engines = || std::iter::once(&*self).chain(others.iter().copied());
        let mut members = Vec::with_capacity(self.members.len());
        let mut pulls = Vec::with_capacity(self.members.len());
        for (m, own) in self.members.iter().enumerate() {
            let prior = self.family.prior(&self.settings, own.prior_scale, self.design.columns())?;
            let parts: Vec<&Member<F::State>> =
                std::iter::once(own).chain(shards.iter().map(|shard| &shard[m])).collect();
            let states: Vec<&F::State> = parts.iter().map(|part| &part.state).collect();
            let together = self.family.merge(&states, 0.0).1;
            // What each shard says of the intercept beside the state of all.
            let raised: Vec<Cow<'_, AnyBelief>> = parts
                .iter()
                .map(|part| part.belief.raised(self.family.level_beside(&part.state, &together)))
                .collect::<Result<_, _>>()?;
            let beliefs: Vec<&AnyBelief> = raised.iter().map(AsRef::as_ref).collect();
            let belief = AnyBelief::merge(&prior, &beliefs)?;
            if let AnyBelief::Full(merged) = &belief {
                merged.cholesky()?;
            }
            let spread = spread(&prior, &beliefs, belief.mean())?;
            let counted: Vec<Part<'_, AnyBelief>> = beliefs
                .iter()
                .zip(engines())
                .map(|(&belief, of)| Part { belief, rows: of.observations as f64, runs: of.runs as f64 })
                .collect();
            // The noise variance as the shards saw it, in whose units their disagreement is measured.
            let noise = self.family.noise_variance(&together);
            pulls.push(AnyBelief::pull(&prior, &belief, &counted).in_units_of(noise));
            let (gained, state) = self.family.merge(&states, spread);
            let evidence = parts.iter().map(|part| part.evidence).sum::<f64>()
                + gained
                + 0.5 * gained_log_det(&prior, &beliefs, &belief)?;
            members.push(Member {
                prior_scale: own.prior_scale,
                around: own.around.clone(),
                lambda: own.lambda,
                belief,
                state,
                evidence,
                log_mass: own.log_mass,
            });
        }
        check_pulls(&members, &pulls)?;
        let runs =
            engines().filter(|of| of.observations > 0).fold(0, |sum: u64, of| sum.saturating_add(of.runs)).max(1);
        let evidence = self.averaged(&mut members)?;
        let order = engines().map(Self::order_of_rows).reduce(|whole, part| {
            let mut whole = whole?;
            whole.merge(&part?);
            Some(whole)
        });
        (self.members, self.base, self.runs, self.diagnosis) = (members, evidence, runs, None);
        self.order = order.flatten();
        for other in others {
            self.observations = self.observations.saturating_add(other.observations);
            self.rows.extend(other.rows.iter().cloned());
        }
        self.fixed = true;
        if !self.settings.keep_rows {
            self.rows = Vec::new();
        }
        // The scale's posterior of all rows is narrower than each shard's.
        self.next_place = self.observations;
        self.place();
        Ok(())
    }

    /// The log evidence of members that were merged or refined, averaged over the prior of the scale; their shares then sum to 1.
    ///
    /// # Errors
    /// `Overflow` if it is not finite.
    pub(super) fn averaged(&self, members: &mut [Member<F::State>]) -> Result<f64, Error> {
        let total = self.base + normalise(members).unwrap_or(f64::NAN);
        let found =
            if self.moves() { placed(&self.family, members, &self.design, &mut Spectra::new()) } else { Ok(None) };
        crate::check::result("the log evidence of all rows", found.ok().flatten().map_or(total, |found| found.1))
    }

    /// The model's members as they would be at the prior scales of `targets` and the relative ones of `design`.
    fn members_at(&self, targets: &[Member<F::State>], design: &Design) -> Result<Vec<Member<F::State>>, Error> {
        let members = self.members_like(design)?;
        let same = |(own, target): (&Member<_>, &Member<_>)| own.prior_scale == target.prior_scale;
        if members.len() == targets.len() && members.iter().zip(targets).all(same) {
            return Ok(members);
        }
        let scales: Vec<f64> = targets.iter().map(|target| target.prior_scale).collect();
        moved(&self.family, &members, design, &scales)
    }

    fn check_merge(&self, other: &Self) -> Result<(), &'static str> {
        if self.mixed || other.mixed {
            Err("its posterior, a mixture that does not learn")
        } else if self.settings != other.settings {
            Err("settings")
        } else if self.family != other.family {
            Err("family")
        } else if self.settings.standardise.by_rows().is_some() && !(self.fixed && other.fixed) {
            Err("scales, which one of the two is still taking from its first rows")
        } else if !self.design.is_like(&other.design) {
            Err("number of inputs or standardisation (merge needs Standardise::Fixed or Never)")
        } else if self.settings.memory != Memory::Everything {
            Err("what it forgot, which cannot be merged")
        } else {
            Ok(())
        }
    }
}

/// Refuses a merge that leaves the weights near the prior, judged at the prior scale with the largest share.
///
/// # Errors
/// [`Error::ThinShards`].
fn check_pulls<S>(members: &[Member<S>], pulls: &[Pull]) -> Result<(), Error> {
    let mut most = (f64::NEG_INFINITY, Pull::default());
    for (member, pull) in members.iter().zip(pulls) {
        if member.log_weight() > most.0 {
            most = (member.log_weight(), *pull);
        }
    }
    most.1.check()
}

/// `ln|P| − ln|P₀| − Σ_k (ln|P_k| − ln|P₀|)`: with `−½·spread` twice the log of `∫ Π_k q_k/p₀^(K−1)`, by which the evidence of all rows differs
/// from the product of the shards'.
fn gained_log_det(prior: &AnyBelief, parts: &[&AnyBelief], merged: &AnyBelief) -> Result<f64, Error> {
    let before = prior.log_det()?;
    let gained = merged.log_det()? - before;
    parts.iter().try_fold(gained, |sum, part| Ok(sum - (part.log_det()? - before)))
}

/// `Σ_k μ_kᵀΛ_kμ_k − μᵀΛμ = Σ_k (μ_k−μ)ᵀΛ_k(μ_k−μ) − (K−1)·μᵀΛ₀μ`, for `Λ = Λ₀ + Σ(Λ_k−Λ₀)`, `Λμ = ΣΛ_kμ_k`.
fn spread(prior: &AnyBelief, parts: &[&AnyBelief], mean: &[f64]) -> Result<f64, Error> {
    let mut total = -((parts.len() - 1) as f64) * prior.quadratic_form(mean)?;
    for part in parts {
        let deviation: Vec<f64> = part.mean().iter().zip(mean).map(|(a, b)| a - b).collect();
        total += part.quadratic_form(&deviation)?;
    }
    Ok(total)
}

//! What is forgotten after a row: each member returns towards its prior by blocks of rows.
//!
//! A return costs `d³` with a full covariance, a row `3d²`. So it is made once for `m` rows, by the factor `λᵐ`. The row's number
//! decides when: rows learned one by one, in a batch, or by a model that was stored in between are forgotten alike.

use super::Member;
use super::family::Family;
use crate::online::OnlineSettings;
use crate::online::belief::{AnyAnchor, BeliefKind};

/// The prior of each member, in the form that its belief mixes in, for the scale that it was made for.
pub(super) type Anchors = Vec<Option<(f64, AnyAnchor)>>;

/// `m`: rows between two returns of a belief over so many weights, `λ⁻ᵐ − 1` small.
pub(super) fn rows_between(kind: BeliefKind, weights: usize, lambda: f64) -> u64 {
    let rows = |share: f64| ((share + 1e-9) / (1.0 - lambda)).floor().min(1e9);
    // After so many rows a return is cheap beside them, and hardly to be noticed.
    let (cheap, unnoticed) = match kind {
        BeliefKind::Full | BeliefKind::SquareRoot => (weights as f64, 2.0 * weights as f64),
        // A block of rows, which is projected at a return; a sparse one costs what rows have touched lately, whenever it comes.
        BeliefKind::LowRank { rank } => (rank.saturating_mul(2).max(64) as f64, f64::INFINITY),
        BeliefKind::LowRankInBlocks { block, .. } => (block as f64, f64::INFINITY),
        BeliefKind::Diagonal => return 1,
    };
    let most = cheap.min(rows(0.5)).max(unnoticed.min(rows(0.2))).max(rows(0.1)).max(1.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 1e9, and not negative")]
    let between = most as u64;
    between
}

/// After row `n` (from 1): each member whose turn it is forgets. Returns how many could not, for rounding, and stay as they are.
pub(super) fn forget<F: Family>(
    members: &mut [Member<F::State>],
    settings: &OnlineSettings,
    family: &F,
    columns: usize,
    n: u64,
    anchors: &mut Anchors,
) -> u64 {
    let mut held = 0;
    anchors.resize_with(members.len(), || None);
    for (member, anchor) in members.iter_mut().zip(anchors) {
        if member.lambda >= 1.0 {
            continue;
        }
        let weights = family.weights(columns).unwrap_or(usize::MAX);
        let rows = rows_between(settings.belief, weights, member.lambda);
        if !n.is_multiple_of(rows) {
            continue;
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "at most 1e9")]
        let lambda = member.lambda.powi(rows as i32);
        let scale = member.prior_scale;
        if anchor.as_ref().is_none_or(|(of, _)| *of != scale) {
            let prior = family.prior(settings, scale, columns).and_then(|prior| prior.anchor());
            *anchor = prior.ok().map(|prior| (scale, prior));
        }
        match anchor.as_ref().map(|(_, prior)| member.belief.towards(prior, lambda)) {
            Some(Ok(spread)) => family.forget(&mut member.state, lambda, spread),
            _ => held += 1,
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::rows_between;
    use crate::online::BeliefKind;

    #[test]
    fn returns_are_as_rare_as_they_may_be() {
        let rows = |kind, weights, lambda| rows_between(kind, weights, lambda);
        assert_eq!(rows(BeliefKind::Diagonal, 1000, 0.999), 1);
        assert_eq!(rows(BeliefKind::Full, 4, 0.99), 10);
        assert_eq!(rows(BeliefKind::Full, 20, 0.99), 20);
        assert_eq!(rows(BeliefKind::Full, 100, 0.999), 200);
        assert_eq!(rows(BeliefKind::Full, 300, 0.999), 300);
        assert_eq!(rows(BeliefKind::Full, 2000, 0.99), 50);
        assert_eq!(rows(BeliefKind::SquareRoot, 2000, 0.5), 1);
        assert_eq!(rows(BeliefKind::LowRank { rank: 4 }, 1_000_000, 0.99), 50);
        assert_eq!(rows(BeliefKind::LowRank { rank: 4 }, 1_000_000, 0.9999), 2000);
        assert_eq!(rows(BeliefKind::Full, 3, 1.0 - f64::EPSILON), 1_000_000_000);
    }
}

//! A bank of memories: members that forget at different rates and start anew after an abrupt change.
//!
//! Which rate of forgetting is right may change at any row with a small probability `ε`, to any of the `K` alike. So the members'
//! weights are
//!
//! ```text
//! p(y) = Σ_k π_k p_k(y),    π_k ← (1−ε)·π_k p_k(y)/p(y) + ε/K
//! ```
//!
//! which is fixed share (Herbster and Warmuth 1998): the sum of `log p(y)` is an exact predictive evidence, and no member's
//! weight falls to 0 for good. A member with a long memory would still take that long to forget what no longer holds. It is
//! compared with the one that forgets fastest,
//!
//! ```text
//! S_k ← max(0, ρ·S_k + min(1, log p_fast(y) − log p_k(y)))
//! ```
//!
//! and is replaced by a copy of that one when `S_k` passes 10 nats: a cumulative sum (Page 1954) that itself forgets, so that
//! small steady differences, which the weights take care of, raise no alarm, and in which one outlying label counts for no more
//! than a nat. The fastest knows the prior and the last few rows: in effect a run that begins at the change, as in Bayesian
//! online change-point methods (Adams and MacKay 2007).

use serde::{Deserialize, Serialize};
use vi_core::Error;

use super::Member;
use crate::marginal::log_sum_exp;

/// `λ` of each member, the fastest last.
pub(super) const LAMBDAS: [f64; 5] = [1.0, 0.9995, 0.998, 0.99, 0.95];

/// `ε`: on average one change of the rate of forgetting in 500 rows.
const SWITCH: f64 = 2e-3;

/// The value of `S_k` above which a member is replaced, in nats.
const ALARM: f64 = 10.0;

/// The most that one row adds to `S_k`, in nats.
const MOST_AT_ONCE: f64 = 1.0;

/// `ρ`: a memory of some 50 rows, two to three times the fastest member's.
const RECENT: f64 = 0.98;

/// The state of a model that averages over memories.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::online) struct Drift {
    /// `S_k`, in nats.
    behind: [f64; LAMBDAS.len()],
    /// Whether the member has had the largest share at some row since `S_k` was last 0.
    led: [bool; LAMBDAS.len()],
    /// The last row (from 1) at which a member was replaced that had had the largest share before it fell behind.
    pub(in crate::online) last_change: Option<u64>,
    /// How often a belief could not forget when it was due to.
    pub(in crate::online) held: u64,
}

impl Drift {
    /// Checks a stored state after so many rows.
    ///
    /// # Errors
    /// [`Error::Entry`].
    pub(super) fn check(&self, observations: u64) -> Result<(), Error> {
        if let Some(index) = self.behind.iter().position(|nats| !(*nats >= 0.0 && *nats <= ALARM)) {
            let requirement = "between 0 and the alarm";
            return Err(Error::Entry {
                argument: "lags of the memories",
                index,
                value: self.behind[index],
                requirement,
            });
        }
        match self.last_change {
            Some(row) if row > observations => {
                let requirement = "a row that was learned";
                Err(Error::Setting { name: "last change", value: row as f64, requirement })
            }
            _ => Ok(()),
        }
    }
}

/// One member for each memory, all with the same belief and equal weights.
pub(super) fn spread<S: Clone>(member: &Member<S>) -> Vec<Member<S>> {
    let log_mass = -(LAMBDAS.len() as f64).ln();
    LAMBDAS.map(|lambda| Member { lambda, evidence: 0.0, log_mass, ..member.clone() }).into()
}

/// Reweighs the members after row `n` (from 1), each member's evidence being its score of that row, and replaces those that are
/// far behind. Returns the log predictive density of the row, in nats.
pub(super) fn weigh<S: Clone>(members: &mut [Member<S>], drift: &mut Drift, n: u64) -> f64 {
    let total = log_sum_exp(members.iter().map(Member::log_weight));
    let most = members.iter().map(|member| member.log_mass).fold(f64::NEG_INFINITY, f64::max);
    let Some((fastest, others)) = members.split_last_mut() else { return 0.0 };
    for ((member, behind), led) in others.iter_mut().zip(&mut drift.behind).zip(&mut drift.led) {
        *led |= member.log_mass >= most;
        *behind = (RECENT * *behind + (fastest.evidence - member.evidence).min(MOST_AT_ONCE)).max(0.0);
        if *behind > ALARM {
            *behind = 0.0;
            (member.belief, member.state) = (fastest.belief.clone(), fastest.state.clone());
            if *led {
                drift.last_change = Some(n);
            }
        }
        *led &= *behind > 0.0;
    }
    let share = SWITCH / members.len() as f64;
    for member in members {
        let weight = (1.0 - SWITCH) * (member.log_weight() - total).exp() + share;
        (member.log_mass, member.evidence) = (weight.ln(), 0.0);
    }
    total
}

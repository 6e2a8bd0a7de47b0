//! Counts with excess zeros, whose share is learned with the size.
//!
//! The size `r` and the share `π` of excess zeros are believed to be `log r = 1.5 + 2z₀` and `logit π = −2 + 2z₁`, `z ~ N(m, C)`, apart from the
//! weights; before any row `z ~ N(0, I)`. As in [`LearnedSpread`](super::family::LearnedSpread), a row whose predictor now has the posterior `t | y ~
//! N(a, ν)`, at the estimate `m`, has the likelihood
//!
//! ```text
//! p(y | z) / p(y | m) = E_{t|y}[ p(y | t, z) / p(y | t, m) ],
//! ```
//!
//! and `N(m, C)` becomes the Gaussian with the moments of `N(m, C)·p(y | z)`, the integrals by the product of rules of Gauss and Hermite.
//! Predictions average over nine pairs.

use serde::{Deserialize, Serialize};
use vi_core::special::sigmoid;
use vi_core::{Error, Likelihood, Projection, Site};

use super::BeliefKind;
use super::engine::{Pass, ScalarFamily, Stateful, row_likelihood};
use super::family::GlmFamily;
use super::observation::{Observation, Size};
use super::pair::Pair;
use super::profile::profile;
use super::spread::{FIVE, THREE, counts, log_ratio};
use crate::ModelError;
use crate::likelihood::{NegativeBinomial, ZeroInflated};

/// Mean and deviation of `log r` and of `logit π` before any row: sizes mostly between 0.1 and 200, shares between 0.3 and 88 %.
const LOG_SIZE: (f64, f64) = (1.5, 2.0);
const LOGIT_SHARE: (f64, f64) = (-2.0, 2.0);

/// The values of `|log r|` and `|logit π|` beyond which they make no further difference.
const FARTHEST: f64 = 16.0;

/// Counts with more zeros than a negative binomial has: a share `π` of the labels is 0 whatever the inputs, the others have mean `m =
/// exposure·eᵗ` and variance `m + m²/size`. Share and size are learned with the weights, so that no number has to be given.
///
/// ```text
/// P(0) = π + (1−π)·NB(0),   P(y) = (1−π)·NB(y) for y > 0,   logit π ~ N(−2, 2²),   log size ~ N(1.5, 2²)
/// ```
///
/// The expected label is `(1−π)·m`. See [`OnlineGlm::logit_share`](super::OnlineGlm::logit_share) and
/// [`log_size`](super::OnlineGlm::log_size). An excess zero leaves a belief wider than it was, so that only a full covariance is taken. A row costs
/// some ten times what it does when size and share are given.
///
/// ```
/// use vi_models::online::{OnlineGlm, family::InflatedCounts};
/// let mut fish = OnlineGlm::new(1, InflatedCounts)?;
/// for t in 0..300 {
///     let count = if t % 2 == 0 { 0.0 } else { [6.0, 9.0, 8.0, 5.0, 11.0][t / 2 % 5] };
///     fish.update(&[t as f64 % 3.0], count)?;
/// }
/// let share = fish.logit_share().mean();
/// assert!(share.abs() < 0.5, "every second label is an excess zero: {share}");
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InflatedCounts;

/// The belief about size and share, and the level of the predictor that follows from them: `t = c + κᵀz + intercept + xᵀw`.
///
/// `c` and `κ` are those of the [`profile`] of the first rows that were fitted together, so that the intercept beside them and `z` have no
/// information in common: both could be learned apart without it, but one row at a time only at a snail's pace.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Inflation {
    z: Pair,
    /// `c`.
    level: f64,
    /// `κ`.
    response: [f64; 2],
}

impl Inflation {
    const BEFORE: Self = Self { z: Pair::BEFORE, level: 0.0, response: [0.0; 2] };

    /// Gaussian of `log r` (`i = 0`) or `logit π` (`i = 1`).
    pub(super) fn number(&self, i: usize) -> Projection {
        let (mean, deviation) = [LOG_SIZE, LOGIT_SHARE][i];
        let own = self.z.marginal(i);
        Projection { mean: mean + deviation * own.mean, variance: deviation * deviation * own.variance }
    }

    /// `c + κᵀz`.
    fn level_at(&self, z: [f64; 2]) -> f64 {
        self.level + self.response[0] * z[0] + self.response[1] * z[1]
    }

    /// The same where `z` is known.
    fn at(&self, z: [f64; 2]) -> Self {
        Self { z: Pair::at(z), ..*self }
    }
}

/// `r` and `π`.
fn size_and_share([z0, z1]: [f64; 2]) -> (f64, f64) {
    let within = |(mean, deviation): (f64, f64), z: f64| (mean + deviation * z).clamp(-FARTHEST, FARTHEST);
    (within(LOG_SIZE, z0).exp(), sigmoid(within(LOGIT_SHARE, z1)))
}

impl Stateful for InflatedCounts {
    type State = Inflation;

    fn initial(&self) -> Inflation {
        Inflation::BEFORE
    }

    fn check_state(&self, state: &Inflation) -> Result<(), Error> {
        state.z.check()?;
        crate::check::values("level that follows size and share", &[state.level, state.response[0], state.response[1]])
    }

    fn level(&self, state: &Inflation) -> Projection {
        let Inflation { z, response, .. } = state;
        Projection { mean: state.level_at(z.mean), variance: z.variance_along(*response) }
    }

    fn level_beside(&self, state: &Inflation, other: &Inflation) -> f64 {
        state.level_at(other.z.mean) - other.level_at(other.z.mean)
    }

    /// The precision and its product with the mean return towards those of the prior.
    fn forget(&self, state: &mut Inflation, lambda: f64, _spread: f64) {
        state.z = state.z.natural().combined(lambda, Pair::BEFORE.natural(), 1.0 - lambda).pair();
    }

    /// The prior times what each shard has gained over it; the log evidence gains the log of that product's integral. The level follows as in
    /// the shard that knows most.
    fn merge(&self, states: &[&Inflation], spread: f64) -> (f64, Inflation) {
        let before = Pair::BEFORE.natural();
        let (mut merged, mut gained) = (before, -0.5 * spread);
        for state in states {
            let own = state.z.natural();
            merged = merged.combined(1.0, own, 1.0).combined(1.0, before, -1.0);
            gained -= own.log_mass() - before.log_mass();
        }
        let width = |state: &Inflation| state.z.covariance[0] + state.z.covariance[2];
        let most = states.iter().min_by(|a, b| width(a).total_cmp(&width(b)));
        let most = most.map_or(Inflation::BEFORE, |state| **state);
        (gained + merged.log_mass() - before.log_mass(), Inflation { z: merged.pair(), ..most })
    }
}

impl ScalarFamily for InflatedCounts {
    type Likelihood = ZeroInflated;

    const SIZE: Size = Size::Exposure;

    /// Few rows do not tell excess zeros from a small size, and one pass does not find from one to the other.
    const FEWEST_ROWS: usize = 400;

    const PASS: Pass = Pass::ByRows { rounds: 4 };

    fn check_belief(&self, belief: BeliefKind) -> Result<(), ModelError> {
        match belief {
            BeliefKind::Full => Ok(()),
            _ => Err(ModelError::Unsupported { what: "excess zeros with a belief that is no full covariance" }),
        }
    }

    fn likelihood(&self, state: &Inflation, size: f64) -> Result<ZeroInflated, Error> {
        let (r, share) = size_and_share(state.z.mean);
        let exposure = size * state.level_at(state.z.mean).clamp(-FARTHEST, FARTHEST).exp();
        ZeroInflated::new(share, NegativeBinomial::new(r)?.with_exposure(exposure)?)
    }

    fn likelihoods(&self, state: &Inflation, size: f64) -> Result<Vec<(f64, ZeroInflated)>, Error> {
        state.z.nodes(THREE).map(|(weight, z)| Ok((weight, self.likelihood(&state.at(z), size)?))).collect()
    }

    /// One row of assumed density filtering; the predictive density at `m` is multiplied by `E_z[p(y|z)]/p(y|m)`.
    fn learn(&self, state: &mut Inflation, observed: &Observation, seen: Projection, site: Site) -> Result<f64, Error> {
        if observed.weight == 0.0 {
            return Ok(0.0);
        }
        let ratio = log_ratio(&row_likelihood(self, state, observed)?, observed.label, seen, site);
        let mut masses = Vec::with_capacity(FIVE.len() * FIVE.len());
        for (weight, z) in state.z.nodes(FIVE) {
            masses.push((weight.ln() + ratio(&row_likelihood(self, &state.at(z), observed)?), z));
        }
        // A far outlier leaves one of the nodes, which tell no deviation below a quarter of the one before.
        let (z, gained) = Pair::of(&masses, state.z.least_variance() / 16.0);
        let learned = Inflation { z, ..*state };
        self.check_state(&learned)?;
        *state = learned;
        Ok(gained)
    }

    /// The moments of `N(z; 0, I)·Π_i exp E_q log p(y_i | t_i + δ, z)` at the nodes of the Gaussian of its [`profile`], coordinate ascent in the bound
    /// but for the level, which follows at once.
    fn fit_state(
        &self,
        at: &Inflation,
        observed: &[Observation],
        seen: &[Projection],
        has_level: bool,
    ) -> Result<(Inflation, f64), Error> {
        let points = counts(observed, seen)?;
        let rows = |z: [f64; 2], level: f64| -> Result<[f64; 3], Error> {
            let inflated = self.likelihood(&Inflation { z: Pair::at(z), level, response: [0.0; 2] }, 1.0)?;
            let mut sums = [0.0; 3];
            for (label, t, weight) in &points {
                let found = inflated.derivatives(*label, *t);
                sums.iter_mut().zip(found).for_each(|(sum, found)| *sum += weight * found);
            }
            Ok(sums)
        };
        let here = (at.z.mean, at.level_at(at.z.mean));
        let mut best = profile(here, has_level, rows)?;
        if *at == Inflation::BEFORE {
            // The profile has a second peak where nearly all zeros are excess ones.
            let zeros = observed.iter().filter(|observed| observed.label == 0.0).count() as f64;
            let share = 0.9 * zeros / observed.len().max(1) as f64;
            let z = [0.0, ((share / (1.0 - share)).ln().max(-FARTHEST) - LOGIT_SHARE.0) / LOGIT_SHARE.1];
            let level = if has_level { -(-share).ln_1p() } else { 0.0 };
            let other = profile((z, level), has_level, rows)?;
            if other.value > best.value {
                best = other;
            }
        }
        let about = best.about;
        let mut masses = Vec::with_capacity(FIVE.len() * FIVE.len());
        for (weight, z) in about.nodes(FIVE) {
            let ratio = Pair::BEFORE.log_density(z) - about.log_density(z);
            masses.push((weight.ln() + rows(z, best.level_at(z))?[0] + ratio, z));
        }
        let (z, total) = Pair::of(&masses, about.least_variance() / 16.0);
        let state = Inflation { z, level: best.level_at([0.0; 2]), response: best.response };
        self.check_state(&state)?;
        Ok((state, total - rows(here.0, here.1)?[0]))
    }
}

impl GlmFamily for InflatedCounts {}

//! The predicted time of an event.
//!
//! The logarithms of the hazards are jointly Gaussian. That of interval `k` given survival until then is taken as the Gaussian with its mean and
//! variance, each interval after the one before, as the intervals of a row are learned: `S(t) = S(τ_k)·E e^(−(t−τ_k)h_k)`, `τ_k < t ≤ τ_{k+1}`.

use rand::{Rng, RngExt};
use vi_core::{Error, Projection, Site, quadrature};

use super::{Survival, check_time};
use crate::marginal::log_sum_exp;
use crate::online::Observation;
use crate::online::engine::{StepsSeen, site_of};
use crate::{Interval, ModelError, check};

/// Survival below `e` to this power has no share in any answer.
const NOTHING: f64 = -700.0;

/// The relative width at which the search of a quantile ends, and the most steps that it takes.
const CLOSE: f64 = 1e-12;
const STEPS: usize = 200;

/// An interval of one member of the average.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    /// `log S(from)`.
    survived: f64,
    /// The logarithm of the hazard, given survival until `from`.
    log_hazard: Projection,
}

impl Piece {
    /// `log E h^d·e^(−(t − from)·h)`, `d` 0 or 1.
    fn log_share(&self, family: &Survival, events: f64, t: f64) -> Result<f64, Error> {
        if t <= self.from {
            return Ok(events * (self.log_hazard.mean + 0.5 * self.log_hazard.variance));
        }
        Ok(site_of(family, &(), &Observation::new(events).exposure(t - self.from), self.log_hazard)?.1)
    }

    /// `∫ S(t) dt` from the start of the piece until `until`, which may be infinite.
    fn time(&self, until: f64) -> Result<f64, Error> {
        let Projection { mean, variance } = self.log_hazard;
        let (survived, length) = (self.survived.exp(), until.min(self.to) - self.from);
        if length.is_infinite() {
            return Ok(survived * (0.5 * variance - mean).exp());
        }
        // (1 − e^(−u))/u, u the expected number of events.
        let share = |t: f64| {
            let u = length * t.exp();
            if u > 0.0 { -(-u).exp_m1() / u } else { 1.0 }
        };
        Ok(survived * length * quadrature::average(share, mean, variance)?)
    }
}

/// The prediction of a time by [`OnlineSurvival`](super::OnlineSurvival), averaged over the posterior of the hazards and the prior scale. After
/// the last cut the last hazard goes on.
///
/// An answer about one time costs a quadrature, some 3 µs, for each prior scale that is averaged over; a quantile some thirty.
#[derive(Debug, Clone, PartialEq)]
pub struct SurvivalPredicted {
    /// Members with the logarithm of their share of the answers.
    parts: Vec<(f64, Vec<Piece>)>,
    family: Survival,
}

impl SurvivalPredicted {
    pub(super) fn new(family: &Survival, parts: Vec<(f64, StepsSeen)>) -> Result<Self, ModelError> {
        let pieces = |mut steps: StepsSeen| {
            let (mut found, mut survived) = (Vec::with_capacity(steps.means.len()), 0.0);
            for k in 0..steps.means.len() {
                let Some((from, to)) = family.cuts.interval(k) else { break };
                let log_hazard = steps.seen(k);
                found.push(Piece { from, to, survived, log_hazard });
                if to.is_infinite() {
                    break;
                }
                let none: (Site, f64) = site_of(family, &(), &Observation::new(0.0).exposure(to - from), log_hazard)?;
                survived += none.1;
                if survived < NOTHING {
                    break;
                }
                steps.learn(k, none.0);
            }
            if let Some(last) = found.last_mut() {
                last.to = f64::INFINITY;
            }
            Ok::<_, ModelError>(found)
        };
        let parts = parts.into_iter().filter(|(weight, _)| *weight > 0.0);
        let parts = parts.map(|(weight, steps)| Ok((weight.ln(), pieces(steps)?)));
        Ok(Self { parts: parts.collect::<Result<_, ModelError>>()?, family: family.clone() })
    }

    fn log_average(&self, events: f64, t: f64) -> Result<f64, ModelError> {
        let of = |(weight, pieces): &(f64, Vec<Piece>)| {
            let piece = pieces.iter().find(|piece| t <= piece.to).or(pieces.last());
            piece.map_or(Ok(*weight), |piece| Ok(weight + piece.survived + piece.log_share(&self.family, events, t)?))
        };
        let parts = self.parts.iter().map(of).collect::<Result<Vec<f64>, Error>>()?;
        Ok(log_sum_exp(parts.into_iter()))
    }

    /// `log S(t) = log P(T > t)`, in nats; 0 before time 0.
    ///
    /// # Errors
    /// `Quadrature`.
    pub fn log_survival(&self, t: f64) -> Result<f64, ModelError> {
        if t <= 0.0 {
            return Ok(0.0);
        }
        Ok(if t == f64::INFINITY { f64::NEG_INFINITY } else { self.log_average(0.0, t)?.min(0.0) })
    }

    /// `S(t) = P(T > t)`, the probability of no event until `t`.
    ///
    /// # Errors
    /// As [`log_survival`](Self::log_survival).
    pub fn survival(&self, t: f64) -> Result<f64, ModelError> {
        Ok(self.log_survival(t)?.exp())
    }

    /// `P(T ≤ t)`.
    ///
    /// # Errors
    /// As [`log_survival`](Self::log_survival).
    pub fn cdf(&self, t: f64) -> Result<f64, ModelError> {
        Ok(-self.log_survival(t)?.exp_m1())
    }

    /// `log p(t)` of an event at `t`, in nats per unit of time.
    ///
    /// # Errors
    /// `Label` for a time that is not positive and finite; `Quadrature`.
    pub fn log_density(&self, t: f64) -> Result<f64, ModelError> {
        check_time(t, f64::MAX)?;
        self.log_average(1.0, t)
    }

    /// `log p(t)` of an event, or `log S(t)` where the observation is [censored](Observation::censored).
    ///
    /// # Errors
    /// As [`log_density`](Self::log_density).
    pub fn log_density_of(&self, observed: Observation) -> Result<f64, ModelError> {
        check_time(observed.label, f64::MAX)?;
        if observed.is_range() { self.log_survival(observed.label) } else { self.log_density(observed.label) }
    }

    /// The time `t` with `P(T ≤ t) = p`.
    ///
    /// # Errors
    /// `Setting` unless `0 < p < 1`; `Overflow` for a time beyond floats; `Quadrature`.
    pub fn quantile(&self, p: f64) -> Result<f64, ModelError> {
        check::probability("p", p)?;
        let wanted = (-p).ln_1p();
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let ends = self.parts.first().map_or(&[][..], |(_, pieces)| pieces);
        for end in ends.iter().map(|piece| piece.to).filter(|end| end.is_finite()) {
            if self.log_survival(end)? < wanted {
                high = end;
                break;
            }
            low = end;
        }
        // In the last interval.
        let mut ahead = low.max(ends.last().map_or(1.0, |piece| (-piece.log_hazard.mean).exp())).max(f64::MIN_POSITIVE);
        while high.is_infinite() {
            ahead *= 2.0;
            check::result("a quantile of the time", ahead)?;
            if self.log_survival(ahead)? < wanted {
                high = ahead;
            } else {
                low = ahead;
            }
        }
        let mut t = 0.5 * (low + high);
        for _ in 0..STEPS {
            let missed = self.log_survival(t)? - wanted;
            if missed < 0.0 {
                high = t;
            } else {
                low = t;
            }
            let hazard = (self.log_average(1.0, t)? - (missed + wanted)).exp();
            let newton = t + missed / hazard;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let done = (next - t).abs() <= CLOSE * t;
            t = next;
            if done {
                break;
            }
        }
        Ok(t)
    }

    /// The median time.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn median(&self) -> Result<f64, ModelError> {
        self.quantile(0.5)
    }

    /// The central interval that holds the time with probability `level`.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn interval(&self, level: f64) -> Result<Interval, ModelError> {
        check::probability("level", level)?;
        let side = 0.5 * (1.0 - level);
        Ok(Interval { lower: self.quantile(side)?, upper: self.quantile(1.0 - side)? })
    }

    /// The mean time until an event or `until`, whichever comes first: `∫ S(t) dt` up to there.
    ///
    /// # Errors
    /// `Label` for an end that is not positive and finite; `Quadrature`.
    pub fn restricted_mean(&self, until: f64) -> Result<f64, ModelError> {
        check_time(until, f64::MAX)?;
        self.mean_until(until)
    }

    /// The mean of the time, in which the last hazard goes on for ever: where few rows outlive the last cut it says more of that than of the rows;
    /// [`restricted_mean`](Self::restricted_mean) does not.
    ///
    /// # Errors
    /// `Overflow` for a mean beyond floats, as of hazards of which next to nothing is known; `Quadrature`.
    pub fn mean(&self) -> Result<f64, ModelError> {
        Ok(check::result("the mean of the time", self.mean_until(f64::INFINITY)?)?)
    }

    fn mean_until(&self, until: f64) -> Result<f64, ModelError> {
        let mut mean = 0.0;
        for (weight, pieces) in &self.parts {
            for piece in pieces.iter().filter(|piece| piece.from < until) {
                mean += weight.exp() * piece.time(until)?;
            }
        }
        Ok(mean)
    }

    /// A draw of the time.
    ///
    /// # Errors
    /// As [`quantile`](Self::quantile).
    pub fn draw<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<f64, ModelError> {
        self.quantile(rng.random::<f64>().clamp(f64::EPSILON, 1.0 - f64::EPSILON))
    }
}

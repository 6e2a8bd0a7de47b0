//! Diagnosis of a mixture, and what to do about it.

use std::fmt;

use rand::Rng;
use vi_core::psis;
use vi_linalg::faer::MatRef;

use crate::mixture::GaussianMixture;
use crate::target::fault;
use crate::{BoostError, LogDensity, block};

/// Whether a mixture can be relied on.
///
/// It is judged by the divergence, which bounds the error of every average; `k̂` and the effective share say how useful
/// importance weights are, not how good the mixture is. On six posteriors of `cargo xtask bench posteriors`, fitted from five
/// seeds each, 0.0001 to 0.021 nats were left, the worst parameter's 1-Wasserstein distance was 0.013 to 0.040 standard
/// deviations, which two samples of 10,000 draws have between them anyway, and `k̂` was anything from 0.28 to 0.81. Where between
/// these and a plainly bad fit the limits of a verdict lie is a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Good for what was searched. At most 0.03 nats are left: means and quantiles are accurate to a few hundredths of a standard
    /// deviation, unless there is mass where no search came. A density cannot say that there is none: half of a `N(0, I)` in
    /// three dimensions may be in a spike of width 0.01, and its values everywhere else are those of a normal density.
    Good,
    /// Right near what was found. No more is left than for `Good`, but one start in twenty or more led to a mode that no other
    /// start met: there are modes that the mixture does not have, and more starts
    /// ([`FitSettings::starts`](super::FitSettings::starts)) help. Or there are modes further apart than six deviations, of which one was met
    /// less than `3·2ᵈ` times in `d` dimensions: one half as wide may have been missed. Or a twentieth of the mass is far outside, 10 to 1000 deviations from
    /// the mean, as under a density that falls to a floor and has no integral.
    Near,
    /// At most 0.3 nats are left: means and quantiles are accurate to some tenths of a standard deviation. More components or
    /// points ([`FitSettings::boost`](super::FitSettings::boost)) help, and so does [`Fit::resample`](super::Fit::resample) if
    /// `k̂` is below 0.7.
    Fair,
    /// More is left, or the target is zero where the mixture is not: look for a better parametrisation (scales of order one,
    /// hierarchies non-centred), or run longer.
    Poor,
}

impl Verdict {
    /// By the nats that are left alone. A divergence is negative by rounding only, and by more than that where sums overflow.
    pub(crate) fn of(kl: f64) -> Self {
        match kl.abs() {
            kl if kl <= GOOD => Self::Good,
            kl if kl <= FAIR => Self::Fair,
            _ => Self::Poor,
        }
    }
}

impl fmt::Display for Verdict {
    /// The verdict in words, with its limits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Good => "good for what was searched; mass where no search came cannot be seen from the density alone",
            Self::Near => "right near what was found; modes were met seldom, or far away the density is not zero: there may be mass elsewhere",
            Self::Fair => "fair: means and quantiles near what was found are accurate to some tenths of a deviation",
            Self::Poor => "poor: not to be relied on",
        })
    }
}

/// The diagnosis of a mixture on fresh draws.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Diagnosis {
    /// `KL(q‖p)` in nats, estimated from the draws as `E_q[log(q/f)] + log E_q[f/q]`; it does not include mass that `q` misses
    /// altogether.
    pub kl: f64,
    /// The standard error of `E_q[log(q/f)]`.
    pub standard_error: f64,
    /// `log E_q[f/q]`, an estimate of the log evidence.
    pub log_evidence: f64,
    /// `k̂` of the importance ratios `f/q` ([`vi_core::psis`]): below 0.7, reweighted draws represent the target.
    pub k_hat: f64,
    /// The effective sample size of the draws, with smoothed weights, as a share of their number.
    pub effective_share: f64,
    /// The duality gap of the last step ([`Info::gap`](crate::Info::gap)); NaN if there was none.
    pub gap: f64,
    /// The share of draws at which the target is zero.
    pub zero: f64,
    /// Whether the mixture can be relied on.
    pub verdict: Verdict,
}

/// The most nats left for a good mixture, and for a fair one.
const GOOD: f64 = 0.03;
const FAIR: f64 = 0.3;

/// The relative error of a log ratio, which passes through a factor and sums.
const ROUNDING: f64 = 16.0 * f64::EPSILON;

/// The largest probability that a further start meets a new mode, for a good mixture.
const UNSEEN: f64 = 0.05;

/// The largest share of mass far outside, for a good mixture.
const BEYOND: f64 = 0.05;

impl Diagnosis {
    /// Diagnoses `q` on `draws` draws; `gap` is passed on. It costs as many evaluations of the target.
    ///
    /// # Errors
    /// [`BoostError::TargetValue`] if the target is NaN or +∞ at a draw; [`BoostError::Core`] with `Dimension`, or `NonFinite` if
    /// it is zero at every draw.
    pub fn of<T: LogDensity + ?Sized, R: Rng + ?Sized>(
        q: &GaussianMixture,
        target: &T,
        draws: usize,
        gap: f64,
        rng: &mut R,
    ) -> Result<Self, BoostError> {
        let ratios = log_ratios(q, target, q.draw(draws, rng).as_ref())?;
        let smoothed = psis::psis(&ratios)?;
        let n = ratios.len() as f64;
        let zero = ratios.iter().filter(|log| **log == f64::NEG_INFINITY).count() as f64 / n;
        let largest = ratios.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
        let log_evidence = largest + (ratios.iter().map(|log| (log - largest).exp()).sum::<f64>() / n).ln();
        let mean = ratios.iter().sum::<f64>() / n;
        let variance = ratios.iter().map(|log| (log - mean) * (log - mean)).sum::<f64>() / n;
        let (kl, standard_error) = (log_evidence - mean, (variance / n).sqrt());
        let farthest = ratios.iter().filter(|log| log.is_finite()).fold(0.0_f64, |most, log| most.max(log.abs()));
        // Values of 10²⁰ leave no digits for a divergence: it is worth what rounding may have taken from it.
        let verdict = Verdict::of(kl + ROUNDING * farthest);
        let effective_share = smoothed.effective_draws() / n;
        Ok(Self { kl, standard_error, log_evidence, k_hat: smoothed.k_hat, effective_share, gap, zero, verdict })
    }

    /// The diagnosis, given the probability that a further start leads to a mode not met, whether one half as wide would have been
    /// met, and the share of mass far outside.
    pub(super) fn seen(self, (unseen, thorough): (f64, bool), beyond: f64) -> Self {
        let near = self.verdict == Verdict::Good && (unseen > UNSEEN || !thorough || beyond > BEYOND);
        Self { verdict: if near { Verdict::Near } else { self.verdict }, ..self }
    }
}

/// `log(f/q)` at each of `draws`.
pub(super) fn log_ratios<T: LogDensity + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    draws: MatRef<'_, f64>,
) -> Result<Vec<f64>, BoostError> {
    vi_core::check::length("dimension of the target", q.dim(), target.dim())?;
    let mut log_f = vec![0.0; draws.nrows()];
    target.log_densities(draws, &mut log_f);
    let mut first = 0;
    for x in block::blocks(draws) {
        if let Some(error) = fault(&log_f[first..first + x.rows()], &x) {
            return Err(error);
        }
        first += x.rows();
    }
    let mut log_q = vec![0.0; draws.nrows()];
    q.log_densities(draws, &mut log_q)?;
    Ok(log_f.iter().zip(&log_q).map(|(f, q)| f - q).collect())
}

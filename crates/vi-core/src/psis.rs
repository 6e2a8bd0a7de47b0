//! Pareto-smoothed importance sampling, which tells whether an approximate posterior covers the true one.

mod pareto;

use crate::Error;

/// The number of exceedances below which no tail is fitted.
const LEAST_TAIL: usize = 5;
/// The relative difference up to which two log ratios count as equal, since rounding explains it.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// The result of importance sampling from an approximation to a target.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Psis {
    /// `k̂`, the shape of the generalised Pareto distribution of the largest importance ratios: they have about `1/k̂` finite
    /// moments. `−∞` if all large ratios are equal, as when the approximation is the target; `+∞` for fewer than 25 draws.
    pub k_hat: f64,
    /// The logarithms of the smoothed weights, normalised to sum to 1, in the order of the draws.
    pub log_weights: Vec<f64>,
}

impl Psis {
    /// The `k̂` up to which estimates from this many draws can be trusted, `min(1 − 1/log₁₀S, 0.7)` (Vehtari et al. 2024, §3).
    #[must_use]
    pub fn threshold(&self) -> f64 {
        let draws = self.log_weights.len() as f64;
        (1.0 - 1.0 / draws.log10()).min(0.7)
    }

    /// Whether `k̂` is at most the [threshold](Self::threshold): reweighted draws then represent the target, and the
    /// approximation is useful as it is or as a proposal.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.k_hat <= self.threshold()
    }

    /// The effective sample size of the weighted draws, `1/Σw²`.
    #[must_use]
    pub fn effective_draws(&self) -> f64 {
        1.0 / self.log_weights.iter().map(|log| (2.0 * log).exp()).sum::<f64>()
    }
}

/// Pareto-smooths importance ratios, given by their logarithms up to a constant (Vehtari, Simpson, Gelman, Yao and Gabry 2024,
/// JMLR 25(72), Algorithm 1).
///
/// The `M = ⌈min(S/5, 3√S)⌉` largest of `S` ratios are replaced by quantiles of a generalised Pareto distribution fitted to them
/// (Zhang and Stephens 2009, with the paper's weak prior: ten observations at `k = ½`), none above the largest. Cost `O(S log S)`.
///
/// # Errors
/// `Empty`, or `NonFinite` for a logarithm that is NaN or `+∞`, or if all are `−∞`.
///
/// ```
/// use vi_core::psis::psis;
/// // Exact Pareto quantiles with shape ½.
/// let n = 4000;
/// let log_ratios: Vec<f64> = (0..n).map(|i| -0.5 * ((i as f64 + 0.5) / n as f64).ln()).collect();
/// let smoothed = psis(&log_ratios)?;
/// assert!((smoothed.k_hat - 0.5).abs() < 0.05 && smoothed.is_reliable());
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn psis(log_ratios: &[f64]) -> Result<Psis, Error> {
    if log_ratios.is_empty() {
        return Err(Error::Empty { argument: "log_ratios" });
    }
    if let Some(index) = log_ratios.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
        return Err(Error::NonFinite { argument: "log_ratios", index, value: log_ratios[index] });
    }
    let largest = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return Err(Error::NonFinite { argument: "log_ratios", index: 0, value: largest });
    }
    let mut logs: Vec<f64> = log_ratios.iter().map(|log| log - largest).collect();
    let mut order: Vec<usize> = (0..logs.len()).collect();
    order.sort_by(|&a, &b| logs[a].total_cmp(&logs[b]));
    let k_hat = smooth_tail(&mut logs, &order, ROUNDING * (1.0 + largest.abs()));
    let total = logs.iter().map(|log| log.exp()).sum::<f64>().ln();
    for log in &mut logs {
        *log -= total;
    }
    Ok(Psis { k_hat, log_weights: logs })
}

/// Replaces the largest of `logs` (at most 0, `order` from the smallest) and returns `k̂`.
fn smooth_tail(logs: &mut [f64], order: &[usize], rounding: f64) -> f64 {
    let draws = logs.len() as f64;
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the number of draws")]
    let tail = (0.2 * draws).min(3.0 * draws.sqrt()).ceil() as usize;
    if tail < LEAST_TAIL || tail >= logs.len() {
        return f64::INFINITY;
    }
    let (body, tail) = order.split_at(order.len() - tail);
    let Some(&last) = body.last() else { return f64::INFINITY };
    let cutoff = logs[last];
    if -cutoff <= rounding {
        return f64::NEG_INFINITY;
    }
    // A ratio at the cutoff (a tie, or one that underflows) has an exceedance of 0.
    let cut = cutoff.exp();
    let exceedances: Vec<f64> = tail.iter().map(|&i| (logs[i].exp() - cut).max(f64::MIN_POSITIVE)).collect();
    let fit = pareto::fit(&exceedances).with_weak_prior(exceedances.len());
    if !fit.shape.is_finite() || !fit.scale.is_finite() {
        return f64::INFINITY;
    }
    let count = tail.len() as f64;
    for (z, &i) in tail.iter().enumerate() {
        let quantile = fit.quantile((z as f64 + 0.5) / count);
        logs[i] = (cut + quantile).ln().min(0.0);
    }
    fit.shape
}

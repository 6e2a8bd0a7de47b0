//! Summaries of a square root on points: on those it was grown on, and on fresh draws of its mixture.

use rand::Rng;
use vi_core::Estimate;

use super::root::Root;
use crate::boost::cloud::{Cloud, Summary, summarise, summary};
use crate::mixture::GaussianMixture;
use crate::target::{LogDensity, Probe};
use crate::{BoostError, block};

/// Averages of `f/q` and, as the objective, `−2·log E_q √(f/q)` over `n` independent draws of `q`; a draw at which the target is
/// zero or NaN counts as 0.
pub(super) fn fresh<T: LogDensity + ?Sized, R: Rng>(
    q: &GaussianMixture,
    probe: &Probe<'_, T>,
    n: usize,
    rng: &mut R,
) -> Result<Summary, BoostError> {
    let draws = q.draw(n, rng);
    let mut losses = vec![0.0; n];
    q.log_densities(draws.as_ref(), &mut losses)?;
    let (mut log_f, mut first) = (Vec::new(), 0);
    for x in block::blocks(draws.as_ref()) {
        log_f.resize(x.rows(), 0.0);
        probe.values(&x, &mut log_f);
        for (loss, log_f) in losses[first..].iter_mut().zip(&log_f) {
            *loss = if log_f.is_finite() { *loss - log_f } else { f64::INFINITY };
        }
        first += x.rows();
    }
    let weights = vec![(n as f64).recip(); n];
    let halves: Vec<f64> = losses.iter().map(|loss| 0.5 * loss).collect();
    let all = summary(&weights, &losses);
    let half = summary(&weights, &halves).log_evidence;
    let objective = Estimate { value: -2.0 * half.value, standard_error: 2.0 * half.standard_error };
    let effective_share = if all.effective_share.is_nan() { 0.0 } else { all.effective_share };
    Ok(Summary { objective, effective_share, ..all })
}

/// Averages of `f/m` and `log(m/f)` over the points of `m`, the components by the squares of their `λ`.
pub(super) fn seen(root: &Root, clouds: &[Cloud]) -> Summary {
    let total: f64 = root.lambda.iter().map(|lambda| lambda * lambda).sum();
    let weights: Vec<f64> = root.lambda.iter().map(|lambda| lambda * lambda / total).collect();
    let logs = weights.iter().map(|weight| weight.ln()).collect();
    summarise(&GaussianMixture::from_parts(root.components.clone(), logs), clouds)
}

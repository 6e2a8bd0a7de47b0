//! Whether an approximate posterior covers the true one: Pareto-smoothed importance sampling.

use rand::Rng;
use vi_core::{Belief, DenseGaussian, Error, GlmPosterior, Likelihoods};

use super::pareto;
use crate::{ModelError, check};

/// Exceedances below which no tail is fitted.
const LEAST_TAIL: usize = 5;
/// Ratios whose logarithms differ by no more than this share of their size are equal but for rounding.
const ROUNDING: f64 = 64.0 * f64::EPSILON;

/// What importance sampling from an approximation to a target tells about the approximation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Psis {
    /// `k̂`, the shape of the generalised Pareto distribution of the largest importance ratios: they have about `1/k̂` finite
    /// moments. `−∞` where all large ratios are equal, as when the approximation is the target; `+∞` for fewer than 25 draws.
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

    /// Whether `k̂` is at most the [threshold](Self::threshold): reweighted draws then stand for the target, and the
    /// approximation is of use as it is or as a proposal.
    #[must_use]
    pub fn is_reliable(&self) -> bool {
        self.k_hat <= self.threshold()
    }

    /// The number of independent draws of the target that the weighted draws are worth, `1/Σw²`.
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
/// [`ModelError::Core`] with `Empty`, or `NonFinite` for a logarithm that is NaN or `+∞`, or if all are `−∞`.
///
/// ```
/// use vi_models::metrics::psis;
/// // Exact Pareto quantiles with shape ½.
/// let n = 4000;
/// let log_ratios: Vec<f64> = (0..n).map(|i| -0.5 * ((i as f64 + 0.5) / n as f64).ln()).collect();
/// let smoothed = psis(&log_ratios)?;
/// assert!((smoothed.k_hat - 0.5).abs() < 0.05 && smoothed.is_reliable());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn psis(log_ratios: &[f64]) -> Result<Psis, ModelError> {
    if log_ratios.is_empty() {
        return Err(Error::Empty { argument: "log_ratios" }.into());
    }
    if let Some(index) = log_ratios.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
        return Err(Error::NonFinite { argument: "log_ratios", index, value: log_ratios[index] }.into());
    }
    let largest = log_ratios.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if largest == f64::NEG_INFINITY {
        return Err(Error::NonFinite { argument: "log_ratios", index: 0, value: largest }.into());
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
    // A ratio at the cutoff (a tie, or one that underflows) exceeds it by nothing.
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

/// [`psis`] of a Gaussian posterior `q` against the true one: the ratios `p̃(θ)/q(θ)` at `draws` draws of `q`.
///
/// `k̂` below ½ says that `q` is close, up to 0.7 that reweighting it helps, above that its errors may not be small (Yao, Vehtari,
/// Simpson and Gelman 2018). It is the shape of the largest ratios and not their size: from 1000 draws it is off by 0.2 or more
/// where `q` is nearly right, so take 10⁴. Cost `draws·(nd + d²)`.
///
/// # Errors
/// [`ModelError::Core`] with `Setting` for fewer than 25 draws, `Dimension`, `NotPositiveDefinite`, `NonFinite` when a density
/// overflows.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::{BernoulliLogit, DenseGaussian, Exact, GlmPosterior, Implicit, filter};
/// use vi_linalg::faer::mat;
/// use vi_models::metrics::gaussian_psis;
/// let (x, y) = (mat![[1.0, 0.5], [1.0, -1.0], [1.0, 2.0], [1.0, -0.3]], [1.0, 0.0, 1.0, 1.0]);
/// let prior = DenseGaussian::isotropic(&[0.0, 0.0], 1.0)?;
/// let mut q = prior.clone();
/// filter::run(&mut q, &Implicit(BernoulliLogit(Exact)), x.as_ref(), &y, |_, _, _| {})?;
/// let truth = GlmPosterior::new(&prior, x.as_ref(), &y, BernoulliLogit(Exact))?;
/// let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// assert!(gaussian_psis(&truth, &q, 20_000, &mut rng)?.is_reliable());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn gaussian_psis<L: Likelihoods, R: Rng + ?Sized>(
    posterior: &GlmPosterior<'_, L>,
    q: &DenseGaussian,
    draws: usize,
    rng: &mut R,
) -> Result<Psis, ModelError> {
    gaussian_psis_of(q, draws, rng, |theta| Ok(posterior.log_joint(theta)?))
}

/// [`gaussian_psis`] against any log-density, up to a constant.
///
/// # Errors
/// As [`gaussian_psis`], and what `log_target` returns.
pub fn gaussian_psis_of<R: Rng + ?Sized>(
    q: &DenseGaussian,
    draws: usize,
    rng: &mut R,
    mut log_target: impl FnMut(&[f64]) -> Result<f64, ModelError>,
) -> Result<Psis, ModelError> {
    if draws < 25 {
        return Err(Error::Setting { name: "draws", value: draws as f64, requirement: "at least 25" }.into());
    }
    let cholesky = q.cholesky()?;
    let mut theta = vec![0.0; q.dim()];
    let mut log_ratios = Vec::with_capacity(draws);
    for _ in 0..draws {
        q.draw_with(&cholesky, &mut theta, rng)?;
        let difference: Vec<f64> = theta.iter().zip(q.mean()).map(|(theta, mean)| theta - mean).collect();
        // log q up to its constant.
        log_ratios.push(log_target(&theta)? + 0.5 * cholesky.quadratic_form_inverse(&difference)?);
    }
    check::finite("log ratios", &log_ratios)?;
    psis(&log_ratios)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use vi_core::{GaussianLikelihood, GlmPosterior};
    use vi_linalg::faer::mat;

    use super::*;

    /// Ratios with a Pareto tail of shape `k`.
    fn pareto_draws(k: f64, n: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        (0..n).map(|_| -k * (1.0 - rng.random::<f64>()).ln()).collect()
    }

    #[test]
    fn smoothed_weights_are_those_of_arviz() {
        // ArviZ 0.19.0's psislw of exact Pareto quantiles of shape 0.8.
        let n = 400;
        let log_ratios: Vec<f64> = (0..n).map(|i| -0.8 * ((f64::from(i) + 0.5) / f64::from(n)).ln()).collect();
        let found = psis(&log_ratios).unwrap();
        assert!((found.k_hat - 0.7378791023306146).abs() < 1e-10, "{}", found.k_hat);
        let stored =
            [(0, -2.185125455286365), (1, -2.9995120084793765), (2, -3.379535628582517), (200, -6.780868832455375)];
        for (i, log) in stored {
            assert!((found.log_weights[i] - log).abs() < 1e-10, "{i}: {}", found.log_weights[i]);
        }
    }

    #[test]
    fn known_tails_are_recognised() {
        for k in [0.1, 0.3, 0.5, 0.7, 1.0, 1.5] {
            let n = 40_000;
            let found = psis(&pareto_draws(k, n, 5)).unwrap().k_hat;
            // The standard error of the maximum likelihood estimate from M = 600 exceedances, (1+k)/√M; the weak prior moves it
            // by 10/610·(½−k).
            assert!((found - k).abs() < 4.0 * (1.0 + k) / 600.0_f64.sqrt() + 0.02, "{k}: {found}");
        }
    }

    #[test]
    fn a_gaussian_proposal_of_known_width_has_its_known_shape() {
        // Target N(0, 1), proposal N(0, s²): ratios exp(−½θ²(1−1/s²)) have tail index k = 1 − s² for s < 1.
        for (s, k) in [(0.6_f64, 0.64), (0.8, 0.36)] {
            let q = DenseGaussian::isotropic(&[0.0], s).unwrap();
            let mut rng = ChaCha8Rng::seed_from_u64(9);
            let found = gaussian_psis_of(&q, 40_000, &mut rng, |theta| Ok(-0.5 * theta[0] * theta[0])).unwrap();
            // The tail is a power only up to logarithms, which a finite sample sees as a somewhat lighter one.
            assert!((found.k_hat - k).abs() < 0.2, "{s}: {}", found.k_hat);
        }
        let wide = DenseGaussian::isotropic(&[0.0], 1.5).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(9);
        let found = gaussian_psis_of(&wide, 4000, &mut rng, |theta| Ok(-0.5 * theta[0] * theta[0])).unwrap();
        assert!(found.k_hat < 0.2 && found.is_reliable(), "{}", found.k_hat); // bounded ratios
    }

    #[test]
    fn the_exact_posterior_has_constant_ratios() {
        let (x, y) = (mat![[1.0, 0.5], [1.0, -1.0], [1.0, 2.0]], [0.3, -0.2, 1.4]);
        let prior = DenseGaussian::isotropic(&[0.0, 0.0], 2.0).unwrap();
        let noise = GaussianLikelihood::new(0.5).unwrap();
        let exact = crate::linear::fit(&prior, noise, x.as_ref(), &y).unwrap().belief;
        let truth = GlmPosterior::new(&prior, x.as_ref(), &y, noise).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(2);
        let found = gaussian_psis(&truth, &exact, 400, &mut rng).unwrap();
        assert_eq!(found.k_hat, f64::NEG_INFINITY);
        assert!((found.effective_draws() - 400.0).abs() < 1e-9 && found.is_reliable());
    }

    #[test]
    fn weights_are_normalised_smoothed_in_the_tail_only_and_keep_their_order() {
        let logs = pareto_draws(0.9, 1000, 3);
        let found = psis(&logs).unwrap();
        let total: f64 = found.log_weights.iter().map(|log| log.exp()).sum();
        assert!((total - 1.0).abs() < 1e-12);
        let mut order: Vec<usize> = (0..1000).collect();
        order.sort_by(|&a, &b| logs[a].total_cmp(&logs[b]));
        assert!(order.windows(2).all(|pair| found.log_weights[pair[0]] <= found.log_weights[pair[1]]));
        // M = ⌈min(200, 3√1000)⌉ = 95; the rest keeps its ratios.
        let shift = found.log_weights[order[0]] - logs[order[0]];
        for &i in &order[..905] {
            assert!((found.log_weights[i] - logs[i] - shift).abs() < 1e-12);
        }
        assert!(order[905..].iter().any(|&i| (found.log_weights[i] - logs[i] - shift).abs() > 1e-3));
        assert!(found.effective_draws() < 1000.0 && !found.is_reliable());
        // A constant in the logarithms changes nothing, and underflow is no tail of its own.
        let moved: Vec<f64> = logs.iter().map(|log| log - 5000.0).collect();
        assert!((psis(&moved).unwrap().k_hat - found.k_hat).abs() < 1e-8);
    }

    #[test]
    fn extremes_are_answered() {
        assert_eq!(psis(&[0.0; 10]).unwrap().k_hat, f64::INFINITY); // too few
        assert_eq!(psis(&[3.0; 100]).unwrap().k_hat, f64::NEG_INFINITY);
        let mut one = vec![f64::NEG_INFINITY; 100];
        one[7] = 1.0;
        let found = psis(&one).unwrap();
        assert!(found.k_hat > 1.0 && found.log_weights[7] > -1e-6, "{found:?}");
        assert!(psis(&[]).is_err() && psis(&[0.0, f64::NAN]).is_err() && psis(&[f64::INFINITY]).is_err());
        assert!(psis(&[f64::NEG_INFINITY; 30]).is_err());
        let q = DenseGaussian::isotropic(&[0.0], 1.0).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        assert!(gaussian_psis_of(&q, 24, &mut rng, |_| Ok(0.0)).is_err());
        assert!(gaussian_psis_of(&q, 30, &mut rng, |_| Ok(f64::NAN)).is_err());
    }
}

//! Importance ratios between a Gaussian posterior and the true one.

use rand::Rng;
use vi_core::psis::{Psis, psis};
use vi_core::{Belief, DenseGaussian, Error, GlmPosterior, Likelihoods};

use crate::{ModelError, check};

/// Pareto-smoothed importance sampling ([`psis`]) from a Gaussian posterior `q` to the true one: the ratios `p̃(θ)/q(θ)` at
/// `draws` draws of `q`.
///
/// `k̂` below ½ says that `q` is close, up to 0.7 that reweighting it helps, and above that its errors may not be small (Yao,
/// Vehtari, Simpson and Gelman 2018). It is the shape of the largest ratios and not their size: from 1000 draws it is off by 0.2
/// or more if `q` is nearly right, so take 10⁴. Cost `draws·(nd + d²)`.
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

/// [`gaussian_psis`] for any target given by its log-density up to a constant.
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
    check::room("draws", &[draws])?;
    let cholesky = q.cholesky()?;
    let mut theta = vec![0.0; q.dim()];
    let mut log_ratios = Vec::with_capacity(draws);
    for _ in 0..draws {
        q.draw_with(&cholesky, &mut theta, rng)?;
        let difference: Vec<f64> = theta.iter().zip(q.mean()).map(|(theta, mean)| theta - mean).collect();
        // log q up to a constant.
        log_ratios.push(log_target(&theta)? + 0.5 * cholesky.quadratic_form_inverse(&difference)?);
    }
    check::values("log ratios", &log_ratios)?;
    Ok(psis(&log_ratios)?)
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
        let exact = crate::linear::fit(&prior, x.as_ref(), &y, noise).unwrap().belief;
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

//! The divergence of a mixture from a target, and the target's evidence, with standard errors.

use rand::Rng;
use vi_core::{Estimate, check};

use crate::BoostError;
use crate::block::{self, Block};
use crate::error::setting;
use crate::mixture::{GaussianMixture, Scratch};
use crate::target::{LogDensity, Probe, fault};

/// Estimates from draws of `q` of its divergence from a target `f = Z·p`, with `ℓ = log(q/f)`.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Divergence {
    /// `D̃(q) = E_q ℓ = KL(q‖p) − log Z`, in nats: minus the bound on the log evidence.
    pub effective: Estimate,
    /// `log Z = log E_q e^(−ℓ)`. Too low if `q` misses mass that the draws cannot show.
    pub log_evidence: Estimate,
    /// `KL(q‖p)` with that evidence: never negative, and without any mass that `q` misses.
    pub kl: Estimate,
    /// The effective sample size `N·(E v)²/E v²` of the importance weights `v = e^(−ℓ)`.
    pub effective_sample_size: f64,
    /// The number of points taken.
    pub points: usize,
}

/// The averages of one replicate: `E ℓ`, `log E e^(−ℓ)`, `log E e^(−2ℓ)`.
#[derive(Debug, Clone, Copy)]
struct Averages {
    loss: f64,
    log_ratio: f64,
    log_square: f64,
}

/// Estimates the divergence from independent draws. Standard errors are those of averages of `draws` independent terms.
///
/// # Errors
/// [`BoostError::Core`] with `Setting` for fewer than 2 draws or more than memory holds, `Dimension`; [`BoostError::TargetValue`] if the target is NaN or
/// +∞, [`BoostError::Unsupported`] if it is zero at a draw, since the divergence is then infinite.
///
/// ```
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
/// use vi_boost::{Component, GaussianMixture, divergence, target::Cauchy};
/// let target = Cauchy::new(0.0, 1.0)?;
/// let q = GaussianMixture::single(Component::isotropic(&[0.0], 1.5)?);
/// let found = divergence::random(&q, &target, 1000, &mut ChaCha8Rng::seed_from_u64(1))?;
/// assert!(found.kl.value > 0.0 && found.effective.standard_error < 0.05);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn random<T: LogDensity + ?Sized, R: Rng + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    draws: usize,
    rng: &mut R,
) -> Result<Divergence, BoostError> {
    if draws < 2 {
        return Err(setting("draws", draws as f64, "at least 2"));
    }
    check::room("draws", &[draws, q.dim()])?;
    let blocks = block::blocks(q.draw(draws, rng).as_ref());
    let losses = losses(q, target, &blocks)?;
    let n = draws as f64;
    let all = averages(losses.iter().map(|loss| (1.0 / n, *loss)));
    // The influence of each draw: ℓ, e^(−ℓ)/Z, and their sum for the divergence.
    let ratios: Vec<f64> = losses.iter().map(|loss| (-loss - all.log_ratio).exp()).collect();
    let sums: Vec<f64> = losses.iter().zip(&ratios).map(|(loss, ratio)| loss + ratio).collect();
    Ok(Divergence {
        effective: Estimate { value: all.loss, standard_error: error_of_mean(&losses) },
        log_evidence: Estimate { value: all.log_ratio, standard_error: error_of_mean(&ratios) },
        kl: Estimate { value: all.loss + all.log_ratio, standard_error: error_of_mean(&sums) },
        effective_sample_size: n * (2.0 * all.log_ratio - all.log_square).exp(),
        points: draws,
    })
}

/// Estimates the divergence from `points` quasi-random points of each component, weighted, in `replicates` independent
/// scramblings: the error falls nearly as the number of points, and is estimated from the scatter of the replicates.
///
/// # Errors
/// As [`random`]; `Setting` unless `2 ≤ replicates ≤ 10⁶` and `points` is even and at most [`crate::points::MOST_POINTS`].
///
/// ```
/// use vi_boost::{Component, GaussianMixture, divergence};
/// let p = GaussianMixture::single(Component::isotropic(&[0.0], 1.0)?);
/// let q = GaussianMixture::single(Component::isotropic(&[1.0], 1.0)?);
/// let found = divergence::quasi(&q, &p, 256, 8, 1)?;
/// assert!((found.effective.value - 0.5).abs() < 1e-12);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn quasi<T: LogDensity + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    points: usize,
    replicates: usize,
    seed: u64,
) -> Result<Divergence, BoostError> {
    let found = replicated(q, target, points, replicates, seed)?;
    let n = replicates as f64;
    let mean = |value: fn(&Averages) -> f64| found.iter().map(value).sum::<f64>() / n;
    let effective = mean(|a| a.loss);
    let log_ratio = log_mean(found.iter().map(|a| a.log_ratio));
    let log_square = log_mean(found.iter().map(|a| a.log_square));
    let losses: Vec<f64> = found.iter().map(|a| a.loss).collect();
    let ratios: Vec<f64> = found.iter().map(|a| (a.log_ratio - log_ratio).exp()).collect();
    let sums: Vec<f64> = losses.iter().zip(&ratios).map(|(loss, ratio)| loss + ratio).collect();
    let total = points * q.len() * replicates;
    Ok(Divergence {
        effective: Estimate { value: effective, standard_error: error_of_mean(&losses) },
        log_evidence: Estimate { value: log_ratio, standard_error: error_of_mean(&ratios) },
        kl: Estimate { value: effective + log_ratio, standard_error: error_of_mean(&sums) },
        effective_sample_size: total as f64 * (2.0 * log_ratio - log_square).exp(),
        points: total,
    })
}

/// Estimates `KL(q‖p)` if `log Z` is known: `E_q[ℓ′ − 1 + e^(−ℓ′)]`, `ℓ′ = ℓ + log Z`. The last two terms cancel on average; with
/// them every point's term is at least 0 and of the second order in `ℓ′`, so the error is far below that of `E_q ℓ′`.
///
/// Use it for a `q` that covers the target: if the target's tails are heavier than `q`'s, or it has modes that `q` does not have,
/// no number of points shows what they would add to `e^(−ℓ′)`, and the result is too small by their mass. Then take
/// [`Divergence::effective`] plus `log Z`.
///
/// # Errors
/// As [`quasi`]; `NonFinite` for `log_evidence`.
///
/// ```
/// use vi_boost::{Component, GaussianMixture, divergence};
/// let p = GaussianMixture::single(Component::isotropic(&[0.0], 1.0)?);
/// let q = GaussianMixture::single(Component::isotropic(&[0.0], 1.1)?);
/// let kl = divergence::known_evidence(&q, &p, 0.0, 1024, 8, 1)?;
/// // ½(1.21 − 1 − log 1.21)
/// assert!((kl.value - 0.009_689_820_195_675).abs() < 6.0 * kl.standard_error && kl.standard_error < 1e-3);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn known_evidence<T: LogDensity + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    log_evidence: f64,
    points: usize,
    replicates: usize,
    seed: u64,
) -> Result<Estimate, BoostError> {
    vi_core::check::finite("log_evidence", &[log_evidence])?;
    let found = replicated(q, target, points, replicates, seed)?;
    let terms: Vec<f64> =
        found.iter().map(|a| a.loss + log_evidence - 1.0 + (a.log_ratio - log_evidence).exp()).collect();
    let value = terms.iter().sum::<f64>() / replicates as f64;
    Ok(Estimate { value, standard_error: error_of_mean(&terms) })
}

fn replicated<T: LogDensity + ?Sized>(
    q: &GaussianMixture,
    target: &T,
    points: usize,
    replicates: usize,
    seed: u64,
) -> Result<Vec<Averages>, BoostError> {
    if replicates < 2 {
        return Err(setting("replicates", replicates as f64, "at least 2"));
    }
    check::limit("replicates", replicates)?;
    let one = |replicate: usize| {
        let mut rows = Vec::new();
        for (k, (component, weight)) in q.components().iter().zip(q.weights()).enumerate() {
            // Every component of every replicate has its own scrambling.
            let own = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add((replicate * q.len() + k) as u64);
            let mut blocks = block::quasi(points, component.latent_dim(), own)?;
            for z in &mut blocks {
                let mut x = Block::default();
                component.map(z, &mut x);
                *z = x;
            }
            let c = weight / points as f64;
            if c > 0.0 {
                rows.extend(losses(q, target, &blocks)?.into_iter().map(|loss| (c, loss)));
            }
        }
        Ok(averages(rows.into_iter()))
    };
    (0..replicates).map(one).collect()
}

/// `log q − log f` at every point.
fn losses<T: LogDensity + ?Sized>(q: &GaussianMixture, target: &T, points: &[Block]) -> Result<Vec<f64>, BoostError> {
    check::length("dimension of the target", q.dim(), target.dim())?;
    let probe = Probe::new(target, vec![1.0; q.dim()])?;
    let (mut scratch, mut log_f, mut losses) = (Scratch::default(), Vec::new(), Vec::new());
    let (mut zero, mut total) = (0, 0);
    for x in points {
        log_f.resize(x.rows(), 0.0);
        probe.values(x, &mut log_f);
        if let Some(error) = fault(&log_f, x) {
            return Err(error);
        }
        q.evaluate(x, &mut scratch, false);
        zero += log_f.iter().filter(|f| **f == f64::NEG_INFINITY).count();
        total += x.rows();
        losses.extend(scratch.total.iter().zip(&log_f).map(|(q, f)| q - f));
    }
    if zero > 0 {
        return Err(BoostError::Unsupported { share: zero as f64 / total as f64 });
    }
    Ok(losses)
}

/// Averages of rows of weight `c` (which sum to 1).
fn averages(rows: impl Iterator<Item = (f64, f64)> + Clone) -> Averages {
    let least = rows.clone().fold(f64::INFINITY, |a, (_, loss)| a.min(loss));
    let (mut mean, mut ratio, mut square) = (0.0, 0.0, 0.0);
    for (c, loss) in rows {
        let v = (least - loss).exp();
        mean += c * loss;
        ratio += c * v;
        square += c * v * v;
    }
    Averages { loss: mean, log_ratio: ratio.ln() - least, log_square: square.ln() - 2.0 * least }
}

fn log_mean(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let largest = values.clone().fold(f64::NEG_INFINITY, f64::max);
    let (mut sum, mut count) = (0.0, 0.0);
    for value in values {
        sum += (value - largest).exp();
        count += 1.0;
    }
    largest + (sum / count).ln()
}

/// The standard error of the mean of independent values.
fn error_of_mean(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares: f64 = values.iter().map(|v| (v - mean) * (v - mean)).sum();
    (squares / (n - 1.0) / n).sqrt()
}

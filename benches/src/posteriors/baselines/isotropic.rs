//! Mixtures of isotropic Gaussians with equal weights (Petit-Talamon, Lambert and Korba 2025), by Adam on means and logarithms of widths.

use rand_chacha::ChaCha8Rng;
use vi_boost::{BoostError, Component, GaussianMixture};

use super::{Adam, Counted, normals};

/// `components` of them after `steps` steps, each of one draw a component, from means drawn from `N(0, sd²I)`.
///
/// # Errors
/// Those of a mixture whose numbers ran away.
pub fn isotropic_mixture(
    target: &Counted<'_>,
    sd: f64,
    components: usize,
    steps: usize,
    rng: &mut ChaCha8Rng,
) -> Result<GaussianMixture, BoostError> {
    let d = target.dim();
    let size = components * (d + 1);
    let mut x: Vec<f64> = normals(size, rng).iter().map(|z| sd * z).collect();
    for k in 0..components {
        x[k * (d + 1) + d] = sd.ln();
    }
    let mut adam = Adam::new(size, 0.999);
    let (mut gradient, mut slope) = (vec![0.0; size], vec![0.0; d]);
    for step in 0..steps {
        gradient.fill(0.0);
        for k in 0..components {
            let place = k * (d + 1)..(k + 1) * (d + 1);
            let width = x[place.end - 1].exp();
            let z = normals(d, rng);
            let theta: Vec<f64> = (0..d).map(|j| x[place.start + j] + width * z[j]).collect();
            if target.gradient(&theta, &mut slope) == f64::NEG_INFINITY {
                continue;
            }
            // −∇log q by the draw: Σ_l r_l(θ − μ_l)/σ_l².
            for (share, l) in responsibilities(&x, d, &theta).into_iter().enumerate().map(|(l, share)| (share, l)) {
                let own = l * (d + 1);
                let precision = (-2.0 * x[own + d]).exp();
                for j in 0..d {
                    slope[j] += share * precision * (theta[j] - x[own + j]);
                }
            }
            for j in 0..d {
                gradient[place.start + j] += slope[j];
                gradient[place.end - 1] += slope[j] * width * z[j];
            }
        }
        let progress = step as f64 / steps as f64;
        adam.step(&mut x, &gradient, 0.05 * if progress < 0.5 { 1.0 } else { 0.01_f64.powf(2.0 * progress - 1.0) });
    }
    let parts: Result<Vec<Component>, BoostError> =
        x.chunks(d + 1).map(|own| Component::diagonal(&own[..d], &vec![(2.0 * own[d]).exp(); d])).collect();
    GaussianMixture::new(parts?, &vec![1.0 / components as f64; components])
}

fn responsibilities(x: &[f64], d: usize, theta: &[f64]) -> Vec<f64> {
    let logs: Vec<f64> = x
        .chunks(d + 1)
        .map(|own| {
            let square: f64 = own[..d].iter().zip(theta).map(|(m, t)| (t - m) * (t - m)).sum();
            -0.5 * square * (-2.0 * own[d]).exp() - d as f64 * own[d]
        })
        .collect();
    let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    let total: f64 = logs.iter().map(|log| (log - largest).exp()).sum();
    logs.iter().map(|log| (log - largest).exp() / total).collect()
}

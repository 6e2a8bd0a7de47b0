//! Draws of Pólya-Gamma variables, which make a logistic likelihood Gaussian in the weights.

use rand::{Rng, RngExt};
use rand_distr::{Distribution, Exp1, StandardNormal};
use vi_core::special::log_normal_cdf;

/// Where the two series of the density meet.
const MEET: f64 = 0.64;

/// The coefficient `a_k(x)` of the alternating series of the density, by the form that converges fast on its side of [`MEET`].
fn coefficient(k: f64, x: f64) -> f64 {
    use std::f64::consts::PI;
    let half = k + 0.5;
    if x > MEET {
        PI * half * (-0.5 * (half * PI).powi(2) * x).exp()
    } else {
        PI * half * (2.0 / (PI * x)).powf(1.5) * (-2.0 * half * half / x).exp()
    }
}

/// An inverse Gaussian of mean `1/z` and shape 1, below [`MEET`].
fn truncated_inverse_gaussian<R: Rng + ?Sized>(z: f64, rng: &mut R) -> f64 {
    if z * MEET < 1.0 {
        loop {
            let x = loop {
                let (a, b): (f64, f64) = (Exp1.sample(rng), Exp1.sample(rng));
                if a * a <= 2.0 * b / MEET {
                    break MEET / (1.0 + MEET * a).powi(2);
                }
            };
            if rng.random::<f64>() <= (-0.5 * z * z * x).exp() {
                return x;
            }
        }
    }
    let mean = 1.0 / z;
    loop {
        let normal: f64 = StandardNormal.sample(rng);
        let y = mean * normal * normal;
        // The smaller root of the quadratic, in the form that does not cancel.
        let small = mean / (1.0 + 0.5 * y + (y + 0.25 * y * y).sqrt());
        let x = if rng.random::<f64>() > mean / (mean + small) { mean * mean / small } else { small };
        if x <= MEET {
            return x;
        }
    }
}

/// A draw from `PG(1, t)`, of mean `tanh(t/2)/(2t)`. Cost: free of `t`.
///
/// Source: Polson, Scott and Windle, *Bayesian inference for logistic models using Pólya-Gamma latent variables*, JASA 108 (2013), §4.
pub(super) fn polya_gamma<R: Rng + ?Sized>(t: f64, rng: &mut R) -> f64 {
    use std::f64::consts::PI;
    let z = 0.5 * t.abs();
    let rate = 0.125 * PI * PI + 0.5 * z * z;
    let root = MEET.sqrt().recip();
    let beyond = rate.ln() + rate * MEET;
    let above = (beyond - z + log_normal_cdf(root * (MEET * z - 1.0))).exp();
    let below = (beyond + z + log_normal_cdf(-root * (MEET * z + 1.0))).exp();
    let exponential = 1.0 / (1.0 + 4.0 / PI * (above + below));
    loop {
        let x = if rng.random::<f64>() < exponential {
            let e: f64 = Exp1.sample(rng);
            MEET + e / rate
        } else {
            truncated_inverse_gaussian(z, rng)
        };
        let mut sum = coefficient(0.0, x);
        let y = rng.random::<f64>() * sum;
        let mut k = 1.0;
        loop {
            sum -= coefficient(k, x);
            if y <= sum {
                return 0.25 * x;
            }
            sum += coefficient(k + 1.0, x);
            if y > sum {
                break;
            }
            k += 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    #[test]
    fn mean_and_variance_are_those_of_the_distribution() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for t in [1e-3_f64, 0.5, 2.0, 6.0, 40.0] {
            let draws: Vec<f64> = (0..20_000).map(|_| polya_gamma(t, &mut rng)).collect();
            let n = draws.len() as f64;
            let mean = draws.iter().sum::<f64>() / n;
            let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
            let expected = (0.5 * t).tanh() / (2.0 * t);
            // (sinh t − t)/(4t³·cosh²(t/2)), by its limit 1/24 near 0.
            let spread =
                if t < 0.01 { 1.0 / 24.0 } else { (t.sinh() - t) / (4.0 * t.powi(3) * (0.5 * t).cosh().powi(2)) };
            assert!((mean - expected).abs() < 4.0 * (spread / n).sqrt(), "{t}: {mean} for {expected}");
            assert!((variance / spread - 1.0).abs() < 0.1, "{t}: {variance} for {spread}");
        }
    }
}

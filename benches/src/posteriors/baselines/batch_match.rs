//! Batch and match (Cai, Modi, Margossian, Gower, Blei and Saul 2024, Algorithm 1): score matching with a closed update.

use rand_chacha::ChaCha8Rng;
use vi_linalg::Cholesky;
use vi_linalg::eigen::eigen;
use vi_linalg::faer::{Mat, Par};

use super::{Counted, best_by_bound, mapped, normals};

/// The rates `λ_t = B·d/(t+1)^a` that are tried: the paper's for Gaussian targets, `a = 0`, its for others, `a = 1`, and one between.
const POWERS: [f64; 3] = [0.0, 0.5, 1.0];

/// Mean and factor after `steps` steps of `batch` draws from `N(0, sd²I)`, the best of three rates by its bound. A step whose covariance is not
/// positive definite, or at no draw of which the target is finite, is left out.
#[must_use]
pub fn batch_and_match(
    target: &Counted<'_>,
    sd: f64,
    steps: usize,
    batch: usize,
    rng: &mut ChaCha8Rng,
) -> (Vec<f64>, Mat<f64>) {
    let runs = POWERS.iter().map(|power| run(target, sd, (steps, batch), *power, rng)).collect();
    best_by_bound(target, runs, rng)
}

fn run(
    target: &Counted<'_>,
    sd: f64,
    (steps, batch): (usize, usize),
    power: f64,
    rng: &mut ChaCha8Rng,
) -> (Vec<f64>, Mat<f64>) {
    let d = target.dim();
    let mut mean = vec![0.0; d];
    let mut l = Mat::from_fn(d, d, |i, j| if i == j { sd } else { 0.0 });
    for step in 0..steps {
        let (mut points, mut slopes) = (Vec::new(), Vec::new());
        for _ in 0..batch {
            let theta = mapped(&mean, l.as_ref(), &normals(d, rng));
            let mut slope = vec![0.0; d];
            if target.gradient(&theta, &mut slope) > f64::NEG_INFINITY {
                points.push(theta);
                slopes.push(slope);
            }
        }
        if points.is_empty() {
            continue;
        }
        let lambda = (batch * d) as f64 / ((step + 1) as f64).powf(power);
        let (z, c) = moments(&points);
        let (g, gamma) = moments(&slopes);
        let share = lambda / (1.0 + lambda);
        let sigma = &l * l.transpose();
        let u = Mat::from_fn(d, d, |i, j| lambda * gamma[(i, j)] + share * g[i] * g[j]);
        let v =
            Mat::from_fn(d, d, |i, j| sigma[(i, j)] + lambda * c[(i, j)] + share * (mean[i] - z[i]) * (mean[j] - z[j]));
        // Σ′UΣ′ + Σ′ = V: with V = KKᵀ and KᵀUK = QDQᵀ, Σ′ = KQ·diag(2/(1+√(1+4D)))·QᵀKᵀ.
        let Ok(k) = Cholesky::new(v.as_ref()) else { continue };
        let k = k.factor().to_owned();
        let Ok((values, q)) = eigen((k.transpose() * u * &k).as_ref(), Par::Seq) else { continue };
        let kq = &k * q;
        let half =
            Mat::from_fn(d, d, |i, j| kq[(i, j)] * (2.0 / (1.0 + (1.0 + 4.0 * values[j].max(0.0)).sqrt())).sqrt());
        let next = &half * half.transpose();
        let Ok(factor) = Cholesky::new(next.as_ref()) else { continue };
        let moved: Vec<f64> = (0..d)
            .map(|i| mean[i] / (1.0 + lambda) + share * (z[i] + (0..d).map(|j| next[(i, j)] * g[j]).sum::<f64>()))
            .collect();
        if moved.iter().all(|m| m.is_finite()) {
            (mean, l) = (moved, factor.factor().to_owned());
        }
    }
    (mean, l)
}

/// Mean and covariance (over the number).
fn moments(rows: &[Vec<f64>]) -> (Vec<f64>, Mat<f64>) {
    let (n, d) = (rows.len() as f64, rows[0].len());
    let mean: Vec<f64> = (0..d).map(|j| rows.iter().map(|row| row[j]).sum::<f64>() / n).collect();
    let second =
        Mat::from_fn(d, d, |i, j| rows.iter().map(|row| (row[i] - mean[i]) * (row[j] - mean[j])).sum::<f64>() / n);
    (mean, second)
}

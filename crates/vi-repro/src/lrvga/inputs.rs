//! Inputs whose covariance is to be factorised (§5.1).

use rand::RngExt;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;
use vi_linalg::faer::Mat;

use crate::error::{Doing as _, ReproError};
pub(super) use crate::streams::generator;

/// Rows `x = Wz + ψ^½ε` with random `W` (`d × p`, standard normal) and ψ (uniform on [0, 1]), normalised.
pub(super) fn factor_model(n: usize, d: usize, p: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let w = Mat::from_fn(d, p, |_, _| rng.sample::<f64, _>(StandardNormal));
    let deviations: Vec<f64> = (0..d).map(|_| rng.random::<f64>().sqrt()).collect();
    let z = Mat::from_fn(n, p, |_, _| rng.sample::<f64, _>(StandardNormal));
    let mut x = &z * w.transpose();
    for i in 0..n {
        for j in 0..d {
            x[(i, j)] += deviations[j] * rng.sample::<f64, _>(StandardNormal);
        }
    }
    normalised(x)
}

/// Informative features of the Madelon-like set.
const INFORMATIVE: usize = 5;
/// Linear combinations of them.
const REDUNDANT: usize = 15;
/// Standard deviation of the noise on informative and redundant features.
const NOISE: f64 = 0.1;

/// Rows in the manner of Madelon: clusters at the corners ±1 of a cube in five dimensions, fifteen combinations of those five
/// features, and probes of pure noise up to `d` features, in random order; normalised.
pub(super) fn madelon(n: usize, d: usize, rng: &mut ChaCha8Rng) -> Mat<f64> {
    let mix = Mat::from_fn(INFORMATIVE, REDUNDANT, |_, _| rng.random_range(-1.0..1.0));
    let mut order: Vec<usize> = (0..d).collect();
    order.shuffle(rng);
    let mut x = Mat::zeros(n, d);
    for i in 0..n {
        let corner: [f64; INFORMATIVE] = std::array::from_fn(
            |_| if rng.random_bool(0.5) { 1.0 } else { -1.0 } + 0.5 * rng.sample::<f64, _>(StandardNormal),
        );
        for (j, &place) in order.iter().enumerate() {
            let noise: f64 = rng.sample(StandardNormal);
            x[(i, place)] = match j {
                _ if j < INFORMATIVE => corner[j] + NOISE * noise,
                _ if j < INFORMATIVE + REDUNDANT => {
                    (0..INFORMATIVE).map(|k| corner[k] * mix[(k, j - INFORMATIVE)]).sum::<f64>() + NOISE * noise
                }
                _ => noise,
            };
        }
    }
    normalised(x)
}

/// The breast-cancer inputs, code number included as in LIBSVM's file, normalised: in file order for data set 0, shuffled for
/// the others.
pub(super) fn breast_cancer(k: usize, rng: &mut ChaCha8Rng) -> Result<Mat<f64>, ReproError> {
    let data = vi_data::breast_cancer_with_id().context("breast cancer")?;
    let data = if k == 0 { data } else { data.shuffled(rng) };
    Ok(normalised(data.x().to_owned()))
}

/// The rows over the root of their mean squared length, so that the trace of their second moments is 1.
fn normalised(mut x: Mat<f64>) -> Mat<f64> {
    let scale = (x.nrows() as f64).sqrt() / x.norm_l2();
    x *= scale;
    x
}

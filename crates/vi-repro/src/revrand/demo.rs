//! The regression demonstration: a draw of a Gaussian process, and models of it.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_revrand::Kernel;
use vi_revrand::basis::{LengthScale, RandomFourier};
use vi_revrand::slm::{self, Slm, SlmSettings};

use super::gp::{Gp, covariance};
use super::scores::Predicted;
use crate::error::{Doing as _, ReproError};
use crate::plot::linspace;

/// Length scale of the process.
pub(super) const LENGTH: f64 = 1.2;
/// Standard deviation of the noise.
pub(super) const NOISE: f64 = 0.1;
/// Inputs lie between minus this and this.
pub(super) const REACH: f64 = 10.0;
/// Training points.
pub(super) const TRAINING: usize = 150;
/// Test points.
pub(super) const TEST: usize = 250;

/// Labels of one draw at evenly spaced inputs.
pub(super) struct Draw {
    pub(super) x: Mat<f64>,
    pub(super) y: Vec<f64>,
    pub(super) test_x: Mat<f64>,
    pub(super) test_y: Vec<f64>,
}

/// The process' kernel.
fn rbf(a: &[f64], b: &[f64]) -> f64 {
    (-0.5 * a.iter().zip(b).map(|(a, b)| ((a - b) / LENGTH).powi(2)).sum::<f64>()).exp()
}

impl Draw {
    /// Noisy labels at the training and at the test points, from stream `k` of the seed.
    pub(super) fn new(seed: u64, k: usize) -> Result<Self, ReproError> {
        let rng = &mut generator(seed, k);
        let inputs = [linspace(-REACH, REACH, TRAINING), linspace(-REACH, REACH, TEST)];
        let all = inputs.concat();
        let x = Mat::from_fn(all.len(), 1, |i, _| all[i]);
        let factor = covariance(x.as_ref(), rbf, NOISE * NOISE)?;
        let z = Mat::from_fn(all.len(), 1, |_, _| StandardNormal.sample(rng));
        let y = factor.unwhiten(z.as_ref()).context("draw of the process")?;
        let part = |first: usize, count: usize| (0..count).map(|i| y[(first + i, 0)]).collect();
        let rows = |first: usize, count: usize| x.as_ref().subrows(first, count).to_owned();
        Ok(Self {
            x: rows(0, TRAINING),
            y: part(0, TRAINING),
            test_x: rows(TRAINING, TEST),
            test_y: part(TRAINING, TEST),
        })
    }

    /// The process itself, conditioned on the training points: no model predicts better on average.
    pub(super) fn exact(&self, at: MatRef<'_, f64>) -> Result<Predicted, ReproError> {
        Gp::new(self.x.as_ref(), &self.y, rbf, NOISE * NOISE)?.predict(at)
    }

    /// The standard linear model with `pairs` pairs of random features, everything learned.
    pub(super) fn slm(&self, pairs: usize, seed: u64, k: usize) -> Result<Slm<RandomFourier>, ReproError> {
        // Another stream than the data's.
        let rng = &mut generator(seed ^ 0x5_eed, k);
        let basis = RandomFourier::new(Kernel::Rbf, 1, pairs, LengthScale::Shared(1.0), rng)
            .context("standard linear model")?;
        let settings = SlmSettings { starts: STARTS, spread: 0.5, ..SlmSettings::default() };
        Ok(slm::learn(basis, self.x.as_ref(), &self.y, &settings, rng, Par::Seq)
            .context("standard linear model")?
            .model)
    }
}

/// Starts of each search.
pub(super) const STARTS: usize = 3;

fn generator(seed: u64, k: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(k as u64);
    rng
}

#[cfg(test)]
mod tests {
    use vi_linalg::faer::Par;

    use super::*;
    use crate::revrand::scores::median;

    /// The model comes close to the exact process with twenty pairs of features: SMSE at most 1.2 times and MSLL at most
    /// 0.12 above that of the process which the data were drawn from, medians over 20 draws.
    #[test]
    fn twenty_pairs_come_close_to_the_exact_process() {
        let (mut ratios, mut excess) = (Vec::new(), Vec::new());
        for k in 0..20 {
            let draw = Draw::new(1, k).unwrap();
            let exact = draw.exact(draw.test_x.as_ref()).unwrap().scores(&draw.test_y, &draw.y).unwrap();
            let model = draw.slm(20, 1, k).unwrap();
            let predicted: Predicted = model.predict(draw.test_x.as_ref(), Par::Seq).unwrap().into_iter().collect();
            let scores = predicted.scores(&draw.test_y, &draw.y).unwrap();
            ratios.push(scores.smse / exact.smse);
            excess.push(scores.msll - exact.msll);
        }
        assert!(median(&ratios) <= 1.2, "{ratios:?}");
        assert!(median(&excess) <= 0.12, "{excess:?}");
    }
}

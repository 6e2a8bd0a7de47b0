//! How far a mixture's draws are from exact ones, by the worst coordinate.

use vi_boost::GaussianMixture;

use super::targets::Case;

/// The distances of a fit, in deviations.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Distance {
    /// The 1-Wasserstein distance.
    pub(super) wasserstein: f64,
    /// The worst error of the quantiles at .05, .5 and .95, beyond the range of the true ones at probabilities ± .01.
    pub(super) quantile: f64,
}

/// Draws on either side: two samples of one law are some .01 apart.
const DRAWS: usize = 20_000;

/// A share of the probability left out on either side where tails have no mean, in percent.
const LEFT_OUT: usize = 1;

impl Distance {
    pub(super) fn of(case: &Case, q: &GaussianMixture) -> Self {
        let mut rng = super::rng(4242);
        let ours = q.draw(DRAWS, &mut rng);
        let exact: Vec<Vec<f64>> = (0..DRAWS).map(|_| (case.draw)(&mut rng)).collect();
        let mut worst = Self::default();
        for j in 0..q.dim() {
            let sorted = |of: &dyn Fn(usize) -> f64| {
                let mut column: Vec<f64> = (0..DRAWS).map(of).collect();
                column.sort_by(f64::total_cmp);
                column
            };
            let (a, b) = (sorted(&|i| ours[(i, j)]), sorted(&|i| exact[i][j]));
            let at = |column: &[f64], p: f64| column[index(p)];
            let mean = b.iter().sum::<f64>() / DRAWS as f64;
            let sd = (b.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / DRAWS as f64).sqrt();
            let scale = if case.heavy { 0.5 * (at(&b, 0.84) - at(&b, 0.16)) } else { sd };
            let cut = if case.heavy { DRAWS * LEFT_OUT / 100 } else { 0 };
            let gaps = a.iter().zip(&b).skip(cut).take(DRAWS - 2 * cut).map(|(a, b)| (a - b).abs());
            worst.wasserstein = worst.wasserstein.max(gaps.sum::<f64>() / DRAWS as f64 / scale);
            for p in [0.05, 0.5, 0.95] {
                let (low, high) = (at(&b, p - 0.01), at(&b, p + 0.01));
                let off = (low - at(&a, p)).max(at(&a, p) - high).max(0.0);
                worst.quantile = worst.quantile.max(off / scale);
            }
        }
        worst
    }

    pub(super) fn is_wrong(self) -> bool {
        self.wasserstein > 0.15 || self.quantile > 0.15
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and the number of draws")]
fn index(p: f64) -> usize {
    ((p * DRAWS as f64) as usize).min(DRAWS - 1)
}

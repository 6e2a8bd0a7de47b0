//! The marginal 1-Wasserstein distance to the reference draws.

use vi_linalg::faer::MatRef;

use super::Case;

/// The distance between draws and reference, over the reference's standard deviations, of the parameters' margins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wasserstein {
    /// Of the worst parameter.
    pub worst: f64,
    /// Averaged over the parameters.
    pub mean: f64,
}

/// The mean absolute difference between the quantiles of each column of `draws` (`n × p`) and the reference's at the same levels.
#[must_use]
pub fn wasserstein(case: &Case, draws: MatRef<'_, f64>) -> Wasserstein {
    let (n, p) = (draws.nrows(), case.quantiles.len());
    let (mut worst, mut sum) = (0.0_f64, 0.0);
    for (j, quantiles) in case.quantiles.iter().enumerate() {
        let mut column: Vec<f64> = draws.col(j).iter().copied().collect();
        column.sort_by(f64::total_cmp);
        let levels = quantiles.len();
        let apart: f64 = quantiles
            .iter()
            .enumerate()
            .map(|(k, q)| (column[((2 * k + 1) * n / (2 * levels)).min(n - 1)] - q).abs())
            .sum();
        let distance = apart / levels as f64 / case.sd[j];
        // A NaN is as far as can be.
        worst = if distance.is_nan() { f64::INFINITY } else { worst.max(distance) };
        sum += distance;
    }
    Wasserstein { worst, mean: sum / p as f64 }
}

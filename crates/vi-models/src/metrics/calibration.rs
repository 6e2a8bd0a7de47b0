//! Calibration: whether what was given a probability of 70 % happened seven times in ten.

use vi_core::Error;

use crate::{Interval, ModelError, check};

/// How probabilities are grouped; each variant holds the number of bins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Binning {
    /// `[0, 1]` is cut into equal lengths, the last closed above. Empty bins are left out.
    EqualWidth(u32),
    /// Sorted probabilities are cut into equal counts. Equal probabilities share a bin, so that the order of the observations
    /// does not matter; there may then be fewer bins.
    EqualMass(u32),
}

/// One group of predictions with similar probabilities.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CalibrationBin {
    /// The bin's ends (equal width), or its smallest and largest probability (equal mass).
    pub range: Interval,
    /// The number of predictions in it, at least 1.
    pub count: usize,
    /// The mean of their probabilities.
    pub mean_predicted: f64,
    /// The share of label 1 among them.
    pub observed_frequency: f64,
    /// Wilson's interval of that share.
    pub interval: Interval,
}

/// The calibration (reliability) curve: predicted probabilities against observed frequencies, bin by bin.
///
/// Bins come in increasing order. `level` is that of Wilson's intervals, for instance 0.95. Cost `O(n log n)`.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`, `Dimension`, or `Setting` (no bins, `level` outside `(0, 1)`);
/// [`ModelError::Probability`], [`ModelError::BinaryLabel`].
///
/// ```
/// use vi_models::metrics::{Binning, calibration_curve};
/// let p = [0.1, 0.15, 0.8, 0.9];
/// let y = [0.0, 0.0, 0.0, 1.0];
/// let bins = calibration_curve(&p, &y, Binning::EqualWidth(2), 0.95)?;
/// assert_eq!((bins[0].count, bins[0].mean_predicted, bins[0].observed_frequency), (2, 0.125, 0.0));
/// assert_eq!((bins[1].count, bins[1].observed_frequency), (2, 0.5));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn calibration_curve(
    probabilities: &[f64],
    labels: &[f64],
    binning: Binning,
    level: f64,
) -> Result<Vec<CalibrationBin>, ModelError> {
    check::probabilities(probabilities, labels)?;
    check::probability("level", level)?;
    let (Binning::EqualWidth(bins) | Binning::EqualMass(bins)) = binning;
    if bins == 0 {
        return Err(Error::Setting { name: "bins", value: 0.0, requirement: "at least 1" }.into());
    }
    let mut order: Vec<(f64, f64)> = probabilities.iter().map(|p| p.min(1.0)).zip(labels.iter().copied()).collect();
    order.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    match binning {
        Binning::EqualWidth(bins) => equal_width(&order, bins, level),
        Binning::EqualMass(bins) => equal_mass(&order, bins, level),
    }
}

fn equal_width(order: &[(f64, f64)], bins: u32, level: f64) -> Result<Vec<CalibrationBin>, ModelError> {
    let edge = |bin: u32| f64::from(bin) / f64::from(bins);
    let mut curve = Vec::new();
    let mut rest = order;
    while let Some(&(first, _)) = rest.first() {
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // 0 ≤ p·bins ≤ bins
        let mut bin = ((first * f64::from(bins)) as u32).min(bins - 1);
        // The product may round across an edge that the quotient puts elsewhere.
        if edge(bin) > first {
            bin -= 1;
        } else if bin + 1 < bins && edge(bin + 1) <= first {
            bin += 1;
        }
        let count = if bin + 1 == bins { rest.len() } else { rest.partition_point(|(p, _)| *p < edge(bin + 1)) };
        let (group, after) = rest.split_at(count);
        curve.push(summarise(group, Interval { lower: edge(bin), upper: edge(bin + 1) }, level)?);
        rest = after;
    }
    Ok(curve)
}

fn equal_mass(order: &[(f64, f64)], bins: u32, level: f64) -> Result<Vec<CalibrationBin>, ModelError> {
    let n = order.len();
    let bins = usize::try_from(bins).map_or(n, |bins| bins.min(n));
    let mut curve = Vec::new();
    let mut start = 0;
    for bin in 1..=bins {
        let mut end = (bin * n / bins).max(start);
        while end > start && end < n && order[end].0 == order[end - 1].0 {
            end += 1;
        }
        if end > start {
            let group = &order[start..end];
            let range = Interval { lower: group[0].0, upper: group[group.len() - 1].0 };
            curve.push(summarise(group, range, level)?);
            start = end;
        }
    }
    Ok(curve)
}

fn summarise(group: &[(f64, f64)], range: Interval, level: f64) -> Result<CalibrationBin, ModelError> {
    let count = group.len();
    let ones = group.iter().filter(|(_, label)| *label == 1.0).count();
    let total: f64 = group.iter().map(|(p, _)| p).sum();
    Ok(CalibrationBin {
        range,
        count,
        mean_predicted: total / count as f64,
        observed_frequency: ones as f64 / count as f64,
        interval: Interval::wilson(ones, count, level)?,
    })
}

/// The expected calibration error: the mean over observations of `|predicted − observed|` of their bins (Naeini, Cooper and
/// Hauskrecht 2015). It depends on the binning, and for calibrated forecasts is not 0 but of the order of `√(bins/n)`.
///
/// # Errors
/// As [`calibration_curve`].
///
/// ```
/// use vi_models::metrics::{Binning, expected_calibration_error};
/// let error = expected_calibration_error(&[0.2, 0.2, 0.9, 0.9], &[0.0, 0.0, 1.0, 1.0], Binning::EqualWidth(10))?;
/// assert!((error - 0.15).abs() < 1e-15);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn expected_calibration_error(probabilities: &[f64], labels: &[f64], binning: Binning) -> Result<f64, ModelError> {
    // The level serves the intervals only, which are not used here.
    let curve = calibration_curve(probabilities, labels, binning, 0.5)?;
    let total: f64 =
        curve.iter().map(|bin| bin.count as f64 * (bin.mean_predicted - bin.observed_frequency).abs()).sum();
    Ok(total / probabilities.len() as f64)
}

#[cfg(test)]
mod tests {
    use rand::RngExt;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    /// Honest forecasts: each label is 1 with exactly the probability stated.
    fn honest(n: usize) -> (Vec<f64>, Vec<f64>) {
        let mut rng = ChaCha8Rng::seed_from_u64(11);
        (0..n)
            .map(|_| {
                let p: f64 = rng.random();
                (p, f64::from(u8::from(rng.random::<f64>() < p)))
            })
            .unzip()
    }

    #[test]
    fn every_observation_is_in_the_bin_whose_ends_hold_it() {
        for bins in 1..=60 {
            // Edges and their neighbours, where p·bins rounds to the other side.
            let p: Vec<f64> = (0..=bins)
                .map(|k| f64::from(k) / f64::from(bins))
                .flat_map(|edge| [edge, edge.next_down().max(0.0), edge.next_up().min(1.0)])
                .collect();
            let curve = calibration_curve(&p, &vec![0.0; p.len()], Binning::EqualWidth(bins), 0.95).unwrap();
            assert_eq!(curve.iter().map(|bin| bin.count).sum::<usize>(), p.len());
            for bin in &curve {
                let Interval { lower, upper } = bin.range;
                let held = p.iter().filter(|&&p| p >= lower && (p < upper || upper == 1.0)).count();
                assert_eq!(held, bin.count, "{bin:?}");
            }
            // Alone, with no neighbour to open its bin.
            for p in p {
                let Interval { lower, upper } =
                    calibration_curve(&[p], &[0.0], Binning::EqualWidth(bins), 0.95).unwrap()[0].range;
                assert!(p >= lower && (p < upper || upper == 1.0), "{p} of {bins} bins");
            }
        }
    }

    #[test]
    fn equal_mass_bins_have_equal_counts_and_keep_ties_together() {
        let p: Vec<f64> = (0..12).map(|i| f64::from(i) / 12.0).collect();
        let y = [0.0; 12];
        let counts = |p: &[f64], bins: u32| -> Vec<usize> {
            calibration_curve(p, &y, Binning::EqualMass(bins), 0.9).unwrap().iter().map(|bin| bin.count).collect()
        };
        assert_eq!(counts(&p, 4), [3, 3, 3, 3]);
        assert_eq!(counts(&p, 5), [2, 2, 3, 2, 3]);
        assert_eq!(counts(&p, 100), [1; 12]);
        assert_eq!(counts(&[0.25; 12], 4), [12]);
        let mut tied = p;
        tied[2..7].fill(0.3);
        assert_eq!(counts(&tied, 4), [7, 2, 3]);
    }

    #[test]
    fn honest_forecasts_are_calibrated_and_shifted_ones_are_not() {
        let n = 20_000;
        let (p, y) = honest(n);
        for binning in [Binning::EqualWidth(10), Binning::EqualMass(10)] {
            for bin in calibration_curve(&p, &y, binning, 0.95).unwrap() {
                // Standard error of a frequency, at most ½/√count, six times.
                let tolerance = 6.0 * 0.5 / (bin.count as f64).sqrt();
                assert!((bin.mean_predicted - bin.observed_frequency).abs() < tolerance, "{bin:?}");
                assert!(bin.interval.contains(bin.observed_frequency));
            }
            let honest_error = expected_calibration_error(&p, &y, binning).unwrap();
            assert!(honest_error < 6.0 * 0.5 * (10.0 / n as f64).sqrt());
            let halved: Vec<f64> = p.iter().map(|p| 0.5 * p).collect();
            // E|p/2 − p| = ¼.
            let error = expected_calibration_error(&halved, &y, binning).unwrap();
            assert!((error - 0.25).abs() < 6.0 / (n as f64).sqrt(), "{error}");
        }
    }

    #[test]
    fn the_order_of_observations_does_not_matter() {
        let (p, y) = honest(500);
        let coarse: Vec<f64> = p.iter().map(|p| (p * 8.0).round() / 8.0).collect();
        let reverse = |v: &[f64]| v.iter().rev().copied().collect::<Vec<f64>>();
        for binning in [Binning::EqualWidth(7), Binning::EqualMass(7)] {
            let forwards = calibration_curve(&coarse, &y, binning, 0.9).unwrap();
            assert_eq!(forwards, calibration_curve(&reverse(&coarse), &reverse(&y), binning, 0.9).unwrap());
        }
    }

    #[test]
    fn bad_input_is_named() {
        let none = calibration_curve(&[0.5], &[1.0], Binning::EqualMass(0), 0.9).unwrap_err();
        assert!(matches!(none, ModelError::Core(Error::Setting { name: "bins", .. })));
        assert!(calibration_curve(&[0.5], &[1.0], Binning::EqualWidth(3), 1.0).is_err());
        assert!(calibration_curve(&[0.5], &[2.0], Binning::EqualWidth(3), 0.9).is_err());
        assert!(expected_calibration_error(&[f64::NAN], &[1.0], Binning::EqualWidth(3)).is_err());
        assert!(expected_calibration_error(&[], &[], Binning::EqualWidth(3)).is_err());
    }
}

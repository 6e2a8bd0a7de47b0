//! Coverage: how often intervals hold the truth.

use vi_core::Error;

use crate::{Interval, ModelError, check};

/// The negative log predictive density, the mean of `−log p(yᵢ)`, in nats per observation. It is for densities what
/// [`log_loss_from_log`](super::log_loss_from_log) is for probabilities, but may be negative.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`, or `NonFinite` for NaN or `+∞`; `−∞`, an outcome predicted to be impossible, makes the mean
/// infinite.
///
/// ```
/// use vi_models::metrics::nlpd;
/// assert_eq!(nlpd(&[1.5, -0.5])?, -0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn nlpd(log_densities: &[f64]) -> Result<f64, ModelError> {
    if log_densities.is_empty() {
        return Err(Error::Empty { argument: "log_densities" }.into());
    }
    if let Some(index) = log_densities.iter().position(|log| log.is_nan() || *log == f64::INFINITY) {
        return Err(Error::NonFinite { argument: "log_densities", index, value: log_densities[index] }.into());
    }
    Ok(-log_densities.iter().sum::<f64>() / log_densities.len() as f64)
}

/// The share of `targets` that lie in their intervals, ends included.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`, `Dimension` or `NonFinite` (in `targets`).
///
/// ```
/// use vi_models::{Interval, metrics::coverage};
/// let intervals = [Interval { lower: 0.0, upper: 1.0 }, Interval { lower: 2.0, upper: 3.0 }];
/// assert_eq!(coverage(&intervals, &[0.5, 1.5])?, 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn coverage(intervals: &[Interval], targets: &[f64]) -> Result<f64, ModelError> {
    check::values("targets", targets)?;
    check::length("intervals", targets.len(), intervals.len())?;
    let held = intervals.iter().zip(targets).filter(|(interval, target)| interval.contains(**target)).count();
    Ok(held as f64 / targets.len() as f64)
}

/// The coverage of intervals of one level.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct CoverageAt {
    /// The nominal level of each interval.
    pub level: f64,
    /// The share of targets held.
    pub observed: f64,
    /// Wilson's interval of that share, of level 0.95: for intervals that hold what they promise it contains `level` 19 times of
    /// 20.
    pub interval: Interval,
    /// The mean width of the intervals: of two methods with equal coverage, the one with narrower intervals says more.
    pub mean_width: f64,
}

/// Observed against nominal coverage at each of `levels`: the curve of a coverage plot.
///
/// `interval(i, level)` is the interval of that level for target `i`, as predictions make them.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` (targets or levels), `NonFinite`, or `Setting` for a level outside `(0, 1)`; and what
/// `interval` returns.
///
/// ```
/// use vi_models::{Interval, metrics::coverage_curve};
/// let targets = [-1.0, 0.2, 0.4, 2.5];
/// let curve = coverage_curve(&targets, &[0.5, 0.9], |_, level| Interval::gaussian(0.0, 1.0, level))?;
/// assert_eq!((curve[0].observed, curve[1].observed), (0.5, 0.75));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn coverage_curve(
    targets: &[f64],
    levels: &[f64],
    mut interval: impl FnMut(usize, f64) -> Result<Interval, ModelError>,
) -> Result<Vec<CoverageAt>, ModelError> {
    check::values("targets", targets)?;
    if levels.is_empty() {
        return Err(Error::Empty { argument: "levels" }.into());
    }
    levels
        .iter()
        .map(|&level| {
            check::probability("level", level)?;
            let (mut held, mut width) = (0, 0.0);
            for (i, &target) in targets.iter().enumerate() {
                let interval = interval(i, level)?;
                held += usize::from(interval.contains(target));
                width += interval.upper - interval.lower;
            }
            Ok(CoverageAt {
                level,
                observed: held as f64 / targets.len() as f64,
                interval: Interval::wilson(held, targets.len(), 0.95)?,
                mean_width: width / targets.len() as f64,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use rand_distr::StandardNormal;

    use super::*;

    #[test]
    fn honest_intervals_cover_at_every_level_and_narrow_ones_do_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let targets: Vec<f64> = (0..5000).map(|_| 2.0 * rng.sample::<f64, _>(StandardNormal)).collect();
        let levels = [0.1, 0.5, 0.8, 0.9, 0.99];
        let honest = coverage_curve(&targets, &levels, |_, level| Interval::gaussian(0.0, 4.0, level)).unwrap();
        let narrow = coverage_curve(&targets, &levels, |_, level| Interval::gaussian(0.0, 2.0, level)).unwrap();
        for (honest, narrow) in honest.iter().zip(&narrow) {
            // 6 standard errors.
            let error = 6.0 * (honest.level * (1.0 - honest.level) / 5000.0).sqrt();
            assert!((honest.observed - honest.level).abs() < error, "{honest:?}");
            assert!(narrow.observed < honest.observed && narrow.mean_width < honest.mean_width);
            assert!(honest.interval.contains(honest.observed));
        }
        assert!(!narrow[3].interval.contains(0.9));
    }

    #[test]
    fn bad_input_is_named() {
        let unit = Interval { lower: 0.0, upper: 1.0 };
        assert!(coverage(&[unit], &[]).is_err() && coverage(&[unit], &[0.0, 1.0]).is_err());
        assert!(coverage(&[unit], &[f64::NAN]).is_err());
        assert!(coverage_curve(&[0.0], &[], |_, _| Ok(unit)).is_err());
        assert!(coverage_curve(&[0.0], &[1.0], |_, _| Ok(unit)).is_err());
        assert!(coverage_curve(&[0.0], &[0.5], |_, level| Interval::gaussian(0.0, -level, 0.5)).is_err());
        assert!(nlpd(&[]).is_err() && nlpd(&[0.0, f64::NAN]).is_err() && nlpd(&[f64::INFINITY]).is_err());
        assert_eq!(nlpd(&[f64::NEG_INFINITY, 0.0]), Ok(f64::INFINITY));
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_input_is_named() {
        let unit = Interval { lower: 0.0, upper: 1.0 };
        assert!(coverage(&[unit], &[]).is_err() && coverage(&[unit], &[0.0, 1.0]).is_err());
        assert!(coverage(&[unit], &[f64::NAN]).is_err());
        assert!(nlpd(&[]).is_err() && nlpd(&[0.0, f64::NAN]).is_err() && nlpd(&[f64::INFINITY]).is_err());
        assert_eq!(nlpd(&[f64::NEG_INFINITY, 0.0]), Ok(f64::INFINITY));
    }
}

//! Scores that are averages over observations.

use crate::{ModelError, check};

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len();
    values.sum::<f64>() / n as f64
}

/// The log loss `−log p(yᵢ)` of each observation, in nats: `−log pᵢ` for label 1, `−log(1−pᵢ)` for label 0. Infinite if an
/// outcome was predicted to be impossible.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` or `Dimension`, [`ModelError::Probability`], [`ModelError::BinaryLabel`].
pub fn log_losses(probabilities: &[f64], labels: &[f64]) -> Result<Vec<f64>, ModelError> {
    check::probabilities(probabilities, labels)?;
    Ok(probabilities.iter().zip(labels).map(|(&p, &y)| log_loss_of(p.min(1.0), y)).collect())
}

fn log_loss_of(p: f64, y: f64) -> f64 {
    // 0 − log 1, not −log 1: no loss is +0.
    0.0 - if y == 1.0 { p.ln() } else { (-p).ln_1p() }
}

/// The mean log loss (cross-entropy), in nats per observation.
///
/// A probability near 1 keeps no digits of `1 − p`: if losses are small, or probabilities below 1e-300 occur, pass logarithms to
/// [`log_loss_from_log`].
///
/// # Errors
/// As [`log_losses`].
///
/// ```
/// use vi_models::metrics::log_loss;
/// let loss = log_loss(&[0.5, 0.25, 1.0], &[1.0, 0.0, 1.0])?;
/// assert!((loss - (f64::ln(2.0) - f64::ln(0.75)) / 3.0).abs() < 1e-15);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn log_loss(probabilities: &[f64], labels: &[f64]) -> Result<f64, ModelError> {
    Ok(mean(log_losses(probabilities, labels)?.into_iter()))
}

/// The mean log loss from the logarithms of the probabilities of *what happened*, as
/// [`log_predictive`](vi_core::GaussianExpectation::log_predictive) gives them: no probability is too small.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`; [`ModelError::LogProbability`] for NaN or a logarithm above 0 by more than rounding.
///
/// ```
/// use vi_models::metrics::log_loss_from_log;
/// assert_eq!(log_loss_from_log(&[-1000.0, 0.0])?, 500.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn log_loss_from_log(log_probabilities: &[f64]) -> Result<f64, ModelError> {
    check::log_probabilities(log_probabilities)?;
    Ok(mean(log_probabilities.iter().map(|log| 0.0 - log.min(0.0))))
}

/// Brier's score, the mean of `(pᵢ − yᵢ)²` (Brier 1950).
///
/// # Errors
/// As [`log_losses`].
///
/// ```
/// use vi_models::metrics::brier_score;
/// assert_eq!(brier_score(&[0.5, 1.0], &[1.0, 1.0])?, 0.125);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn brier_score(probabilities: &[f64], labels: &[f64]) -> Result<f64, ModelError> {
    check::probabilities(probabilities, labels)?;
    Ok(mean(probabilities.iter().zip(labels).map(|(p, y)| (p - y) * (p - y))))
}

/// The share of labels that are the more probable class. A probability of exactly ½ counts ½, so that swapping the classes
/// changes nothing.
///
/// # Errors
/// As [`log_losses`].
///
/// ```
/// use vi_models::metrics::accuracy;
/// assert_eq!(accuracy(&[0.9, 0.2, 0.6, 0.5], &[1.0, 0.0, 0.0, 1.0])?, 0.625);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn accuracy(probabilities: &[f64], labels: &[f64]) -> Result<f64, ModelError> {
    check::probabilities(probabilities, labels)?;
    Ok(mean(
        probabilities.iter().zip(labels).map(
            |(&p, &y)| {
                if p == 0.5 { 0.5 } else { f64::from(u8::from((p > 0.5) == (y == 1.0))) }
            },
        ),
    ))
}

/// The root mean squared error of `predictions` of `targets`, in their unit.
///
/// # Errors
/// [`ModelError::Core`] with `Empty`, `Dimension` or `NonFinite`.
///
/// ```
/// use vi_models::metrics::rmse;
/// assert_eq!(rmse(&[1.0, 2.0], &[4.0, -2.0])?, f64::sqrt(12.5));
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn rmse(predictions: &[f64], targets: &[f64]) -> Result<f64, ModelError> {
    check::values("predictions", predictions)?;
    check::length("targets", predictions.len(), targets.len())?;
    check::values("targets", targets)?;
    Ok(mean(predictions.iter().zip(targets).map(|(p, t)| (p - t) * (p - t))).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [f64; 6] = [0.1, 0.9, 0.35, 0.5, 0.999, 0.2];
    const Y: [f64; 6] = [0.0, 1.0, 1.0, 0.0, 1.0, 0.0];

    #[test]
    fn certainty_is_free_when_right_and_infinite_when_wrong() {
        assert_eq!(
            log_losses(&[0.0, 1.0, 1.0, 0.0], &[0.0, 1.0, 0.0, 1.0]).unwrap(),
            [0.0, 0.0, f64::INFINITY, f64::INFINITY]
        );
        assert!(log_losses(&[0.0], &[0.0]).unwrap()[0].is_sign_positive());
        assert_eq!(brier_score(&[0.0, 1.0], &[0.0, 1.0]).unwrap(), 0.0);
        assert_eq!(accuracy(&[0.0, 1.0], &[0.0, 1.0]).unwrap(), 1.0);
        assert_eq!(log_loss_from_log(&[f64::NEG_INFINITY]).unwrap(), f64::INFINITY);
    }

    #[test]
    fn swapping_the_classes_changes_nothing() {
        let p: Vec<f64> = P.iter().map(|p| 1.0 - p).collect();
        let y: Vec<f64> = Y.iter().map(|y| 1.0 - y).collect();
        // 1 − p rounds by ε/2, which log(p) near 0.999 → 0.001 enlarges a thousandfold.
        assert!((log_loss(&P, &Y).unwrap() - log_loss(&p, &y).unwrap()).abs() < 1e3 * f64::EPSILON);
        assert!((brier_score(&P, &Y).unwrap() - brier_score(&p, &y).unwrap()).abs() < 4.0 * f64::EPSILON);
        assert_eq!(accuracy(&P, &Y), accuracy(&p, &y));
    }

    #[test]
    fn logarithms_give_the_same_loss() {
        let logs: Vec<f64> = P.iter().zip(&Y).map(|(&p, &y)| if y == 1.0 { p.ln() } else { (1.0 - p).ln() }).collect();
        let difference = log_loss(&P, &Y).unwrap() - log_loss_from_log(&logs).unwrap();
        assert!(difference.abs() < 8.0 * f64::EPSILON);
    }

    #[test]
    fn truth_beats_every_other_constant_forecast() {
        // Proper scores: with 3 of 10 ones, p = 0.3 is the best constant.
        let labels: Vec<f64> = (0..10).map(|i| f64::from(u8::from(i < 3))).collect();
        let best = (log_loss(&[0.3; 10], &labels).unwrap(), brier_score(&[0.3; 10], &labels).unwrap());
        for p in [0.0, 0.1, 0.29, 0.31, 0.5, 1.0] {
            assert!(log_loss(&[p; 10], &labels).unwrap() > best.0);
            assert!(brier_score(&[p; 10], &labels).unwrap() > best.1);
        }
    }

    #[test]
    fn bad_input_is_named() {
        let core = |error: vi_core::Error| ModelError::Core(error);
        assert_eq!(log_loss(&[], &[]), Err(core(vi_core::Error::Empty { argument: "probabilities" })));
        let dimension = vi_core::Error::Dimension { argument: "labels", expected: 2, found: 1 };
        assert_eq!(accuracy(&[0.5, 0.5], &[1.0]), Err(core(dimension)));
        assert!(matches!(log_losses(&[0.5, f64::NAN], &[1.0, 1.0]), Err(ModelError::Probability { index: 1, .. })));
        assert!(matches!(brier_score(&[-1e-300], &[1.0]), Err(ModelError::Probability { index: 0, .. })));
        assert!(matches!(brier_score(&[1.0 + 1e-12], &[1.0]), Err(ModelError::Probability { .. })));
        assert!(matches!(log_loss(&[0.5], &[0.5]), Err(ModelError::BinaryLabel { index: 0, value: 0.5 })));
        assert!(matches!(log_loss(&[0.5], &[f64::NAN]), Err(ModelError::BinaryLabel { .. })));
        assert!(matches!(log_loss_from_log(&[-1.0, 0.1]), Err(ModelError::LogProbability { index: 1, .. })));
        assert!(matches!(log_loss_from_log(&[f64::NAN]), Err(ModelError::LogProbability { .. })));
        assert!(log_loss_from_log(&[]).is_err());
        assert!(rmse(&[], &[]).is_err());
        assert!(rmse(&[1.0], &[1.0, 2.0]).is_err());
        assert!(rmse(&[1.0], &[f64::INFINITY]).is_err());
        // Sums of weights exceed 1 by rounding: that is certainty.
        assert_eq!(log_loss(&[1.0 + 4.0 * f64::EPSILON], &[1.0]), Ok(0.0));
    }
}

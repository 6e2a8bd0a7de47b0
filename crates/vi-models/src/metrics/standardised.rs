//! Scores of numbers, and of Gaussian predictions of them, against the training targets' mean and variance.

use vi_core::Error;
use vi_core::special::LN_2PI;

use crate::{ModelError, check};

/// Mean and population variance.
fn moments(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / n)
}

/// The moments of numbers that must not all be equal.
fn varied(argument: &'static str, values: &[f64]) -> Result<(f64, f64), ModelError> {
    let (mean, variance) = moments(values);
    if variance > 0.0 { Ok((mean, variance)) } else { Err(ModelError::Constant { argument, value: values[0] }) }
}

fn check_pairs(predictions: &[f64], targets: &[f64]) -> Result<(), ModelError> {
    check::values("predictions", predictions)?;
    check::length("targets", predictions.len(), targets.len())?;
    Ok(check::finite("targets", targets)?)
}

/// The value, if it is finite.
fn finite(quantity: &'static str, value: f64) -> Result<f64, ModelError> {
    if value.is_finite() { Ok(value) } else { Err(Error::Overflow { quantity, value }.into()) }
}

/// The standardised mean squared error, `Σ(yᵢ − ŷᵢ)²/Σ(yᵢ − ȳ)²` (Rasmussen and Williams 2006, §2.5); 1 for the mean.
///
/// # Errors
/// `Empty`, `Dimension`, `NonFinite`, [`ModelError::Constant`] (all targets equal), `Overflow`.
///
/// ```
/// use vi_models::metrics::smse;
/// assert_eq!(smse(&[1.0, 2.0, 4.0], &[1.0, 2.0, 3.0])?, 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn smse(predictions: &[f64], targets: &[f64]) -> Result<f64, ModelError> {
    check_pairs(predictions, targets)?;
    let (_, variance) = varied("targets", targets)?;
    let squared = predictions.iter().zip(targets).map(|(p, t)| (p - t) * (p - t)).sum::<f64>();
    finite("the standardised error", squared / targets.len() as f64 / variance)
}

/// The mean log loss of Gaussian predictions, `½ mean[log 2πvᵢ + (yᵢ − ŷᵢ)²/vᵢ]`, in nats; `variances` are those of `y`,
/// noise included.
///
/// # Errors
/// `Empty`, `Dimension`, `NonFinite`, `Entry` (a variance that is not positive), `Overflow`.
///
/// ```
/// use vi_models::metrics::mll;
/// let loss = mll(&[1.0], &[4.0], &[3.0])?;
/// assert!((loss - 0.5 * (std::f64::consts::TAU.ln() + 4_f64.ln() + 1.0)).abs() < 1e-15);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn mll(means: &[f64], variances: &[f64], targets: &[f64]) -> Result<f64, ModelError> {
    check_pairs(means, targets)?;
    check::length("variances", means.len(), variances.len())?;
    check::positive_entries("variances", variances)?;
    let loss = |((m, v), t): ((&f64, &f64), &f64)| 0.5 * (LN_2PI + v.ln() + (t - m) * (t - m) / v);
    let sum: f64 = means.iter().zip(variances).zip(targets).map(loss).sum();
    finite("the log loss", sum / means.len() as f64)
}

/// The mean standardised log loss: [`mll`] less that of `N(ȳ, s²)` with mean and variance of the training targets
/// (Rasmussen and Williams 2006, §2.5). 0 for that trivial model, negative for better ones.
///
/// # Errors
/// Those of [`mll`], and [`ModelError::Constant`] if the training targets are all equal.
///
/// ```
/// use vi_models::metrics::msll;
/// assert_eq!(msll(&[2.0; 2], &[1.0; 2], &[0.5, 4.0], &[1.0, 3.0])?, 0.0);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn msll(means: &[f64], variances: &[f64], targets: &[f64], training: &[f64]) -> Result<f64, ModelError> {
    let loss = mll(means, variances, targets)?;
    check::values("training targets", training)?;
    let (mean, variance) = varied("training targets", training)?;
    let n = targets.len();
    Ok(loss - mll(&vec![mean; n], &vec![variance; n], targets)?)
}

/// Lin's concordance correlation coefficient, `2·cov(ŷ, y)/(var ŷ + var y + (mean ŷ − mean y)²)` (Lin 1989).
///
/// # Errors
/// `Empty`, `Dimension`, `NonFinite`, [`ModelError::Constant`] (predictions and targets all one number), `Overflow`.
///
/// ```
/// use vi_models::metrics::lins_concordance;
/// assert_eq!(lins_concordance(&[1.0, 2.0], &[1.0, 2.0])?, 1.0);
/// assert!(lins_concordance(&[2.0, 3.0], &[1.0, 2.0])? < 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn lins_concordance(predictions: &[f64], targets: &[f64]) -> Result<f64, ModelError> {
    check_pairs(predictions, targets)?;
    let (p_mean, p_variance) = moments(predictions);
    let (t_mean, t_variance) = moments(targets);
    let spread = p_variance + t_variance + (p_mean - t_mean) * (p_mean - t_mean);
    if spread == 0.0 {
        return Err(ModelError::Constant { argument: "predictions and targets", value: targets[0] });
    }
    let products = predictions.iter().zip(targets).map(|(p, t)| (p - p_mean) * (t - t_mean)).sum::<f64>();
    finite("the concordance", 2.0 * products / targets.len() as f64 / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    const P: [f64; 4] = [0.3, -1.2, 2.0, 0.7];
    const T: [f64; 4] = [0.5, -1.0, 1.4, 0.9];

    #[test]
    fn the_mean_and_the_trivial_model_are_the_measure() {
        let (mean, variance) = moments(&T);
        assert!((smse(&[mean; 4], &T).unwrap() - 1.0).abs() < 4.0 * f64::EPSILON);
        assert_eq!(msll(&[mean; 4], &[variance; 4], &T, &T).unwrap(), 0.0);
        // The expected loss of the fitted Gaussian is its entropy.
        let entropy = 0.5 * (LN_2PI + variance.ln() + 1.0);
        assert!((mll(&[mean; 4], &[variance; 4], &T).unwrap() - entropy).abs() < 8.0 * f64::EPSILON);
        assert_eq!((smse(&T, &T).unwrap(), lins_concordance(&T, &T).unwrap()), (0.0, 1.0));
    }

    #[test]
    fn units_do_not_matter() {
        let scaled = |values: &[f64]| -> Vec<f64> { values.iter().map(|v| 1024.0 * v).collect() };
        assert_eq!(smse(&scaled(&P), &scaled(&T)), smse(&P, &T));
        assert_eq!(lins_concordance(&scaled(&P), &scaled(&T)), lins_concordance(&P, &T));
        let v = [0.2, 0.4, 0.1, 0.3];
        let squared: Vec<f64> = v.iter().map(|v| 1024.0 * 1024.0 * v).collect();
        let difference = msll(&scaled(&P), &squared, &scaled(&T), &scaled(&T)).unwrap() - msll(&P, &v, &T, &T).unwrap();
        assert!(difference.abs() < 64.0 * f64::EPSILON);
    }

    #[test]
    fn concordance_is_symmetric_and_its_sign_that_of_the_correlation() {
        assert_eq!(lins_concordance(&P, &T), lins_concordance(&T, &P));
        let minus: Vec<f64> = P.iter().map(|p| -p).collect();
        assert!(lins_concordance(&P, &T).unwrap() > 0.9);
        assert!(lins_concordance(&minus, &T).unwrap() < 0.0);
        assert_eq!(lins_concordance(&[1.0; 4], &T).unwrap(), 0.0);
    }

    #[test]
    fn bad_input_is_named() {
        assert!(matches!(smse(&[], &[]), Err(ModelError::Core(Error::Empty { argument: "predictions" }))));
        assert!(smse(&P, &T[1..]).is_err());
        assert!(matches!(smse(&P, &[2.0; 4]), Err(ModelError::Constant { argument: "targets", value: 2.0 })));
        assert!(smse(&[f64::NAN; 4], &T).is_err());
        assert!(smse(&[1e200; 4], &T).is_err());
        assert!(matches!(mll(&P, &[1.0, 1.0, 0.0, 1.0], &T), Err(ModelError::Core(Error::Entry { index: 2, .. }))));
        assert!(mll(&P, &[1.0; 3], &T).is_err());
        assert!(mll(&P, &[1e-300; 4], &[1e200; 4]).is_err());
        assert!(msll(&P, &[1.0; 4], &T, &[]).is_err());
        assert!(msll(&P, &[1.0; 4], &T, &[3.0, 3.0]).is_err());
        assert!(lins_concordance(&[1.0; 2], &[1.0; 2]).is_err());
    }
}

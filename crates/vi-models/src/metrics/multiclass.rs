//! Scores of probabilities of several classes.
//!
//! Probabilities are an `n × C` matrix, each row summing to 1; labels are 0, …, C−1.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use super::calibration::{Binning, expected_calibration_error};
use crate::{ModelError, check};

/// How far from 1 a row's probabilities may sum.
const ROUNDING: f64 = 1e-8;

/// Checks probabilities and labels; returns the labels as positions.
fn checked(probabilities: MatRef<'_, f64>, labels: &[f64]) -> Result<Vec<usize>, ModelError> {
    let (n, classes) = probabilities.shape();
    if n == 0 || classes == 0 {
        return Err(Error::Empty { argument: "probabilities" }.into());
    }
    check::length("labels", n, labels.len())?;
    let mut positions = Vec::with_capacity(n);
    for (i, &label) in labels.iter().enumerate() {
        let mut total = 0.0;
        for (c, &p) in probabilities.row(i).iter().enumerate() {
            if !(0.0..=1.0 + ROUNDING).contains(&p) {
                return Err(ModelError::Probability { index: c * n + i, value: p });
            }
            total += p;
        }
        if (total - 1.0).abs() > ROUNDING {
            return Err(ModelError::ProbabilitySum { row: i, sum: total });
        }
        let position = (0..classes).find(|&c| c as f64 == label);
        positions.push(position.ok_or(ModelError::ClassLabel { index: i, value: label, classes })?);
    }
    Ok(positions)
}

/// The mean log loss of several classes, `−log pᵢ(yᵢ)`, in nats per observation; infinite if an outcome was predicted to be
/// impossible.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` or `Dimension`; [`ModelError::Probability`] for an entry outside `[0, 1]` (its position by
/// columns), [`ModelError::ProbabilitySum`] for a row that does not sum to 1 within 1e-8, [`ModelError::ClassLabel`].
///
/// ```
/// use vi_linalg::faer::mat;
/// use vi_models::metrics::multiclass_log_loss;
/// let p = mat![[0.5, 0.25, 0.25], [0.0, 1.0, 0.0]];
/// assert!((multiclass_log_loss(p.as_ref(), &[2.0, 1.0])? - 0.5 * f64::ln(4.0)).abs() < 1e-15);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn multiclass_log_loss(probabilities: MatRef<'_, f64>, labels: &[f64]) -> Result<f64, ModelError> {
    let positions = checked(probabilities, labels)?;
    // 0 − log 1, not −log 1: no loss is +0.
    let total: f64 = positions.iter().enumerate().map(|(i, &c)| 0.0 - probabilities[(i, c)].min(1.0).ln()).sum();
    Ok(total / positions.len() as f64)
}

/// Brier's score of several classes, the mean of `Σ_c (p_ic − [yᵢ=c])²`, from 0 to 2 (Brier 1950); for two classes it is twice
/// [`brier_score`](super::brier_score).
///
/// # Errors
/// As [`multiclass_log_loss`].
pub fn multiclass_brier_score(probabilities: MatRef<'_, f64>, labels: &[f64]) -> Result<f64, ModelError> {
    let positions = checked(probabilities, labels)?;
    let square = |(i, &label): (usize, &usize)| -> f64 {
        probabilities.row(i).iter().enumerate().map(|(c, p)| (p - f64::from(u8::from(c == label))).powi(2)).sum()
    };
    Ok(positions.iter().enumerate().map(square).sum::<f64>() / positions.len() as f64)
}

/// The share of labels that are the most probable class; of equally probable classes the first counts.
///
/// # Errors
/// As [`multiclass_log_loss`].
pub fn multiclass_accuracy(probabilities: MatRef<'_, f64>, labels: &[f64]) -> Result<f64, ModelError> {
    let positions = checked(probabilities, labels)?;
    let right = positions.iter().enumerate().filter(|(i, label)| top(probabilities, *i).0 == **label).count();
    Ok(right as f64 / positions.len() as f64)
}

/// The most probable class of row `i`, the first of equals, and its probability.
fn top(probabilities: MatRef<'_, f64>, i: usize) -> (usize, f64) {
    let mut best = (0, f64::NEG_INFINITY);
    for (c, &p) in probabilities.row(i).iter().enumerate() {
        if p > best.1 {
            best = (c, p);
        }
    }
    best
}

/// Which probability of several classes is compared with its frequency.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Calibrated {
    /// The probability of the most probable class, with how often that was right: confidence calibration (Guo, Pleiss, Sun and
    /// Weinberger 2017).
    Top,
    /// The probability of one class, with how often it occurred.
    Class(usize),
}

/// The expected calibration error of several classes: that of the most probable class's probability, or of one class.
///
/// # Errors
/// As [`multiclass_log_loss`] and [`expected_calibration_error`]; `Index` if there is no such class.
///
/// ```
/// use vi_linalg::faer::mat;
/// use vi_models::metrics::{Binning, Calibrated, multiclass_calibration_error};
/// let p = mat![[0.7, 0.2, 0.1], [0.3, 0.6, 0.1]];
/// let error = multiclass_calibration_error(p.as_ref(), &[0.0, 2.0], Calibrated::Top, Binning::EqualMass(1))?;
/// assert!((error - 0.15).abs() < 1e-15);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn multiclass_calibration_error(
    probabilities: MatRef<'_, f64>,
    labels: &[f64],
    of: Calibrated,
    binning: Binning,
) -> Result<f64, ModelError> {
    let (p, happened) = two_outcomes(probabilities, labels, of)?;
    expected_calibration_error(&p, &happened, binning)
}

fn two_outcomes(
    probabilities: MatRef<'_, f64>,
    labels: &[f64],
    of: Calibrated,
) -> Result<(Vec<f64>, Vec<f64>), ModelError> {
    let positions = checked(probabilities, labels)?;
    match of {
        Calibrated::Class(index) if index >= probabilities.ncols() => {
            return Err(Error::Index { argument: "classes", index, len: probabilities.ncols() }.into());
        }
        _ => {}
    }
    Ok(positions
        .iter()
        .enumerate()
        .map(|(i, &label)| {
            let (class, p) = match of {
                Calibrated::Top => top(probabilities, i),
                Calibrated::Class(class) => (class, probabilities[(i, class)]),
            };
            (p.min(1.0), f64::from(u8::from(class == label)))
        })
        .unzip())
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_chacha::ChaCha8Rng;
    use vi_linalg::faer::{Mat, mat};

    use super::super::{accuracy, brier_score, log_loss};
    use super::*;

    #[test]
    fn two_classes_are_the_binary_scores() {
        let p = [0.1, 0.9, 0.35, 0.999, 0.2];
        let y = [0.0, 1.0, 1.0, 1.0, 0.0];
        let both = Mat::from_fn(5, 2, |i, c| if c == 1 { p[i] } else { 1.0 - p[i] });
        let both = both.as_ref();
        assert!((multiclass_log_loss(both, &y).unwrap() - log_loss(&p, &y).unwrap()).abs() < 1e-15);
        assert!((multiclass_brier_score(both, &y).unwrap() - 2.0 * brier_score(&p, &y).unwrap()).abs() < 1e-15);
        assert_eq!(multiclass_accuracy(both, &y), accuracy(&p, &y));
        let binning = Binning::EqualWidth(4);
        let of = Calibrated::Class(1);
        assert_eq!(multiclass_calibration_error(both, &y, of, binning), expected_calibration_error(&p, &y, binning));
    }

    #[test]
    fn honest_forecasts_are_calibrated_and_sharpened_ones_are_not() {
        let mut rng = ChaCha8Rng::seed_from_u64(6);
        let n = 20_000;
        let (mut honest, mut labels) = (Mat::<f64>::zeros(n, 3), Vec::with_capacity(n));
        for i in 0..n {
            let raw: [f64; 3] = std::array::from_fn(|_| rng.random::<f64>().powi(2) + 0.02);
            let total: f64 = raw.iter().sum();
            (0..3).for_each(|c| honest[(i, c)] = raw[c] / total);
            let u: f64 = rng.random();
            labels.push(if u < honest[(i, 0)] {
                0.0
            } else if u < honest[(i, 0)] + honest[(i, 1)] {
                1.0
            } else {
                2.0
            });
        }
        let sharp =
            Mat::from_fn(n, 3, |i, c| honest[(i, c)].powi(3) / (0..3).map(|k| honest[(i, k)].powi(3)).sum::<f64>());
        let binning = Binning::EqualMass(10);
        for of in [Calibrated::Top, Calibrated::Class(0), Calibrated::Class(2)] {
            let error = |p: &Mat<f64>| multiclass_calibration_error(p.as_ref(), &labels, of, binning).unwrap();
            // Of the order of √(bins/n), six times.
            assert!(error(&honest) < 6.0 * 0.5 * (10.0 / n as f64).sqrt(), "{of:?}: {}", error(&honest));
            assert!(error(&sharp) > 3.0 * error(&honest), "{of:?}");
        }
        let loss = |p: &Mat<f64>| multiclass_log_loss(p.as_ref(), &labels).unwrap();
        assert!(loss(&honest) < loss(&sharp));
    }

    #[test]
    fn bad_input_is_named() {
        let p = mat![[0.5, 0.5], [0.25, 0.75]];
        let p = p.as_ref();
        assert!(matches!(multiclass_log_loss(p, &[0.0, 2.0]), Err(ModelError::ClassLabel { index: 1, .. })));
        assert!(matches!(multiclass_log_loss(p, &[0.5, 1.0]), Err(ModelError::ClassLabel { index: 0, .. })));
        assert!(matches!(multiclass_log_loss(p, &[0.0]), Err(ModelError::Core(Error::Dimension { .. }))));
        assert!(matches!(multiclass_log_loss(p.subrows(0, 0), &[]), Err(ModelError::Core(Error::Empty { .. }))));
        let short = mat![[0.5, 0.4]];
        assert_eq!(
            multiclass_brier_score(short.as_ref(), &[0.0]),
            Err(ModelError::ProbabilitySum { row: 0, sum: 0.9 })
        );
        let negative = mat![[0.5, 0.5], [1.5, -0.5]];
        let error = multiclass_accuracy(negative.as_ref(), &[0.0, 1.0]);
        assert_eq!(error, Err(ModelError::Probability { index: 1, value: 1.5 }));
        let error = multiclass_calibration_error(p, &[0.0, 1.0], Calibrated::Class(2), Binning::EqualMass(2));
        assert!(matches!(error, Err(ModelError::Core(Error::Index { .. }))));
        assert_eq!(multiclass_log_loss(mat![[1.0, 0.0]].as_ref(), &[1.0]), Ok(f64::INFINITY));
    }
}

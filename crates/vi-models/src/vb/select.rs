//! Choosing among designs by their bounds ℒ.

use vi_linalg::faer::MatRef;

use crate::ModelError;

/// The bound ℒ of each candidate design, and the best.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Selection {
    /// The bound ℒ of each candidate, in nats.
    pub bounds: Vec<f64>,
    /// The index of the candidate with the largest bound; the first of equals.
    pub best: usize,
}

impl Selection {
    /// The posterior probabilities of the candidates, if all were equally probable before and ℒ were the log evidence:
    /// `softmax(ℒ)`.
    #[must_use]
    pub fn probabilities(&self) -> Vec<f64> {
        let best = self.bounds[self.best];
        let weights: Vec<f64> = self.bounds.iter().map(|bound| (bound - best).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|weight| weight / sum).collect()
    }
}

/// Fits every design and compares their bounds.
///
/// `bound` fits one design and returns its ℒ. Compare fits of one kind only: ℒ with automatic relevance determination and ℒ
/// without are evidences under different hyper-priors. All fits must be of the same `y`; a standardised copy is not the same.
///
/// # Errors
/// [`ModelError::Core`] with `Empty` without designs, `NonFinite` for a bound that is not finite, and what `bound` returns.
///
/// ```
/// use vi_linalg::faer::{Mat, Par};
/// use vi_models::vb::{self, LinearPrior, VbSettings};
///
/// // A parabola, and polynomials of 1 to 6 coefficients to explain it.
/// let points: Vec<f64> = (0..30).map(|i| 0.2 * f64::from(i) - 3.0).collect();
/// let y: Vec<f64> = points.iter().map(|x| 1.0 - 2.0 * x + 0.7 * x * x + 0.3 * (17.0 * x).sin()).collect();
/// let designs: Vec<Mat<f64>> = (1..=6).map(|d| Mat::from_fn(30, d, |i, j| points[i].powi(j as i32))).collect();
/// let selection = vb::select(designs.iter().map(|x| x.as_ref()), |x| {
///     Ok(vb::linear(x, &y, LinearPrior::default(), &VbSettings::default(), Par::Seq)?.bound())
/// })?;
/// assert_eq!(designs[selection.best].ncols(), 3);
/// assert!(selection.probabilities()[2] > 0.8);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
pub fn select<'a>(
    designs: impl IntoIterator<Item = MatRef<'a, f64>>,
    bound: impl FnMut(MatRef<'a, f64>) -> Result<f64, ModelError>,
) -> Result<Selection, ModelError> {
    let bounds = designs.into_iter().map(bound).collect::<Result<Vec<f64>, _>>()?;
    crate::check::values("designs", &bounds)?;
    let mut best = 0;
    for (index, bound) in bounds.iter().enumerate() {
        if *bound > bounds[best] {
            best = index;
        }
    }
    Ok(Selection { bounds, best })
}

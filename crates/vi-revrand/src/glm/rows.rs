//! The observations that a model is trained on.

use vi_linalg::faer::{Mat, MatRef};

use crate::basis::Basis;
use crate::likelihood::GlmLikelihood;
use crate::{RevrandError, check};

/// Observations: inputs, labels, and trials if the likelihood counts them.
///
/// ```
/// use vi_linalg::faer::mat;
/// use vi_revrand::glm::Rows;
/// let x = mat![[0.1], [0.7]];
/// let successes = Rows::new(x.as_ref(), &[1.0, 3.0]).with_trials(&[5.0, 4.0]);
/// assert_eq!((successes.y.len(), successes.trials.map(<[f64]>::len)), (2, Some(2)));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Rows<'a> {
    /// Inputs (`n × d`).
    pub x: MatRef<'a, f64>,
    /// Labels (`n`).
    pub y: &'a [f64],
    /// Trials (`n`).
    pub trials: Option<&'a [f64]>,
}

impl<'a> Rows<'a> {
    /// Observations with these inputs and labels.
    #[must_use]
    pub fn new(x: MatRef<'a, f64>, y: &'a [f64]) -> Self {
        Self { x, y, trials: None }
    }

    /// These observations with a number of trials for each.
    #[must_use]
    pub fn with_trials(self, trials: &'a [f64]) -> Self {
        Self { trials: Some(trials), ..self }
    }

    /// The number of observations.
    pub(super) fn len(&self) -> usize {
        self.y.len()
    }

    /// Checks inputs, labels and trials.
    ///
    /// # Errors
    /// Those of [`Basis::check_rows`] and [`check_labels`].
    pub(super) fn check(&self, basis: &impl Basis, likelihood: &impl GlmLikelihood) -> Result<(), RevrandError> {
        basis.check_rows(self.x)?;
        check::length("y", self.x.nrows(), self.y.len())?;
        check_labels(self.y, self.trials, likelihood)
    }
}

/// Checks labels and trials.
///
/// # Errors
/// `Dimension`, [`RevrandError::Trials`] (missing, or given to a likelihood without), `NonFinite` (its index is the row), `Row` with
/// `Label`.
pub(super) fn check_labels(
    y: &[f64],
    trials: Option<&[f64]>,
    likelihood: &impl GlmLikelihood,
) -> Result<(), RevrandError> {
    let family = likelihood.family();
    check_trials(y.len(), trials, likelihood)?;
    check::finite("y", y)?;
    for (row, &label) in y.iter().enumerate() {
        if !likelihood.supports(label, trials.map_or(1.0, |trials| trials[row])) {
            return Err(vi_core::Error::Label { label, family }.at_row(row).into());
        }
    }
    Ok(())
}

/// Checks the numbers of trials.
///
/// # Errors
/// `Dimension`, [`RevrandError::Trials`], `NonFinite`, `Entry`.
pub(super) fn check_trials(
    rows: usize,
    trials: Option<&[f64]>,
    likelihood: &impl GlmLikelihood,
) -> Result<(), RevrandError> {
    if trials.is_some() != likelihood.counts_trials() {
        return Err(RevrandError::Trials { family: likelihood.family(), given: trials.is_some() });
    }
    let Some(trials) = trials else { return Ok(()) };
    check::length("trials", rows, trials.len())?;
    check::finite("trials", trials)?;
    // A number of trials is valid if and only if 0 successes are possible.
    match trials.iter().position(|&trials| !likelihood.supports(0.0, trials)) {
        None => Ok(()),
        Some(index) => {
            let (argument, value) = ("trials", trials[index]);
            Err(vi_core::Error::Entry { argument, index, value, requirement: "an integer from 1" }.into())
        }
    }
}

/// Observations that own their numbers, as an iterator yields them.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// Inputs (`n × d`).
    pub x: Mat<f64>,
    /// Labels (`n`).
    pub y: Vec<f64>,
    /// Trials (`n`).
    pub trials: Option<Vec<f64>>,
}

impl Batch {
    /// A batch with these inputs and labels.
    #[must_use]
    pub fn new(x: Mat<f64>, y: Vec<f64>) -> Self {
        Self { x, y, trials: None }
    }

    /// This batch with a number of trials for each observation.
    #[must_use]
    pub fn with_trials(self, trials: Vec<f64>) -> Self {
        Self { trials: Some(trials), ..self }
    }

    /// The observations of the batch, borrowed.
    #[must_use]
    pub fn rows(&self) -> Rows<'_> {
        Rows { x: self.x.as_ref(), y: &self.y, trials: self.trials.as_deref() }
    }
}

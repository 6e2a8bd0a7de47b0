//! The rows and labels of a softmax regression.

use vi_core::Error;
use vi_linalg::faer::MatRef;

use super::logits::Counts;
use crate::check;

/// Rows `x` (`n × d`) with a class or counts of all classes at each, and optional weights and offsets.
#[derive(Debug, Clone, Copy)]
pub struct SoftmaxRows<'a> {
    x: MatRef<'a, f64>,
    labels: Labels<'a>,
    weights: Option<&'a [f64]>,
    offsets: Option<MatRef<'a, f64>>,
}

#[derive(Debug, Clone, Copy)]
enum Labels<'a> {
    Classes(&'a [f64]),
    Counts(MatRef<'a, f64>),
}

impl<'a> SoftmaxRows<'a> {
    /// Rows with labels `y ∈ {0, …, C−1}`, one for each.
    #[must_use]
    pub fn new(x: MatRef<'a, f64>, y: &'a [f64]) -> Self {
        Self { x, labels: Labels::Classes(y), weights: None, offsets: None }
    }

    /// Rows with counts of the classes (`n × C`): a multinomial observation at each row.
    #[must_use]
    pub fn of_counts(x: MatRef<'a, f64>, counts: MatRef<'a, f64>) -> Self {
        Self { x, labels: Labels::Counts(counts), weights: None, offsets: None }
    }

    /// These rows with row `t` counted `weights[t]` times.
    #[must_use]
    pub fn with_weights(self, weights: &'a [f64]) -> Self {
        Self { weights: Some(weights), ..self }
    }

    /// These rows with known parts of the logits of classes `1, …, C−1` (`n × (C−1)`).
    #[must_use]
    pub fn with_offsets(self, offsets: MatRef<'a, f64>) -> Self {
        Self { offsets: Some(offsets), ..self }
    }

    pub(super) fn len(&self) -> usize {
        self.x.nrows()
    }

    pub(super) fn inputs(&self) -> MatRef<'a, f64> {
        self.x
    }

    /// Whether each row has one class and weight 1.
    pub(super) fn are_plain(&self) -> bool {
        let ones = self.weights.is_none_or(|weights| weights.iter().all(|&weight| weight == 1.0));
        matches!(self.labels, Labels::Classes(_)) && ones
    }

    /// Checks everything for `classes` classes and a belief of dimension `dim`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`], [`Error::Row`] with [`Error::NonFinite`], [`Error::Label`], [`Error::Setting`].
    pub(super) fn check(&self, classes: usize, dim: usize) -> Result<(), Error> {
        let n = self.len();
        check::length("dimension of the belief", self.x.ncols() * (classes - 1), dim)?;
        check::rows(self.x.ncols(), self.x)?;
        match self.labels {
            Labels::Classes(y) => check::length("y", n, y.len())?,
            Labels::Counts(counts) => {
                check::length("rows of counts", n, counts.nrows())?;
                check::length("columns of counts", classes, counts.ncols())?;
            }
        }
        if let Some(weights) = self.weights {
            check::length("weights", n, weights.len())?;
        }
        if let Some(offsets) = self.offsets {
            check::length("rows of offsets", n, offsets.nrows())?;
            check::length("columns of offsets", classes - 1, offsets.ncols())?;
        }
        (0..n).try_for_each(|t| self.check_row(classes, t).map_err(|error| error.at_row(t)))
    }

    fn check_row(&self, classes: usize, t: usize) -> Result<(), Error> {
        match self.labels {
            Labels::Classes(y) => check_class(classes, y[t])?,
            Labels::Counts(counts) => (0..classes).try_for_each(|c| check_count(counts[(t, c)]))?,
        }
        if let Some(weights) = self.weights {
            check_weight(weights[t])?;
        }
        if let Some(offsets) = self.offsets {
            for (index, &value) in offsets.row(t).iter().enumerate() {
                if !value.is_finite() {
                    return Err(Error::NonFinite { argument: "offsets", index, value });
                }
            }
        }
        Ok(())
    }

    /// The counts of row `t`, which has been checked.
    pub(super) fn counts(&self, classes: usize, t: usize) -> Counts {
        let weight = self.weights.map_or(1.0, |weights| weights[t]);
        match self.labels {
            Labels::Classes(y) => Counts::of_class(classes, y[t], weight),
            Labels::Counts(counts) => Counts::of_counts((0..classes).map(|c| counts[(t, c)]).collect(), weight),
        }
    }

    /// The offset of logit `i` of row `t`.
    pub(super) fn offset(&self, t: usize, i: usize) -> f64 {
        self.offsets.map_or(0.0, |offsets| offsets[(t, i)])
    }
}

/// Checks a class label.
///
/// # Errors
/// [`Error::NonFinite`], [`Error::Label`].
pub(super) fn check_class(classes: usize, label: f64) -> Result<(), Error> {
    if !label.is_finite() {
        return Err(Error::NonFinite { argument: "label", index: 0, value: label });
    }
    if label >= 0.0 && label < classes as f64 && label.fract() == 0.0 {
        Ok(())
    } else {
        Err(Error::Label { label, family: "softmax (classes 0 to C−1)" })
    }
}

fn check_count(count: f64) -> Result<(), Error> {
    if !count.is_finite() {
        return Err(Error::NonFinite { argument: "count", index: 0, value: count });
    }
    if count >= 0.0 && count.fract() == 0.0 {
        Ok(())
    } else {
        Err(Error::Label { label: count, family: "multinomial (counts 0, 1, 2, …)" })
    }
}

fn check_weight(weight: f64) -> Result<(), Error> {
    if weight >= 0.0 && weight.is_finite() {
        Ok(())
    } else {
        Err(Error::Setting { name: "weight", value: weight, requirement: "finite and not negative" })
    }
}

impl Counts {
    pub(super) fn of_class(classes: usize, label: f64, weight: f64) -> Self {
        let of = (0..classes).map(|c| if c as f64 == label { weight } else { 0.0 }).collect();
        Self { of, total: weight, constant: 0.0 }
    }

    /// Counts with the log of the multinomial coefficient.
    pub(super) fn of_counts(counts: Vec<f64>, weight: f64) -> Self {
        let total: f64 = counts.iter().sum();
        let arrangements: f64 = counts.iter().map(|&count| libm::lgamma(count + 1.0)).sum();
        let constant = weight * (libm::lgamma(total + 1.0) - arrangements);
        Self { of: counts.into_iter().map(|count| weight * count).collect(), total: weight * total, constant }
    }
}

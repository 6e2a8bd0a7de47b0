//! One of the kinds of a trial, and its record.

use crate::ModelError;
use crate::online::{Model, Observation, Prediction, Row};

/// The probability of a cell below which the difference of two others has too few digits.
const DIGITS: f64 = 1e-9;

#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) model: Model,
    /// Whether it is out where most labels are one number.
    pub(super) is_heavy: bool,
    /// Whether its densities are compared with probabilities of counts.
    pub(super) in_cells: bool,
    /// The sum of the log probabilities of the labels, after each row.
    pub(super) scores: Vec<f64>,
    /// The squared error of the mean at each row; not finite where there is no mean.
    pub(super) errors: Vec<f64>,
    /// How many nats it was behind the best in each pass that has ended, and the errors of the second halves of these.
    pub(super) before: (Vec<f64>, Vec<f64>),
    /// How many nats it was behind the best when it was given up, if it was; infinite where it could not learn a row.
    pub(super) out: Option<f64>,
}

impl Candidate {
    pub(super) fn new(model: Model) -> Self {
        let (scores, errors, before) = Default::default();
        Self { model, is_heavy: false, in_cells: false, scores, errors, before, out: None }
    }

    /// Predicts a label and then learns it. Where the prediction is beyond floats, the log evidence tells what the label adds to it.
    ///
    /// # Errors
    /// Those of the model.
    pub(super) fn learn(&mut self, row: Row<'_>, observed: Observation) -> Result<(), ModelError> {
        let before = self.model.evidence();
        let predicted = self.model.predict_and_update(row, observed)?;
        let mean = predicted.as_ref().ok().and_then(Prediction::mean);
        let error = mean.filter(|_| !observed.is_range()).map(|mean| (observed.label - mean).powi(2));
        self.errors.push(error.unwrap_or(f64::NAN));
        let told = predicted.and_then(|predicted| {
            let density = predicted.log_density_of(observed)?;
            if self.in_cells { of_cell(&predicted, observed.label, density) } else { Ok(density) }
        });
        let told = told.ok();
        let of_label = told.filter(|told| told.is_finite()).map(|told| observed.weight * told);
        let score = of_label.unwrap_or_else(|| self.model.evidence() - before);
        self.scores.push(self.scores.last().unwrap_or(&0.0) + score);
        Ok(())
    }

    /// Learns rows up to the first that it refuses, and returns how many.
    pub(super) fn learn_until_refused(&mut self, rows: &[(Row<'_>, Observation)]) -> usize {
        rows.iter().take_while(|(row, observed)| self.learn(*row, *observed).is_ok()).count()
    }

    /// Forgets the scores of the last rows.
    pub(super) fn forget(&mut self, rows: usize) {
        for of_rows in [&mut self.scores, &mut self.errors] {
            of_rows.truncate(of_rows.len() - rows);
        }
    }

    /// The log probability of the labels after the first half of the rows; after several passes by how much it was less than the best, in the median.
    pub(super) fn gained(&self) -> Option<f64> {
        let n = self.scores.len();
        let at = |rows: usize| if rows == 0 { 0.0 } else { self.scores[rows - 1] };
        let of_pass = if n == 0 { self.behind().map(|behind| -behind) } else { Some(at(n) - at(n / 2)) };
        of_pass.filter(|gained| self.out.is_none() && gained.is_finite())
    }

    /// The median distance from the best, in nats, of the ended passes.
    pub(super) fn behind(&self) -> Option<f64> {
        let passes = self.before.0.len();
        (passes > 0).then(|| self.median_within(passes).1)
    }

    /// The least and the largest possible median of `passes` distances from the best, of which the ended passes give some.
    pub(super) fn median_within(&self, passes: usize) -> (f64, f64) {
        let median = |of_others: f64| {
            let mut behind = self.before.0.clone();
            behind.resize(passes.max(behind.len()), of_others);
            behind.sort_by(f64::total_cmp);
            behind.get(behind.len() / 2).copied().unwrap_or(of_others)
        };
        (median(0.0), median(f64::INFINITY))
    }

    /// The errors of the second half of the rows, of each pass.
    pub(super) fn late_errors(&self) -> impl Iterator<Item = &f64> {
        self.before.1.iter().chain(&self.errors[self.errors.len() / 2..])
    }

    /// Ends a pass, in which it was so far behind the best.
    pub(super) fn end(&mut self, behind: f64) {
        let late = self.errors.split_off(self.errors.len() / 2);
        self.before.0.push(behind);
        self.before.1.extend(late);
        self.scores.clear();
        self.errors.clear();
    }
}

/// The log probability of the cell of a count under a density, which is near the log density where the cell is a small part of a tail.
///
/// # Errors
/// Those of the prediction.
fn of_cell(predicted: &Prediction, count: f64, density: f64) -> Result<f64, ModelError> {
    let (above, below) = (predicted.below(count + 0.5)?, predicted.below(count - 0.5)?);
    let mass = above.zip(below).map_or(0.0, |(above, below)| above.1 - below.1);
    Ok(if mass > DIGITS { mass.ln() } else { density.min(DIGITS.ln()) })
}

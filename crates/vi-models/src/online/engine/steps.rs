//! Rows that are several rows of the likelihood, learned one after another: labels that are told in steps.

use std::ops::Range;

use vi_core::{Projection, Row, Site};
use vi_linalg::faer::{Mat, MatRef};

use super::scalar::ScalarFamily;
use crate::online::Observation;
use crate::online::belief::AnyBelief;

/// What the steps of one row have told so far.
#[derive(Debug, Default)]
pub(in crate::online) struct Path {
    /// The belief after all steps but the last; `None` for a row of one step.
    pub(super) moved: Option<AnyBelief>,
    /// The site of the last step.
    pub(super) site: Option<Site>,
    /// The columns of the last step.
    pub(super) ones: Range<usize>,
    pub(super) space: StepSpace,
}

/// Memory for the row of one step.
#[derive(Debug, Default)]
pub(in crate::online) struct StepSpace {
    values: Vec<f64>,
    positions: Vec<usize>,
}

impl StepSpace {
    /// A row in the model's columns with `ones`, some of the last columns, where the row has nothing.
    pub(in crate::online) fn write<'a>(&'a mut self, row: Row<'a>, ones: Range<usize>) -> Row<'a> {
        if ones.is_empty() {
            return row;
        }
        let Self { values: own, positions: at } = self;
        own.clear();
        match row {
            Row::Dense(values) => {
                own.extend_from_slice(values);
                own[ones].fill(1.0);
                Row::Dense(own)
            }
            Row::Sparse { positions, values } => {
                at.clear();
                at.extend_from_slice(positions);
                own.extend_from_slice(values);
                own.extend(std::iter::repeat_n(1.0, ones.len()));
                at.extend(ones);
                Row::Sparse { positions: at, values: own }
            }
        }
    }
}

/// The predictors of the steps of a row, jointly Gaussian.
#[derive(Debug, Clone)]
pub(in crate::online) struct StepsSeen {
    pub(in crate::online) means: Vec<f64>,
    pub(in crate::online) covariance: Vec<Vec<f64>>,
}

impl StepsSeen {
    pub(super) fn of_one(seen: Projection) -> Self {
        Self { means: vec![seen.mean], covariance: vec![vec![seen.variance]] }
    }

    pub(in crate::online) fn seen(&self, k: usize) -> Projection {
        Projection { mean: self.means[k], variance: self.covariance[k][k].max(0.0) }
    }

    /// Takes a factor of the predictor of step `k` by its site.
    pub(in crate::online) fn learn(&mut self, k: usize, site: Site) {
        let (own, variance) = (self.covariance[k].clone(), self.seen(k).variance);
        let (gain, shrinkage) = (site.gain(variance), site.shrinkage(variance));
        for (i, row) in self.covariance.iter_mut().enumerate() {
            self.means[i] += gain * own[i];
            row.iter_mut().zip(&own).for_each(|(entry, other)| *entry -= shrinkage * own[i] * other);
        }
    }
}

/// The columns in which step `k` has a 1, of `columns` whose last ones are those of the cuts; the first step has none.
pub(in crate::online) fn ones_of<F: ScalarFamily>(family: &F, columns: usize, k: usize) -> Range<usize> {
    let first = columns - family.cut_points();
    if k == 0 || family.cut_scale().is_some() { first..first + k } else { first + k - 1..first + k }
}

/// The rows of the likelihood for the rows of `x`, all steps of one before those of the next; `None` where each row is one.
pub(super) fn unrolled<F: ScalarFamily>(
    family: &F,
    x: MatRef<'_, f64>,
    observed: &[Observation],
) -> Option<(Mat<f64>, Vec<Observation>)> {
    if !family.is_in_steps() {
        return None;
    }
    let (mut of, mut all) = (Vec::with_capacity(observed.len()), Vec::with_capacity(observed.len()));
    for (i, observed) in observed.iter().enumerate() {
        let steps = (0..).map_while(|k| family.step(observed, k));
        for (k, step) in steps.enumerate() {
            of.push((i, ones_of(family, x.ncols(), k)));
            all.push(step);
        }
    }
    let at = |row: usize, j: usize| if of[row].1.contains(&j) { 1.0 } else { x[(of[row].0, j)] };
    Some((Mat::from_fn(of.len(), x.ncols(), at), all))
}

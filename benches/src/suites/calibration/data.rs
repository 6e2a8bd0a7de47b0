//! Weights, rows and predictors of one replication.

use rand::{Rng, RngExt};
use rand_distr::StandardNormal;
use vi_models::{Marginal, ModelError};

use super::Places;
use super::cells::{Cell, NEW_ROWS};

/// What one replication draws.
pub(super) struct Drawn {
    /// The weights as they are after the last row.
    pub(super) theta: Vec<f64>,
    /// Rows, end to end.
    pub(super) rows: Vec<f64>,
    /// The linear predictor at each row, with the weights as they were then.
    pub(super) predictors: Vec<f64>,
    /// New rows, end to end.
    pub(super) new: Vec<f64>,
    /// The linear predictor at each new row.
    pub(super) new_predictors: Vec<f64>,
    scale: f64,
}

impl Drawn {
    pub(super) fn new<R: Rng>(cell: &Cell, rng: &mut R) -> Self {
        let scale = cell.scale(rng);
        let theta = cell.weights(scale, rng);
        let (rows, new) = (cell.rows_of(cell.rows, rng), cell.rows_of(NEW_ROWS, rng));
        Self::of(cell, (scale, theta), rows, new, rng)
    }

    /// Other weights of the same scale at the same rows.
    pub(super) fn again<R: Rng>(&self, cell: &Cell, rng: &mut R) -> Self {
        let theta = cell.weights(self.scale, rng);
        Self::of(cell, (self.scale, theta), self.rows.clone(), self.new.clone(), rng)
    }

    fn of<R: Rng>(
        cell: &Cell,
        (scale, mut theta): (f64, Vec<f64>),
        rows: Vec<f64>,
        new: Vec<f64>,
        rng: &mut R,
    ) -> Self {
        let walk = cell.truth.walk();
        let mut predictors = Vec::with_capacity(cell.rows);
        for x in rows.chunks(cell.inputs) {
            if walk > 0.0 {
                for w in &mut theta {
                    *w += walk * rng.sample::<f64, _>(StandardNormal);
                }
            }
            predictors.push(cell.world.shift() + dot(x, &theta));
        }
        let new_predictors = new.chunks(cell.inputs).map(|x| cell.world.shift() + dot(x, &theta)).collect();
        Self { theta, rows, predictors, new, new_predictors, scale }
    }

    /// The linear predictors at other rows, with the weights after the last.
    pub(super) fn at(&self, cell: &Cell, rows: &[f64]) -> Vec<f64> {
        rows.chunks(cell.inputs).map(|x| cell.world.shift() + dot(x, &self.theta)).collect()
    }

    /// The same rows with weights of 0.
    pub(super) fn without_weights(mut self) -> Self {
        for values in [&mut self.theta, &mut self.predictors, &mut self.new_predictors] {
            values.fill(0.0);
        }
        self
    }

    /// The difference from `base`: what a class's weights are relative to another's.
    pub(super) fn relative_to(mut self, base: &Self) -> Self {
        let differ = |own: &mut Vec<f64>, base: &[f64]| own.iter_mut().zip(base).for_each(|(own, base)| *own -= base);
        differ(&mut self.theta, &base.theta);
        differ(&mut self.predictors, &base.predictors);
        differ(&mut self.new_predictors, &base.new_predictors);
        self
    }

    pub(super) fn new_rows(&self) -> impl Iterator<Item = (&[f64], f64)> {
        self.new.chunks(self.theta.len()).zip(self.new_predictors.iter().copied())
    }

    /// Places from what is believed of each weight, and of the predictor at a row.
    pub(super) fn places(
        &self,
        weight: impl Fn(usize) -> Result<Marginal, ModelError>,
        predictor: impl Fn(&[f64]) -> Result<Marginal, ModelError>,
    ) -> Result<Places, ModelError> {
        let weights = self.theta.iter().enumerate().map(|(j, truth)| Ok(weight(j)?.cdf(*truth)));
        let predictors = self.new_rows().map(|(x, truth)| Ok(predictor(x)?.cdf(truth)));
        Ok(Places {
            weights: weights.collect::<Result<_, ModelError>>()?,
            predictors: predictors.collect::<Result<_, ModelError>>()?,
            ..Places::default()
        })
    }
}

fn dot(x: &[f64], theta: &[f64]) -> f64 {
    x.iter().zip(theta).map(|(x, w)| x * w).sum()
}

/// Where a label lies among those that could have been: uniform between `P(Y < y)` and `P(Y ≤ y)`.
pub(super) fn place<R: Rng>(below: f64, upto: f64, rng: &mut R) -> f64 {
    below + rng.random::<f64>() * (upto - below)
}

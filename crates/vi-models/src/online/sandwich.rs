//! Standard errors of weights that hold where the noise differs from the model's.
//!
//! ```text
//! V = Σ_g r_g·r_gᵀ,   r_g = P Σ_{i∈g} ψ_i·x_i
//! ```
//!
//! `P` is the posterior covariance and `ψ_i` the slope of the log density of label `i` in its predictor. With each row a group of its own,
//! `ψ_i/(1 − h_i)` stands for `ψ_i`, with the leverage `h_i` (HC3: MacKinnon and White 1985); with `m` groups, `V` is multiplied by
//! `m/(m − 1)·(n − 1)/(n − k)` for `n` rows and `k` weights (CR1: Liang and Zeger 1986).

use std::collections::HashMap;

use vi_core::{Error, Row};

use super::engine::Gains;
use super::{Memory, Model, Observation};
use crate::{ModelError, check};

/// The step by which slopes are taken, in deviations of the predictor's row.
const STEP: f64 = 1e-3;

/// The largest leverage that a row is given.
const MOST: f64 = 0.99;

/// Robust standard errors of the weights of a model, by its rows, which are given once more: they hold where the variance of the labels is not that of
/// the family (HC3), or where the labels of a cluster depend on each other (CR1, for many clusters).
///
/// Where they differ by much from those that [`expected`](Self::expected) has for the model's own noise, its intervals for weights are wrong by as much. The prior is part
/// of the posterior, and shrinks both. Cost of a row: `O(p²)` for `p` weights, and `O(p)` memory for each cluster.
///
/// ```
/// use vi_models::Transform;
/// use vi_models::online::{Kind, Model, Observation, Row, Sandwich};
/// let kind = Kind::Number { transform: Transform::Identity, noise: (0.1, 0.1) };
/// let mut model = Model::new(kind, 1, kind.default_settings())?;
/// let rows: Vec<(f64, f64)> = (0..400).map(|t| (f64::from(t % 20) / 10.0, [1.0, -1.0, 0.4, -0.6][t as usize / 20 % 4])).collect();
/// // The noise grows away from the middle.
/// let label = |(x, noise): (f64, f64)| Observation::new(1.0 + x + (x - 1.0).powi(2) * noise);
/// for row in &rows {
///     model.update(Row::Dense(&[row.0]), label(*row))?;
/// }
/// let mut robust = Sandwich::new(&model)?;
/// for row in &rows {
///     robust.add(Row::Dense(&[row.0]), label(*row), None)?;
/// }
/// let slope = &model.coefficients()?[0][1];
/// assert!(robust.deviations()[1] > 1.3 * slope.belief.standard_deviation());
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Sandwich<'a> {
    model: &'a Model,
    rows: f64,
    /// The diagonal of `V` by rows.
    squares: Vec<f64>,
    /// What the diagonal would be if the noise were the model's: `Σ w_i(Px_i)²`, with the curvatures `w_i`.
    expected: Vec<f64>,
    /// `r_g` of each cluster.
    clusters: HashMap<u64, Vec<f64>>,
}

impl<'a> Sandwich<'a> {
    /// Sums for the weights of `model` without a row.
    ///
    /// # Errors
    /// [`ModelError::Unsupported`] for several classes, ordered classes, times, effects of groups, a memory that fades, and another belief than a full covariance.
    pub fn new(model: &'a Model) -> Result<Self, ModelError> {
        if model.settings().memory != Memory::Everything {
            return Err(ModelError::Unsupported { what: "robust error of a weight whose rows are forgotten" });
        }
        let zeros = vec![0.0; model.inputs()];
        let weights = model.gains(Row::Dense(&zeros))?.weights.len();
        Ok(Self {
            model,
            rows: 0.0,
            squares: vec![0.0; weights],
            expected: vec![0.0; weights],
            clusters: HashMap::new(),
        })
    }

    /// Adds a row that the model has learned, of a cluster where labels may depend on each other: either all rows have one, or none.
    ///
    /// # Errors
    /// Those of [`Model::predict`]; `Setting` for a negative weight, `Label` for a label that the model does not take. The sums are then as before.
    pub fn add(&mut self, row: Row<'_>, observed: Observation, cluster: Option<u64>) -> Result<(), ModelError> {
        check::not_negative("weight", observed.weight)?;
        let Gains { weights: gains, variance, noise } = self.model.gains(row)?;
        let (slope, leverage) = self.slope(row, observed, variance, noise)?;
        if !slope.is_finite() {
            return Err(Error::Label { label: observed.label, family: "model's" }.into());
        }
        self.rows += observed.weight;
        let information = if variance > 0.0 { observed.weight * leverage / variance } else { 0.0 };
        self.expected.iter_mut().zip(&gains).for_each(|(sum, gain)| *sum += information * gain * gain);
        let slope = observed.weight * slope;
        if let Some(cluster) = cluster {
            let sums = self.clusters.entry(cluster).or_insert_with(|| vec![0.0; gains.len()]);
            sums.iter_mut().zip(&gains).for_each(|(sum, gain)| *sum += slope * gain);
        } else {
            let slope = slope / (1.0 - (observed.weight * leverage).min(MOST));
            self.squares.iter_mut().zip(&gains).for_each(|(sum, gain)| *sum += (slope * gain).powi(2));
        }
        Ok(())
    }

    /// `ψ` at the posterior mean, and the leverage of a row of weight 1. The slope `s` and curvature `−w` of the predictive density, which averages over the predictor's variance `ν`, are those at the
    /// mean but for `1 − wν`.
    fn slope(&self, row: Row<'_>, observed: Observation, variance: f64, noise: f64) -> Result<(f64, f64), ModelError> {
        if let Model::Number(model) = self.model {
            let label = model.transform().of(observed.label);
            let mean = model.predictor(row, observed.offset)?.mean();
            return Ok(((label - mean) / noise, variance / noise));
        }
        let step = STEP * (variance + 1.0).sqrt() * self.model.prior_unit();
        let at = |by: f64| -> Result<f64, ModelError> {
            let mut moved = observed;
            moved.offset += by;
            self.model.predict(row, moved)?.log_density_of(observed)
        };
        let (below, own, above) = (at(-step)?, at(0.0)?, at(step)?);
        let slope = (above - below) / (2.0 * step);
        let curvature = (2.0 * own - above - below) / (step * step);
        let along = (curvature * variance).clamp(0.0, 0.5);
        Ok((slope / (1.0 - along), along / (1.0 - along)))
    }

    /// What [`deviations`](Self::deviations) would be on average if the noise were the model's: the posterior's standard deviations, but for what the prior tells.
    #[must_use]
    pub fn expected(&self) -> Vec<f64> {
        self.expected.iter().map(|square| square.sqrt()).collect()
    }

    /// The robust standard error of each weight, in the order of [`Model::coefficients`]; NaN without rows, or with a single cluster.
    #[must_use]
    pub fn deviations(&self) -> Vec<f64> {
        if self.clusters.is_empty() {
            let scale = if self.rows > 0.0 { 1.0 } else { f64::NAN };
            return self.squares.iter().map(|square| scale * square.sqrt()).collect();
        }
        let (m, weights) = (self.clusters.len() as f64, self.squares.len() as f64);
        let few = m / (m - 1.0) * (self.rows - 1.0) / (self.rows - weights).max(1.0);
        let square = |j: usize| self.clusters.values().map(|sums| sums[j] * sums[j]).sum::<f64>();
        (0..self.squares.len()).map(|j| if m > 1.0 { (few * square(j)).sqrt() } else { f64::NAN }).collect()
    }
}

//! One member in place of several, once the posterior of the prior scale is narrow.
//!
//! Let the posterior of `u = log s` have the mean `û` and the nodes `û + δ_k` with the shares `w_k`. The one member has the scale `exp û`, mean `μ`, covariance `P`, and `Λ` is
//! the part of its prior precision that has the scale: `s⁻²` for each input, 0 for the intercept. With the sites held, another scale
//! changes `P⁻¹` by that of `Λ` and leaves `P⁻¹μ`, so that
//!
//! ```text
//! ∂Λ = −2Λ,   ∂P = 2PΛP,   ∂μ = 2PΛμ   by u.
//! ```
//!
//! Along a row, with `g = Px`, `z = Λg`, `h = Pz`, the mean `a = xᵀμ` and the variance `ν = xᵀPx` have the derivatives
//!
//! ```text
//! ∂a = 2zᵀμ,   ∂²a = −2∂a + 8hᵀΛμ,   ∂ν = 2zᵀg,   ∂²ν = −2∂ν + 8zᵀh,
//! ```
//!
//! so that the node `k` has the mean `a + δ_k∂a + ½δ_k²∂²a` and the variance `exp(log ν + δ_k∂log ν + ½δ_k²∂²log ν)`, which is right for an input of
//! which no row has told, `ν ∝ s²`. The row's mean and variance are those of the mixture, in units of the noise where that is learned. `g` is the
//! product that makes `ν`. The product `h` is made only where its terms could be noticed: since `ΛP ≤ 1`, `zᵀh ≤ zᵀg`, and rows
//! that the data have told of have `zᵀg` far below `ν`; an input that no row has moved needs it.
//!
//! A draw takes a node with its share and a deviation `d ~ N(0, P)`. To second order in `δ`
//!
//! ```text
//! μ + d + (δ − δ²)·PΛ(2μ + d) + δ²·PΛPΛ(4μ + 3d/2)
//! ```
//!
//! has the mean and the covariance of the member at the scale `exp(û + δ)`; its average over the nodes is the posterior mean.
//!
//! Rows are learned, and scored for the evidence, at the scale `exp û`: one belief's work. When the scales are placed again, the curve of
//! the evidence about this scale gives the evidence averaged over `u`, and it is decided anew, by what the answers of the nodes and of the
//! one member differ on the rows that were learned (`Curve::one`), whether one is enough. Classes and models that forget keep the nodes
//! (`takes_one`).

use rand::Rng;
use vi_core::{Belief, Error, FactoredScores, GaussianBelief, Projection, Row};

use super::Member;
use crate::ModelError;
use crate::marginal::pick;
use crate::online::belief::AnyStep;

/// The relative change of a variance that is left out with the product `h`.
const UNNOTICED: f64 = 1e-3;

/// No scale is farther from the average of all than this, in `log s`.
const FARTHEST: f64 = 30.0;

/// What rounding leaves of a sum that is 0.
const ROUNDING: f64 = 1e-9;

/// The posterior of `u = log s` that one member stands for, beside its mean, which is that of the member's prior scale.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::online) struct Around {
    /// `(δ, w)`, the average of `δ` being 0; empty for a member that stands for its own scale alone.
    pub(super) nodes: Vec<(f64, f64)>,
    /// How many weights, the first ones, have the scale.
    pub(super) scaled: usize,
}

impl Around {
    fn average(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.nodes.iter().map(|(step, share)| share * of(*step)).sum()
    }

    /// The variance of `u`.
    fn variance(&self) -> f64 {
        self.average(|step| step * step)
    }

    /// Checks stored nodes.
    ///
    /// # Errors
    /// [`ModelError::Document`].
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let possible = self.nodes.iter().all(|(step, share)| step.abs() < FARTHEST && *share > 0.0);
        let averages = [self.average(|_| 1.0) - 1.0, self.average(|step| step)];
        if self.nodes.is_empty() || possible && averages.iter().all(|off| off.abs() < ROUNDING) {
            Ok(())
        } else {
            Err(ModelError::Document { what: "nodes about a prior scale" })
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Scores of many rows at one prior scale.
pub(super) struct ScoresAt {
    scores: FactoredScores,
    /// What is added to each draw.
    shifts: Vec<f64>,
}

impl ScoresAt {
    /// One joint draw; `spread` multiplies the deviation from the mean.
    pub(super) fn draw<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Vec<f64> {
        let mut drawn = self.scores.spread(spread, rng);
        drawn.iter_mut().zip(&self.shifts).for_each(|(drawn, shift)| *drawn += shift);
        drawn
    }
}

impl<S> Member<S> {
    /// Each prior scale that the member stands for, and its share.
    pub(in crate::online) fn scales(&self) -> Vec<(f64, f64)> {
        if self.around.nodes.is_empty() {
            return vec![(self.prior_scale, 1.0)];
        }
        self.around.nodes.iter().map(|(step, share)| (self.prior_scale * step.exp(), *share)).collect()
    }

    /// `xᵀμ` and `xᵀPx`, averaged over the prior scale; the belief is in units of the variance `noise`.
    pub(super) fn seen(&self, row: Row<'_>, noise: f64) -> Result<Projection, Error> {
        let mut step = AnyStep::default();
        let own = self.belief.project(row, 1.0, &mut step)?;
        self.averaged(own, step.gain(), noise)
    }

    /// [`seen`](Self::seen) of a row whose projection and product `Px` are known.
    pub(super) fn averaged(&self, own: Projection, gain: &[f64], noise: f64) -> Result<Projection, Error> {
        let around = &self.around;
        if around.nodes.is_empty() || own.variance == 0.0 {
            return Ok(own);
        }
        // Only here: a low-rank belief writes out all its weights for it.
        let (mean, z) = (self.belief.mean(), self.weighed(gain));
        let first = [2.0 * dot(&z, mean), 2.0 * dot(&z, gain)];
        let mut second = first.map(|first| -2.0 * first);
        if 2.0 * around.variance() * first[1] > UNNOTICED * own.variance {
            let mut step = AnyStep::default();
            let turned = self.belief.project(Row::Dense(&z), 1.0, &mut step)?;
            second[0] += 8.0 * dot(&self.weighed(step.gain()), mean);
            second[1] += 8.0 * turned.variance;
        }
        let (slope, bend) = (first[1] / own.variance, second[1] / own.variance);
        let bend = bend - slope * slope;
        let within = around.average(|step| (step * (slope + 0.5 * bend * step)).exp());
        let moved = |step: f64| step * (first[0] + 0.5 * second[0] * step);
        let shift = around.average(moved);
        let between = around.average(|step| (moved(step) - shift).powi(2)) / noise;
        Projection::new(own.mean + shift, own.variance * within + between, 0.0)
    }

    /// The posterior mean of the weights, averaged over the prior scale.
    pub(in crate::online) fn mean(&self) -> Result<Vec<f64>, Error> {
        self.turned((0.0, self.around.variance()), vec![0.0; self.belief.dim()])
    }

    /// A draw of the weights; `spread` multiplies the deviation from the mean.
    pub(in crate::online) fn draw<R: Rng + ?Sized>(&self, spread: f64, rng: &mut R) -> Result<Vec<f64>, Error> {
        let mut deviation = vec![0.0; self.belief.dim()];
        self.belief.draw_deviation(&mut deviation, rng)?;
        for value in &mut deviation {
            *value *= spread;
        }
        let step = self.drawn(rng);
        self.turned((step, step * step), deviation)
    }

    /// The joint distribution of `xᵀθ` for many rows at one step `δ` of the log prior scale.
    pub(super) fn scores_at(&self, rows: &[Row<'_>], step: f64) -> Result<ScoresAt, Error> {
        if step == 0.0 {
            return Ok(ScoresAt { scores: self.belief.scores(rows)?.factor(), shifts: vec![0.0; rows.len()] });
        }
        // What a draw does to the deviation is done to the rows, by the transposed products.
        let (first, second, mean) = (step - step * step, step * step, self.belief.mean());
        let (mut memory, mut product) = (Vec::new(), AnyStep::default());
        let (mut turned, mut shifts) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for row in rows {
            self.belief.project(*row, 1.0, &mut product)?;
            let once = self.weighed(product.gain());
            self.belief.project(Row::Dense(&once), 1.0, &mut product)?;
            let twice = self.weighed(product.gain());
            let own = row.written_out(mean.len(), &mut memory).iter().zip(&once).zip(&twice);
            turned.push(own.map(|((x, z), w)| x + first * z + 1.5 * second * w).collect::<Vec<f64>>());
            shifts.push(first * dot(&once, mean) + 2.5 * second * dot(&twice, mean));
        }
        let turned: Vec<Row<'_>> = turned.iter().map(|row| Row::Dense(row)).collect();
        Ok(ScoresAt { scores: self.belief.scores(&turned)?.factor(), shifts })
    }

    /// A draw of `δ`.
    pub(super) fn drawn<R: Rng + ?Sized>(&self, rng: &mut R) -> f64 {
        let nodes = &self.around.nodes;
        nodes.get(pick(nodes.iter().map(|(_, share)| *share), rng)).map_or(0.0, |(step, _)| *step)
    }

    /// `Λv`.
    fn weighed(&self, v: &[f64]) -> Vec<f64> {
        let least = (self.prior_scale * self.prior_scale).recip();
        v.iter().enumerate().map(|(j, v)| if j < self.around.scaled { least * v } else { 0.0 }).collect()
    }

    /// The weights at a deviation from the mean and another scale, from `δ` and `δ²`.
    fn turned(&self, (step, square): (f64, f64), mut deviation: Vec<f64>) -> Result<Vec<f64>, Error> {
        let mean = self.belief.mean();
        if square == 0.0 {
            deviation.iter_mut().zip(mean).for_each(|(own, mean)| *own += mean);
            return Ok(deviation);
        }
        let mut product = AnyStep::default();
        let mut through = |v: &[f64]| -> Result<Vec<f64>, Error> {
            self.belief.project(Row::Dense(&self.weighed(v)), 1.0, &mut product)?;
            Ok(product.gain().to_vec())
        };
        let (of_mean, of_deviation) = (through(mean)?, through(&deviation)?);
        let both: Vec<f64> = of_mean.iter().zip(&of_deviation).map(|(mean, own)| 4.0 * mean + 1.5 * own).collect();
        let twice = through(&both)?;
        for (j, own) in deviation.iter_mut().enumerate() {
            *own += mean[j] + (step - square) * (2.0 * of_mean[j] + of_deviation[j]) + square * twice[j];
        }
        Ok(deviation)
    }
}

//! Weights and noise of scaled columns, in the units of the data.

use rand::Rng;
use rand_distr::{Distribution, Gamma as GammaDistribution, StandardNormal};
use vi_core::Error;

use super::scaling::{Scaling, rows};
use super::{Coefficients, drawn};
use crate::ModelError;
use crate::online::Draw;
use crate::vb::{Gamma, StudentPrediction, WeightDistribution};

/// The posterior `w ~ N(w_N, V_N/τ)`, `τ ~ Gam(a_N, b_N)` of a linear model on scaled columns, with the scales.
pub(super) struct LinearPosterior<'a> {
    pub(super) weights: &'a WeightDistribution,
    pub(super) noise: Gamma,
    pub(super) columns: &'a Scaling,
    pub(super) target: &'a Scaling,
    /// The variance of the mean of `y` in units of the noise variance, `1/n`; 0 without an intercept.
    pub(super) intercept_variance: f64,
}

impl LinearPosterior<'_> {
    pub(super) fn predict(&self, x: &[f64]) -> Result<Vec<StudentPrediction>, ModelError> {
        let scaled = self.columns.apply(rows(x, self.columns.scales.len())?, false)?;
        let scale = self.target.scales[0];
        let intercept = self.intercept_variance / self.noise.mean();
        let mut predicted = StudentPrediction::of(self.weights, self.noise, scaled.as_ref())?;
        for (row, prediction) in predicted.iter_mut().enumerate() {
            prediction.mean = self.target.centres[0] + scale * prediction.mean;
            prediction.squared_scale = scale * scale * (prediction.squared_scale + intercept);
            prediction.weight_squared_scale = scale * scale * (prediction.weight_squared_scale + intercept);
            for value in [prediction.mean, prediction.squared_scale] {
                if !value.is_finite() {
                    return Err(Error::Overflow { quantity: "a prediction of y", value }.at_row(row).into());
                }
            }
        }
        Ok(predicted)
    }

    pub(super) fn coefficients(&self) -> Coefficients {
        let scale = self.target.scales[0];
        let of = |values: &[f64]| -> Vec<f64> {
            values.iter().zip(&self.columns.scales).map(|(value, column)| value * (scale / column)).collect()
        };
        let noise = self.noise.mean_inverse();
        let deviations: Vec<f64> = self.weights.variances().iter().map(|variance| (variance * noise).sqrt()).collect();
        let means = of(self.weights.mean());
        let shift: f64 = means.iter().zip(&self.columns.centres).map(|(mean, centre)| mean * centre).sum();
        Coefficients { intercept: self.target.centres[0] - shift, standard_deviations: of(&deviations), weights: means }
    }

    pub(super) fn sample<R: Rng + ?Sized>(&self, rng: &mut R) -> Result<Draw, ModelError> {
        self.draw(self.weights.draw_deviations(1, rng)?.col(0).iter(), rng)
    }

    pub(super) fn samples<R: Rng + ?Sized>(&self, draws: usize, rng: &mut R) -> Result<Vec<Draw>, ModelError> {
        let deviations = self.weights.draw_deviations(draws, rng)?;
        deviations.col_iter().map(|deviation| self.draw(deviation.iter(), rng)).collect()
    }

    /// The draw with these deviations of the weights, in units of the noise.
    fn draw<'a, R: Rng + ?Sized>(
        &self,
        deviation: impl Iterator<Item = &'a f64>,
        rng: &mut R,
    ) -> Result<Draw, ModelError> {
        let Gamma { shape, rate } = self.noise;
        let overflow = |value| Error::Overflow { quantity: "drawn noise variance", value };
        let precisions = GammaDistribution::new(shape, 1.0 / rate).map_err(|_| overflow(1.0 / rate))?;
        let precision: f64 = precisions.sample(rng);
        let sigma = precision.recip().sqrt();
        if !sigma.is_finite() {
            return Err(overflow(sigma * sigma).into());
        }
        let scale = self.target.scales[0];
        let weights = self.weights.mean().iter().zip(deviation).map(|(mean, deviation)| mean + sigma * deviation);
        let mut centre = self.target.centres[0];
        if self.intercept_variance > 0.0 {
            let z: f64 = StandardNormal.sample(rng);
            centre += scale * sigma * z * self.intercept_variance.sqrt();
        }
        Ok(drawn(centre, scale, weights, self.columns)?)
    }
}

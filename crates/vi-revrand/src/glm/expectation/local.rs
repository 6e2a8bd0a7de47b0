//! Expectations through the mean and variance of each row's predictor.

use super::{Expectation, Kept};
use crate::likelihood::GlmLikelihood;

/// Labels and trials of the rows.
#[derive(Debug, Clone, Copy)]
pub(in crate::glm) struct Labels<'a> {
    pub(in crate::glm) y: &'a [f64],
    pub(in crate::glm) trials: &'a [f64],
}

/// The predictors' moments under one component; a number for each row.
pub(in crate::glm) struct Moments<'a> {
    /// `a`.
    pub(in crate::glm) a: &'a [f64],
    /// `v`.
    pub(in crate::glm) v: &'a [f64],
    /// Receives `∂E/∂a`.
    pub(in crate::glm) by_mean: &'a mut [f64],
    /// Receives `∂E/∂v`.
    pub(in crate::glm) by_variance: &'a mut [f64],
}

/// Buffers, and the rule of a quadrature.
#[derive(Debug, Clone, Default)]
pub(in crate::glm) struct Local {
    rule: Vec<(f64, f64)>,
    predictors: Vec<f64>,
    slopes: Vec<f64>,
    sums: Vec<f64>,
    parameters: Vec<[f64; 2]>,
}

impl Local {
    pub(in crate::glm) fn new(rule: Vec<(f64, f64)>) -> Self {
        Self { rule, ..Self::default() }
    }

    /// `Σₙ E log p(yₙ|f)` over `f ~ N(aₙ, vₙ)`, with the derivatives by each `aₙ` and `vₙ`; adds that by the likelihood's
    /// parameters to `by_parameters`. `normals` are the component's draws.
    pub(in crate::glm) fn expect<L: GlmLikelihood>(
        &mut self,
        expectation: Expectation,
        likelihood: &L,
        labels: Labels<'_>,
        moments: Moments<'_>,
        normals: &[f64],
        by_parameters: &mut [f64],
    ) -> f64 {
        self.parameters.resize(by_parameters.len(), [0.0; 2]);
        match expectation {
            Expectation::SecondOrder => self.second_order(likelihood, labels, moments, by_parameters),
            Expectation::Quadrature { .. } => self.quadrature(likelihood, labels, moments, by_parameters),
            Expectation::Predictors { draws, kept } => {
                self.fill_predictors(&moments, normals, draws, kept);
                self.average(likelihood, labels, moments, (normals, kept), by_parameters)
            }
            // Computed elsewhere, from the weights.
            Expectation::Weights { .. } => f64::NAN,
        }
    }

    /// The second-order series (21): `log p + ½v·(log p)″` at `a`; its derivative by `a` is the first derivative plus `½v` times
    /// the third.
    fn second_order<L: GlmLikelihood>(
        &mut self,
        likelihood: &L,
        Labels { y, trials }: Labels<'_>,
        Moments { a, v, by_mean, by_variance }: Moments<'_>,
        by_parameters: &mut [f64],
    ) -> f64 {
        let mut total = 0.0;
        for n in 0..y.len() {
            let [value, first, second, third] = likelihood.derivatives(y[n], trials[n], a[n]);
            total += value + 0.5 * v[n] * second;
            by_mean[n] = first + 0.5 * v[n] * third;
            by_variance[n] = 0.5 * second;
            if !by_parameters.is_empty() {
                likelihood.parameter_derivatives(y[n], trials[n], a[n], &mut self.parameters);
                for (sum, [value, second]) in by_parameters.iter_mut().zip(&self.parameters) {
                    *sum += value + 0.5 * v[n] * second;
                }
            }
        }
        total
    }

    /// `Σ ωᵢ·log p(y|a + √v·zᵢ)` and the exact derivatives of that sum.
    fn quadrature<L: GlmLikelihood>(
        &mut self,
        likelihood: &L,
        Labels { y, trials }: Labels<'_>,
        Moments { a, v, by_mean, by_variance }: Moments<'_>,
        by_parameters: &mut [f64],
    ) -> f64 {
        let mut total = 0.0;
        for n in 0..y.len() {
            let root = v[n].sqrt();
            let (mut first, mut spread) = (0.0, 0.0);
            for &(z, weight) in &self.rule {
                let f = a[n] + root * z;
                let [value, slope] = likelihood.value_and_slope(y[n], trials[n], f);
                total += weight * value;
                first += weight * slope;
                spread += weight * slope * z;
                if !by_parameters.is_empty() {
                    likelihood.parameter_derivatives(y[n], trials[n], f, &mut self.parameters);
                    for (sum, [value, _]) in by_parameters.iter_mut().zip(&self.parameters) {
                        *sum += weight * value;
                    }
                }
            }
            by_mean[n] = first;
            by_variance[n] = by_root(spread, root);
        }
        total
    }

    /// `f = a + √v·ε`, row by row.
    fn fill_predictors(&mut self, moments: &Moments<'_>, normals: &[f64], draws: usize, kept: Kept) {
        self.predictors.resize(moments.a.len() * draws, 0.0);
        for (n, predictors) in self.predictors.chunks_exact_mut(draws).enumerate() {
            let root = moments.v[n].sqrt();
            for (f, z) in predictors.iter_mut().zip(of_row(normals, n, draws, kept)) {
                *f = moments.a[n] + root * z;
            }
        }
    }

    /// Averages over the predictors.
    fn average<L: GlmLikelihood>(
        &mut self,
        likelihood: &L,
        Labels { y, trials }: Labels<'_>,
        Moments { v, by_mean, by_variance, .. }: Moments<'_>,
        (normals, kept): (&[f64], Kept),
        by_parameters: &mut [f64],
    ) -> f64 {
        let draws = self.predictors.len() / y.len().max(1);
        let share = 1.0 / draws as f64;
        self.slopes.resize(self.predictors.len(), 0.0);
        self.sums.resize(y.len(), 0.0);
        likelihood.sums_and_slopes(y, trials, &self.predictors, &mut self.sums, &mut self.slopes);
        for (n, slopes) in self.slopes.chunks_exact(draws).enumerate() {
            let (mut first, mut spread) = (0.0, 0.0);
            for (slope, z) in slopes.iter().zip(of_row(normals, n, draws, kept)) {
                first += slope;
                spread += slope * z;
            }
            by_mean[n] = share * first;
            by_variance[n] = by_root(share * spread, v[n].sqrt());
        }
        if !by_parameters.is_empty() {
            for (n, predictors) in self.predictors.chunks_exact(draws).enumerate() {
                for &f in predictors {
                    likelihood.parameter_derivatives(y[n], trials[n], f, &mut self.parameters);
                    for (sum, [value, _]) in by_parameters.iter_mut().zip(&self.parameters) {
                        *sum += share * value;
                    }
                }
            }
        }
        share * self.sums.iter().sum::<f64>()
    }
}

/// The draws of row `n`.
fn of_row(normals: &[f64], n: usize, draws: usize, kept: Kept) -> &[f64] {
    match kept {
        Kept::Fresh => &normals[n * draws..][..draws],
        Kept::Fixed => normals,
    }
}

/// Converts `E slope·z` to the derivative by `v` of a function of `a + √v·z`. A row whose features are all 0 has no variance, and
/// the function does not depend on `v`.
fn by_root(spread: f64, root: f64) -> f64 {
    if root > 0.0 { 0.5 * spread / root } else { 0.0 }
}

//! The coordinate ascent: one pass over the columns, then the hyper-parameters.

use vi_core::Error;
use vi_linalg::faer::{Mat, MatRef};
use vi_linalg::kernels::{axpy, dot};

use crate::vb::LinearPrior;

/// The number of weights that are expected not to be 0, before any sweep.
const EXPECTED: f64 = 10.0;

/// `q` and the hyper-parameters, with what they are updated from.
pub(super) struct Ascent {
    x: Mat<f64>,
    /// `x_jᵀx_j`.
    squares: Vec<f64>,
    /// Columns that are not all 0, those that correlate most with `y` first.
    order: Vec<usize>,
    observations: f64,
    /// `a₀`, `b₀`.
    noise_prior: (f64, f64),
    /// `y − XEw`.
    residual: Vec<f64>,
    /// `φ`.
    phi: Vec<f64>,
    /// `m`.
    m: Vec<f64>,
    /// `s`.
    s: Vec<f64>,
    /// `σ²`.
    noise: f64,
    /// `v`.
    slab: f64,
    /// `π`.
    rate: f64,
}

impl Ascent {
    pub(super) fn new(x: MatRef<'_, f64>, y: &[f64], observations: f64, prior: LinearPrior) -> Self {
        let x = x.to_owned();
        let d = x.ncols();
        let column = |j: usize| slice(&x, j);
        let squares: Vec<f64> = (0..d).map(|j| dot(column(j), column(j))).collect();
        let fit: Vec<f64> = (0..d).map(|j| dot(column(j), y).powi(2) / squares[j]).collect();
        let mut order: Vec<usize> = (0..d).filter(|&j| squares[j] > 0.0).collect();
        order.sort_by(|&i, &j| fit[j].total_cmp(&fit[i]));
        let columns = order.len().max(1) as f64;
        let (a0, b0) = (prior.noise_shape(), prior.noise_rate());
        let noise = (2.0 * b0 + dot(y, y)) / (2.0 * a0 + observations);
        let mean_square = squares.iter().sum::<f64>() / (columns * y.len() as f64);
        Self {
            squares,
            order,
            observations,
            noise_prior: (a0, b0),
            residual: y.to_vec(),
            phi: vec![0.0; d],
            m: vec![0.0; d],
            s: vec![0.0; d],
            noise,
            // At the start all of y is noise, and one weight of that prior variance would explain as much.
            slab: if mean_square > 0.0 { 1.0 / mean_square } else { 1.0 },
            rate: EXPECTED.min(0.5 * columns) / columns,
            x,
        }
    }

    /// Updates every weight and then the hyper-parameters; returns the largest change of a weight, in its standard errors.
    ///
    /// # Errors
    /// `Overflow` if the variance of the noise or of the slab is not positive and finite.
    pub(super) fn sweep(&mut self) -> Result<f64, Error> {
        let mut largest = 0.0_f64;
        let odds = (self.rate / (1.0 - self.rate)).ln();
        for k in 0..self.order.len() {
            let j = self.order[k];
            let (column, square) = (slice(&self.x, j), self.squares[j]);
            let before = self.phi[j] * self.m[j];
            let s = self.noise / (square + 1.0 / self.slab); // (8)
            let m = s * (dot(column, &self.residual) + square * before) / self.noise; // (9)
            let log_odds = odds + 0.5 * (s / (self.slab * self.noise)).ln() + m * m / (2.0 * s); // (10)
            let phi = 1.0 / (1.0 + (-log_odds).exp());
            let change = phi * m - before;
            if change != 0.0 {
                axpy(&mut self.residual, -change, column);
            }
            largest = largest.max(change.abs() * (square / self.noise).sqrt());
            (self.phi[j], self.m[j], self.s[j]) = (phi, m, s);
        }
        self.update_hyper_parameters()?;
        Ok(largest)
    }

    /// `σ²`, `v` and `π` at the maximum of ℒ with their priors, one after another.
    fn update_hyper_parameters(&mut self) -> Result<(), Error> {
        let (a0, b0) = self.noise_prior;
        let (count, second) = (self.expected_weights(), self.second_moments());
        self.noise =
            (2.0 * b0 + self.expected_squared_error() + second / self.slab) / (2.0 * a0 + self.observations + count);
        positive("the noise variance", self.noise)?;
        self.slab = (second / self.noise + 1.0) / (count + 1.0);
        positive("the variance of the weights", self.slab)?;
        self.rate = (count + 0.5) / (self.order.len() as f64 + 1.0);
        Ok(())
    }

    /// `Σφ_j`.
    pub(super) fn expected_weights(&self) -> f64 {
        self.phi.iter().sum()
    }

    /// `Σ E w_j²`.
    fn second_moments(&self) -> f64 {
        (0..self.phi.len()).map(|j| self.second_moment(j)).sum()
    }

    /// `E w_j² = φ_j(s_j + m_j²)`.
    fn second_moment(&self, j: usize) -> f64 {
        self.phi[j] * (self.s[j] + self.m[j] * self.m[j])
    }

    /// `E‖y − Xw‖²`.
    fn expected_squared_error(&self) -> f64 {
        let variance = |j: usize| self.second_moment(j) - (self.phi[j] * self.m[j]).powi(2);
        dot(&self.residual, &self.residual) + (0..self.phi.len()).map(|j| self.squares[j] * variance(j)).sum::<f64>()
    }

    /// The terms of ℒ and of the log priors, constants left out.
    fn terms(&self) -> [f64; 6] {
        let (a0, b0) = self.noise_prior;
        let (noise, slab, columns) = (self.noise, self.slab, self.order.len() as f64);
        let (count, second) = (self.expected_weights(), self.second_moments());
        let slabs = |j: &usize| 0.5 * self.phi[*j] * (1.0 + (self.s[*j] / (slab * noise)).ln());
        let entropy = |j: &usize| -> f64 { [self.phi[*j], 1.0 - self.phi[*j]].map(xlogx).iter().sum() };
        [
            -0.5 * (self.observations + 2.0 * a0) * noise.ln(),
            -0.5 * (self.expected_squared_error() + 2.0 * b0 + second / slab) / noise,
            self.order.iter().map(slabs).sum::<f64>(),
            -self.order.iter().map(entropy).sum::<f64>(),
            (count + 0.5) * self.rate.ln() + (columns - count + 0.5) * (-self.rate).ln_1p(),
            -0.5 * slab.ln() - 0.5 / slab,
        ]
    }

    /// ℒ with the log priors of the hyper-parameters, up to a constant.
    pub(super) fn bound(&self) -> f64 {
        self.terms().iter().sum()
    }

    /// How far rounding can move [`bound`](Self::bound): the sizes of its terms, sums of up to `n + d` numbers.
    pub(super) fn rounding(&self) -> f64 {
        let terms = (self.residual.len() + self.phi.len()) as f64;
        terms.sqrt() * f64::EPSILON * self.terms().iter().map(|term| term.abs()).sum::<f64>()
    }

    /// `α_j = σ²/E w_j²`, at most `x_jᵀx_j/ε`: beyond that column `j` is out of every sum to rounding.
    pub(super) fn precisions(&self) -> Vec<f64> {
        let precision = |j: usize| {
            let most = if self.squares[j] > 0.0 { self.squares[j] / f64::EPSILON } else { 1.0 };
            (self.noise / self.second_moment(j)).min(most)
        };
        (0..self.phi.len()).map(precision).collect()
    }

    pub(super) fn noise_variance(&self) -> f64 {
        self.noise
    }

    pub(super) fn slab_variance(&self) -> f64 {
        self.slab
    }

    pub(super) fn inclusion_rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn into_inclusion(self) -> Vec<f64> {
        self.phi
    }
}

fn slice(x: &Mat<f64>, j: usize) -> &[f64] {
    x.col_as_slice(j)
}

fn xlogx(x: f64) -> f64 {
    if x > 0.0 { x * x.ln() } else { 0.0 }
}

fn positive(quantity: &'static str, value: f64) -> Result<(), Error> {
    if value > 0.0 && value.is_finite() { Ok(()) } else { Err(Error::Overflow { quantity, value }) }
}

#[cfg(test)]
impl Ascent {
    /// The bound with `σ²`, `v` and `π` multiplied so.
    pub(super) fn bound_with(&self, [noise, slab, rate]: [f64; 3]) -> f64 {
        let other = Self {
            x: Mat::new(),
            squares: self.squares.clone(),
            order: self.order.clone(),
            residual: self.residual.clone(),
            phi: self.phi.clone(),
            m: self.m.clone(),
            s: self.s.clone(),
            noise: noise * self.noise,
            slab: slab * self.slab,
            rate: rate * self.rate,
            ..*self
        };
        other.bound()
    }
}

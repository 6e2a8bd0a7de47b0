//! The iteration under Jaakkola and Jordan's bound (note §2.2, §2.5.2).

use libm::lgamma;
use vi_core::Error;
use vi_core::special::jaakkola_jordan;
use vi_linalg::kernels::dot;

use super::super::ascent::{Cycle, Start, Step};
use super::super::gamma::Gamma;
use super::super::ridge::Ridge;
use super::{End, Model};
use crate::ModelError;
use crate::whitened::product;

/// `ln ξ²` of a row of zeros, for which `ξ = 0`.
const LOG_ZERO: f64 = -700.0;

/// The `ξ` below which `λ(ξ)` is computed by its series, since it would be a quotient of two small numbers.
const SMALL: f64 = 1e-4;

/// `θ = (ln E α of each group, ln ξ² of each row)`.
pub(super) struct Quadratic<'a> {
    model: &'a Model<'a>,
    ridge: Ridge<'a>,
    /// `±½`.
    r: Vec<f64>,
    /// `Xᵀr`.
    pull: Vec<f64>,
    h: Vec<f64>,
    a: Vec<f64>,
    nu: Vec<f64>,
    /// The `θ` for which the other fields were computed.
    at: Vec<f64>,
}

impl<'a> Quadratic<'a> {
    pub(super) fn new(model: &'a Model<'a>, ridge: Ridge<'a>) -> Self {
        let n = model.y.len();
        let r: Vec<f64> = model.y.iter().map(|y| y - 0.5).collect();
        let pull = product(ridge.rows(), &r);
        Self { model, ridge, r, pull, h: vec![0.25; n], a: vec![0.0; n], nu: vec![0.0; n], at: Vec::new() }
    }

    /// The start (87)-(91): `ξ = 0`, `E α = a₀/b₀`, and the value that the authors take as the bound there.
    pub(super) fn start(&mut self) -> Result<Start, ModelError> {
        let alpha = vec![self.model.prior.mean(); self.model.shapes.len()];
        self.solve(&alpha)?;
        let shrinkage = self.shrinkage(&alpha);
        let local = -(self.r.len() as f64) * std::f64::consts::LN_2; // (91)
        let (pseudo_bound, _) = self.bound(local, &shrinkage);
        Ok(Start { theta: self.theta(&shrinkage), pseudo_bound: Some(pseudo_bound) })
    }

    fn solve(&mut self, alpha: &[f64]) -> Result<(), ModelError> {
        let shrinkage = self.model.grouping.shrinkage(alpha, self.model.d);
        self.ridge.solve_weighted(shrinkage, &self.h, &self.r) // (49), (50), (72), (73)
    }

    /// `Σ w² + V_jj`.
    fn moments(&mut self, alpha: &[f64]) -> Vec<f64> {
        let (grouping, groups) = (self.model.grouping, alpha.len());
        grouping.second_moments(&mut self.ridge, groups, alpha, &self.h, &self.nu)
    }

    /// Computes `q(α)` from projections of all rows.
    fn shrinkage(&mut self, alpha: &[f64]) -> Vec<Gamma> {
        self.ridge.project(&mut self.a, &mut self.nu);
        let moments = self.moments(alpha);
        self.model.of_moments(&moments)
    }

    /// (54), (63).
    fn theta(&self, shrinkage: &[Gamma]) -> Vec<f64> {
        let log_squares = self.a.iter().zip(&self.nu).map(|(a, nu)| (nu + a * a).ln().max(LOG_ZERO));
        shrinkage.iter().map(|alpha| alpha.mean().ln()).chain(log_squares).collect()
    }

    /// (62), (80) without constants, and the size of its terms; `local` is the sum over rows.
    fn bound(&self, local: f64, shrinkage: &[Gamma]) -> (f64, f64) {
        let (mut bound, mut size) = (0.0, 0.0);
        let mut add = |term: f64| {
            bound += term;
            size += term.abs();
        };
        add(local);
        add(0.5 * dot(self.ridge.mean(), &self.pull)); // ½wᵀV⁻¹w
        add(0.5 * self.ridge.log_det());
        for alpha in shrinkage {
            add(-self.model.prior.rate * alpha.mean());
            add(-alpha.shape * alpha.rate.ln());
            add(lgamma(alpha.shape) + alpha.shape);
        }
        (bound, size)
    }

    /// Returns `Σ ln σ(ξ) − ξ/2 + λ(ξ)ξ²` and writes `2λ` into `h`.
    fn local(&mut self, log_squares: &[f64]) -> f64 {
        let mut sum = 0.0;
        for (h, log_square) in self.h.iter_mut().zip(log_squares) {
            let xi = (0.5 * log_square).exp();
            // tanh(ξ/2) = −m/(2+m) and ln σ(ξ) = −ln(2+m) with m = e^(−ξ) − 1.
            let m = (-xi).exp_m1();
            *h = if xi < SMALL { jaakkola_jordan(xi) } else { -m / ((2.0 + m) * 2.0 * xi) };
            sum += -(1.0 + m).ln_1p() - 0.5 * xi + 0.5 * *h * xi * xi;
        }
        sum
    }

    /// The end of the ascent that reached `theta`.
    pub(super) fn end(mut self, theta: &[f64]) -> Result<End<'a>, ModelError> {
        let (log_alpha, log_squares) = theta.split_at(self.model.shapes.len());
        let alpha: Vec<f64> = log_alpha.iter().map(|log| log.exp()).collect();
        let local = self.local(log_squares);
        if self.at != theta {
            self.solve(&alpha)?;
            self.ridge.project(&mut self.a, &mut self.nu);
        }
        let moments = self.moments(&alpha);
        // (46), whose expectation (57) is.
        let rows = self.r.iter().zip(&self.h).zip(self.a.iter().zip(&self.nu));
        let likelihood = local + rows.map(|((r, h), (a, nu))| r * a - 0.5 * h * (nu + a * a)).sum::<f64>();
        Ok(End {
            shrinkage: self.model.of_means(&alpha),
            xi: log_squares.iter().map(|log| if *log > LOG_ZERO { (0.5 * log).exp() } else { 0.0 }).collect(),
            likelihood,
            moments,
            r: self.r,
            ridge: self.ridge,
        })
    }
}

impl Cycle for Quadratic<'_> {
    type State = ();

    fn cycle(&mut self, theta: &[f64]) -> Result<Step<()>, ModelError> {
        let (log_alpha, log_squares) = theta.split_at(self.model.shapes.len());
        let alpha: Vec<f64> = log_alpha.iter().map(|log| log.exp()).collect();
        let local = self.local(log_squares);
        self.at.clear();
        self.solve(&alpha)?;
        let (bound, size) = self.bound(local, &self.model.of_means(&alpha));
        if !bound.is_finite() {
            return Err(Error::Overflow { quantity: "the bound", value: bound }.into());
        }
        let shrinkage = self.shrinkage(&alpha); // (53), (75)
        self.at.extend_from_slice(theta);
        Ok(Step { bound, size, next: self.theta(&shrinkage), state: () })
    }
}

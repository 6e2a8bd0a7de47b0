//! Whether an event comes within a time of a constant hazard.

use vi_core::implicit::ImplicitRoot;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Tilted};

use crate::likelihood::Poisson;

/// The density `hᵈ·e^(−Δh)`, `h = eᵗ`, of `d = 1` event after a time `Δ`, or of `d = 0` events within it: a Poisson count at exposure `Δ`, per unit
/// of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::online) struct Hazard {
    counts: Poisson,
    log_time: f64,
}

impl Hazard {
    /// # Errors
    /// `Setting` unless the time is positive and finite.
    pub(super) fn new(time: f64) -> Result<Self, Error> {
        Ok(Self { counts: Poisson::new(time)?, log_time: time.ln() })
    }
}

impl Likelihood for Hazard {
    fn family(&self) -> &'static str {
        "piecewise-constant hazard (0 or 1 event)"
    }

    fn supports(&self, label: f64) -> bool {
        label == 0.0 || label == 1.0
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.counts.log_density(y, t) - y * self.log_time
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.counts.slope(y, t)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.counts.curvature(y, t)
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.counts.beyond_tangent(y, t, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.counts.peak(y)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.counts.fisher_information(t)
    }
}

impl GaussianExpectation for Hazard {
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        self.counts.expected_slope_curvature(y, a, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let counted = self.counts.expected(y, a, nu);
        Expected { value: counted.value - y * self.log_time, ..counted }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.counts.log_predictive(y, a, nu) - y * self.log_time
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        let counted = self.counts.tilted(y, a, nu)?;
        Ok(Tilted { log_normaliser: counted.log_normaliser - y * self.log_time, ..counted })
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        self.counts.implicit_root(y, a, nu)
    }

    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        self.counts.weighted_implicit_root(weight, y, a, nu)
    }
}

//! Tells whether a covariance that has been updated many times still has a Cholesky factor, without factoring it at each row.
//!
//! Rounding moves the entries of `P` at an update by some `ε·√(PᵢᵢPⱼⱼ)`. With `D = diag(√Pᵢᵢ)` that is `Δ = D·S·D`, `‖S‖ ≈ ε√d`, and in
//! units of the covariance after the update
//!
//! ```text
//! ‖P⁻½ Δ P⁻½‖ ≤ ‖S‖·‖D P⁻¹ D‖ ≤ cε√d · Σᵢ PᵢᵢΛᵢᵢ,    Λ = P⁻¹
//! ```
//!
//! Later updates carry an error along and never enlarge it in these units, and forgetting scales it with `P`; so the errors of
//! all updates add up to a single number. `Λᵢᵢ` is updated from the rows alone, `Λᵢᵢ ← λΛᵢᵢ + hxᵢ²`. While the sum is well below
//! 1, `P` has a factor. Otherwise the covariance that the update would leave is factored, and the sum starts again from what was
//! found. So the answer depends on that covariance alone, and not on when it was last factored.

use vi_linalg::Cholesky;

/// The bound on the relative error up to which a covariance is not factored.
const UNSEEN: f64 = 0.125;

/// What is known about the inverse of a covariance and about its rounding errors.
#[derive(Debug, Clone, Default)]
pub(crate) struct Digits {
    /// Upper bounds of `Λᵢᵢ`; empty where nothing is known.
    precisions: Vec<f64>,
    /// An upper bound of `‖P⁻½EP⁻½‖`, `E` being the rounding errors since the last factorisation.
    error: f64,
}

/// How one update changes the digits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Strain {
    /// `Σ (Pᵢᵢ + what it loses)·Λᵢᵢ`, `P` before and `Λ` after the update.
    pub(super) condition: f64,
    /// How many roundings, of `ε√(PᵢᵢPⱼⱼ)` each, the update adds to an entry.
    pub(super) roundings: f64,
    /// How much a loss of information enlarges errors: `1/(1+hν)` for negative `h`, or 1.
    pub(super) growth: f64,
}

impl Digits {
    /// The digits of the covariance `I/precision`.
    pub(super) fn of_isotropic(d: usize, precision: f64) -> Self {
        Self { precisions: vec![precision; d], error: 0.0 }
    }

    /// The digits of a covariance that has just been factored. Cost `d³`.
    pub(super) fn of_factor(factor: &Cholesky) -> Self {
        let inverse = factor.inverse();
        Self { precisions: (0..inverse.nrows()).map(|i| inverse[(i, i)]).collect(), error: 0.0 }
    }

    /// The digits of the inverse of a precision that has a factor, given the diagonals of both, with as many roundings as an entry has terms;
    /// unknown where the errors are too large.
    pub(super) fn of_inverse(precisions: Vec<f64>, variance: impl Fn(usize) -> f64) -> Self {
        let condition = precisions.iter().enumerate().map(|(i, precision)| variance(i) * precision).sum();
        let strain = Strain { condition, roundings: precisions.len() as f64, growth: 1.0 };
        Self { precisions, error: 0.0 }.strained(strain)
    }

    /// An upper bound of `Λᵢᵢ`, infinite where none is known.
    pub(super) fn precision(&self, i: usize) -> f64 {
        self.precisions.get(i).copied().unwrap_or(f64::INFINITY)
    }

    /// A bound on the error after an update. Returns `None` if the covariance has to be factored to know that it has a factor,
    /// and that each coordinate's variance given the others is at least the share `room` of its variance.
    pub(super) fn after(&self, strain: Strain, room: f64) -> Option<f64> {
        let d = self.precisions.len() as f64;
        let error = self.error * strain.growth + strain.roundings * f64::EPSILON * d.sqrt() * strain.condition;
        (error <= UNSEEN && room * strain.condition <= 1.0 - UNSEEN).then_some(error)
    }

    /// The digits of `P/λ`, which has the same relative errors.
    pub(crate) fn faded(&self, lambda: f64) -> Self {
        Self { precisions: self.precisions.iter().map(|precision| lambda * precision).collect(), error: self.error }
    }

    /// The digits of the covariance whose precision is `λΛ + (1−λ)Λ₀`, whether reached by `d` updates or exactly, given the
    /// variances of `P/λ` and the diagonal of `Λ₀`. They are unknown if the errors have become too large.
    pub(crate) fn mixed(&self, lambda: f64, variance: impl Fn(usize) -> f64, anchor: impl Fn(usize) -> f64) -> Self {
        let mut next = self.faded(lambda);
        let mut condition = 0.0;
        for (i, precision) in next.precisions.iter_mut().enumerate() {
            *precision += (1.0 - lambda) * anchor(i);
            condition += variance(i) * *precision;
        }
        let strain = Strain { condition, roundings: 5.0 * self.precisions.len() as f64, growth: 1.0 };
        next.strained(strain)
    }

    /// These digits after a strain; unknown if the errors have become too large.
    fn strained(self, strain: Strain) -> Self {
        match self.after(strain, 0.0) {
            Some(error) => Self { error, ..self },
            None => Self::default(),
        }
    }

    /// Takes an update that left the given error into account: `Λᵢᵢ ← λΛᵢᵢ + added(i)`.
    pub(super) fn follow(&mut self, fade: f64, error: f64, added: impl Fn(usize) -> f64) {
        for (i, precision) in self.precisions.iter_mut().enumerate() {
            *precision = fade * *precision + added(i);
        }
        self.error = error;
    }
}

/// The least share of a coordinate's variance that is left given the coordinates before it.
pub(super) fn least_share(variance: impl Fn(usize) -> f64, factor: &Cholesky) -> f64 {
    let root = factor.factor();
    (0..root.nrows()).map(|i| root[(i, i)] * root[(i, i)] / variance(i)).fold(1.0, f64::min)
}

//! How an M-step treats the diagonal, and how a step of the recursion goes.

use crate::Error;
use crate::error::check_positive;

/// The form of `Ψ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Diagonal {
    /// `Ψ = diag ψ`: factor analysis.
    #[default]
    Free,
    /// `Ψ = σ²I`, σ² being the mean of what factor analysis gives: probabilistic principal components (PPCA).
    Isotropic,
}

/// How an M-step treats `ψ`; the default is [`Diagonal::Free`] without a floor.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DiagonalSettings {
    form: Diagonal,
    floor: Option<f64>,
}

impl DiagonalSettings {
    /// [`Diagonal::Free`] without a floor.
    #[must_use]
    pub const fn free() -> Self {
        Self { form: Diagonal::Free, floor: None }
    }

    /// This form, without a floor: a `ψ` that reaches zero is an error.
    #[must_use]
    pub fn new(form: Diagonal) -> Self {
        Self { form, floor: None }
    }

    /// The same, but a `ψ` below `floor` is lifted to it and counted.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `floor` is positive and finite.
    pub fn with_floor(self, floor: f64) -> Result<Self, Error> {
        check_positive("floor", floor)?;
        Ok(Self { floor: Some(floor), ..self })
    }

    /// The form of `Ψ`.
    #[must_use]
    pub fn form(self) -> Diagonal {
        self.form
    }

    /// The floor, if there is one.
    #[must_use]
    pub fn floor(self) -> Option<f64> {
        self.floor
    }
}

/// How a step of the recursion goes; checked at construction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UpdateSettings {
    pub(super) inner_loops: usize,
    pub(super) diagonal: DiagonalSettings,
}

impl Default for UpdateSettings {
    /// 3 inner loops, [`DiagonalSettings::default`].
    fn default() -> Self {
        Self { inner_loops: 3, diagonal: DiagonalSettings::default() }
    }
}

impl UpdateSettings {
    /// This many inner loops, at least one (the paper takes 1 to 3), and this form of `Ψ`.
    ///
    /// # Errors
    /// [`Error::Setting`] for no inner loops.
    pub fn new(inner_loops: usize, diagonal: DiagonalSettings) -> Result<Self, Error> {
        if inner_loops == 0 {
            return Err(Error::Setting { name: "inner_loops", value: 0.0, requirement: "at least 1" });
        }
        Ok(Self { inner_loops, diagonal })
    }
}

/// What became of a diagonal in one pass over the rows: the parts of several tiles merge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outcome {
    settings: DiagonalSettings,
    floored: usize,
    sum: f64,
    /// The first entry that is of no use.
    bad: Option<(usize, f64)>,
}

impl Outcome {
    pub(super) fn new(settings: DiagonalSettings) -> Self {
        Self { settings, floored: 0, sum: 0.0, bad: None }
    }

    /// Entry `index` as the settings have it.
    pub(super) fn see(&mut self, index: usize, psi: f64) -> f64 {
        self.sum += psi;
        match self.settings.form {
            Diagonal::Free => self.lifted(index, psi),
            Diagonal::Isotropic => psi,
        }
    }

    fn lifted(&mut self, index: usize, psi: f64) -> f64 {
        if let Some(floor) = self.settings.floor.filter(|floor| psi < *floor) {
            self.floored += 1;
            return floor;
        }
        if !(psi > 0.0 && psi.is_finite()) && self.bad.is_none() {
            self.bad = Some((index, psi));
        }
        psi
    }

    /// Adds what `right`, of later rows, has seen.
    pub(super) fn merge(&mut self, right: Self) {
        self.floored += right.floored;
        self.sum += right.sum;
        self.bad = self.bad.or(right.bad);
    }

    /// After the last row: an isotropic `ψ` becomes its mean. Returns how many entries the floor has lifted.
    ///
    /// # Errors
    /// [`Error::Entry`] or [`Error::Overflow`] for the first entry that is of no use.
    pub(super) fn finish(mut self, psi: &mut [f64]) -> Result<usize, Error> {
        if self.settings.form == Diagonal::Isotropic && !psi.is_empty() {
            let mean = self.lifted(0, self.sum / psi.len() as f64);
            psi.fill(mean);
        }
        match self.bad {
            None => Ok(self.floored),
            Some((index, value)) if value <= 0.0 => Err(vanishing(index, value)),
            Some((_, value)) => Err(Error::Overflow { quantity: "psi", value }),
        }
    }
}

/// The error that entry `index` of `ψ` reaches zero.
pub(super) fn vanishing(index: usize, value: f64) -> Error {
    Error::Entry { argument: "psi", index, value, requirement: "above 0; the diagonal has no floor" }
}

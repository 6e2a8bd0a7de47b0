//! How an M-step treats the diagonal, and how a step of the recursion goes.

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::check;
use crate::low_rank::check_loops;

/// The form of `Ψ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Diagonal {
    /// `Ψ = diag ψ`: factor analysis.
    #[default]
    Free,
    /// `Ψ = σ²I`, σ² being the mean of what factor analysis gives: probabilistic principal components (PPCA).
    Isotropic,
}

/// How an M-step treats `ψ`; the default is [`Diagonal::Free`] without a floor.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
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
        check::positive("floor", floor)?;
        Ok(Self { floor: Some(floor), ..self })
    }

    pub(super) fn check(self) -> Result<(), Error> {
        self.floor.map_or(Ok(()), |floor| check::positive("floor", floor))
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
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
    /// [`Error::Setting`] unless `1 ≤ inner_loops ≤ 1000`.
    pub fn new(inner_loops: usize, diagonal: DiagonalSettings) -> Result<Self, Error> {
        let settings = Self { inner_loops, diagonal };
        settings.check().map(|()| settings)
    }

    pub(super) fn check(self) -> Result<(), Error> {
        check_loops(1, self.inner_loops)?;
        self.diagonal.check()
    }
}

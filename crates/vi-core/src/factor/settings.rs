//! Settings of an M-step's diagonal and of a step of the recursion.

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
    /// The form of `Ψ`.
    pub form: Diagonal,
    /// The least value of `ψ`: lower ones are lifted to it and counted; without a floor, a `ψ` that reaches zero is an error.
    pub floor: Option<f64>,
}

impl DiagonalSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the floor is positive and finite.
    pub fn check(&self) -> Result<(), Error> {
        self.floor.map_or(Ok(()), |floor| check::positive("floor", floor))
    }
}

/// The settings of a step of the recursion.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UpdateSettings {
    /// The number of inner loops, from 1 to 1000; the paper takes 1 to 3.
    pub inner_loops: usize,
    /// The form of `Ψ`.
    pub diagonal: DiagonalSettings,
}

impl Default for UpdateSettings {
    /// The default is 3 inner loops and [`DiagonalSettings::default`].
    fn default() -> Self {
        Self { inner_loops: 3, diagonal: DiagonalSettings::default() }
    }
}

impl UpdateSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `1 ≤ inner_loops ≤ 1000`, and for the diagonal.
    pub fn check(&self) -> Result<(), Error> {
        check_loops(1, self.inner_loops)?;
        self.diagonal.check()
    }
}

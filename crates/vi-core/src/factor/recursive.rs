//! Recursive EM for factor analysis: Algorithm 1.

use serde::{Deserialize, Serialize};

use vi_linalg::LowRank;
use vi_linalg::faer::{MatRef, Par};

use super::settings::UpdateSettings;
use super::update::{UpdateScratch, update};
use super::weights::Weights;
use crate::Error;
use crate::check;

/// The settings of [`RecursiveEm`]. The default is [`Weights::Mean`] with [`UpdateSettings::default`].
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct RecursiveSettings {
    /// How the current matrix and new outer products are weighted.
    pub weights: Weights,
    /// The settings of a step.
    pub update: UpdateSettings,
}

impl RecursiveSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] for weights out of their range, and for the step.
    pub fn check(&self) -> Result<(), Error> {
        self.weights.check()?;
        self.update.check()
    }
}

/// A running factor analysis `S_t ≈ Ψ + WWᵀ` of `S_t = α_t·S_{t−1} + β_t·x_t x_tᵀ` (28), by Algorithm 1.
///
/// `O(dp)` memory, and in flops `6dp² + 6dp` for each observation and `10dp² + 4dp` for each further inner loop.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::factor::{self, RecursiveEm, RecursiveSettings};
/// use vi_linalg::faer::{Par, mat};
/// let rows = mat![[1.0, 2.0, -1.0], [0.5, 1.0, 0.0], [-2.0, -4.0, 2.0]];
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let start = factor::start_isotropic(3, 1, factor::guess_sigma0(rows.as_ref())?, 1e-4, rng)?;
/// let mut em = RecursiveEm::new(start, &RecursiveSettings::default())?;
/// em.run(rows.as_ref(), Par::Seq)?;
/// assert_eq!(em.seen(), 3);
/// assert!(em.factor().w()[(0, 0)] * em.factor().w()[(1, 0)] > 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct RecursiveEm {
    pub(super) factor: LowRank,
    pub(super) settings: RecursiveSettings,
    pub(super) seen: usize,
    pub(super) floored: usize,
    scratch: UpdateScratch,
}

impl RecursiveEm {
    /// A factor analysis from `start`, such as [`start_isotropic`](super::start_isotropic) gives.
    ///
    /// # Errors
    /// Those of [`RecursiveSettings::check`].
    pub fn new(start: LowRank, settings: &RecursiveSettings) -> Result<Self, Error> {
        settings.check()?;
        Ok(Self { factor: start, settings: *settings, seen: 0, floored: 0, scratch: UpdateScratch::default() })
    }

    /// Takes one observation `x` of length `d`.
    ///
    /// # Errors
    /// As [`step_block`](Self::step_block); the state is then as it was.
    pub fn step(&mut self, x: &[f64], par: Par) -> Result<(), Error> {
        check::length("x", self.factor.dim(), x.len())?;
        self.step_block(MatRef::from_column_major_slice(x, x.len(), 1), par)
    }

    /// Takes the columns of `x` (`d × K`) at once: `x_tx_tᵀ` becomes `XXᵀ`, weighted as [`Weights`] says of several columns.
    ///
    /// # Errors
    /// [`Error::Empty`] for `K = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::Setting`] for more columns of `W` than rows and
    /// 4096, [`Error::Entry`] where `ψ` would reach zero without a floor, [`Error::Overflow`], [`Error::NotPositiveDefinite`]; the state is
    /// then as it was.
    ///
    /// ```
    /// use vi_core::factor::{RecursiveEm, RecursiveSettings};
    /// use vi_linalg::LowRank;
    /// use vi_linalg::faer::{Par, mat};
    /// let start = LowRank::new(mat![[0.1], [0.1], [0.0]].as_ref(), &[1.0; 3])?;
    /// let mut em = RecursiveEm::new(start, &RecursiveSettings::default())?;
    /// // Two observations of three numbers, the first two of which move together.
    /// let both = mat![[1.0, -1.0], [1.0, -1.0], [0.5, 0.5]];
    /// for _ in 0..100 {
    ///     em.step_block(both.as_ref(), Par::Seq)?;
    /// }
    /// assert_eq!(em.seen(), 200);
    /// let w = em.factor().w();
    /// // Most of their covariance, which is 1.
    /// assert!(w[(0, 0)] * w[(1, 0)] > 0.8 && w[(2, 0)].abs() < 1e-10);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn step_block(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        let weights = self.settings.weights.at(self.seen, x.ncols().max(1));
        let floored = update(&mut self.factor, x, weights, &self.settings.update, &mut self.scratch, par)?;
        self.floored += floored;
        self.seen += x.ncols();
        Ok(())
    }

    /// Takes the rows of `x` (`n × d`), one after the other; they are checked first. Copies the state.
    ///
    /// # Errors
    /// [`Error::Empty`] for `n = 0`, [`Error::Dimension`], [`Error::Row`] at the first row that fails; the state is then as it was.
    pub fn run(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        check::rows(self.factor.dim(), x)?;
        let mut moved = self.clone();
        for (t, row) in x.row_iter().enumerate() {
            moved.step_block(row.transpose().as_mat(), par).map_err(|error| error.at_row(t))?;
        }
        *self = moved;
        Ok(())
    }

    /// The current `W` and `ψ`.
    #[must_use]
    pub fn factor(&self) -> &LowRank {
        &self.factor
    }

    /// The current `W` and `ψ`, without a copy.
    #[must_use]
    pub fn into_factor(self) -> LowRank {
        self.factor
    }

    /// The number of columns seen.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Entries of `ψ` lifted to the floor so far.
    #[must_use]
    pub fn floored(&self) -> usize {
        self.floored
    }
}

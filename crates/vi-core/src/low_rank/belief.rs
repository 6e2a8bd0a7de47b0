//! The low-rank belief: construction and properties.

use std::sync::OnceLock;

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, MatRef};

use super::settings::LowRankSettings;
use super::storage::{Full, Storage};
use crate::Error;
use crate::check;

/// Counts of what projections have done since the belief was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ProjectionCounts {
    /// The number of projections.
    pub projections: u64,
    /// Entries of `ψ` that a projection had put below a floor, and that were lifted to it. There are three floors: the spectral
    /// start's `ψ₁ ≥ ψ` (less where curvatures are negative) and the EM step's `ψ⁺ ≥ ψψ₁/(ψ + ψ₁)`, which only rounding can
    /// violate, and `ψ⁺ ≥ min(ψ₀, 10⁻⁶·diag S)`, with `ψ₀` the smallest that the belief began with, for coordinates that `W`
    /// explains wholly (Heywood cases), whose `ψ` would halve with every projection. Beside them the pivots of `M`, at least 1, that
    /// rounding had put below.
    pub lifted: u64,
}

/// The belief `θ ~ N(μ, (Ψ + WWᵀ)⁻¹)`: a precision of low rank plus a diagonal, `O(dp)` memory (L-RVGA).
///
/// An observation turns the precision into `Ψ + WWᵀ + h·xxᵀ`, and `μ` moves exactly. What follows is the projection back to rank
/// `p`, to a nearby factor-analysis Gaussian; [`LowRankSettings`] says how. By default rows are buffered until a block is full
/// and are then projected together: until then the belief is exactly `N(μ, (Ψ + WWᵀ + XHXᵀ)⁻¹)`, and everything here
/// ([`mean`](crate::Belief::mean), [`predict`](Self::predict), draws, checkpoints) includes the buffered rows.
/// [`flush`](Self::flush) projects them at once.
///
/// The posterior depends on which rows are projected together. [`run`](Self::run) and steps row by row fill each block of
/// [`LowRankSettings::block`] rows; [`block::run`](crate::block::run) hands over its own blocks whole, and if their size does not
/// divide the belief's, the rows are divided differently and the posterior is another.
///
/// | symbol | name in code | shape |
/// | :-- | :-- | :-- |
/// | `W`, `ψ` | [`precision`](Self::precision) | `d × p`, `d` |
/// | `X`, `h` | buffered rows, at most [`LowRankSettings::block`] | `d × k`, `k` |
/// | `M = I + WᵀΨ⁻¹W` | `capacitance` | `p × p` |
///
/// `p = 0` is a diagonal precision. `p ≥ d` loses nothing but by rounding: `WᵀΨ⁻¹W` is rounded, so from a flat prior the
/// covariance is off by `ε·σ₀²·‖X‖²/σ²` relative to its scale (1e-8 at `σ₀ = 10³` for a hundred rows of length 5), where a
/// [square root](crate::SquareRootGaussian) loses the root of that.
///
/// ```
/// use vi_core::{Belief, BernoulliLogit, Implicit, LowRankGaussian, LowRankSettings, Mixture8};
/// use vi_linalg::faer::Par;
/// let mut belief = LowRankGaussian::isotropic(&[0.0; 1000], 1.0, LowRankSettings::blocked(5)?)?;
/// let row: Vec<f64> = (0..1000).map(|i| (i as f64).sin()).collect();
/// belief.step(&Implicit(BernoulliLogit(Mixture8)), &row, 1.0, Par::Seq)?;
/// assert_eq!(belief.waiting(), 1);
/// let before = belief.predict(&row, Par::Seq)?;
/// belief.flush(Par::Seq)?;
/// let after = belief.predict(&row, Par::Seq)?;
/// assert!((before.mean - after.mean).abs() < 1e-12 && (before.variance / after.variance - 1.0).abs() < 1e-10);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct LowRankGaussian {
    pub(super) storage: Storage,
    /// `μ` including the buffered rows and the precision times its scale, computed when first asked for.
    pub(super) shown: OnceLock<Vec<f64>>,
    pub(super) shown_precision: OnceLock<Box<LowRank>>,
}

impl LowRankGaussian {
    /// The belief `N(mean, diag(variances))`, both of length `d`: `W = 0`, `ψ = 1/variances`, exactly.
    ///
    /// # Errors
    /// [`Error::Empty`] for `d = 0`, [`Error::Dimension`], [`Error::NonFinite`], [`Error::NotPositiveDefinite`] with the
    /// index of a variance that is not positive or has no finite inverse, [`Error::Entry`] for one below 1e-140.
    pub fn new(mean: &[f64], variances: &[f64], settings: LowRankSettings) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check::finite("mean", mean)?;
        check::length("variances", mean.len(), variances.len())?;
        check::finite("variances", variances)?;
        let psi: Vec<f64> = variances.iter().map(|variance| 1.0 / variance).collect();
        if let Some(pivot) = psi.iter().position(|psi| !(*psi > 0.0 && psi.is_finite())) {
            return Err(Error::NotPositiveDefinite { argument: "variances", pivot });
        }
        Ok(Full::from_parts(mean.to_vec(), LowRank::diagonal_only(&psi, settings.rank())?, settings)?.into())
    }

    /// The belief `N(mean, σ₀²·I)`; `sigma0` is a standard deviation, in units of `θ`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NonFinite`], or [`Error::Setting`] unless `σ₀ > 0` and `σ₀²` and its inverse are finite;
    /// [`Error::Entry`] for a `σ₀²` below 1e-140.
    pub fn isotropic(mean: &[f64], sigma0: f64, settings: LowRankSettings) -> Result<Self, Error> {
        check::positive("sigma0", sigma0)?;
        check::positive("sigma0²", sigma0 * sigma0)?;
        check::positive("1/sigma0²", 1.0 / (sigma0 * sigma0))?;
        Self::new(mean, &vec![sigma0 * sigma0; mean.len()], settings)
    }

    /// The belief `N(mean, (Ψ + WWᵀ)⁻¹)` for `w` of `d × p` and `psi` of length `d`.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::Dimension`] (also if `w` does not have the settings' rank), [`Error::NonFinite`],
    /// [`Error::Linalg`] for an invalid entry of `w` or `psi`, with its place; [`Error::Entry`] for a `ψ` above 1e140,
    /// [`Error::Overflow`] for a column of `w` with `wᵀΨ⁻¹w` above 1e140.
    pub fn from_precision(
        mean: &[f64],
        w: MatRef<'_, f64>,
        psi: &[f64],
        settings: LowRankSettings,
    ) -> Result<Self, Error> {
        if mean.is_empty() {
            return Err(Error::Empty { argument: "mean" });
        }
        check::finite("mean", mean)?;
        check::length("psi", mean.len(), psi.len())?;
        check::length("columns of w", settings.rank(), w.ncols())?;
        Ok(Full::from_parts(mean.to_vec(), LowRank::new(w, psi)?, settings)?.into())
    }

    /// A belief near `N(mean, diag(variances))` whose `W` is not zero (L-RVGA, Appendix D): `ψ = (1−ε)/variances` and the
    /// columns of `W` are random directions of equal length in the metric of the prior, such that
    /// `tr(Ψ + WWᵀ) = tr P₀⁻¹`. Where every variance is `σ₀²` the columns have length `√(εd/p)/σ₀`.
    ///
    /// Use it with the [recursion as printed](LowRankSettings::recursive), which cannot leave `W = 0`; for the other forms use
    /// the exact prior, [`new`](Self::new).
    ///
    /// # Errors
    /// As [`new`](Self::new); [`Error::Setting`] unless `0 < ε < 1`.
    ///
    /// ```
    /// use rand::SeedableRng;
    /// use vi_core::{LowRankGaussian, LowRankSettings, MeanMoves};
    /// let form = LowRankSettings::recursive(2, 3, MeanMoves::BeforeProjection)?;
    /// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
    /// let belief = LowRankGaussian::with_small_factor(&[0.0; 3], &[1.0, 4.0, 0.5], 1e-3, form, rng)?;
    /// // The trace of the prior precision, 1 + 1/4 + 2, of which W has a thousandth.
    /// assert!((belief.precision().diagonal().iter().sum::<f64>() - 3.25).abs() < 1e-14);
    /// assert!((belief.precision().w().squared_norm_l2() - 3.25e-3).abs() < 1e-16);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn with_small_factor<R: Rng + ?Sized>(
        mean: &[f64],
        variances: &[f64],
        epsilon: f64,
        settings: LowRankSettings,
        rng: &mut R,
    ) -> Result<Self, Error> {
        if !(epsilon > 0.0 && epsilon < 1.0) {
            return Err(Error::Setting { name: "epsilon", value: epsilon, requirement: "between 0 and 1" });
        }
        let exact = Self::new(mean, variances, settings)?;
        let (d, p) = (mean.len(), settings.rank());
        if p == 0 {
            return Ok(exact);
        }
        let prior = exact.precision().psi();
        let mut w = Mat::from_fn(d, p, |_, _| StandardNormal.sample(rng));
        let trace: f64 = prior.iter().sum();
        for j in 0..p {
            for (i, psi) in prior.iter().enumerate() {
                w[(i, j)] *= psi.sqrt();
            }
            let scale = (epsilon * trace / p as f64).sqrt() / w.col(j).norm_l2();
            for i in 0..d {
                w[(i, j)] *= scale;
            }
        }
        let psi: Vec<f64> = prior.iter().map(|psi| (1.0 - epsilon) * psi).collect();
        Self::from_precision(mean, w.as_ref(), &psi, settings)
    }

    /// A belief of which nothing has been shown.
    pub(super) fn of(storage: Storage) -> Self {
        Self { storage, shown: OnceLock::new(), shown_precision: OnceLock::new() }
    }

    /// The number `p` of columns of `W`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.core().rank()
    }

    /// The rank and the way of projection.
    #[must_use]
    pub fn settings(&self) -> LowRankSettings {
        self.core().settings
    }

    /// The number of buffered rows: those that have been absorbed and not yet projected.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.core().waiting.len()
    }

    /// How many rows can still be absorbed before the next projection, at least 1.
    #[must_use]
    pub fn room(&self) -> usize {
        self.core().room()
    }

    /// `Ψ + WWᵀ` as of the last projection: the precision of the belief if no row is buffered ([`flush`](Self::flush)).
    #[must_use]
    pub fn precision(&self) -> &LowRank {
        match &self.storage {
            Storage::Full(full) if full.core.scale == 1.0 => &full.precision,
            _ => self.shown_precision.get_or_init(|| Box::new(self.normalised().into_owned().precision)),
        }
    }

    /// Counts of what projections have done.
    #[must_use]
    pub fn counts(&self) -> ProjectionCounts {
        self.core().counts
    }

    /// `M = I + WᵀΨ⁻¹W`, lower triangle.
    pub(crate) fn capacitance_lower(&self) -> Mat<f64> {
        let (p, gram) = (self.rank(), &self.core().gram);
        Mat::from_fn(p, p, |i, j| if i >= j { gram[(i, j)] + f64::from(u8::from(i == j)) } else { 0.0 })
    }
}

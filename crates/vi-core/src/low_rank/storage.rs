//! The two ways to keep a low-rank belief, and conversions between them.

use std::borrow::Cow;

use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::low_rank::{Capacitance, weighted_gram};

use super::LowRankGaussian;
use super::belief::ProjectionCounts;
use super::lazy::Lazy;
use super::look::Looked;
use super::range::{self, Bounds};
use super::records::Records;
use super::settings::{LowRankSettings, Scheme, Upkeep};
use super::space::{Seen, Space, solve};
use super::touched::Touched;
use super::waiting::Waiting;
use crate::{Error, Row, check};

/// The number of coordinates below which the full form is used unless the settings say otherwise.
const FEWEST: usize = 4096;

/// The inverse of the largest share of all rows of `W` that a block may touch to suit the lazy form.
const SHARE: usize = 3;

/// `W`, `ψ` and `μ₀`, with the rest of the belief.
#[derive(Debug, Clone)]
pub(super) enum Storage {
    /// A block rewrites all rows of `W`.
    Full(Full),
    /// A block rewrites the rows of `W` that it touches.
    Lazy(Lazy),
}

/// The full form.
#[derive(Debug, Clone)]
pub(super) struct Full {
    /// `μ₀`, the mean without the buffered rows.
    pub(super) mean: Vec<f64>,
    /// `Ψ + WWᵀ`, without the buffered rows and the scale.
    pub(super) precision: LowRank,
    pub(super) core: Core,
}

/// The part of a belief without a number for each coordinate, the buffered rows aside.
#[derive(Debug, Clone)]
pub(super) struct Core {
    /// The factor by which the precision, with the buffered rows, is multiplied: forgetting changes only this number.
    pub(super) scale: f64,
    /// `WᵀΨ⁻¹W`, lower triangle.
    pub(super) gram: Mat<f64>,
    /// The factor of `M = I + WᵀΨ⁻¹W`.
    pub(super) capacitance: Capacitance,
    /// Bounds of `ψ`.
    pub(super) bounds: Bounds,
    /// The smallest `ψ` that the belief began with.
    pub(super) begun: f64,
    pub(super) waiting: Waiting,
    pub(super) settings: LowRankSettings,
    pub(super) counts: ProjectionCounts,
}

impl Core {
    /// The number `p` of columns of `W`.
    pub(super) fn rank(&self) -> usize {
        self.settings.rank()
    }

    /// `L` of `M = LLᵀ`.
    pub(super) fn root(&self) -> MatRef<'_, f64> {
        self.capacitance.cholesky().factor()
    }

    /// How many rows can still be absorbed before the next reduction, at least 1.
    pub(super) fn room(&self) -> usize {
        self.settings.block().saturating_sub(self.waiting.len()).max(1)
    }

    /// The projection along row `t` of those in `looked`, in the space of the buffered rows.
    pub(super) fn see(&self, looked: &Looked, t: usize) -> Result<Seen, Error> {
        self.waiting.space.see(self.root(), looked.wx(t), looked.xx(t), looked.mean(t))
    }

    /// `m` with `μ = μ₀ + Ψ⁻¹F·m` for the rows of `space`: `(−M⁻¹·WᵀΨ⁻¹Xs, s)`.
    pub(super) fn mean_weights(&self, space: &Space) -> Mat<f64> {
        self.covariance_coefficients(space, &space.mean_weights())
    }

    /// These weights, checked to be finite.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn checked_mean_weights(&self, space: &Space) -> Result<Mat<f64>, Error> {
        let m = self.mean_weights(space);
        m.col(0).iter().try_for_each(|value| check::result("weight of a row in the mean", *value).map(drop))?;
        Ok(m)
    }

    /// `m` with `P₀X·s = Ψ⁻¹F·m`.
    pub(super) fn covariance_coefficients(&self, space: &Space, s: &[f64]) -> Mat<f64> {
        let p = self.rank();
        let mut on_w = space.combine_wx(s, p);
        solve(self.root(), &mut on_w);
        Mat::from_fn(p + s.len(), 1, |j, _| if j < p { -on_w[j] } else { s[j - p] })
    }
}

impl Full {
    /// A belief from checked parts.
    ///
    /// # Errors
    /// [`Error::Entry`], [`Error::Overflow`] for numbers so large that no observation could be absorbed.
    pub(super) fn from_parts(mean: Vec<f64>, precision: LowRank, settings: LowRankSettings) -> Result<Self, Error> {
        range::check_psi(precision.psi())?;
        let gram = weighted_gram(precision.w(), precision.psi(), Par::Seq);
        range::check_columns((0..gram.nrows()).map(|j| gram[(j, j)]))?;
        let bounds = Bounds::of(precision.psi());
        let core = Core {
            scale: 1.0,
            capacitance: Capacitance::from_gram(gram.clone())?,
            gram,
            bounds,
            begun: bounds.least,
            waiting: Waiting::default(),
            settings,
            counts: ProjectionCounts::default(),
        };
        Ok(Self { mean, precision, core })
    }

    /// Whether the next block suits the lazy form, as far as its first row tells.
    pub(super) fn becomes_lazy(&self, x: Row<'_>) -> bool {
        let (Row::Sparse { positions, .. }, Scheme::Blocked { block, .. }) = (x, self.core.settings.scheme) else {
            return false;
        };
        let d = self.mean.len();
        if self.core.waiting.len() > 0 || !Records::can_hold(d) {
            return false;
        }
        match self.core.settings.upkeep() {
            Upkeep::Full => false,
            Upkeep::Lazy { .. } => true,
            Upkeep::Chosen => d >= FEWEST && positions.len().saturating_mul(block) <= d / SHARE,
        }
    }

    /// The same belief, which has no buffered rows, in the lazy form. Cost `dp`.
    pub(super) fn to_lazy(&self) -> Lazy {
        Lazy {
            records: Records::new(self.precision.w_row_major(), self.precision.psi(), &self.mean),
            touched: Touched::new(self.core.rank()),
            core: self.core.clone(),
        }
    }
}

impl Lazy {
    /// Whether a row of curvature `h` can join the block: the rows that it touches stay few.
    pub(super) fn takes(&self, x: Row<'_>, h: f64) -> bool {
        let Row::Sparse { positions, .. } = x else { return false };
        let few = self.touched.len() + positions.len() <= self.records.dim() / SHARE;
        h >= 0.0 && (few || self.core.settings.upkeep() != Upkeep::Chosen)
    }

    /// The belief in the full form, with the same Gram matrix. Cost `dp²` flops.
    pub(super) fn in_full(&self) -> Full {
        let (w, psi, mean) = self.records.all();
        Full { mean, precision: LowRank::of_parts(w, self.core.rank(), psi), core: self.core.clone() }
    }
}

impl From<Full> for LowRankGaussian {
    fn from(full: Full) -> Self {
        Self::of(Storage::Full(full))
    }
}

impl LowRankGaussian {
    pub(super) fn core(&self) -> &Core {
        match &self.storage {
            Storage::Full(full) => &full.core,
            Storage::Lazy(lazy) => &lazy.core,
        }
    }

    /// The belief in the full form. Cost `dp²` flops unless it is kept so.
    pub(super) fn in_full(&self) -> Cow<'_, Full> {
        match &self.storage {
            Storage::Full(full) => Cow::Borrowed(full),
            Storage::Lazy(lazy) => Cow::Owned(lazy.in_full()),
        }
    }

    /// The belief in the full form with a scale of 1: a copy unless it is kept so. Cost `d(p + 1)` flops for the copy.
    pub(super) fn normalised(&self) -> Cow<'_, Full> {
        let full = self.in_full();
        if full.core.scale == 1.0 {
            return full;
        }
        let mut full = full.into_owned();
        full.normalise();
        Cow::Owned(full)
    }

    /// The storage to be changed, without what is shown of it.
    pub(super) fn change(&mut self) -> &mut Storage {
        self.shown.take();
        self.shown_precision.take();
        &mut self.storage
    }

    /// Does in the full form what the lazy one cannot do; on an error the belief stays in its form.
    pub(super) fn through_full<T>(&mut self, act: impl FnOnce(&mut Full) -> Result<T, Error>) -> Result<T, Error> {
        match self.change() {
            Storage::Full(full) => act(full),
            Storage::Lazy(lazy) => {
                let mut full = lazy.in_full();
                let done = act(&mut full)?;
                self.storage = Storage::Full(full);
                Ok(done)
            }
        }
    }

    /// `D = Σᵢ(ψᵢ/ψ̃ᵢ − 1)`: how much precision untouched coordinates have gained by projections since they were last written,
    /// which the Gram matrix does not contain yet; 0 if every block rewrites all of `W`. Predictive variances are too wide by no
    /// more than this.
    ///
    /// ```
    /// use vi_core::{Explicit, GaussianLikelihood, LowRankGaussian, LowRankSettings};
    /// use vi_linalg::faer::Par;
    /// let mut belief = LowRankGaussian::isotropic(&[0.0; 50_000], 1.0, LowRankSettings::blocked(2)?)?;
    /// let rule = Explicit(GaussianLikelihood::new(1.0)?);
    /// for t in 0..640 {
    ///     belief.step(&rule, (&[t % 7, 100 + t, 40_000 + t % 10], &[1.0, 0.5, -1.0]), 1.0, Par::Seq)?;
    /// }
    /// assert!(belief.is_lazy() && belief.owed() < 0.1);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    #[must_use]
    pub fn owed(&self) -> f64 {
        if let Storage::Lazy(lazy) = &self.storage { lazy.records.owed } else { 0.0 }
    }

    /// Whether blocks rewrite only the rows that they touch: see [`Upkeep`].
    #[must_use]
    pub fn is_lazy(&self) -> bool {
        matches!(self.storage, Storage::Lazy(_))
    }
}

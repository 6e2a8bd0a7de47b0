//! The forms of a low-rank belief, and conversions between them.

use std::sync::OnceLock;

use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, Par};
use vi_linalg::low_rank::{Capacitance, weighted_gram};

use super::LowRankGaussian;
use super::lazy::Lazy;
use super::look::Looked;
use super::records::Records;
use super::settings::{Scheme, Upkeep};
use super::touched::{Found, Touched};
use crate::{Error, Row};

/// The number of coordinates below which the full form is used unless the settings say otherwise.
const FEWEST: usize = 4096;

/// The inverse of the largest share of all rows of `W` that a block may touch to suit the lazy form.
const SHARE: usize = 3;

impl LowRankGaussian {
    /// Whether the next block suits the lazy form, as far as its first row tells.
    pub(super) fn becomes_lazy(&self, x: Row<'_>) -> bool {
        let Row::Sparse { positions, .. } = x else { return false };
        let d = self.mean.len();
        let Scheme::Blocked { block, .. } = self.settings.scheme else { return false };
        if self.lazy.is_some() || self.waiting.len() > 0 || !Records::can_hold(d) {
            return false;
        }
        match self.settings.upkeep() {
            Upkeep::Full => false,
            Upkeep::Lazy { .. } => true,
            Upkeep::Chosen => d >= FEWEST && positions.len().saturating_mul(block) <= d / SHARE,
        }
    }

    /// Whether the block still suits the lazy form with a row of so many more entries.
    pub(super) fn stays_lazy(&self, lazy: &Lazy, entries: usize) -> bool {
        self.settings.upkeep() != Upkeep::Chosen || lazy.touched.len() + entries <= lazy.records.dim() / SHARE
    }

    /// Converts the full form, without buffered rows, to the lazy one: the same belief. Cost `dp`.
    pub(super) fn become_lazy(&mut self) {
        if self.lazy.is_some() {
            return;
        }
        let records = Records::new(self.precision.w_row_major(), self.precision.psi(), &self.mean);
        let touched = Touched::new(self.rank());
        self.lazy = Some(Box::new(Lazy { records, touched }));
        (self.mean, self.precision) = (Vec::new(), LowRank::of_parts(Vec::new(), self.rank(), Vec::new()));
        self.shown_precision.take();
    }

    /// The belief in the full form, with the same Gram matrix. Cost `dp²` flops.
    pub(super) fn in_full(&self) -> Self {
        let Some(lazy) = self.lazy.as_deref() else { return self.clone() };
        let (w, psi, mean) = lazy.records.all();
        Self {
            mean,
            precision: LowRank::of_parts(w, self.rank(), psi),
            scale: self.scale,
            shown_precision: OnceLock::new(),
            gram: self.gram.clone(),
            capacitance: self.capacitance.clone(),
            bounds: self.bounds,
            begun: self.begun,
            waiting: self.waiting.clone(),
            settings: self.settings,
            counts: self.counts,
            shown: OnceLock::new(),
            lazy: None,
        }
    }

    /// Runs in the full form what the lazy one cannot do; on an error the belief is unchanged.
    pub(super) fn through_full<T>(&mut self, act: impl FnOnce(&mut Self) -> Result<T, Error>) -> Result<T, Error> {
        if self.lazy.is_none() {
            return act(self);
        }
        let mut full = self.in_full();
        let done = act(&mut full)?;
        *self = full;
        Ok(done)
    }

    /// Brings every row of `W`, and with them the Gram matrix, up to date. No row is buffered. Cost `dp²` flops.
    pub(super) fn credit_all(&mut self) {
        if self.lazy.is_none() || self.waiting.len() > 0 {
            return;
        }
        let mut full = self.in_full();
        full.renew_gram();
        *self = full;
        self.become_lazy();
    }

    /// Recomputes the Gram matrix of `W` and `ψ`; the old one stays if the new one is not finite.
    fn renew_gram(&mut self) {
        let gram = weighted_gram(self.precision.w(), self.precision.psi(), Par::Seq);
        if let Ok(capacitance) = Capacitance::from_gram(gram.clone()) {
            (self.gram, self.capacitance) = (gram, capacitance);
        }
    }

    /// Takes the products of one row, at the cost of its entries alone: `2p²` flops for each that the block has not touched yet.
    pub(super) fn look_lazily(&self, lazy: &Lazy, x: Row<'_>) -> (Looked, LazyRow) {
        let (found, values) = lazy.touched.find(x, &lazy.records);
        let products = lazy.touched.products(&found, &values);
        let p = self.rank();
        let looked = Looked::along(Mat::from_fn(p, 1, |i, _| products.wx[i]), &products.xx, products.mean);
        (looked, LazyRow { found, values })
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
        self.lazy.as_deref().map_or(0.0, |lazy| lazy.records.owed)
    }

    /// Whether blocks rewrite only the rows that they touch: see [`Upkeep`].
    #[must_use]
    pub fn is_lazy(&self) -> bool {
        self.lazy.is_some()
    }
}

/// A row with its local rows and entries in a block.
#[derive(Debug, Clone, Default)]
pub(super) struct LazyRow {
    pub(super) found: Found,
    pub(super) values: Vec<f64>,
}

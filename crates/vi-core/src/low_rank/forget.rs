//! How a low-rank belief forgets.

use std::borrow::Cow;

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use super::anchor::LowRankAnchor;
use super::range::Bounds;
use super::waiting::Waiting;
use crate::belief::Belief;
use crate::forgetting::Forget;
use crate::{Error, Site};

impl Forget for LowRankGaussian {
    type Anchor = LowRankAnchor;

    /// Returns the belief, its buffered rows projected, as an anchor.
    fn anchor(&self) -> Result<LowRankAnchor, Error> {
        let mut anchor = self.normalised().into_owned();
        anchor.flush(Par::Seq)?;
        Ok(LowRankAnchor::new(anchor))
    }

    /// The belief can fade as long as the smallest `ψ` is at least 10⁻¹² of the smallest that the belief began with: for a row
    /// that comes after much fading, the covariance is a difference of numbers that much larger.
    fn can_fade(&self, lambda: f64) -> bool {
        const LEAST_LEFT: f64 = 1e-12;
        self.bounds.least * self.scale * lambda >= LEAST_LEFT * self.begun
    }

    /// Fades the belief by `W ← √λ·W`, `ψ ← λψ`, and its buffered rows likewise: exact, without a projection. Cost `d(p + 1)`
    /// flops, in memory traffic.
    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let factor = lambda * self.scale;
        if self.lazy.is_some() {
            // No ψ is below the bound.
            if !(1.0 / (self.bounds.least * factor)).is_finite() {
                return self.through_full(|this| this.fade(lambda));
            }
            self.waiting.space.check_fade(factor)?;
            self.scale = factor;
            self.shown.take();
            self.shown_precision.take();
            return Ok(());
        }
        if let Some(index) = self.precision.psi().iter().position(|psi| !(1.0 / (psi * factor)).is_finite()) {
            return Err(Error::NonFinite { argument: "variance", index, value: f64::INFINITY });
        }
        self.waiting.space.check_fade(factor)?;
        self.scale = factor;
        self.normalise();
        Ok(())
    }

    /// Buffered rows are projected first. If the anchor has `W₀ ≠ 0`, its columns join `W` and are projected too. Cost `d·p²`
    /// flops, and a copy of the belief; if blocks rewrite only what they touch and the prior is diagonal, `4p²` flops for each
    /// coordinate that was ever touched, and rows that were buffered stay projected after an error.
    fn towards(&mut self, anchor: &LowRankAnchor, lambda: f64) -> Result<(), Error> {
        if self.towards_lazily(anchor, lambda)? {
            return Ok(());
        }
        let anchor = anchor.belief();
        let mut next = self.normalised().into_owned();
        next.flush(Par::Seq)?;
        // μ ← μ + P(1−λ)Λ₀(μ₀ − μ) on the new precision.
        let change: Vec<f64> =
            anchor.mean().iter().zip(&next.mean).map(|(to, from)| (1.0 - lambda) * (to - from)).collect();
        let pull = anchor.precision_mul(&change, Par::Seq)?;
        let prior: Vec<f64> = anchor.precision.psi().iter().map(|psi| (1.0 - lambda) * psi).collect();
        next.multiply(lambda, &prior);
        let (precision, mean) = (next.precision, next.mean);
        let begun = self.begun.min(anchor.begun);
        let mut next = Self { counts: next.counts, begun, ..Self::from_parts(mean, precision, self.settings)? };
        if anchor.precision.w_row_major().iter().any(|w| *w != 0.0) {
            next.push_columns(anchor.precision.w().transpose(), |_| 1.0 - lambda, Par::Seq)?;
        }
        let change = next.covariance_mul(&pull, Par::Seq)?;
        next.shift_mean(&change)?;
        next.flush(Par::Seq)?;
        *self = next;
        Ok(())
    }

    /// Refused for `p > 0`, since `P + diag(q)` has no precision of this form; possible for a diagonal belief (`p = 0`).
    ///
    /// # Errors
    /// [`Error::Unsupported`] for `p > 0`.
    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        if self.rank() > 0 {
            return Err(Error::Unsupported { operation: "additive noise", belief: "low-rank" });
        }
        let mut next = self.normalised().into_owned();
        next.flush(Par::Seq)?;
        let (_, psi) = next.precision.parts_mut();
        for (index, (psi, q)) in psi.iter_mut().zip(q).enumerate() {
            *psi /= 1.0 + q * *psi;
            if !(1.0 / *psi).is_finite() {
                return Err(Error::NonFinite { argument: "variance", index, value: f64::INFINITY });
            }
        }
        next.bounds = Bounds::of(next.precision.psi());
        *self = next;
        Ok(())
    }
}

impl LowRankGaussian {
    /// Whether `precision` and `mean` are those of the belief without its buffered rows.
    pub(super) fn is_plain(&self) -> bool {
        self.scale == 1.0 && self.lazy.is_none()
    }

    /// The belief in the full form with a scale of 1: a copy unless it is kept so already. Cost `d(p + 1)` flops for the copy.
    pub(super) fn normalised(&self) -> Cow<'_, Self> {
        if self.is_plain() {
            return Cow::Borrowed(self);
        }
        let mut copy = self.in_full();
        copy.normalise();
        Cow::Owned(copy)
    }

    /// Multiplies the scale into `W`, `ψ` and the buffered rows. `WᵀΨ⁻¹W` stays as it is.
    fn normalise(&mut self) {
        let factor = std::mem::replace(&mut self.scale, 1.0);
        if factor != 1.0 {
            self.waiting.space.fade(factor);
            self.multiply(factor, &[]);
        }
        self.shown.take();
        self.shown_precision.take();
    }

    /// Multiplies a small scale in; no row is buffered.
    pub(super) fn renew_scale(&mut self) {
        /// Far from where products with the scale underflow, and some 4,000 rows away at `λ = 0.99`.
        const SMALLEST: f64 = 1e-19;
        self.shown_precision.take();
        if self.scale < SMALLEST {
            let factor = std::mem::replace(&mut self.scale, 1.0);
            match self.lazy.as_deref_mut() {
                Some(lazy) => {
                    lazy.records.multiply(factor);
                    self.bounds.least *= factor;
                    self.bounds.largest *= factor;
                }
                None => self.multiply(factor, &[]),
            }
        }
    }

    /// `W ← √λ·W`, `ψ ← λψ + prior`; an empty `prior` is 0, and then `WᵀΨ⁻¹W` stays as it is.
    fn multiply(&mut self, lambda: f64, prior: &[f64]) {
        let (w, psi) = self.precision.parts_mut();
        let root = lambda.sqrt();
        for row in w.row_iter_mut() {
            for value in row.iter_mut() {
                *value *= root;
            }
        }
        for psi in psi.iter_mut() {
            *psi *= lambda;
        }
        for (psi, prior) in psi.iter_mut().zip(prior) {
            *psi += prior;
        }
        self.bounds = Bounds::of(self.precision.psi());
    }

    /// Adds buffered columns to `W`, the rows of `x` (`k × d`), each with a weight: `Λ ← Λ + Σ h_j·x_jx_jᵀ`, the mean unchanged.
    ///
    /// # Errors
    /// As [`step`](Self::step); the belief is then invalid.
    pub(super) fn push_columns(
        &mut self,
        x: MatRef<'_, f64>,
        weight: impl Fn(usize) -> f64,
        par: Par,
    ) -> Result<(), Error> {
        if x.nrows() == 0 {
            return Ok(());
        }
        let looked = self.look(x, par);
        for t in 0..x.nrows() {
            let seen = self.waiting.space.see(self.root(), looked.wx(t), looked.xx(t), looked.mean(t))?;
            let site = Site { slope: 0.0, curvature: weight(t) };
            self.waiting.space.push(seen, site, self.bounds)?;
        }
        let _kept = self.waiting.rows.push_dense(x, self.waiting.len());
        self.shown.take();
        Ok(())
    }

    /// The product `Λx` with the buffered rows included, length `d`.
    pub(super) fn precision_mul(&self, x: &[f64], par: Par) -> Result<Vec<f64>, Error> {
        if !self.is_plain() {
            return self.normalised().precision_mul(x, par);
        }
        let d = x.len();
        let product = self.precision.mul(MatRef::from_column_major_slice(x, d, 1), par)?;
        let mut out: Vec<f64> = product.col(0).iter().copied().collect();
        let Waiting { space, rows } = &self.waiting;
        let columns = rows.columns(d);
        let mut memory = columns.tile_memory(d);
        let rows = columns.tile(0, d, &mut memory);
        for (j, h) in space.curvatures().enumerate() {
            let t: f64 = rows.row(j).iter().zip(x).map(|(row, x)| row * x).sum();
            for (out, row) in out.iter_mut().zip(rows.row(j).iter()) {
                *out += h * t * row;
            }
        }
        Ok(out)
    }
}

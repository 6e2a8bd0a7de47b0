//! How a low-rank belief forgets.

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use super::anchor::LowRankAnchor;
use super::lazy::Lazy;
use super::range::Bounds;
use super::storage::{Full, Storage};
use super::waiting::Waiting;
use crate::forgetting::Forget;
use crate::{Error, Site};

/// The scale below which it is multiplied in: far from where products with it underflow, and some 4,000 rows away at `λ = 0.99`.
const SMALLEST: f64 = 1e-19;

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
        let core = self.core();
        core.bounds.least * core.scale * lambda >= LEAST_LEFT * core.begun
    }

    /// Fades the belief by `W ← √λ·W`, `ψ ← λψ`, and its buffered rows likewise: exact, without a projection. Cost `d(p + 1)`
    /// flops, in memory traffic.
    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        if let Storage::Lazy(Lazy { core, .. }) = self.change() {
            let factor = lambda * core.scale;
            // No ψ is below the bound.
            if (1.0 / (core.bounds.least * factor)).is_finite() {
                core.waiting.space.check_fade(factor)?;
                core.scale = factor;
                return Ok(());
            }
        }
        self.through_full(|full| full.fade(lambda))
    }

    /// Buffered rows are projected first. If the anchor has `W₀ ≠ 0`, its columns join `W` and are projected too. Cost `d·p²`
    /// flops, and a copy of the belief; if blocks rewrite only what they touch and the prior is diagonal, `4p²` flops for each
    /// coordinate that was ever touched, and rows that were buffered stay projected after an error.
    fn towards(&mut self, anchor: &LowRankAnchor, lambda: f64) -> Result<(), Error> {
        if let Storage::Lazy(lazy) = self.change()
            && lazy.towards(anchor, lambda)?
        {
            return Ok(());
        }
        *self = self.normalised().into_owned().towards(anchor.belief(), lambda)?.into();
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
        next.core.bounds = Bounds::of(next.precision.psi());
        *self = next.into();
        Ok(())
    }
}

impl Full {
    /// See [`Forget::fade`].
    pub(super) fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let factor = lambda * self.core.scale;
        if let Some(index) = self.precision.psi().iter().position(|psi| !(1.0 / (psi * factor)).is_finite()) {
            return Err(Error::NonFinite { argument: "variance", index, value: f64::INFINITY });
        }
        self.core.waiting.space.check_fade(factor)?;
        self.core.scale = factor;
        self.normalise();
        Ok(())
    }

    /// The belief, of scale 1, after a return towards `anchor`.
    fn towards(mut self, anchor: &Self, lambda: f64) -> Result<Self, Error> {
        self.flush(Par::Seq)?;
        // μ ← μ + P(1−λ)Λ₀(μ₀ − μ) on the new precision.
        let change: Vec<f64> =
            anchor.mean.iter().zip(&self.mean).map(|(to, from)| (1.0 - lambda) * (to - from)).collect();
        let pull = anchor.precision_mul(&change, Par::Seq)?;
        let prior: Vec<f64> = anchor.precision.psi().iter().map(|psi| (1.0 - lambda) * psi).collect();
        self.multiply(lambda, &prior);
        let mut next = Self::from_parts(self.mean, self.precision, self.core.settings)?;
        (next.core.counts, next.core.begun) = (self.core.counts, self.core.begun.min(anchor.core.begun));
        if anchor.precision.w_row_major().iter().any(|w| *w != 0.0) {
            next.push_columns(anchor.precision.w().transpose(), |_| 1.0 - lambda, Par::Seq)?;
        }
        let change = next.covariance_mul(&pull, Par::Seq)?;
        next.shift_mean(&change)?;
        next.flush(Par::Seq)?;
        Ok(next)
    }

    /// Multiplies the scale into `W`, `ψ` and the buffered rows. `WᵀΨ⁻¹W` stays as it is.
    pub(super) fn normalise(&mut self) {
        let factor = std::mem::replace(&mut self.core.scale, 1.0);
        if factor != 1.0 {
            self.core.waiting.space.fade(factor);
            self.multiply(factor, &[]);
        }
    }

    /// Multiplies a small scale in; no row is buffered.
    pub(super) fn renew_scale(&mut self) {
        if self.core.scale < SMALLEST {
            let factor = std::mem::replace(&mut self.core.scale, 1.0);
            self.multiply(factor, &[]);
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
        self.core.bounds = Bounds::of(self.precision.psi());
    }

    /// Adds buffered columns to `W`, the rows of `x` (`k × d`), each with a weight: `Λ ← Λ + Σ h_j·x_jx_jᵀ`, the mean unchanged.
    ///
    /// # Errors
    /// As [`step`](LowRankGaussian::step); the belief is then invalid.
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
            let seen = self.core.see(&looked, t)?;
            let site = Site { slope: 0.0, curvature: weight(t) };
            self.core.waiting.space.push(seen, site, self.core.bounds)?;
        }
        self.core.waiting.rows.push_dense(x, self.core.waiting.len());
        Ok(())
    }

    /// The product `Λx` with the buffered rows included, length `d`, for a scale of 1.
    pub(super) fn precision_mul(&self, x: &[f64], par: Par) -> Result<Vec<f64>, Error> {
        let d = x.len();
        let product = self.precision.mul(MatRef::from_column_major_slice(x, d, 1), par)?;
        let mut out: Vec<f64> = product.col(0).iter().copied().collect();
        let Waiting { space, rows } = &self.core.waiting;
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

impl Lazy {
    /// Multiplies a small scale in; no row is buffered.
    pub(super) fn renew_scale(&mut self) {
        let core = &mut self.core;
        if core.scale < SMALLEST {
            let factor = std::mem::replace(&mut core.scale, 1.0);
            self.records.multiply(factor);
            core.bounds.least *= factor;
            core.bounds.largest *= factor;
        }
    }
}

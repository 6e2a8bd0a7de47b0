//! A return towards a prior at the cost of only those coordinates that rows have touched.
//!
//! In the lazy form a coordinate `i` that no row has touched has `wᵢ = 0`; if it also agrees with the prior, `ψᵢ = ψ₀ᵢ` and `μᵢ =
//! μ₀ᵢ`, a return does not change it. For the others, `V`, all sums are taken while they are brought up to date:
//!
//! ```text
//! w ← √λ·w,   ψ ← λψ + (1−λ)ψ₀,   c = (1−λ)ψ₀(μ₀ − μ)                 i ∈ V
//! M = I + W_VᵀΨ_V⁻¹W_V,   v = M⁻¹W_VᵀΨ_V⁻¹c
//! μ ← μ + (c − wᵀv)/ψ                                              i ∈ V
//! ```
//!
//! A coordinate that has returned to within `10⁻¹²` of the prior is set to it and leaves `V`, which so holds the coordinates of
//! at most `27.6/(1−λ)` rows.

use std::sync::Arc;

use vi_linalg::faer::Mat;
use vi_linalg::low_rank::Capacitance;

use super::lazy::{Lazy, add_gram};
use super::narrow::{add_scaled, product};
use super::range::Bounds;
use super::storage::Full;
use super::touched::Panel;
use crate::Error;
use crate::vectors::vectorised;

/// A prior in the form to which low-rank beliefs return; [`anchor`](crate::Forget::anchor) makes it. Copies
/// share its memory.
#[derive(Debug, Clone)]
pub struct LowRankAnchor(Arc<Parts>);

#[derive(Debug)]
struct Parts {
    belief: Full,
    /// Whether `W₀ = 0`.
    diagonal: bool,
}

impl LowRankAnchor {
    /// The anchor of a belief in the full form without buffered rows.
    pub(super) fn new(belief: Full) -> Self {
        let diagonal = belief.precision.w_row_major().iter().all(|w| *w == 0.0);
        Self(Arc::new(Parts { belief, diagonal }))
    }

    pub(super) fn belief(&self) -> &Full {
        &self.0.belief
    }

    pub(super) fn is_diagonal(&self) -> bool {
        self.0.diagonal
    }

    /// `ψ₀` and `μ₀`.
    pub(super) fn diagonal(&self) -> (&[f64], &[f64]) {
        (self.0.belief.precision.psi(), &self.0.belief.mean)
    }

    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Lazy {
    /// Returns towards the anchor in the lazy form, and says whether that was possible: it needs a scale of 1, a diagonal prior,
    /// and untouched rows that agree with it (which is checked once for each prior). Buffered rows are projected first, and stay
    /// so after an error. Cost some `4p²` flops for each coordinate that was ever touched.
    ///
    /// # Errors
    /// As [`flush`](super::LowRankGaussian::flush); [`Error::NonFinite`] for a mean that overflows.
    pub(super) fn towards(&mut self, anchor: &LowRankAnchor, lambda: f64) -> Result<bool, Error> {
        if self.core.scale != 1.0 || !anchor.is_diagonal() {
            return Ok(false);
        }
        self.flush()?;
        let p = self.core.rank();
        let Self { records, core, .. } = self;
        if !records.rest_as(anchor) {
            return Ok(false);
        }
        let (psi0, mean0) = anchor.diagonal();
        let positions = records.visited.clone();
        let mut rows = Panel::new(records.width());
        records.read(positions.iter().map(|&i| i as usize), &mut rows);
        let root = lambda.sqrt();
        rows.w.iter_mut().for_each(|w| *w *= root);
        let mut change = Vec::with_capacity(positions.len());
        for (&i, at) in positions.iter().zip(&mut rows.numbers) {
            let prior = (1.0 - lambda) * psi0[i as usize];
            change.push(prior * (mean0[i as usize] - at.mean));
            at.psi = lambda * at.psi + prior;
        }
        let mut gram = Mat::zeros(p, p);
        add_gram(&mut gram, &rows, p);
        let capacitance = Capacitance::from_gram(gram.clone())?;
        let mut shift = vec![0.0; rows.width()];
        vectorised(
            #[inline(always)]
            || {
                for (l, (at, c)) in rows.numbers.iter().zip(&change).enumerate() {
                    add_scaled(&mut shift, c / at.psi, rows.row(l));
                }
            },
        );
        capacitance.cholesky().solve_vec_in_place(&mut shift[..p])?;
        vectorised(
            #[inline(always)]
            || {
                for (l, c) in change.iter().enumerate() {
                    let (pulled, size) = (c - product(rows.row(l), &shift), product(rows.row(l), rows.row(l)));
                    let at = &mut rows.numbers[l];
                    at.mean += pulled / at.psi;
                    at.s = at.psi + size;
                }
            },
        );
        if let Some(l) = rows.numbers.iter().position(|at| !at.mean.is_finite()) {
            return Err(Error::NonFinite {
                argument: "mean",
                index: positions[l] as usize,
                value: rows.numbers[l].mean,
            });
        }
        records.rewrite(&rows, anchor);
        core.bounds = rows.numbers.iter().fold(core.bounds, |Bounds { least, largest }, at| Bounds {
            least: least.min(at.psi),
            largest: largest.max(at.s),
        });
        (core.gram, core.capacitance) = (gram, capacitance);
        core.begun = core.begun.min(anchor.belief().core.begun);
        Ok(true)
    }
}

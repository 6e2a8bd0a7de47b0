//! The precision that a sweep aims at: EM steps on `T = (1 − δ)C + δS`, which is `C` itself as `δ → 0`.

use vi_linalg::LowRank;
use vi_linalg::faer::Par;

use super::rows::SweepRows;
use crate::Error;
use crate::low_rank::em::{self, Floor, Target};
use crate::low_rank::kernels::Factor;
use crate::low_rank::storage::Full;
use crate::low_rank::{LowRankGaussian, LowRankSettings, Upkeep};
use crate::rows::CheckedRows;

/// `T = Ψ_T + W_T W_Tᵀ + XᵀH_T X`.
pub(super) struct Aim<'a> {
    /// `Ψ_T + W_T W_Tᵀ = (1 − δ)C + δΛ₀`.
    own: LowRank,
    /// `H_T = δH`.
    weights: Vec<f64>,
    rows: SweepRows<'a>,
    par: Par,
}

impl<'a> Aim<'a> {
    /// # Errors
    /// [`Error::Linalg`] for results that are not finite.
    pub(super) fn new(
        (c, prior): (&LowRank, &LowRank),
        rows: SweepRows<'a>,
        curvatures: &[f64],
        damping: f64,
        par: Par,
    ) -> Result<Self, Error> {
        let weights = curvatures.iter().map(|h| damping * h).collect();
        Ok(Self { own: mix(c, prior, damping)?, weights, rows, par })
    }

    /// A pass in blocks over the columns of `W_T` and the rows of `X`, from `Ψ_T`: exact if `p` columns can hold them all.
    ///
    /// # Errors
    /// As [`LowRankGaussian::step`].
    pub(super) fn spectral_start(&self, p: usize) -> Result<LowRank, Error> {
        let psi = self.own.psi();
        let diagonal = LowRank::diagonal_only(psi, p)?;
        let settings = LowRankSettings::blocked(p)?.with_upkeep(Upkeep::Full)?;
        let mut start = LowRankGaussian::from(Full::from_parts(vec![0.0; psi.len()], diagonal, settings)?);
        SweepRows(CheckedRows::Dense(self.own.w().transpose())).push(&mut start, |_| 1.0, self.par)?;
        // A row of negative curvature removes precision, so it is no direction to start with; the EM steps include it.
        self.rows.push(&mut start, |t| self.weights[t].max(0.0), self.par)?;
        start.flush(self.par)?;
        Ok(start.precision().clone())
    }

    /// EM steps from `start`: the precision, and how many entries of `ψ` were lifted. Cost `4ndp` flops each, or `4p` for each
    /// entry of sparse rows, and `O((n + d)p²)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] where negative curvatures leave no Gaussian; [`Error::Linalg`].
    pub(super) fn em_steps(&self, start: LowRank, steps: usize, begun: f64) -> Result<(LowRank, usize), Error> {
        let (d, p) = (start.dim(), start.rank());
        let weights: Vec<f64> = std::iter::repeat_n(1.0, self.own.rank()).chain(self.weights.iter().copied()).collect();
        let target = Target { columns: self.rows.columns(), weights: &weights, share: 1.0, least: 1.0, begun };
        // A negative curvature may leave less than Ψ_T; a ψ that would not stay positive then shows that T is indefinite.
        let floor = if self.weights.iter().all(|h| *h >= 0.0) { Floor::Bound } else { Floor::REFUSE };
        let own = (Factor::new(self.own.w_row_major(), d), self.own.psi());
        let (mut w, mut psi) = start.into_row_major();
        let mut lifted = 0;
        for _ in 0..steps {
            lifted += em::step(target, own, (&mut w, &mut psi), floor, self.par)?.proper()?;
        }
        Ok((LowRank::from_row_major(w, p, psi)?, lifted))
    }
}

/// `(1 − δ)C + δΛ₀`, without the columns that are zero.
fn mix(c: &LowRank, prior: &LowRank, damping: f64) -> Result<LowRank, Error> {
    let mut psi = vec![0.0; c.dim()];
    let mut factors = Vec::new();
    for (part, share) in [(c, 1.0 - damping), (prior, damping)] {
        psi.iter_mut().zip(part.psi()).for_each(|(psi, part)| *psi += share * part);
        if share > 0.0 && part.w_row_major().iter().any(|w| *w != 0.0) {
            factors.push((part, share.sqrt()));
        }
    }
    let rank = factors.iter().map(|(part, _)| part.rank()).sum();
    let mut w = Vec::with_capacity(c.dim() * rank);
    for i in 0..c.dim() {
        for (part, root) in &factors {
            w.extend(part.w_row(i).iter().map(|w| root * w));
        }
    }
    Ok(LowRank::from_row_major(w, rank, psi)?)
}

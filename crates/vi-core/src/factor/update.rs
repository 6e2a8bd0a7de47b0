//! One step of Algorithm 1: from `(W_{t−1}, ψ_{t−1})` to an approximation of `α(W_{t−1}W_{t−1}ᵀ + Ψ_{t−1}) + βXXᵀ`.

use vi_linalg::LowRank;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::tiles::Tiling;

use super::products::plus_identity;
use super::settings::{DiagonalSettings, UpdateSettings};
use crate::Error;
use crate::check;
use crate::low_rank::columns::Columns;
use crate::low_rank::em::{self, Floor, Outcome, Target};
use crate::low_rank::kernels::{Factor, FactorMut, Tile};
use crate::low_rank::one_loop::OneLoop;

/// Memory that [`update`] reuses: a copy of `W` and `ψ`.
#[derive(Debug, Clone, Default)]
pub(super) struct UpdateScratch {
    previous: Option<LowRank>,
}

/// Makes some steps of EM towards `S = α(WWᵀ + Ψ) + βXXᵀ` (28), starting from the `W` (`d × p`) and `ψ` of `factor`.
///
/// `x` is `d × K`. Cost, in flops: the first loop `4dp² + 6dpK` for `α = 1`, `6dp² + 6dpK` otherwise; each further loop
/// `10dp² + 4dpK`. Memory: a copy of the factor. Returns how many entries of `ψ` were lifted to the floor.
///
/// The first loop is the form in which nothing cancels, `ψ⁺ ≥ αψ`; further loops are Algorithm 1's as printed.
///
/// The loops start from the old `(W, ψ)`, although the old matrix enters the new one as `(√α·W, αψ)`: from there one loop would
/// take a third of the work, but one pass over a stream would end several times further from its covariance.
///
/// # Errors
/// [`Error::Setting`] for an `α` outside of `[0, 1]`, a `β` that is negative or not finite, both zero, or more columns of `W` than
/// rows and 4096, [`Error::Empty`] for `K = 0`,
/// [`Error::Dimension`], [`Error::NonFinite`] for `x`, [`Error::Entry`] where `ψ` would reach zero without a floor,
/// [`Error::Overflow`], [`Error::NotPositiveDefinite`]; the factor is then as it was, to the bit.
pub(super) fn update(
    factor: &mut LowRank,
    x: MatRef<'_, f64>,
    (alpha, beta): (f64, f64),
    settings: &UpdateSettings,
    scratch: &mut UpdateScratch,
    par: Par,
) -> Result<usize, Error> {
    settings.check()?;
    check::length("rows of x", factor.dim(), x.nrows())?;
    if x.ncols() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    check_columns(x)?;
    check_rank(factor)?;
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::Setting { name: "alpha", value: alpha, requirement: "between 0 and 1" });
    }
    check::not_negative("beta", beta)?;
    if alpha == 0.0 && beta == 0.0 {
        return Err(Error::Setting { name: "beta", value: beta, requirement: "above 0 when alpha is 0" });
    }
    let previous = scratch.copy_of(factor);
    steps(factor, previous, x, (alpha, beta), settings, par).inspect_err(|_| std::mem::swap(factor, previous))
}

/// Checks the rank of a factor, which may come from a stored form.
pub(super) fn check_rank(factor: &LowRank) -> Result<(), Error> {
    let (rank, requirement) = (factor.rank(), "at most the rows of W, or 4096");
    if rank <= LowRank::largest_rank(factor.dim()) {
        Ok(())
    } else {
        Err(Error::Setting { name: "columns of W", value: rank as f64, requirement })
    }
}

/// The inner loops; `factor` and `previous` are equal at first. After an error `factor` is invalid.
fn steps(
    factor: &mut LowRank,
    previous: &LowRank,
    x: MatRef<'_, f64>,
    (alpha, beta): (f64, f64),
    settings: &UpdateSettings,
    par: Par,
) -> Result<usize, Error> {
    let (d, p, diagonal) = (previous.dim(), previous.rank(), settings.diagonal);
    let weights: Vec<f64> = std::iter::repeat_n(alpha, p).chain(std::iter::repeat_n(beta, x.ncols())).collect();
    let columns = Columns::Dense(x.transpose());
    let target = Target { columns, weights: &weights, share: alpha, least: 1.0, begun: 0.0 };
    let own = (Factor::new(previous.w_row_major(), d), previous.psi());

    let (w, psi) = factor.row_major_mut();
    let mut lifted = first_step(target, own, (w, psi), diagonal, par)?.finish(diagonal, psi)?;
    for _ in 1..settings.inner_loops {
        lifted += em::step(target, own, (w, psi), Floor::Settings(diagonal), par)?.finish(diagonal, psi)?;
    }
    check::results("W", w.iter().copied())?;
    Ok(lifted)
}

/// The step that starts from the target's own `(W, ψ)`, in place.
fn first_step(
    target: Target<'_>,
    own: (Factor<'_>, &[f64]),
    (w, psi): (&mut [f64], &mut [f64]),
    diagonal: DiagonalSettings,
    par: Par,
) -> Result<Outcome, Error> {
    let (d, p, k, alpha) = (psi.len(), own.0.rank(), target.columns.len(), target.share);
    let sums = em::sums(target, own, own, par);
    let capacitance = |share: f64| {
        let mut root = plus_identity(&sums.m * share);
        em::factor(root.as_mut(), "I + WᵀΨ⁻¹W").map(|()| root)
    };
    let fade = if alpha == 1.0 { None } else { Some((alpha, capacitance(alpha)?)) };
    let wx = Mat::from_fn(p, k, |i, j| sums.g[(p + j, i)]);
    check::results("WᵀΨ⁻¹X", (0..p * k).map(|i| wx[(i % p, i / p)]))?;
    let step = OneLoop::new(capacitance(1.0)?.as_ref(), fade, &wx, &target.weights[p..])?;
    let tiling = Tiling::for_width(2 * p + k);
    let height = tiling.height().min(d);
    Ok(tiling.fold(
        (FactorMut::new(w, d), psi),
        par,
        || (vec![0.0; height * k], vec![0.0; height * p], target.columns.tile_memory(height)),
        Outcome::default,
        |outcome, (residuals, memory, x), first, (w, psi)| {
            let (r, y) = (psi.len(), &mut residuals[..psi.len() * k]);
            step.residuals(Tile { w: w.as_ref(), x: target.columns.part(first, r, x), psi }, y);
            step.write(w.values, psi, y, memory);
            for (i, psi) in psi.iter_mut().enumerate() {
                *psi = outcome.see(diagonal, first + i, *psi);
            }
        },
        Outcome::add,
    ))
}

impl UpdateScratch {
    fn copy_of(&mut self, factor: &LowRank) -> &mut LowRank {
        match &mut self.previous {
            Some(previous) if (previous.dim(), previous.rank()) == (factor.dim(), factor.rank()) => {
                let (mut w, psi) = previous.parts_mut();
                w.copy_from(factor.w());
                psi.copy_from_slice(factor.psi());
            }
            slot => *slot = Some(factor.clone()),
        }
        // The slot was filled above.
        self.previous.get_or_insert_with(|| factor.clone())
    }
}

fn check_columns(x: MatRef<'_, f64>) -> Result<(), Error> {
    for j in 0..x.ncols() {
        for i in 0..x.nrows() {
            let value = x[(i, j)];
            if !value.is_finite() {
                return Err(Error::NonFinite { argument: "x", index: j * x.nrows() + i, value });
            }
        }
    }
    Ok(())
}

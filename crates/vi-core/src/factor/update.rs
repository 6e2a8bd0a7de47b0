//! One step of Algorithm 1: from `(W_{t−1}, ψ_{t−1})` to an approximation of `α(W_{t−1}W_{t−1}ᵀ + Ψ_{t−1}) + βXXᵀ`.

use vi_linalg::LowRank;
use vi_linalg::cholesky::{solve_lower_in_place, solve_upper_in_place};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::product;
use vi_linalg::tiles::Tiling;

use super::products::{add_scaled, add_symmetric, column_dot, factor, mirrored, over, plus_identity, scale_columns};
use super::settings::{Diagonal, DiagonalSettings, Outcome, UpdateSettings, vanishing};
use crate::Error;
use crate::divergence::finite;
use crate::error::check_len;

/// Memory that [`update`] uses again; it grows to a copy of `W` and `ψ` when there are several inner loops.
#[derive(Debug, Clone, Default)]
pub struct UpdateScratch {
    previous: Option<LowRank>,
}

/// `S = α(W₀W₀ᵀ + Ψ₀) + βXXᵀ` but for `W₀` and `Ψ₀`.
#[derive(Clone, Copy)]
struct Change<'a> {
    x: MatRef<'a, f64>,
    alpha: f64,
    beta: f64,
    diagonal: DiagonalSettings,
}

/// Some steps of EM towards `S = α(WWᵀ + Ψ) + βXXᵀ` (28), from the `W` (`d × p`) and `ψ` of `factor` as they are.
///
/// `x` is `d × K`. Cost, in flops: the first loop `dp² + 4dpK` for `α = 1`, `3dp² + 4dpK` otherwise; each further loop
/// `9dp² + 4dpK`. Memory beside the tiles: none for one loop, a copy of the factor for several. Returns how many entries of `ψ`
/// the floor has lifted.
///
/// One loop is written so that nothing cancels: with `G = WᵀΨ⁻¹W`, `M = I + G`, `N = I + αG`, `Ω = WᵀΨ⁻¹X`, `Θ = N⁻¹Ω`,
/// `Z = X − αWΘ`, `E = I + βΘᵀM⁻¹Ω`,
///
/// ```text
/// W⁺ = W − (1−α)WN⁻¹ + βZE⁻¹Θᵀ
/// ψ⁺ = αψ + α(1−α)·rowsum(W ∘ WN⁻¹) + β·rowsum(Z ∘ ZE⁻¹)
/// ```
///
/// which is Algorithm 1's loop with `M⁻¹` and Woodbury multiplied out; every term of `ψ⁺` is non-negative.
///
/// The loops start from the old `(W, ψ)` although that is not the old matrix's part in the new one: from `(√α·W, αψ)` one loop
/// would take a third of the work, and one pass over a stream ends several times further from its covariance.
///
/// # Errors
/// [`Error::Setting`] for an `α` outside of `[0, 1]`, a `β` that is negative or not finite, or both zero, [`Error::Empty`] for `K = 0`,
/// [`Error::Dimension`], [`Error::NonFinite`] for `x`, [`Error::Entry`] where `ψ` would reach zero without a floor,
/// [`Error::Overflow`], [`Error::NotPositiveDefinite`]; the factor is then as it was, to the bit.
///
/// ```
/// use vi_core::factor::{self, UpdateScratch, UpdateSettings};
/// use vi_linalg::LowRank;
/// use vi_linalg::faer::{Par, mat};
/// // One factor holds all of I + xxᵀ if it starts along x.
/// let mut c = LowRank::new(mat![[1e-3], [2e-3]].as_ref(), &[1.0, 1.0])?;
/// let x = mat![[1.0], [2.0]];
/// factor::update(&mut c, x.as_ref(), (1.0, 1.0), UpdateSettings::default(), &mut UpdateScratch::default(), Par::Seq)?;
/// assert!(c.psi()[1] >= 1.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn update(
    factor: &mut LowRank,
    x: MatRef<'_, f64>,
    (alpha, beta): (f64, f64),
    settings: UpdateSettings,
    scratch: &mut UpdateScratch,
    par: Par,
) -> Result<usize, Error> {
    check_len("rows of x", factor.dim(), x.nrows())?;
    if x.ncols() == 0 {
        return Err(Error::Empty { argument: "x" });
    }
    check_columns(x)?;
    if !(0.0..=1.0).contains(&alpha) {
        return Err(Error::Setting { name: "alpha", value: alpha, requirement: "between 0 and 1" });
    }
    if !(beta >= 0.0 && beta.is_finite()) {
        return Err(Error::Setting { name: "beta", value: beta, requirement: "finite and not negative" });
    }
    if alpha == 0.0 && beta == 0.0 {
        return Err(Error::Setting { name: "beta", value: beta, requirement: "above 0 when alpha is 0" });
    }
    let change = Change { x, alpha, beta, diagonal: settings.diagonal };
    if settings.inner_loops == 1 {
        return first_loop(factor, change, par);
    }
    let previous = scratch.copy_of(factor);
    let mut floored = first_loop(factor, change, par)?;
    for _ in 1..settings.inner_loops {
        match further_loop(factor, previous, change, par) {
            Ok(lifted) => floored += lifted,
            Err(error) => {
                std::mem::swap(factor, previous);
                return Err(error);
            }
        }
    }
    Ok(floored)
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

/// What the first loop sums over the rows.
struct FirstSums {
    gram: Mat<f64>,
    omega: Mat<f64>,
    /// Largest `‖wᵢ‖²`, `ψᵢ`, `‖xᵢ‖²`.
    largest: [f64; 3],
    /// The row with the least `β‖xᵢ‖²` among those that keep nothing of their `ψ`.
    least: Option<(usize, f64)>,
}

/// The loop that starts from the matrix to be approximated, in place: what could fail is found before anything is written.
fn first_loop(c: &mut LowRank, change: Change<'_>, par: Par) -> Result<usize, Error> {
    let Change { x, alpha, beta, diagonal } = change;
    let ((d, p), k) = (c.w().shape(), x.ncols());
    let tiling = Tiling::for_width(p + k);
    let height = tiling.height().min(d);
    let sums = tiling.fold(
        (c.w(), c.psi(), x),
        par,
        || Mat::zeros(p, height),
        || FirstSums { gram: Mat::zeros(p, p), omega: Mat::zeros(p, k), largest: [0.0; 3], least: None },
        |sums, scratch: &mut Mat<f64>, first, (w, psi, x)| {
            let mut a = scratch.as_mut().subcols_mut(0, psi.len());
            over(a.as_mut(), w.transpose(), psi);
            add_symmetric(sums.gram.as_mut(), w.transpose(), a.as_ref());
            matmul(sums.omega.as_mut(), Accum::Add, a.as_ref(), x, 1.0, Par::Seq);
            for (i, &psi) in psi.iter().enumerate() {
                let square = (0..k).map(|j| x[(i, j)] * x[(i, j)]).sum();
                let factor = column_dot(w.transpose(), w.transpose(), i);
                for (largest, value) in sums.largest.iter_mut().zip([factor, psi, square]) {
                    *largest = largest.max(value);
                }
                if alpha * psi < f64::MIN_POSITIVE {
                    sums.least = lesser(sums.least, Some((first + i, beta * square)));
                }
            }
        },
        |left, right| {
            left.gram += right.gram;
            left.omega += right.omega;
            for (left, right) in left.largest.iter_mut().zip(right.largest) {
                *left = left.max(right);
            }
            left.least = lesser(left.least, right.least);
        },
    );

    let n = factor("I + αWᵀΨ⁻¹W", &plus_identity(&sums.gram * alpha))?;
    let m = factor("I + WᵀΨ⁻¹W", &plus_identity(sums.gram))?;
    let omega = sums.omega;
    if let Some(&value) = omega.col_iter().flat_map(vi_linalg::faer::ColRef::iter).find(|value| !value.is_finite()) {
        return Err(Error::Overflow { quantity: "WᵀΨ⁻¹X", value });
    }
    let theta = n.solve(omega.as_ref())?;
    // Θᵀ M⁻¹ Ω = (L_N⁻¹ L_M⁻¹ Ω)ᵀ(…) in exact arithmetic, M and N commuting; the product below is symmetric to rounding.
    let e = product(theta.transpose(), m.solve(omega.as_ref())?.as_ref(), Par::Seq) * beta;
    let e = factor("I + βΘᵀM⁻¹Ω", &plus_identity(e))?;
    let back = e.whiten(theta.transpose())?;
    check_range((sums.largest, sums.least), &theta, &back, e.factor().squared_norm_l2(), change)?;

    let (w, psi) = c.parts_mut();
    let outcome = tiling.fold(
        (w, &mut *psi, x),
        par,
        || (Mat::<f64>::zeros(p, height), Mat::<f64>::zeros(k, height)),
        || Outcome::new(diagonal),
        |outcome, (u, z), first, (w, psi, x)| {
            let mut w = w.transpose_mut();
            let mut z = z.as_mut().subcols_mut(0, psi.len());
            // Z = X − αWΘ, then ZL_E⁻ᵀ
            z.copy_from(x.transpose());
            matmul(z.as_mut(), Accum::Add, theta.transpose(), w.as_ref(), -alpha, Par::Seq);
            solve_lower_in_place(e.factor(), z.as_mut(), Par::Seq);
            if alpha < 1.0 {
                // U = WL_N⁻ᵀ, whose rows have the squares wᵀN⁻¹w, then WN⁻¹
                let mut u = u.as_mut().subcols_mut(0, psi.len());
                u.copy_from(w.as_ref());
                solve_lower_in_place(n.factor(), u.as_mut(), Par::Seq);
                for (i, psi) in psi.iter_mut().enumerate() {
                    let shrunk = column_dot(u.as_ref(), u.as_ref(), i);
                    *psi = alpha * *psi + alpha * (1.0 - alpha) * shrunk;
                }
                solve_upper_in_place(n.factor(), u.as_mut(), Par::Seq);
                add_scaled(w.as_mut(), u.as_ref(), alpha - 1.0);
            }
            matmul(w, Accum::Add, back.transpose(), z.as_ref(), beta, Par::Seq);
            for (i, psi) in psi.iter_mut().enumerate() {
                let residual = column_dot(z.as_ref(), z.as_ref(), i);
                *psi = outcome.see(first + i, *psi + beta * residual);
            }
        },
        Outcome::merge,
    );
    outcome.finish(psi)
}

/// The lesser of two rows, the first if they are equal.
fn lesser(left: Option<(usize, f64)>, right: Option<(usize, f64)>) -> Option<(usize, f64)> {
    match (left, right) {
        (Some(left), Some(right)) => Some(if right.1 < left.1 { right } else { left }),
        (left, right) => left.or(right),
    }
}

/// Bounds what the second pass will write, from the largest `‖wᵢ‖²`, `ψᵢ`, `‖xᵢ‖²`, the row that gets the least, and `tr E`.
///
/// # Errors
/// [`Error::Overflow`]; [`Error::Entry`] where `ψ` would reach zero.
fn check_range(
    ([w, psi, x], least): ([f64; 3], Option<(usize, f64)>),
    theta: &Mat<f64>,
    back: &Mat<f64>,
    trace: f64,
    Change { x: columns, alpha, beta, diagonal }: Change<'_>,
) -> Result<(), Error> {
    // ‖z‖ ≤ ‖x‖ + ‖w‖‖Θ‖ as α ≤ 1; the eigenvalues of N⁻¹ and of E⁻¹ are at most 1.
    let z = x.sqrt() + w.sqrt() * theta.norm_l2();
    let bound = (2.0 * w.sqrt() + beta * z * back.norm_l2()).powi(2) + alpha * (psi + w) + beta * z * z;
    finite("W or psi", bound * columns.nrows() as f64)?;
    // zᵀE⁻¹z ≥ ‖z‖²/tr E, and z = x where nothing is kept.
    let vanishes = |value: f64| value / trace < f64::MIN_POSITIVE && diagonal.floor().is_none();
    match (diagonal.form(), least) {
        (Diagonal::Free, Some((index, value))) if vanishes(value) => Err(vanishing(index, value)),
        (Diagonal::Isotropic, Some(_))
            if vanishes(beta * x / columns.nrows() as f64) && alpha * psi < f64::MIN_POSITIVE =>
        {
            Err(vanishing(0, beta * x))
        }
        _ => Ok(()),
    }
}

/// What a further loop sums over the rows, `A = Ψ⁻¹W` being the present factor's.
struct FurtherSums {
    /// `WᵀA`, lower triangle.
    gram: Mat<f64>,
    /// `AᵀW₀`.
    cross: Mat<f64>,
    /// `AᵀΨ₀A`, lower triangle.
    kept: Mat<f64>,
    /// `AᵀX`.
    omega: Mat<f64>,
}

/// A general step (20)-(21): `V = SA`, `H = M + AᵀV = LLᵀ`, `Y = VL⁻ᵀ`, `W⁺ = YL⁻¹M = VH⁻¹M`,
/// `ψ⁺ = diag S − rowsum(Y ∘ Y)`. The factor is of no use after an error.
fn further_loop(c: &mut LowRank, previous: &LowRank, change: Change<'_>, par: Par) -> Result<usize, Error> {
    let Change { x, alpha, beta, diagonal } = change;
    let ((d, p), k) = (c.w().shape(), x.ncols());
    let tiling = Tiling::for_width(2 * p + k);
    let height = tiling.height().min(d);
    let square = || Mat::<f64>::zeros(p, p);
    let sums = tiling.fold(
        (c.w(), c.psi(), previous.w(), previous.psi(), x),
        par,
        || (Mat::<f64>::zeros(p, height), Mat::<f64>::zeros(p, height)),
        || FurtherSums { gram: square(), cross: square(), kept: square(), omega: Mat::zeros(p, k) },
        |sums, (a, kept), _, (w, psi, w0, psi0, x)| {
            let mut a = a.as_mut().subcols_mut(0, psi.len());
            let mut kept = kept.as_mut().subcols_mut(0, psi.len());
            over(a.as_mut(), w.transpose(), psi);
            scale_columns(kept.as_mut(), a.as_ref(), psi0.iter().copied());
            add_symmetric(sums.gram.as_mut(), w.transpose(), a.as_ref());
            add_symmetric(sums.kept.as_mut(), kept.as_ref(), a.as_ref());
            matmul(sums.cross.as_mut(), Accum::Add, a.as_ref(), w0, 1.0, Par::Seq);
            matmul(sums.omega.as_mut(), Accum::Add, a.as_ref(), x, 1.0, Par::Seq);
        },
        |left, right| {
            left.gram += right.gram;
            left.cross += right.cross;
            left.kept += right.kept;
            left.omega += right.omega;
        },
    );

    let m = plus_identity(mirrored(sums.gram));
    let mut h = &m + sums.kept * alpha;
    matmul(h.as_mut(), Accum::Add, sums.cross.as_ref(), sums.cross.transpose(), alpha, Par::Seq);
    matmul(h.as_mut(), Accum::Add, sums.omega.as_ref(), sums.omega.transpose(), beta, Par::Seq);
    let h = factor("M + AᵀSA", &h)?;
    let back = h.whiten(m.as_ref())?;

    let (w, psi) = c.parts_mut();
    let (outcome, largest) = tiling.fold(
        (w, &mut *psi, previous.w(), previous.psi(), x),
        par,
        || Mat::<f64>::zeros(p, height),
        || (Outcome::new(diagonal), 0.0_f64),
        |(outcome, largest), scratch: &mut Mat<f64>, first, (w, psi, w0, psi0, x)| {
            let w = w.transpose_mut();
            let mut y = scratch.as_mut().subcols_mut(0, psi.len());
            scale_columns(y.as_mut(), w.as_ref(), psi.iter().zip(psi0).map(|(psi, psi0)| alpha * psi0 / psi));
            matmul(y.as_mut(), Accum::Add, sums.cross.as_ref(), w0.transpose(), alpha, Par::Seq);
            matmul(y.as_mut(), Accum::Add, sums.omega.as_ref(), x.transpose(), beta, Par::Seq);
            solve_lower_in_place(h.factor(), y.as_mut(), Par::Seq);
            for (i, psi) in psi.iter_mut().enumerate() {
                let square: f64 = (0..k).map(|j| x[(i, j)] * x[(i, j)]).sum();
                let whole = beta * square + alpha * (psi0[i] + column_dot(w0.transpose(), w0.transpose(), i));
                let explained = column_dot(y.as_ref(), y.as_ref(), i);
                *largest = largest.max(explained);
                *psi = outcome.see(first + i, whole - explained);
            }
            matmul(w, Accum::Replace, back.transpose(), y.as_ref(), 1.0, Par::Seq);
        },
        |left, right| {
            left.0.merge(right.0);
            left.1 = left.1.max(right.1);
        },
    );
    // ‖wᵢ‖ ≤ ‖yᵢ‖‖L⁻¹M‖
    finite("W", largest * back.squared_norm_l2())?;
    outcome.finish(psi)
}

//! Starting values of the recursions: Appendices C and D.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use vi_linalg::LowRank;
use vi_linalg::check::room;
use vi_linalg::faer::MatRef;

use crate::Error;
use crate::check;

/// A start with `W₀W₀ᵀ + Ψ₀ ≈ I/σ₀²`, equal in trace: `ψ₀ = (1−ε)/σ₀²`, and columns of `W₀` (`d × p`) in random directions, of
/// length `√(εd/p)/σ₀` (L-RVGA Appendix D).
///
/// `W₀ = 0` is a stationary point of EM, so the start needs an `ε > 0`; the paper uses 1e-8. For `p = 0` the whole trace is in
/// `ψ`. `σ₀` (`sigma0`) is the prior's standard deviation. Cost `dp` normal variates.
///
/// # Errors
/// [`Error::Empty`] for `d = 0`, [`Error::Setting`] for `sigma0` or an `epsilon` outside of (0, 1), [`Error::Overflow`],
/// [`Error::Linalg`] for a `W` that does not fit in memory.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::factor;
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let start = factor::start_isotropic(5, 2, 10.0, 1e-4, rng)?;
/// assert!((start.diagonal().iter().sum::<f64>() - 5.0 / 100.0).abs() < 1e-16);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn start_isotropic<R: Rng + ?Sized>(
    d: usize,
    p: usize,
    sigma0: f64,
    epsilon: f64,
    rng: &mut R,
) -> Result<LowRank, Error> {
    check::positive("sigma0", sigma0)?;
    room("W", &[d, p.saturating_add(1)])?;
    start(&vec![sigma0.powi(-2); d], p, epsilon, rng)
}

/// A start near the precision of a diagonal prior covariance `P₀ = diag(σ₁², …, σ_d²)` (Remark 2): `ψᵢ = (1−ε)/σᵢ²`, the entries
/// of `W₀` in proportion to `1/σᵢ`, and `tr(W₀W₀ᵀ + Ψ₀) = tr P₀⁻¹`.
///
/// # Errors
/// [`Error::Empty`], [`Error::Entry`] for a variance that is not positive and finite, [`Error::Setting`] for an `epsilon`
/// outside of (0, 1), [`Error::Overflow`].
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::factor;
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let start = factor::start_diagonal(&[1.0, 4.0, 0.5], 2, 1e-2, rng)?;
/// assert!((start.psi()[1] - 0.99 / 4.0).abs() < 1e-16);
/// assert!((start.diagonal().iter().sum::<f64>() - 3.25).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn start_diagonal<R: Rng + ?Sized>(
    variances: &[f64],
    p: usize,
    epsilon: f64,
    rng: &mut R,
) -> Result<LowRank, Error> {
    check::positive_entries("variances", variances)?;
    start(&variances.iter().map(|v| v.recip()).collect::<Vec<_>>(), p, epsilon, rng)
}

/// `W₀W₀ᵀ + Ψ₀` for a diagonal precision.
fn start<R: Rng + ?Sized>(precisions: &[f64], p: usize, epsilon: f64, rng: &mut R) -> Result<LowRank, Error> {
    let d = precisions.len();
    if d == 0 {
        return Err(Error::Empty { argument: "the prior" });
    }
    if !(epsilon > 0.0 && epsilon < 1.0) {
        return Err(Error::Setting { name: "epsilon", value: epsilon, requirement: "above 0 and below 1" });
    }
    let trace = check::result("the prior's precision", precisions.iter().sum())?;
    let (mut w, psi) = LowRank::diagonal_only(precisions, p)?.into_row_major();
    if p == 0 {
        return Ok(LowRank::from_row_major(w, p, psi)?);
    }
    let mut norms = vec![0.0; p];
    for (row, precision) in w.chunks_exact_mut(p).zip(precisions) {
        let scale = precision.sqrt();
        for (value, norm) in row.iter_mut().zip(&mut norms) {
            let u: f64 = StandardNormal.sample(rng);
            *value = scale * u;
            *norm += *value * *value;
        }
    }
    let length = (epsilon * trace / p as f64).sqrt();
    for row in w.chunks_exact_mut(p) {
        for (value, norm) in row.iter_mut().zip(&norms) {
            *value *= length / norm.sqrt();
        }
    }
    let psi = precisions.iter().map(|precision| (1.0 - epsilon) * precision).collect();
    Ok(LowRank::from_row_major(w, p, psi)?)
}

/// A guess of `σ₀ = √(d / mean‖x‖²)` from some rows (`n × d`), so that `S₀ = I/σ₀²` has the trace of the second moments (Appendix
/// C).
///
/// # Errors
/// [`Error::Empty`] without rows, [`Error::Overflow`] if all rows are zero or one is not finite.
///
/// ```
/// use vi_core::factor;
/// use vi_linalg::faer::mat;
/// // Mean squared length 12.5, d = 2.
/// let rows = mat![[3.0, 4.0], [0.0, 0.0]];
/// assert_eq!(factor::guess_sigma0(rows.as_ref())?, 0.4);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn guess_sigma0(rows: MatRef<'_, f64>) -> Result<f64, Error> {
    if rows.nrows() == 0 {
        return Err(Error::Empty { argument: "rows" });
    }
    let mean_square = rows.squared_norm_l2() / rows.nrows() as f64;
    let sigma0 = (rows.ncols() as f64 / mean_square).sqrt();
    if sigma0 > 0.0 {
        check::result("sigma0", sigma0)
    } else {
        Err(Error::Overflow { quantity: "mean ‖x‖²", value: mean_square })
    }
}

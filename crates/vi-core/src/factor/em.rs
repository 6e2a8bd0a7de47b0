//! Batch EM, (20)-(21), and the fixed point of the likelihood, (76)-(77).

use vi_linalg::faer::{Mat, Par};
use vi_linalg::{Cholesky, LowRank, SymmetricOperator};

use super::products::{across, factor, over, plus_identity, row_by_row};
use super::settings::DiagonalSettings;
use crate::check;
use crate::low_rank::em::Outcome;
use crate::{Error, Stop};

/// How many decreases of the loss in a row must be small and not larger than the one before: from a small `W₀`, the first
/// iteration lowers the loss much, the next ones hardly, then ever more.
const QUIET: usize = 2;

/// When batch EM stops, and how it treats `ψ`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EmSettings {
    /// EM stops when two iterations in a row lower the loss by no more than `tolerance·d` nats and by less and less.
    pub tolerance: f64,
    /// The largest number of iterations.
    pub max_iterations: usize,
    /// The form of `Ψ` and its floor.
    pub diagonal: DiagonalSettings,
}

impl Default for EmSettings {
    /// The default tolerance is 1e-9, with at most 1000 iterations and [`DiagonalSettings::default`].
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 1000, diagonal: DiagonalSettings::default() }
    }
}

impl EmSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] unless the tolerance is positive and finite and the limit from 1 to 10⁶, and the floor if there is one.
    pub fn check(&self) -> Result<(), Error> {
        check::positive("tolerance", self.tolerance)?;
        check::limit("max_iterations", self.max_iterations)?;
        self.diagonal.check()
    }
}

/// A report of the iterations.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct EmInfo {
    /// The [loss](super::loss) at the start and after each iteration, in nats: it never rises except by rounding.
    pub losses: Vec<f64>,
    /// Entries of `ψ` lifted to the floor, over all iterations.
    pub floored: usize,
    /// Why it stopped.
    pub stop: Stop,
}

/// Batch EM for `S ≈ Ψ + WWᵀ` (20)-(21) from the factor's own `W` and `ψ`, until it converges.
///
/// `s` (`d × d`) is a stored matrix ([`DenseSymmetric`](vi_linalg::DenseSymmetric)), data rows ([`SecondMoments`](super::SecondMoments)) or
/// any other operator. An iteration costs one application of `s` to `p` vectors and
/// `7dp²` flops; memory is four times that of `W`.
///
/// # Errors
/// [`Error::Dimension`], [`Error::Entry`] where `ψ` reaches zero without a floor, [`Error::Overflow`],
/// [`Error::NotPositiveDefinite`]; the factor is then as it was. Not converging is a [`Stop`].
///
/// ```
/// use vi_core::Stop;
/// use rand::SeedableRng;
/// use vi_core::factor::{self, EmSettings};
/// use vi_linalg::DenseSymmetric;
/// use vi_linalg::faer::{Par, mat};
/// // diag(1, 2, 3) + wwᵀ with w = (1, 2, −1)
/// let s = mat![[2.0, 0.0, 0.0], [2.0, 6.0, 0.0], [-1.0, -2.0, 4.0]];
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let mut c = factor::start_isotropic(3, 1, 1.0, 1e-2, rng)?;
/// let settings = EmSettings { tolerance: 1e-14, max_iterations: 10_000, diagonal: Default::default() };
/// let info = factor::run(&DenseSymmetric::new(s.as_ref()), &mut c, &settings, Par::Seq)?;
/// assert_eq!(info.stop, Stop::Converged);
/// assert!((c.w()[(1, 0)].abs() - 2.0).abs() < 1e-4);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn run<S: SymmetricOperator + ?Sized>(
    s: &S,
    factor: &mut LowRank,
    settings: &EmSettings,
    par: Par,
) -> Result<EmInfo, Error> {
    settings.check()?;
    let before = factor.clone();
    iterate(s, factor, settings, par).inspect_err(|_| *factor = before)
}

fn iterate<S: SymmetricOperator + ?Sized>(
    s: &S,
    factor: &mut LowRank,
    settings: &EmSettings,
    par: Par,
) -> Result<EmInfo, Error> {
    let mut info = EmInfo { losses: Vec::new(), floored: 0, stop: Stop::Iterations };
    let diagonal = diagonal_of(s, factor, par)?;
    let (mut last_fall, mut quiet) = (0.0, 0);
    for _ in 0..settings.max_iterations {
        let expected = Expected::new(s, &diagonal, factor, par)?;
        info.losses.push(expected.loss);
        if let [.., before, now] = info.losses[..] {
            let fall = before - now;
            let small = fall <= settings.tolerance * factor.dim() as f64 && fall <= last_fall;
            quiet = if small { quiet + 1 } else { 0 };
            last_fall = fall;
            if quiet == QUIET {
                info.stop = Stop::Converged;
                return Ok(info);
            }
        }
        info.floored += expected.maximise(&diagonal, factor, settings.diagonal, par)?;
    }
    info.losses.push(Expected::new(s, &diagonal, factor, par)?.loss);
    Ok(info)
}

/// Makes one iteration of [`run`]; returns how many entries of `ψ` were lifted to the floor.
///
/// # Errors
/// Those of [`run`]; the factor is then as it was.
///
/// ```
/// use vi_core::factor::{self, DiagonalSettings};
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::{DenseSymmetric, LowRank};
/// // diag(1, 2, 3) + wwᵀ with w = (1, 2, −1)
/// let s = mat![[2.0, 0.0, 0.0], [2.0, 6.0, 0.0], [-1.0, -2.0, 4.0]];
/// let s = DenseSymmetric::new(s.as_ref());
/// let mut c = LowRank::new(mat![[1.0], [1.0], [-1.0]].as_ref(), &[1.0; 3])?;
/// let before = factor::loss(&s, &c, Par::Seq)?;
/// let floored = factor::step(&s, &mut c, &DiagonalSettings::default(), Par::Seq)?;
/// assert!(floored == 0 && factor::loss(&s, &c, Par::Seq)? < before);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn step<S: SymmetricOperator + ?Sized>(
    s: &S,
    factor: &mut LowRank,
    settings: &DiagonalSettings,
    par: Par,
) -> Result<usize, Error> {
    settings.check()?;
    let diagonal = diagonal_of(s, factor, par)?;
    Expected::new(s, &diagonal, factor, par)?.maximise(&diagonal, factor, *settings, par)
}

/// `W⁺ = S(WWᵀ + Ψ)⁻¹W` (`d × p`), the fixed-point equation of the likelihood (76).
///
/// With `Ψ = σ²I` it is (93), and as `σ → 0` the power iteration (94)-(95). Cost: one application of `s` to `p` vectors and `3dp²`
/// flops.
///
/// # Errors
/// [`Error::Dimension`], [`Error::Overflow`], [`Error::NotPositiveDefinite`].
///
/// ```
/// use vi_core::papers;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::{DenseSymmetric, LowRank};
/// // diag(1, 2, 3) + wwᵀ with w = (1, 2, −1)
/// let s = mat![[2.0, 0.0, 0.0], [2.0, 6.0, 0.0], [-1.0, -2.0, 4.0]];
/// let s = DenseSymmetric::new(s.as_ref());
/// // Where WWᵀ + Ψ is S the equation holds.
/// let c = LowRank::new(mat![[1.0], [2.0], [-1.0]].as_ref(), &[1.0, 2.0, 3.0])?;
/// let w = papers::likelihood_factor(&s, &c, Par::Seq)?;
/// assert!((w - c.w()).norm_max() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn likelihood_factor<S: SymmetricOperator + ?Sized>(s: &S, factor: &LowRank, par: Par) -> Result<Mat<f64>, Error> {
    let expected = Expected::of(s, factor, par)?;
    // S(WWᵀ + Ψ)⁻¹W = SΨ⁻¹W·M⁻¹ (85)
    let m = self::factor("I + WᵀΨ⁻¹W", &expected.m)?;
    Ok(m.solve(expected.v.transpose())?.transpose().to_owned())
}

/// Makes one iteration of the likelihood's fixed point (76)-(77): `W ← S(WWᵀ + Ψ)⁻¹W`, then `ψ ← diag(S − WWᵀ)`.
///
/// Its fixed points are EM's (Proposition 1 of Appendix B); unlike EM's, its steps need not lower the loss, and may leave no
/// positive `ψ`. Returns how many entries of `ψ` were lifted to the floor.
///
/// # Errors
/// Those of [`factor::run`](crate::factor::run); the factor is then as it was.
///
/// ```
/// use vi_core::factor::DiagonalSettings;
/// use vi_core::papers;
/// use vi_linalg::faer::{Par, mat};
/// use vi_linalg::{DenseSymmetric, LowRank};
/// // diag(1, 2, 3) + wwᵀ with w = (1, 2, −1)
/// let s = mat![[2.0, 0.0, 0.0], [2.0, 6.0, 0.0], [-1.0, -2.0, 4.0]];
/// let s = DenseSymmetric::new(s.as_ref());
/// let mut c = LowRank::new(mat![[1.0], [1.5], [-1.0]].as_ref(), &[1.0, 2.0, 3.0])?;
/// papers::likelihood_step(&s, &mut c, &DiagonalSettings::default(), Par::Seq)?;
/// // Every step without a floor has the diagonal of S.
/// assert!(c.diagonal().iter().zip([2.0, 6.0, 4.0]).all(|(found, s)| (found - s).abs() < 1e-14));
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn likelihood_step<S: SymmetricOperator + ?Sized>(
    s: &S,
    factor: &mut LowRank,
    settings: &DiagonalSettings,
    par: Par,
) -> Result<usize, Error> {
    settings.check()?;
    let w = likelihood_factor(s, factor, par)?;
    let diagonal = diagonal_of(s, factor, par)?;
    let explained = (0..w.nrows()).map(|i| w.row(i).squared_norm_l2());
    let (psi, floored) = remaining(&diagonal, explained, *settings)?;
    replace(factor, &w, &psi)?;
    Ok(floored)
}

fn diagonal_of<S: SymmetricOperator + ?Sized>(s: &S, factor: &LowRank, par: Par) -> Result<Vec<f64>, Error> {
    check::length("the factor's rows", s.dim(), factor.dim())?;
    let mut diagonal = vec![0.0; s.dim()];
    s.diagonal(&mut diagonal, par);
    Ok(diagonal)
}

/// The E-step: `V = SΨ⁻¹W` (`d × p`), `M`, and the factor of `H = M + WᵀΨ⁻¹V`.
pub(super) struct Expected {
    v: Mat<f64>,
    m: Mat<f64>,
    h: Cholesky,
    /// `½[tr(C⁻¹S) + log det C − d]` of the factor it was made from.
    pub(super) loss: f64,
}

impl Expected {
    pub(super) fn of<S: SymmetricOperator + ?Sized>(s: &S, c: &LowRank, par: Par) -> Result<Self, Error> {
        Self::new(s, &diagonal_of(s, c, par)?, c, par)
    }

    fn new<S: SymmetricOperator + ?Sized>(s: &S, diagonal: &[f64], c: &LowRank, par: Par) -> Result<Self, Error> {
        let mut a = Mat::<f64>::zeros(c.dim(), c.rank());
        over(a.as_mut().transpose_mut(), c.w().transpose(), c.psi());
        let mut v = Mat::zeros(c.dim(), c.rank());
        s.apply(v.as_mut(), a.as_ref(), par);
        let m = plus_identity(across(c.w(), a.as_ref(), par));
        let along = across(a.as_ref(), v.as_ref(), par);
        let h = factor("M + AᵀSA", &(&m + &along))?;
        let capacitance = factor("I + WᵀΨ⁻¹W", &m)?;
        // tr(C⁻¹S) = Σ Sᵢᵢ/ψᵢ − tr(M⁻¹·AᵀSA)
        let explained = capacitance.solve(along.as_ref())?;
        let explained: f64 = (0..c.rank()).map(|j| explained[(j, j)]).sum();
        let whole: f64 = diagonal.iter().zip(c.psi()).map(|(s, psi)| s / psi).sum();
        let log_psi: f64 = c.psi().iter().map(|psi| psi.ln()).sum();
        let loss = 0.5 * (whole - explained + log_psi + capacitance.log_det() - c.dim() as f64);
        Ok(Self { v, m, h, loss: check::result("the loss", loss)? })
    }

    /// The M-step: `W⁺ = VH⁻¹M` and `ψ⁺ = diag S − rowsum(VH⁻¹ ∘ V)`, by `Y = VL⁻ᵀ` with `H = LLᵀ`.
    fn maximise(self, diagonal: &[f64], c: &mut LowRank, settings: DiagonalSettings, par: Par) -> Result<usize, Error> {
        let y = self.h.whiten(self.v.transpose())?;
        let back = self.h.whiten(self.m.as_ref())?;
        let explained = (0..y.ncols()).map(|i| y.col(i).squared_norm_l2());
        let (psi, floored) = remaining(diagonal, explained, settings)?;
        let w = row_by_row(y.transpose(), back.as_ref(), par);
        replace(c, &w, &psi)?;
        Ok(floored)
    }
}

/// The diagonal `ψ = diag S − explained`, restricted as the settings ask.
fn remaining(
    diagonal: &[f64],
    explained: impl Iterator<Item = f64>,
    settings: DiagonalSettings,
) -> Result<(Vec<f64>, usize), Error> {
    let mut outcome = Outcome::default();
    let entries = diagonal.iter().zip(explained).enumerate();
    let mut psi: Vec<f64> = entries.map(|(i, (s, explained))| outcome.see(settings, i, s - explained)).collect();
    let floored = outcome.finish(settings, &mut psi)?;
    Ok((psi, floored))
}

fn replace(c: &mut LowRank, w: &Mat<f64>, psi: &[f64]) -> Result<(), Error> {
    *c = LowRank::new(w.as_ref(), psi)?;
    Ok(())
}

//! Online EM for factor analysis (Appendix E): a stochastic approximation of the sufficient statistics.

use serde::{Deserialize, Serialize};

use vi_linalg::LowRank;
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::product;
use vi_linalg::tiles::Tiling;

use super::products::{add_scaled, add_symmetric, column_dot, factor, over, plus_identity};
use super::settings::DiagonalSettings;
use super::update::check_rank;
use crate::Error;
use crate::check;
use crate::low_rank::em::Outcome;

/// How the iterates `(W_t, ψ_t)` are averaged; `t` counts observations from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Averaging {
    /// No averaging: the last iterate is the answer.
    #[default]
    Off,
    /// The mean of the iterates of `t ≥ from`, without effect on the recursion: (115)-(116) with the average on the right-hand
    /// side. With `from` at half of the observations it is the average of Polyak and Ruppert.
    After {
        /// The first observation whose iterate is averaged.
        from: usize,
    },
    /// (115)-(116) as printed, `W̄_t = ((t̃−1)·W_{t−1} + W_t)/t̃` with `t̃ = t − after`, and as the authors run it: the result
    /// replaces the iterate that the next E-step uses.
    AsPrinted {
        /// The last observation whose iterate is not averaged; the authors have 500.
        after: usize,
    },
}

/// The settings of [`OnlineEm`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OnlineSettings {
    /// Steps are `γ₀ = 1`, `γ_t = t^(−exponent)`: `Σγ = ∞` and `Σγ² < ∞` (112) for exponents above ½ and up to 1.
    pub exponent: f64,
    /// How the iterates are averaged.
    pub averaging: Averaging,
    /// The form of `Ψ`.
    pub diagonal: DiagonalSettings,
}

impl Default for OnlineSettings {
    /// The default steps are `γ₀ = 1`, `γ_t = t^(−0.6)` (113)-(114), with no averaging and [`DiagonalSettings::default`].
    fn default() -> Self {
        Self { exponent: 0.6, averaging: Averaging::Off, diagonal: DiagonalSettings::default() }
    }
}

impl OnlineSettings {
    /// Checks the settings; every function that takes them calls this.
    ///
    /// # Errors
    /// [`Error::Setting`] for exponents out of their range, and for the diagonal.
    pub fn check(&self) -> Result<(), Error> {
        if !(self.exponent > 0.5 && self.exponent <= 1.0) {
            let requirement = "above 1/2 and at most 1";
            return Err(Error::Setting { name: "exponent", value: self.exponent, requirement });
        }
        self.diagonal.check()
    }

    fn step(self, t: usize) -> f64 {
        if t == 0 { 1.0 } else { (t as f64).powf(-self.exponent) }
    }
}

/// Online EM for `S ≈ Ψ + WWᵀ` (110)-(114), kept to compare [`RecursiveEm`](super::RecursiveEm) with.
///
/// It keeps twice the memory of `W` (three times with [`Averaging::After`]), and as much again while it takes an observation;
/// recursive EM with one inner loop keeps it once and takes no more. An observation costs `3dp²` flops.
///
/// ```
/// use rand::SeedableRng;
/// use vi_core::factor::{self, OnlineEm, OnlineSettings};
/// use vi_linalg::faer::{Par, mat};
/// let rows = mat![[1.0, 2.0, -1.0], [0.5, 1.0, 0.3], [-2.0, -4.0, 2.0]];
/// let rng = &mut rand_chacha::ChaCha8Rng::seed_from_u64(1);
/// let mut em = OnlineEm::new(factor::start_isotropic(3, 1, 1.0, 1e-4, rng)?, &OnlineSettings::default())?;
/// em.run(rows.as_ref(), Par::Seq)?;
/// assert_eq!(em.factor().dim(), 3);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct OnlineEm {
    pub(super) iterate: LowRank,
    pub(super) average: Option<LowRank>,
    /// `diag S₁` (111).
    pub(super) s1: Vec<f64>,
    /// `S₂ᵀ`, `d × p`, row-major.
    pub(super) s2: Vec<f64>,
    /// `S₃`, `p × p`.
    pub(super) s3: Mat<f64>,
    pub(super) settings: OnlineSettings,
    pub(super) seen: usize,
    pub(super) floored: usize,
}

impl OnlineEm {
    /// A factor analysis from `start`, such as [`start_isotropic`](super::start_isotropic) gives; with `γ₀ = 1` its statistics do
    /// not matter.
    ///
    /// # Errors
    /// Those of [`OnlineSettings::check`].
    pub fn new(start: LowRank, settings: &OnlineSettings) -> Result<Self, Error> {
        settings.check()?;
        let (d, p) = (start.dim(), start.rank());
        let (s1, s2, s3) = (vec![0.0; d], vec![0.0; d * p], Mat::zeros(p, p));
        Ok(Self { iterate: start, average: None, s1, s2, s3, settings: *settings, seen: 0, floored: 0 })
    }

    /// Takes one observation `v` of length `d`: the E-step and the M-step of (110).
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`], [`Error::Setting`] for more columns of `W` than rows and 4096, and [`Error::Entry`] where
    /// `ψ` reaches zero without a floor, [`Error::Overflow`], [`Error::NotPositiveDefinite`]; the state is then as it was.
    pub fn step(&mut self, v: &[f64], par: Par) -> Result<(), Error> {
        check::length("v", self.iterate.dim(), v.len())?;
        check::finite("v", v)?;
        check_rank(&self.iterate)?;
        let (t, gamma) = (self.seen, self.settings.step(self.seen));
        let (d, p) = (self.iterate.dim(), self.iterate.rank());
        let tiling = Tiling::for_width(2 * p);
        let height = tiling.height().min(d);

        // E-step: M, then E[z|v] = M⁻¹WᵀΨ⁻¹v and E[zzᵀ|v] = M⁻¹ + E[z|v]E[z|v]ᵀ
        let (gram, along) = tiling.fold(
            (self.iterate.w(), self.iterate.psi(), v),
            par,
            || Mat::<f64>::zeros(p, height),
            || (Mat::<f64>::zeros(p, p), Mat::<f64>::zeros(p, 1)),
            |(gram, along), scratch: &mut Mat<f64>, _, (w, psi, v)| {
                let mut a = scratch.as_mut().subcols_mut(0, psi.len());
                over(a.as_mut(), w.transpose(), psi);
                add_symmetric(gram.as_mut(), w.transpose(), a.as_ref());
                let v = MatRef::from_column_major_slice(v, v.len(), 1);
                matmul(along.as_mut(), Accum::Add, a.as_ref(), v, 1.0, Par::Seq);
            },
            |left, right| {
                left.0 += right.0;
                left.1 += right.1;
            },
        );
        let m = factor("I + WᵀΨ⁻¹W", &plus_identity(gram))?;
        let z = m.solve(along.as_ref())?;
        let second = m.inverse() + product(z.as_ref(), z.transpose(), Par::Seq);
        let s3 = &self.s3 * (1.0 - gamma) + second * gamma;
        let root = factor("S₃", &s3)?;

        // M-step on copies: W = S₂ᵀS₃⁻¹, ψ = diag S₁ − rowsum(W ∘ S₂ᵀ)
        let (mut s1, mut s2, mut w, mut psi) = (self.s1.clone(), self.s2.clone(), vec![0.0; d * p], vec![0.0; d]);
        let rows = (
            MatMut::from_row_major_slice_mut(&mut s2, d, p),
            MatMut::from_row_major_slice_mut(&mut w, d, p),
            s1.as_mut_slice(),
            psi.as_mut_slice(),
            v,
        );
        let diagonal = self.settings.diagonal;
        let outcome = tiling.fold(
            rows,
            par,
            || (),
            Outcome::default,
            |outcome, (), first, (s2, w, s1, psi, v)| {
                let (mut s2, mut w) = (s2.transpose_mut(), w.transpose_mut());
                s2 *= 1.0 - gamma;
                let row = MatRef::from_row_major_slice(v, 1, v.len());
                matmul(s2.as_mut(), Accum::Add, z.as_ref(), row, gamma, Par::Seq);
                w.copy_from(s2.as_ref());
                vi_linalg::cholesky::solve_in_place(root.factor(), w.as_mut(), Par::Seq);
                for (i, psi) in psi.iter_mut().enumerate() {
                    s1[i] = (1.0 - gamma) * s1[i] + gamma * v[i] * v[i];
                    *psi = outcome.see(diagonal, first + i, s1[i] - column_dot(w.as_ref(), s2.as_ref(), i));
                }
            },
            Outcome::add,
        );
        let floored = outcome.finish(diagonal, &mut psi)?;
        let iterate = LowRank::from_row_major(w, p, psi)?;

        let iterate = match self.settings.averaging {
            Averaging::AsPrinted { after } if t > after => mixed(&self.iterate, iterate, t - after),
            _ => iterate,
        };
        if let Averaging::After { from } = self.settings.averaging
            && t >= from
        {
            let now = iterate.clone();
            self.average = Some(match self.average.take() {
                None => now,
                Some(average) => mixed(&average, now, t - from + 1),
            });
        }
        (self.iterate, self.s1, self.s2, self.s3) = (iterate, s1, s2, s3);
        self.seen += 1;
        self.floored += floored;
        Ok(())
    }

    /// Takes the rows of `x` (`n × d`), one after the other; they are checked first. Copies the state.
    ///
    /// # Errors
    /// [`Error::Empty`] for `n = 0`, [`Error::Dimension`], [`Error::Row`] at the first row that fails; the state is then as it was.
    pub fn run(&mut self, x: MatRef<'_, f64>, par: Par) -> Result<(), Error> {
        check::rows(self.iterate.dim(), x)?;
        let mut moved = self.clone();
        let mut row = vec![0.0; x.ncols()];
        for t in 0..x.nrows() {
            for (value, x) in row.iter_mut().zip(x.row(t).iter()) {
                *value = *x;
            }
            moved.step(&row, par).map_err(|error| error.at_row(t))?;
        }
        *self = moved;
        Ok(())
    }

    /// The averaged `W` and `ψ`, or the last ones if none have been averaged.
    #[must_use]
    pub fn factor(&self) -> &LowRank {
        self.average.as_ref().unwrap_or(&self.iterate)
    }

    /// The number of observations seen.
    #[must_use]
    pub fn seen(&self) -> usize {
        self.seen
    }

    /// Entries of `ψ` lifted to the floor so far.
    #[must_use]
    pub fn floored(&self) -> usize {
        self.floored
    }
}

/// `((n − 1)·before + now)/n` for `W` and `ψ`.
fn mixed(before: &LowRank, mut now: LowRank, n: usize) -> LowRank {
    let share = (n as f64).recip();
    let (mut w, psi) = now.parts_mut();
    w *= share;
    add_scaled(w.transpose_mut(), before.w().transpose(), 1.0 - share);
    for (psi, before) in psi.iter_mut().zip(before.psi()) {
        *psi = (1.0 - share) * before + share * *psi;
    }
    now
}

//! Algorithm 1: EM steps for `S = α(Ψ + WWᵀ) + XHXᵀ ≈ Ψ₁ + W₁W₁ᵀ`, in two passes over `F = [W X]` each.
//!
//! The low-rank belief and factor analysis of streams ([`RecursiveEm`](crate::factor::RecursiveEm)) both take their steps here. From
//! the current `(W₁, Ψ₁)`, with `D²` the weights of the columns of `F` (L-RVGA (20)-(21), Algorithm 1):
//!
//! ```text
//! A = Ψ₁⁻¹W₁;   M₁ = I + W₁ᵀA;   G = FᵀA;   N = Aᵀ(αΨ)A;   H = M₁ + GᵀD²G + N = M₁ + AᵀSA = L_H L_Hᵀ
//! V = SA = F D²G + αΨA;   W₁ ← V H⁻¹M₁;   ψ₁ ← diag S − rowsum((V H⁻¹)∘V)
//! ```
//!
//! Cost, for `d × p` factors and `k` columns of `X`: `4dp² + 2dpk` flops for the sums `G`, `M₁`, `N`; `4dp² + 2dpk` for `U` below; `2dp²` for `W₁`.
//!
//! What is computed is `U = V·L_H⁻ᵀ`, so that `W₁ ← U·(L_H⁻¹M₁)` and `ψ₁ ← diag S − rowsum(U∘U)`. The first step, which starts from
//! `(W₁, Ψ₁) = (W, Ψ)`, has a form in which nothing cancels: [`one_loop`](super::one_loop).

use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::kernels::product;
use vi_linalg::tiles::Tiling;
use vi_linalg::{LinalgError, cholesky};

use super::columns::{Columns, Part};
use super::kernels::{Factor, FactorMut, Tile, lower_product, transpose_rows};
use crate::Error;
use crate::factor::{Diagonal, DiagonalSettings};
use crate::vectors::vectorised;

/// The target `S`, expressed by the `(W, ψ)` that it is made of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Target<'a> {
    /// `X`.
    pub(crate) columns: Columns<'a>,
    /// `D²`: `α` for each column of `W`, `h` for each of `X`.
    pub(crate) weights: &'a [f64],
    /// `α`.
    pub(crate) share: f64,
    /// `S ⪰ least·αΨ`.
    pub(crate) least: f64,
    /// No more than any `ψ` that the belief began with.
    pub(crate) begun: f64,
}

impl Target<'_> {
    /// Tiles whose `F`, with twice `W` beside it, the second-level cache holds.
    pub(crate) fn tiling(&self, p: usize) -> Tiling {
        Tiling::for_width(2 * p + self.columns.len())
    }
}

/// Sums over coordinates that a step needs.
pub(crate) struct Sums {
    /// `G = FᵀA`, `q × p`.
    pub(crate) g: Mat<f64>,
    /// `W₁ᵀA`, lower triangle.
    pub(crate) m: Mat<f64>,
    /// `Aᵀ(αΨ)A`, lower triangle.
    pub(crate) n: Mat<f64>,
}

impl Sums {
    pub(crate) fn zeros(q: usize, p: usize) -> Self {
        Self { g: Mat::zeros(q, p), m: Mat::zeros(p, p), n: Mat::zeros(p, p) }
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.g += &other.g;
        self.m += &other.m;
        self.n += &other.n;
    }

    /// Adds a tile `f` of the target, whose current `(w1, psi1)` are given, `w1` column after column.
    pub(crate) fn add_tile(&mut self, share: f64, f: Tile<'_>, w1: &[f64], psi1: &[f64], memory: &mut EmMemory) {
        let (r, p) = (psi1.len(), self.m.nrows());
        if p == 0 {
            return;
        }
        let EmMemory { a, b, first, second, .. } = memory;
        let (a, b, inverse, scale) = (&mut a[..r * p], &mut b[..r * p], &mut first[..r], &mut second[..r]);
        vectorised(
            #[inline(always)]
            || {
                for ((inverse, scale), (psi1, psi)) in
                    inverse.iter_mut().zip(scale.iter_mut()).zip(psi1.iter().zip(f.psi))
                {
                    *inverse = 1.0 / psi1;
                    *scale = share * psi;
                }
                for ((a, b), w1) in a.chunks_exact_mut(r).zip(b.chunks_exact_mut(r)).zip(w1.chunks_exact(r)) {
                    for (((a, b), w1), (inverse, scale)) in a.iter_mut().zip(b).zip(w1).zip(inverse.iter().zip(&*scale))
                    {
                        *a = inverse * w1;
                        *b = scale * *a;
                    }
                }
            },
        );
        f.add_transposed_mul(self.g.as_mut(), a);
        let [w1, a, b] = [w1, a, b].map(|values| MatRef::from_column_major_slice(values, r, p));
        lower_product(self.m.as_mut(), w1.transpose(), a, Par::Seq);
        lower_product(self.n.as_mut(), b.transpose(), a, Par::Seq);
    }
}

/// Memory for a tile.
pub(crate) struct EmMemory {
    a: Vec<f64>,
    b: Vec<f64>,
    first: Vec<f64>,
    second: Vec<f64>,
    whole: Vec<f64>,
}

impl EmMemory {
    pub(crate) fn new(height: usize, p: usize) -> Self {
        let by_row = || vec![0.0; height];
        let (a, b) = (vec![0.0; height * p], vec![0.0; height * p]);
        Self { a, b, first: by_row(), second: by_row(), whole: by_row() }
    }
}

/// The small matrices of a step, by which each coordinate's row is multiplied.
pub(crate) struct Maps {
    /// `D²G·L_H⁻ᵀ`, `q × p`.
    pub(super) from_f: Mat<f64>,
    /// `L_H⁻ᵀ`, `p × p`; or `q₁·L_H⁻ᵀ`, `q × p`, for a current factor `F·q₁` that is not stored.
    pub(super) from_current: Mat<f64>,
    /// `L_H⁻¹M₁`, `p × p`.
    pub(super) to_factor: Mat<f64>,
}

impl Maps {
    /// The maps of a step. Cost `O((p+k)p²)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub(crate) fn new(sums: &Sums, weights: &[f64]) -> Result<Self, Error> {
        let (q, p) = sums.g.shape();
        let weighted = Mat::from_fn(q, p, |i, j| weights[i] * sums.g[(i, j)]);
        let identity = |i, j| f64::from(u8::from(i == j));
        let mut h =
            Mat::from_fn(p, p, |i, j| if i >= j { identity(i, j) + sums.m[(i, j)] + sums.n[(i, j)] } else { 0.0 });
        lower_product(h.as_mut(), sums.g.transpose(), weighted.as_ref(), Par::Seq);
        factor(h.as_mut(), "EM step of the precision")?;
        let mut from_f = weighted.transpose().to_owned();
        cholesky::solve_lower_in_place(h.as_ref(), from_f.as_mut(), Par::Seq);
        let mut inverse = Mat::<f64>::identity(p, p);
        cholesky::solve_lower_in_place(h.as_ref(), inverse.as_mut(), Par::Seq);
        let mut to_factor = Mat::from_fn(p, p, |i, j| identity(i, j) + sums.m[(i.max(j), i.min(j))]);
        cholesky::solve_lower_in_place(h.as_ref(), to_factor.as_mut(), Par::Seq);
        Ok(Self { from_f: from_f.transpose().to_owned(), from_current: inverse.transpose().to_owned(), to_factor })
    }

    /// These maps for a current factor `F·q₁` that is not stored.
    pub(crate) fn with_start(mut self, q1: MatRef<'_, f64>) -> Self {
        self.from_current = product(q1, self.from_current.as_ref(), Par::Seq);
        self
    }
}

/// How a step treats a `ψ` that falls low.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Floor {
    /// There are two bounds; what is below is lifted and counted. In exact arithmetic `1/ψ₁⁺ ≤ 1/(least·αψ) + 1/ψ₁`, so a lower
    /// `ψ` is a rounding error. And if factor analysis explains a coordinate wholly (a Heywood case), each step would halve its
    /// `ψ` for ever, hence `ψ₁⁺ ≥ min(begun, HEYWOOD·diag S)`.
    Bound,
    /// The form and the floor are those of the settings.
    Settings(DiagonalSettings),
}

impl Floor {
    /// A `ψ` that is not positive is an error.
    pub(crate) const REFUSE: Self = Self::Settings(DiagonalSettings { form: Diagonal::Free, floor: None });
}

/// The least share of a coordinate's precision that is left to `Ψ`, unless the belief began with less.
pub(super) const HEYWOOD: f64 = 1e-6;

/// Counts and sums that a pass takes of `ψ`; those of several tiles add up.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Outcome {
    /// Entries of `ψ` lifted to their bound.
    pub(crate) lifted: usize,
    /// The sum of `ψ`.
    sum: f64,
    /// The first coordinate whose `ψ` is not positive and finite, and that value.
    refused: Option<(usize, f64)>,
}

impl Outcome {
    /// Adds what later rows have found.
    pub(crate) fn add(&mut self, other: Self) {
        self.lifted += other.lifted;
        self.sum += other.sum;
        self.refused = self.refused.or(other.refused);
    }

    /// Counts entry `index` and returns it as the settings ask.
    pub(crate) fn see(&mut self, settings: DiagonalSettings, index: usize, psi: f64) -> f64 {
        self.sum += psi;
        match settings.form {
            Diagonal::Free => self.kept(settings, index, psi),
            Diagonal::Isotropic => psi,
        }
    }

    fn kept(&mut self, settings: DiagonalSettings, index: usize, psi: f64) -> f64 {
        if let Some(floor) = settings.floor.filter(|floor| psi < *floor) {
            self.lifted += 1;
            return floor;
        }
        if !(psi > 0.0 && psi.is_finite()) && self.refused.is_none() {
            self.refused = Some((index, psi));
        }
        psi
    }

    /// After the last row: an isotropic `ψ` becomes its mean. Returns how many entries the floor has lifted.
    ///
    /// # Errors
    /// [`Error::Entry`] or [`Error::Overflow`] for the first invalid entry.
    pub(crate) fn finish(mut self, settings: DiagonalSettings, psi: &mut [f64]) -> Result<usize, Error> {
        if settings.form == Diagonal::Isotropic && !psi.is_empty() {
            let mean = self.kept(settings, 0, self.sum / psi.len() as f64);
            psi.fill(mean);
        }
        let requirement = "above 0; the diagonal has no floor";
        match self.refused {
            None => Ok(self.lifted),
            Some((index, value)) if value <= 0.0 => Err(Error::Entry { argument: "psi", index, value, requirement }),
            Some((_, value)) => Err(Error::Overflow { quantity: "psi", value }),
        }
    }

    /// How many entries were lifted, where the settings are [`Floor::Bound`] or [`Floor::REFUSE`].
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], naming the first coordinate whose `ψ` would not be positive.
    pub(crate) fn proper(self) -> Result<usize, Error> {
        match self.refused {
            None => Ok(self.lifted),
            Some((pivot, _)) => Err(Error::NotPositiveDefinite { argument: "psi after the EM step", pivot }),
        }
    }
}

/// Where a tile's current factor comes from.
#[derive(Clone, Copy)]
pub(crate) enum Current<'a> {
    /// `F·q₁`, as the maps have it.
    Start,
    Stored(Factor<'a>),
}

/// Turns the tile's `psi1` from the current `ψ₁` into the next, and leaves `U` in the memory.
pub(crate) fn advance_psi(
    target: Target<'_>,
    maps: &Maps,
    f: Tile<'_>,
    current: Current<'_>,
    (psi1, first): (&mut [f64], usize),
    floor: Floor,
    memory: &mut EmMemory,
) -> Outcome {
    let (r, p) = (psi1.len(), maps.to_factor.nrows());
    let EmMemory { a, b, first: left, second: ratio, whole } = memory;
    let (u, other, left, ratio, whole) =
        (&mut a[..r * p], &mut b[..r * p], &mut left[..r], &mut ratio[..r], &mut whole[..r]);
    f.mul(u, maps.from_f.as_ref());
    match current {
        Current::Start => f.mul(other, maps.from_current.as_ref()),
        Current::Stored(w1) => Tile { w: w1, x: Part::NONE, psi: f.psi }.mul(other, maps.from_current.as_ref()),
    }
    f.weighted_squares(left, target.weights);
    vectorised(
        #[inline(always)]
        || {
            for ((ratio, left), (psi1, psi)) in ratio.iter_mut().zip(left.iter_mut()).zip(psi1.iter().zip(f.psi)) {
                *ratio = target.share * psi / psi1;
                *left += target.share * psi;
            }
            whole.copy_from_slice(left);
            if p > 0 {
                for (u, other) in u.chunks_exact_mut(r).zip(other.chunks_exact(r)) {
                    for (((u, other), ratio), left) in u.iter_mut().zip(other).zip(&*ratio).zip(left.iter_mut()) {
                        *u += ratio * other;
                        *left -= *u * *u;
                    }
                }
            }
        },
    );
    let mut outcome = Outcome::default();
    for (i, (psi1, value)) in psi1.iter_mut().zip(left).enumerate() {
        match floor {
            Floor::Bound => {
                let least = target.least * target.share * f.psi[i];
                let bound = f64::max(1.0 / (1.0 / least + 1.0 / *psi1), f64::min(target.begun, HEYWOOD * whole[i]));
                outcome.lifted += usize::from(*value < bound);
                *psi1 = value.max(bound);
            }
            Floor::Settings(settings) => *psi1 = outcome.see(settings, first + i, *value),
        }
    }
    outcome
}

/// `w ← U·(L_H⁻¹M₁)` after [`advance_psi`].
pub(crate) fn write_factor(maps: &Maps, w: FactorMut<'_>, memory: &EmMemory) {
    let (p, values) = (maps.to_factor.nrows(), w.values);
    if let Some(r) = values.len().checked_div(p) {
        let u = MatRef::from_column_major_slice(&memory.a[..r * p], r, p);
        let out = MatMut::from_row_major_slice_mut(values, r, p);
        matmul(out, Accum::Replace, u, maps.to_factor.as_ref(), 1.0, Par::Seq);
    }
}

/// The sums of a step from a stored `(w1, psi1)`, which may be the target's own `(w, psi)`.
pub(crate) fn sums(
    target: Target<'_>,
    (w, psi): (Factor<'_>, &[f64]),
    (w1, psi1): (Factor<'_>, &[f64]),
    par: Par,
) -> Sums {
    let (d, p) = (psi.len(), w1.rank());
    let columns = target.columns;
    let tiling = Tiling::for_width(w.rank() + p + columns.width(d));
    let height = tiling.height().min(d);
    tiling.fold(
        (w, psi, w1, psi1),
        par,
        || (EmMemory::new(height, p), vec![0.0; height * p], columns.tile_memory(height)),
        || Sums::zeros(w.rank() + columns.len(), p),
        |sums, (memory, by_columns, x), first, (w, psi, w1, psi1)| {
            let by_columns = &mut by_columns[..w1.values.len()];
            transpose_rows(by_columns, w1);
            let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
            sums.add_tile(target.share, f, by_columns, psi1, memory);
        },
        |left, right| left.add(&right),
    )
}

/// One EM step on a stored `(w1, psi1)` in place, the target's `(w, psi)` being other memory; `w` may have another rank.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], [`Error::Overflow`]; `(w1, psi1)` is then as it was. The caller has to check `ψ` by the
/// outcome.
pub(crate) fn step(
    target: Target<'_>,
    (w, psi): (Factor<'_>, &[f64]),
    (w1, psi1): (&mut [f64], &mut [f64]),
    floor: Floor,
    par: Par,
) -> Result<Outcome, Error> {
    let d = psi.len();
    let p = w1.len() / d.max(1);
    let columns = target.columns;
    let sums = sums(target, (w, psi), (Factor::new(w1, d), psi1), par);
    let maps = Maps::new(&sums, target.weights)?;
    let tiling = Tiling::for_width(w.rank() + p + columns.width(d));
    let height = tiling.height().min(d);
    Ok(tiling.fold(
        (w, psi, FactorMut::new(w1, d), psi1),
        par,
        || (EmMemory::new(height, p), columns.tile_memory(height)),
        Outcome::default,
        |outcome, (memory, x), first, (w, psi, w1, psi1)| {
            let f = Tile { w, x: columns.part(first, psi.len(), x), psi };
            let current = Current::Stored(w1.as_ref());
            outcome.add(advance_psi(target, &maps, f, current, (psi1, first), floor, memory));
            write_factor(&maps, w1, memory);
        },
        Outcome::add,
    ))
}

/// Overwrites the lower triangle of `a` by its Cholesky factor.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] named `argument`, [`Error::Overflow`] for what is not finite.
pub(crate) fn factor(a: MatMut<'_, f64>, argument: &'static str) -> Result<(), Error> {
    let scratch = cholesky::factor_in_place_scratch(a.nrows(), Par::Seq);
    cholesky::factor_in_place(a, Par::Seq, MemStack::new(&mut MemBuffer::new(scratch))).map_err(|error| match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument, pivot },
        LinalgError::NonFinite { value, .. } => Error::Overflow { quantity: argument, value },
        other => Error::Linalg(other),
    })
}

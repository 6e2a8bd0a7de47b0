//! EM steps for `S = α(Ψ + WWᵀ) + XHXᵀ ≈ Ψ₁ + W₁W₁ᵀ`, in two passes over `F = [W X]` each.
//!
//! From the current `(W₁, Ψ₁)`, with `D²` the weights of the columns of `F` (L-RVGA (20)-(21), Algorithm 1):
//!
//! ```text
//! A = Ψ₁⁻¹W₁;   M₁ = I + W₁ᵀA;   G = FᵀA;   N = Aᵀ(αΨ)A;   H = M₁ + GᵀD²G + N = M₁ + AᵀSA = L_H L_Hᵀ
//! V = SA = F D²G + αΨA;   W₁ ← V H⁻¹M₁;   ψ₁ ← diag S − rowsum((V H⁻¹)∘V)
//! ```
//!
//! What is computed is `U = V·L_H⁻ᵀ`, so that `W₁ ← U·(L_H⁻¹M₁)` and `ψ₁ ← diag S − rowsum(U∘U)`.

use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::linalg::matmul::triangular::{self, BlockStructure};
use vi_linalg::faer::{Accum, Mat, MatMut, MatRef, Par};
use vi_linalg::tiles::Tiling;
use vi_linalg::{LinalgError, cholesky};

use super::columns::{Columns, add_ft_mul, mul_f, weighted_squares};
use crate::Error;

/// `S`, seen from the `(W, ψ)` that it is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    /// `X`.
    pub(super) columns: Columns<'a>,
    /// `D²`: `α` for each column of `W`, `h` for each of `X`.
    pub(super) weights: &'a [f64],
    /// `α`.
    pub(super) share: f64,
    /// `S ⪰ least·αΨ`.
    pub(super) least: f64,
}

/// Sums over coordinates that a step needs.
pub(super) struct Sums {
    /// `G = FᵀA`, `q × p`.
    g: Mat<f64>,
    /// `W₁ᵀA`, lower triangle.
    m: Mat<f64>,
    /// `Aᵀ(αΨ)A`, lower triangle.
    n: Mat<f64>,
}

impl Sums {
    pub(super) fn zeros(q: usize, p: usize) -> Self {
        Self { g: Mat::zeros(q, p), m: Mat::zeros(p, p), n: Mat::zeros(p, p) }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.g += &other.g;
        self.m += &other.m;
        self.n += &other.n;
    }

    /// Adds a tile: `w`, `x`, `psi` of the target, `(w1, psi1)` current.
    pub(super) fn add_tile(
        &mut self,
        target: Target<'_>,
        f: Tile<'_>,
        w1: MatRef<'_, f64>,
        psi1: &[f64],
        memory: &mut EmMemory,
    ) {
        let (r, p) = w1.shape();
        if p == 0 {
            return;
        }
        let EmMemory { a, b, .. } = memory;
        let (a, b) = (&mut a[..r * p], &mut b[..r * p]);
        for (i, ((a, b), w1)) in a.chunks_mut(p).zip(b.chunks_mut(p)).zip(w1.row_iter()).enumerate() {
            let (inverse, share) = (1.0 / psi1[i], target.share * f.psi[i] / psi1[i]);
            for ((a, b), w1) in a.iter_mut().zip(b).zip(w1.iter()) {
                *a = inverse * w1;
                *b = share * w1;
            }
        }
        let a = MatRef::from_row_major_slice(a, r, p);
        let b = MatRef::from_row_major_slice(b, r, p);
        add_ft_mul(self.g.as_mut(), f.w, f.x, a);
        lower_product(self.m.as_mut(), w1.transpose(), a);
        // (αΨA)ᵀ A.
        lower_product(self.n.as_mut(), b.transpose(), a);
    }
}

/// What belongs to one tile of the target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile<'a> {
    /// `r × p`.
    pub(super) w: MatRef<'a, f64>,
    /// `k × r`.
    pub(super) x: MatRef<'a, f64>,
    pub(super) psi: &'a [f64],
}

/// Memory for a tile.
pub(super) struct EmMemory {
    a: Vec<f64>,
    b: Vec<f64>,
    diagonal: Vec<f64>,
    x: Mat<f64>,
}

impl EmMemory {
    pub(super) fn new(columns: Columns<'_>, height: usize, p: usize) -> Self {
        Self {
            a: vec![0.0; height * p],
            b: vec![0.0; height * p],
            diagonal: vec![0.0; height],
            x: columns.tile_memory(height),
        }
    }

    /// The memory, and that of a tile of `X` by itself, so that both can be used at once.
    pub(super) fn take_x(&mut self) -> Mat<f64> {
        std::mem::replace(&mut self.x, Mat::zeros(0, 0))
    }

    pub(super) fn put_x(&mut self, x: Mat<f64>) {
        self.x = x;
    }
}

/// The small matrices of a step: everything that a coordinate's row is multiplied with.
pub(super) struct Maps {
    /// `D²G·L_H⁻ᵀ`, `q × p`.
    pub(super) from_f: Mat<f64>,
    /// `L_H⁻ᵀ`, `p × p`, or `q₁·L_H⁻ᵀ`.
    pub(super) from_current: Mat<f64>,
    /// `L_H⁻¹M₁`, `p × p`.
    pub(super) to_factor: Mat<f64>,
}

impl Maps {
    /// The maps of a step. Cost `O((p+k)p²)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub(super) fn new(sums: &Sums, weights: &[f64]) -> Result<Self, Error> {
        let (q, p) = sums.g.shape();
        let weighted = Mat::from_fn(q, p, |i, j| weights[i] * sums.g[(i, j)]);
        let mut h = Mat::from_fn(p, p, |i, j| {
            if i >= j { f64::from(u8::from(i == j)) + sums.m[(i, j)] + sums.n[(i, j)] } else { 0.0 }
        });
        lower_product(h.as_mut(), sums.g.transpose(), weighted.as_ref());
        factor(h.as_mut(), "EM step of the precision")?;
        let mut from_f = weighted.transpose().to_owned();
        cholesky::solve_lower_in_place(h.as_ref(), from_f.as_mut(), Par::Seq);
        let mut inverse = Mat::<f64>::identity(p, p);
        cholesky::solve_lower_in_place(h.as_ref(), inverse.as_mut(), Par::Seq);
        let mut to_factor = Mat::from_fn(p, p, |i, j| {
            f64::from(u8::from(i == j)) + if i >= j { sums.m[(i, j)] } else { sums.m[(j, i)] }
        });
        cholesky::solve_lower_in_place(h.as_ref(), to_factor.as_mut(), Par::Seq);
        Ok(Self { from_f: from_f.transpose().to_owned(), from_current: inverse.transpose().to_owned(), to_factor })
    }

    /// The same for a current factor `F·q₁` that is not stored.
    pub(super) fn with_start(mut self, q1: MatRef<'_, f64>) -> Self {
        self.from_current = product(q1, self.from_current.as_ref());
        self
    }
}

/// What a step does where `ψ` would fall to nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Floor {
    /// In exact arithmetic `1/ψ₁⁺ ≤ 1/(least·αψ) + 1/ψ₁`: what rounding puts below is lifted to it, and counted.
    Bound,
    /// It is an error.
    Refuse,
}

/// What a step found on its way.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    /// Entries of `ψ` lifted to their bound.
    pub(super) lifted: usize,
    /// First coordinate whose `ψ` is not positive.
    pub(super) refused: Option<usize>,
}

impl Outcome {
    pub(super) fn add(&mut self, other: Self) {
        self.lifted += other.lifted;
        self.refused = self.refused.or(other.refused);
    }
}

/// Writes the new `(W₁, ψ₁)` of a tile. `current` gives `W₁·L_H⁻ᵀ` of it into its argument (`r × p`), and `psi1` holds the
/// current `ψ₁`; `w` may be the target's own memory.
pub(super) fn write_tile(
    target: Target<'_>,
    maps: &Maps,
    f: Tile<'_>,
    current: impl FnOnce(MatMut<'_, f64>),
    psi1: &mut [f64],
    first: usize,
    floor: Floor,
    memory: &mut EmMemory,
) -> Outcome {
    let (r, p) = (psi1.len(), f.w.ncols());
    let EmMemory { a, b, diagonal, .. } = memory;
    let (u, other, diagonal) = (&mut a[..r * p], &mut b[..r * p], &mut diagonal[..r]);
    mul_f(MatMut::from_row_major_slice_mut(u, r, p), f.w, f.x, maps.from_f.as_ref());
    current(MatMut::from_row_major_slice_mut(other, r, p));
    weighted_squares(diagonal, f.w, f.x, target.weights);
    let mut outcome = Outcome::default();
    for i in 0..r {
        let psi = target.share * f.psi[i];
        let share = psi / psi1[i];
        let mut taken = 0.0;
        for (u, other) in u[i * p..(i + 1) * p].iter_mut().zip(&other[i * p..(i + 1) * p]) {
            *u += share * other;
            taken += *u * *u;
        }
        let value = psi + diagonal[i] - taken;
        match floor {
            Floor::Bound => {
                let bound = 1.0 / (1.0 / (target.least * psi) + 1.0 / psi1[i]);
                outcome.lifted += usize::from(value < bound);
                psi1[i] = value.max(bound);
            }
            Floor::Refuse => {
                if value <= 0.0 || value.is_nan() {
                    outcome.refused = outcome.refused.or(Some(first + i));
                }
                psi1[i] = value;
            }
        }
    }
    outcome
}

impl EmMemory {
    /// `w ← U·(L_H⁻¹M₁)` after [`write_tile`].
    pub(super) fn write_factor(&self, maps: &Maps, w: MatMut<'_, f64>) {
        let (r, p) = (w.nrows(), w.ncols());
        if p > 0 {
            let u = MatRef::from_row_major_slice(&self.a[..r * p], r, p);
            matmul(w, Accum::Replace, u, maps.to_factor.as_ref(), 1.0, Par::Seq);
        }
    }
}

/// One EM step on a stored `(w1, psi1)` in place, the target's `(w, psi)` being other memory.
///
/// # Errors
/// [`Error::NotPositiveDefinite`], naming the coordinate where `ψ` would not be positive; `(w1, psi1)` is then spoiled.
pub(super) fn step(
    target: Target<'_>,
    (w, psi): (MatRef<'_, f64>, &[f64]),
    (mut w1, psi1): (MatMut<'_, f64>, &mut [f64]),
    floor: Floor,
    par: Par,
) -> Result<usize, Error> {
    let p = w.ncols();
    let columns = target.columns;
    let q = p + columns.len();
    let tiling = Tiling::for_width(q);
    let height = tiling.height().min(psi.len());
    let sums = tiling.fold(
        (w, psi, w1.as_ref(), &*psi1),
        par,
        || EmMemory::new(columns, height, p),
        || Sums::zeros(q, p),
        |sums, memory, first, (w, psi, w1, psi1)| {
            let mut tile = memory.take_x();
            sums.add_tile(target, Tile { w, x: columns.tile(first, psi.len(), &mut tile), psi }, w1, psi1, memory);
            memory.put_x(tile);
        },
        |left, right| left.add(&right),
    );
    let maps = Maps::new(&sums, target.weights)?;
    let outcome = tiling.fold(
        (w, psi, w1.as_mut(), &mut *psi1),
        par,
        || EmMemory::new(columns, height, p),
        Outcome::default,
        |outcome, memory, first, (w, psi, w1, psi1)| {
            let mut tile = memory.take_x();
            let f = Tile { w, x: columns.tile(first, psi.len(), &mut tile), psi };
            let current = |mut out: MatMut<'_, f64>| {
                if p > 0 {
                    matmul(out.as_mut(), Accum::Replace, w1.as_ref(), maps.from_current.as_ref(), 1.0, Par::Seq);
                }
            };
            outcome.add(write_tile(target, &maps, f, current, psi1, first, floor, memory));
            memory.write_factor(&maps, w1);
            memory.put_x(tile);
        },
        Outcome::add,
    );
    match outcome.refused {
        None => Ok(outcome.lifted),
        Some(pivot) => Err(Error::NotPositiveDefinite { argument: "psi after the EM step", pivot }),
    }
}

/// `lower(out) ← lower(out + a·b)`.
pub(super) fn lower_product(out: MatMut<'_, f64>, a: MatRef<'_, f64>, b: MatRef<'_, f64>) {
    triangular::matmul(
        out,
        BlockStructure::TriangularLower,
        Accum::Add,
        a,
        BlockStructure::Rectangular,
        b,
        BlockStructure::Rectangular,
        1.0,
        Par::Seq,
    );
}

/// `a·b` of small matrices, by one thread.
pub(super) fn product(a: MatRef<'_, f64>, b: MatRef<'_, f64>) -> Mat<f64> {
    let mut out = Mat::zeros(a.nrows(), b.ncols());
    if a.ncols() > 0 {
        matmul(out.as_mut(), Accum::Replace, a, b, 1.0, Par::Seq);
    }
    out
}

/// Overwrites the lower triangle of `a` by its Cholesky factor.
///
/// # Errors
/// [`Error::NotPositiveDefinite`] named `argument`, [`Error::Linalg`] for what is not finite.
pub(super) fn factor(a: MatMut<'_, f64>, argument: &'static str) -> Result<(), Error> {
    let scratch = cholesky::factor_in_place_scratch(a.nrows(), Par::Seq);
    cholesky::factor_in_place(a, Par::Seq, MemStack::new(&mut MemBuffer::new(scratch))).map_err(|error| match error {
        LinalgError::NotPositiveDefinite { pivot } => Error::NotPositiveDefinite { argument, pivot },
        other => Error::Linalg(other),
    })
}

/// Checks that `S` cannot overflow: `S ⪯ (1 + tr D²K)·Ψ`.
///
/// # Errors
/// [`Error::Overflow`].
pub(super) fn check_magnitude(psi: &[f64], gram: MatRef<'_, f64>, weights: &[f64]) -> Result<(), Error> {
    let trace: f64 = weights.iter().enumerate().map(|(j, weight)| (weight * gram[(j, j)]).abs()).sum();
    let largest = psi.iter().fold(0.0, |largest, &psi| f64::max(largest, psi)) * (1.0 + trace);
    if largest < LARGEST {
        Ok(())
    } else {
        Err(Error::Overflow { quantity: "a diagonal of the precision", value: largest })
    }
}

/// Squares of numbers up to here are finite.
const LARGEST: f64 = 1e150;

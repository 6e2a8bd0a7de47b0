//! Sums over all groups at one prior, and the slopes of these sums by `Λ`.
//!
//! Groups are taken a tile at a time. A plane holds one number of every group of a tile, so that the small matrices of all of them are
//! worked on in vectors, whatever `p` and `q`; sums over the groups are then products of long matrices.
//!
//! ```text
//! C̃ = [C c],   V = L⁻¹ΛᵀC̃,   K = L⁻ᵀV,   E = C̃ − GΛK
//! Σ VᵀV,   and by the entry (a, b) of Λ:   ∂/∂Λ_ab Σ VᵀV = T + Tᵀ,  T = Σ E_aᵀK_b;   ½ ∂/∂Λ_ab Σ log|D| = Σ (GΛD⁻¹)_ab
//! ```

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use vi_linalg::faer::linalg::matmul::matmul;
use vi_linalg::faer::{Accum, Mat, MatRef, Par};
use vi_linalg::kernels::add_lower_product;
use vi_linalg::tiles::Tiling;

use super::Sums;
use super::factor::order;
use crate::Error;

/// The groups of a tile.
const WIDTH: usize = 64;

type Plane = [f64; WIDTH];

const ZEROS: Plane = [0.0; WIDTH];
const ONES: Plane = [1.0; WIDTH];

/// Sums over groups.
pub(super) struct Totals {
    /// `Σ log|D|`.
    pub(super) log_det: f64,
    /// `Σ VᵀV` (`p+1 × p+1`), of which the lower triangle holds.
    pub(super) gram: Mat<f64>,
    /// `T` for each entry of `Λ`, by rows of its lower triangle; empty unless slopes were asked for.
    pub(super) turns: Vec<Mat<f64>>,
    /// `Σ (GΛD⁻¹)_ab` for each entry.
    pub(super) own: Vec<f64>,
    /// The first pivot that was not positive.
    failed: Option<usize>,
}

impl Totals {
    fn new(p: usize, entries: usize) -> Self {
        let empty = || Mat::zeros(p + 1, p + 1);
        let turns = (0..entries).map(|_| empty()).collect();
        Self { log_det: 0.0, gram: empty(), turns, own: vec![0.0; entries], failed: None }
    }

    /// The sums at the root `Λ` (by rows). The same bits for any number of threads.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub(super) fn of(sums: &Sums, root: &[f64], slopes: bool, par: Par) -> Result<Self, Error> {
        let (p, q) = (sums.p, order(root));
        let entries = if slopes { q * (q + 1) / 2 } else { 0 };
        let totals = Tiling::of_height(WIDTH).fold(
            0..sums.keys.len(),
            par,
            || Tile::new(p, root),
            || Self::new(p, entries),
            |totals, tile, _, groups: Range<usize>| totals.add(tile, sums.records_of(groups)),
            |totals, other| totals.merge(&other),
        );
        match totals.failed {
            None => Ok(totals),
            Some(pivot) => Err(Error::NotPositiveDefinite { argument: "precision of a group's effects", pivot }),
        }
    }

    /// Adds what the groups of a tile say.
    fn add(&mut self, tile: &mut Tile, records: &[f64]) {
        tile.load(records);
        let arch = Arch::new();
        match arch.dispatch(Factor { tile }) {
            Ok(log_det) => self.log_det += log_det,
            Err(pivot) => {
                self.failed = self.failed.or(Some(pivot));
                return;
            }
        }
        let lines = tile.matrix(&tile.lines);
        add_lower_product(self.gram.as_mut(), lines.transpose(), lines, Par::Seq);
        if self.turns.is_empty() {
            return;
        }
        arch.dispatch(Slopes { tile, own: &mut self.own });
        let (rest, lines) = (tile.matrix(&tile.rest), tile.matrix(&tile.lines));
        let entries = (0..tile.q).flat_map(|a| (0..=a).map(move |b| (a, b)));
        for (turn, (a, b)) in self.turns.iter_mut().zip(entries) {
            let (rest, line) = (rest.subrows(a * WIDTH, WIDTH), lines.subrows(b * WIDTH, WIDTH));
            matmul(turn.as_mut(), Accum::Add, rest.transpose(), line, 1.0, Par::Seq);
        }
    }

    fn merge(&mut self, other: &Self) {
        self.log_det += other.log_det;
        self.gram += &other.gram;
        self.turns.iter_mut().zip(&other.turns).for_each(|(sum, turn)| *sum += turn);
        self.own.iter_mut().zip(&other.own).for_each(|(sum, own)| *sum += own);
        self.failed = self.failed.or(other.failed);
    }
}

/// Memory for the groups of a tile. Matrices of planes are by rows where they are `q × q`, by columns where they have a column for each
/// common weight and one for `c`.
struct Tile {
    p: usize,
    q: usize,
    root: Vec<f64>,
    /// As in a record: `G`, `C`, `c`.
    given: Vec<Plane>,
    /// `GΛ`.
    scaled: Vec<Plane>,
    /// `L`, with `1/L_ii` on the diagonal.
    lower: Vec<Plane>,
    /// `V`, then `K`.
    lines: Vec<Plane>,
    /// `E`.
    rest: Vec<Plane>,
    /// A column of `D⁻¹`.
    column: Vec<Plane>,
}

impl Tile {
    fn new(p: usize, root: &[f64]) -> Self {
        let q = order(root);
        let planes = |count| vec![ZEROS; count];
        Self {
            p,
            q,
            root: root.to_vec(),
            given: planes(Sums::length(p, q)),
            scaled: planes(q * q),
            lower: planes(q * q),
            lines: planes(q * (p + 1)),
            rest: planes(q * (p + 1)),
            column: planes(q),
        }
    }

    /// Takes up to [`WIDTH`] records; a group that is not there is one without rows.
    fn load(&mut self, records: &[f64]) {
        let length = self.given.len();
        for (g, record) in records.chunks_exact(length).enumerate() {
            self.given.iter_mut().zip(record).for_each(|(plane, value)| plane[g] = *value);
        }
        let groups = records.len() / length;
        self.given.iter_mut().for_each(|plane| plane[groups..].fill(0.0));
    }

    /// Planes with a column for each column of `C̃` as a matrix: a row for each effect and group.
    fn matrix<'a>(&self, planes: &'a [Plane]) -> MatRef<'a, f64> {
        MatRef::from_column_major_slice(planes.as_flattened(), self.q * WIDTH, self.p + 1)
    }

    /// The plane of entry `(a, j)` of `C̃`.
    #[inline(always)]
    fn cross(&self, a: usize, j: usize) -> &Plane {
        let (p, q) = (self.p, self.q);
        let at = if j < p { a * p + j } else { q * p + a };
        &self.given[q * (q + 1) / 2 + at]
    }
}

/// Factors `D` of all groups and makes `V`. Gives `Σ log|D|`, or the first pivot that is not positive.
struct Factor<'a> {
    tile: &'a mut Tile,
}

impl WithSimd for Factor<'_> {
    type Output = Result<f64, usize>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Self::Output {
        let tile = self.tile;
        let q = tile.q;
        for i in 0..q {
            for j in 0..q {
                let mut sum = ZEROS;
                for k in j..q {
                    let (high, low) = (i.max(k), i.min(k));
                    add_scaled(&mut sum, tile.root[k * q + j], &tile.given[high * (high + 1) / 2 + low]);
                }
                tile.scaled[i * q + j] = sum;
            }
        }
        let mut log_det = 0.0;
        for i in 0..q {
            for j in 0..=i {
                let mut left = if i == j { ONES } else { ZEROS };
                for k in i..q {
                    add_scaled(&mut left, tile.root[k * q + i], &tile.scaled[k * q + j]);
                }
                for k in 0..j {
                    take_product(&mut left, &tile.lower[i * q + k], &tile.lower[j * q + k]);
                }
                if i > j {
                    multiply(&mut left, &tile.lower[j * q + j]);
                } else {
                    if !left.iter().all(|pivot| pivot.is_normal() && *pivot > 0.0) {
                        return Err(i);
                    }
                    log_det += log_product(&left);
                    for pivot in &mut left {
                        *pivot = 1.0 / pivot.sqrt();
                    }
                }
                tile.lower[i * q + j] = left;
            }
        }
        for j in 0..=tile.p {
            for a in 0..q {
                let mut sum = ZEROS;
                for i in a..q {
                    add_scaled(&mut sum, tile.root[i * q + a], tile.cross(i, j));
                }
                tile.lines[j * q + a] = sum;
            }
            whiten(&tile.lower, &mut tile.lines[j * q..(j + 1) * q]);
        }
        Ok(log_det)
    }
}

/// Makes `K` of `V`, and `E`; adds the sums of `GΛD⁻¹`.
struct Slopes<'a> {
    tile: &'a mut Tile,
    own: &'a mut [f64],
}

impl WithSimd for Slopes<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) {
        let Self { tile, own } = self;
        let q = tile.q;
        for j in 0..=tile.p {
            unwhiten(&tile.lower, &mut tile.lines[j * q..(j + 1) * q]);
            for a in 0..q {
                let mut rest = *tile.cross(a, j);
                for b in 0..q {
                    take_product(&mut rest, &tile.scaled[a * q + b], &tile.lines[j * q + b]);
                }
                tile.rest[j * q + a] = rest;
            }
        }
        for b in 0..q {
            tile.column.fill(ZEROS);
            tile.column[b] = ONES;
            whiten(&tile.lower, &mut tile.column);
            unwhiten(&tile.lower, &mut tile.column);
            for a in b..q {
                let mut sum = ZEROS;
                for k in 0..q {
                    take_product(&mut sum, &tile.scaled[a * q + k], &tile.column[k]);
                }
                own[a * (a + 1) / 2 + b] -= sum.iter().sum::<f64>();
            }
        }
    }
}

/// `L⁻¹b` in place.
#[inline(always)]
fn whiten(lower: &[Plane], b: &mut [Plane]) {
    let q = b.len();
    for i in 0..q {
        let (before, own) = b.split_at_mut(i);
        for (j, above) in before.iter().enumerate() {
            take_product(&mut own[0], &lower[i * q + j], above);
        }
        multiply(&mut own[0], &lower[i * q + i]);
    }
}

/// `L⁻ᵀb` in place.
#[inline(always)]
fn unwhiten(lower: &[Plane], b: &mut [Plane]) {
    let q = b.len();
    for i in (0..q).rev() {
        let (own, after) = b[i..].split_at_mut(1);
        for (j, below) in after.iter().enumerate() {
            take_product(&mut own[0], &lower[(i + 1 + j) * q + i], below);
        }
        multiply(&mut own[0], &lower[i * q + i]);
    }
}

#[inline(always)]
fn add_scaled(sum: &mut Plane, factor: f64, plane: &Plane) {
    sum.iter_mut().zip(plane).for_each(|(sum, value)| *sum += factor * value);
}

#[inline(always)]
fn take_product(sum: &mut Plane, a: &Plane, b: &Plane) {
    sum.iter_mut().zip(a.iter().zip(b)).for_each(|(sum, (a, b))| *sum -= a * b);
}

#[inline(always)]
fn multiply(plane: &mut Plane, factor: &Plane) {
    plane.iter_mut().zip(factor).for_each(|(value, factor)| *value *= factor);
}

/// `Σ log x` of positive normal numbers, by their exponents and one logarithm: the product of 64 mantissas is below `2⁶⁴`.
#[inline(always)]
fn log_product(plane: &Plane) -> f64 {
    const MANTISSA: u64 = (1 << 52) - 1;
    let (mut mantissa, mut exponents) = (1.0, 0);
    for value in plane {
        let bits = value.to_bits();
        mantissa *= f64::from_bits(bits & MANTISSA | 1.0_f64.to_bits());
        exponents += bits >> 52;
    }
    (exponents as f64 - 1023.0 * WIDTH as f64) * std::f64::consts::LN_2 + f64::ln(mantissa)
}

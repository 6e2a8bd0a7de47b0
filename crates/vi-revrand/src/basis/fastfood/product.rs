//! The product of sparse matrices that replaces a matrix of random frequencies.

use pulp::{Arch, Simd, WithSimd};
use rand::Rng;
use rand::seq::SliceRandom;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::Error;
use vi_linalg::faer::{Mat, MatMut, MatRef};

use crate::basis::Kernel;
use crate::basis::hadamard::transform_inline;
use crate::basis::length_scale::Scales;
use crate::{RevrandError, check};

/// How many numbers of a transform stay in the cache. Rows are transformed together, one beside the other, so that vector
/// instructions run over them: as many as fit, between the two bounds.
const CACHED: usize = 4096;
const FEWEST_LANES: usize = 16;
const MOST_LANES: usize = 64;

/// The draws of `k` FastFood blocks. Block by block, and for a row `x` padded with zeros to `d₂` entries,
///
/// ```text
/// V x = √d₂·S ∘ Ĥ(G ∘ (Ĥ(B ∘ x))[Π]),   Ĥ = H/d₂,
/// ```
///
/// `H` the Hadamard matrix in natural order: signs `B`, a permutation `Π`, normal draws `G`, and scales `S` that give
/// each row of `V` the length of an independent frequency.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "DrawsWire")]
pub struct FastFoodDraws {
    size: usize,
    signs: Vec<f64>,
    normals: Vec<f64>,
    permutation: Vec<usize>,
    lengths: Vec<f64>,
}

#[derive(Deserialize)]
struct DrawsWire {
    size: usize,
    signs: Vec<f64>,
    normals: Vec<f64>,
    permutation: Vec<usize>,
    lengths: Vec<f64>,
}

impl TryFrom<DrawsWire> for FastFoodDraws {
    type Error = RevrandError;

    fn try_from(wire: DrawsWire) -> Result<Self, RevrandError> {
        Self::from_parts(wire.size, wire.signs, wire.normals, wire.permutation, wire.lengths)
    }
}

impl FastFoodDraws {
    /// Draws blocks for at least `pairs` frequencies of `inputs` inputs.
    ///
    /// # Errors
    /// `Empty`, [`RevrandError::Kernel`] for a kernel that is not isotropic, `Setting` for more pairs or inputs than memory
    /// holds.
    pub fn new(kernel: Kernel, inputs: usize, pairs: usize, rng: &mut impl Rng) -> Result<Self, RevrandError> {
        check::not_empty("inputs", inputs)?;
        check::not_empty("pairs", pairs)?;
        if kernel == Kernel::LaplaceProduct {
            let (features, requirement) = ("FastFood", "isotropic kernels");
            return Err(RevrandError::Kernel { features, requirement, kernel: kernel.name() });
        }
        let padded = inputs.checked_next_power_of_two();
        let total = padded.and_then(|size| pairs.div_ceil(size).checked_mul(size));
        let (Some(size), Some(total)) = (padded, total) else {
            return Err(
                Error::Setting { name: "pairs", value: pairs as f64, requirement: "small enough to count" }.into()
            );
        };
        check::room("pairs", &[total, 4])?;
        let mut draws = Self {
            size,
            signs: Vec::with_capacity(total),
            normals: Vec::with_capacity(total),
            permutation: Vec::with_capacity(total),
            lengths: Vec::with_capacity(total),
        };
        for _ in 0..total / size {
            draws.draw_block(kernel, rng);
        }
        Ok(draws)
    }

    fn draw_block(&mut self, kernel: Kernel, rng: &mut impl Rng) {
        let size = self.size;
        let signs: Vec<f64> = (0..size).map(|_| if rng.next_u32() & 1 == 0 { 1.0 } else { -1.0 }).collect();
        let normals: Vec<f64> = (0..size).map(|_| StandardNormal.sample(rng)).collect();
        let mut permutation: Vec<usize> = (0..size).collect();
        permutation.shuffle(rng);
        // A row of H·G·Π·H·B has length √d₂·‖G‖, so S = d₂·length/‖G‖.
        let norm = normals.iter().map(|g| g * g).sum::<f64>().sqrt();
        for _ in 0..size {
            let squared: f64 = (0..size).map(|_| StandardNormal.sample(rng)).map(|z: f64| z * z).sum();
            self.lengths.push(size as f64 * squared.sqrt() * kernel.radial_factor(rng) / norm);
        }
        self.signs.extend(signs);
        self.normals.extend(normals);
        self.permutation.extend(permutation);
    }

    /// Makes blocks from draws made elsewhere: `k` blocks of `size` entries, one after the other, of `B`, `G`, `Π` (from 0 within
    /// each block) and `S`.
    ///
    /// # Errors
    /// `Setting` if `size` is not a power of two; `Empty`, `Dimension` unless all four hold the same number of whole blocks;
    /// `Entry` for a sign that is not ±1 or a block of `Π` that is not a permutation; `NonFinite`.
    pub fn from_parts(
        size: usize,
        signs: Vec<f64>,
        normals: Vec<f64>,
        permutation: Vec<usize>,
        lengths: Vec<f64>,
    ) -> Result<Self, RevrandError> {
        if !size.is_power_of_two() {
            return Err(Error::Setting { name: "size", value: size as f64, requirement: "a power of two" }.into());
        }
        check::not_empty("signs", signs.len())?;
        check::length("signs", signs.len().next_multiple_of(size), signs.len())?;
        check::length("normals", signs.len(), normals.len())?;
        check::length("permutation", signs.len(), permutation.len())?;
        check::length("lengths", signs.len(), lengths.len())?;
        if let Some(index) = signs.iter().position(|sign| sign.abs() != 1.0) {
            let value = signs[index];
            return Err(Error::Entry { argument: "signs", index, value, requirement: "1 or -1" }.into());
        }
        check::finite("normals", &normals)?;
        check::finite("lengths", &lengths)?;
        for (block, entries) in permutation.chunks_exact(size).enumerate() {
            let mut seen = vec![false; size];
            for (i, &entry) in entries.iter().enumerate() {
                if entry >= size || std::mem::replace(&mut seen[entry], true) {
                    let (index, value) = (block * size + i, entry as f64);
                    let requirement = "a place within the block that comes once";
                    return Err(Error::Entry { argument: "permutation", index, value, requirement }.into());
                }
            }
        }
        Ok(Self { size, signs, normals, permutation, lengths })
    }

    /// The number `m` of frequencies, `k·d₂`.
    pub(crate) fn pairs(&self) -> usize {
        self.signs.len()
    }

    /// Checks that the blocks are made for `inputs` inputs.
    pub(super) fn check_inputs(&self, inputs: usize) -> Result<(), RevrandError> {
        check::not_empty("inputs", inputs)?;
        match inputs.checked_next_power_of_two() {
            Some(padded) => Ok(check::length("padded inputs", self.size, padded)?),
            None => Err(Error::Setting { name: "inputs", value: inputs as f64, requirement: "small enough" }.into()),
        }
    }

    /// The factor `√d₂/d₂²` that the two transforms leave out.
    fn normaliser(&self) -> f64 {
        let size = self.size as f64;
        (size * size.sqrt()).recip()
    }

    /// The number of rows that are transformed at once.
    fn lanes(&self) -> usize {
        (CACHED / self.size).clamp(FEWEST_LANES, MOST_LANES)
    }

    /// Writes the angles `V(x/l)` of a few rows at a time into the first `m` columns of the same rows of `out`, and passes those
    /// rows to `then`. `inverse` is `1/l`.
    pub(super) fn by_tiles(
        &self,
        x: MatRef<'_, f64>,
        inverse: &[f64],
        mut out: MatMut<'_, f64>,
        mut then: impl FnMut(MatRef<'_, f64>, MatMut<'_, f64>),
    ) {
        let lanes = self.lanes();
        let mut scratch = vec![0.0; (2 * self.size + x.ncols()) * lanes];
        let mut first = 0;
        while first < x.nrows() {
            let rows = lanes.min(x.nrows() - first);
            let x = x.subrows(first, rows);
            let mut tile = out.as_mut().subrows_mut(first, rows);
            let angles = tile.as_mut().subcols_mut(0, self.pairs());
            Arch::new().dispatch(Angles { product: self, x, inverse, out: angles, scratch: &mut scratch });
            then(x, tile);
            first += rows;
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "has to be compiled inside the SIMD dispatch")]
    fn angles(&self, x: MatRef<'_, f64>, inverse: &[f64], mut out: MatMut<'_, f64>, scratch: &mut [f64]) {
        let (d, rows, normaliser) = (x.ncols(), x.nrows(), self.normaliser());
        let (u, rest) = scratch.split_at_mut(self.size * rows);
        let (v, rest) = rest.split_at_mut(self.size * rows);
        let scaled = &mut rest[..d * rows];
        for (i, inverse) in inverse.iter().enumerate() {
            for (r, x) in x.col(i).iter().enumerate() {
                scaled[i * rows + r] = inverse * x;
            }
        }
        for block in 0..self.pairs() / self.size {
            let at = block * self.size;
            for ((u, scaled), sign) in u.chunks_exact_mut(rows).zip(scaled.chunks_exact(rows)).zip(&self.signs[at..]) {
                for (u, scaled) in u.iter_mut().zip(scaled) {
                    *u = sign * scaled;
                }
            }
            u[d * rows..].fill(0.0);
            transform_inline(u, rows);
            let places = self.permutation[at..].iter().zip(&self.normals[at..]);
            for (v, (place, normal)) in v.chunks_exact_mut(rows).zip(places) {
                for (v, u) in v.iter_mut().zip(&u[place * rows..(place + 1) * rows]) {
                    *v = normal * u;
                }
            }
            transform_inline(v, rows);
            for (c, v) in v.chunks_exact(rows).enumerate() {
                let length = normaliser * self.lengths[at + c];
                if let Some(out) = out.as_mut().col_mut(at + c).try_as_col_major_mut() {
                    for (out, v) in out.as_slice_mut().iter_mut().zip(v) {
                        *out = length * v;
                    }
                }
            }
        }
    }

    /// Adds `Σₙⱼ S_nj·x_ni·V_ji/l_i²` to the length scale of each input: `S·V` by the transposed product.
    pub(super) fn add_scale_gradient(&self, theta: &[f64], x: MatRef<'_, f64>, s: MatRef<'_, f64>, out: &mut [f64]) {
        let lanes = self.lanes();
        let mut scratch = vec![0.0; 2 * lanes * self.size];
        let mut sums = vec![0.0; x.ncols()];
        let mut first = 0;
        while first < x.nrows() {
            let rows = lanes.min(x.nrows() - first);
            let (x, s) = (x.subrows(first, rows), s.subrows(first, rows));
            Arch::new().dispatch(Adjoint { product: self, x, s, sums: &mut sums, scratch: &mut scratch });
            first += rows;
        }
        for (i, sum) in sums.into_iter().enumerate() {
            let l = Scales::at(theta, i);
            Scales::add(out, i, sum / (l * l));
        }
    }

    /// Adds `Σₙ x_ni·[SV]_ni` to `sums`.
    #[inline(always)]
    #[allow(clippy::inline_always, reason = "has to be compiled inside the SIMD dispatch")]
    fn add_adjoint(&self, x: MatRef<'_, f64>, s: MatRef<'_, f64>, sums: &mut [f64], scratch: &mut [f64]) {
        let (rows, normaliser) = (x.nrows(), self.normaliser());
        let (u, rest) = scratch.split_at_mut(self.size * rows);
        let v = &mut rest[..self.size * rows];
        for block in 0..self.pairs() / self.size {
            let at = block * self.size;
            for (c, v) in v.chunks_exact_mut(rows).enumerate() {
                let length = normaliser * self.lengths[at + c];
                for (v, s) in v.iter_mut().zip(s.col(at + c).iter()) {
                    *v = length * s;
                }
            }
            transform_inline(v, rows);
            let places = self.permutation[at..].iter().zip(&self.normals[at..]);
            for (v, (place, normal)) in v.chunks_exact(rows).zip(places) {
                for (u, v) in u[place * rows..(place + 1) * rows].iter_mut().zip(v) {
                    *u = normal * v;
                }
            }
            transform_inline(u, rows);
            for (i, sum) in sums.iter_mut().enumerate() {
                let terms = u[i * rows..(i + 1) * rows].iter().zip(x.col(i).iter());
                *sum += self.signs[at + i] * terms.map(|(u, x)| u * x).sum::<f64>();
            }
        }
    }

    /// The first `inputs` columns of `V`, transposed: the frequencies that the product represents (`inputs × m`). Cost
    /// `inputs·m·2log₂ d₂`.
    pub(crate) fn frequencies(&self, inputs: usize) -> Mat<f64> {
        let inputs = inputs.min(self.size);
        let unit = Mat::<f64>::identity(inputs, inputs);
        let mut w = Mat::zeros(inputs, self.pairs());
        self.by_tiles(unit.as_ref(), &vec![1.0; inputs], w.as_mut(), |_, _| ());
        w
    }
}
/// The angles of a few rows.
struct Angles<'a> {
    product: &'a FastFoodDraws,
    x: MatRef<'a, f64>,
    inverse: &'a [f64],
    out: MatMut<'a, f64>,
    scratch: &'a mut [f64],
}

impl WithSimd for Angles<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.product.angles(self.x, self.inverse, self.out, self.scratch);
    }
}

/// The transposed product for a few rows.
struct Adjoint<'a> {
    product: &'a FastFoodDraws,
    x: MatRef<'a, f64>,
    s: MatRef<'a, f64>,
    sums: &'a mut [f64],
    scratch: &'a mut [f64],
}

impl WithSimd for Adjoint<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.product.add_adjoint(self.x, self.s, self.sums, self.scratch);
    }
}

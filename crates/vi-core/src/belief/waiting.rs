//! Steps whose change of a dense covariance waits to be written, so that many are written at once.
//!
//! With `P₀` as it is stored, one column of `U` and one entry of `c` for each step that waits, and `s` the product of what they forgot,
//!
//! ```text
//! P = s·(P₀ − U·diag(c)·Uᵀ),    Px = s·(P₀x − U·diag(c)·Uᵀx)
//! ```
//!
//! A step costs a product with `P₀` and `4dk` flops while `k` others wait, and its share of one product of matrices later: less than a
//! pass over `P` of its own. When it is written depends on the steps alone.

use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{deflate, tiled_rank_r};

use crate::vectors::vectorised;

/// Dimensions below this write each step at once: their covariance is in the nearest cache.
const NARROW: usize = 48;

/// What a variance may have lost while steps wait: the products with `P₀` round as its entries do.
const MOST_LOST: f64 = 4.0;

/// The largest `s`.
const MOST_FADED: f64 = 4.0;

/// The steps that wait.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    /// The columns of `U`, one after another.
    gains: Vec<f64>,
    /// `c`.
    losses: Vec<f64>,
    /// `s`.
    scale: f64,
    /// The diagonal of `P` while steps wait.
    variances: Vec<f64>,
}

impl Default for Waiting {
    fn default() -> Self {
        Self { gains: Vec::new(), losses: Vec::new(), scale: 1.0, variances: Vec::new() }
    }
}

impl Waiting {
    /// How many steps of dimension `d` are written at once.
    pub(super) fn most(d: usize) -> usize {
        if d < NARROW { 1 } else { (d / 8).clamp(16, 48) }
    }

    /// How many steps wait.
    pub(super) fn len(&self) -> usize {
        self.losses.len()
    }

    /// The variance of coordinate `i`, if steps wait.
    pub(super) fn variance(&self, i: usize) -> Option<f64> {
        self.variances.get(i).copied()
    }

    fn gains(&self) -> MatRef<'_, f64> {
        let k = self.len();
        MatRef::from_column_major_slice(&self.gains, self.gains.len() / k.max(1), k)
    }

    /// `P₀x → Px`.
    pub(super) fn take_from(&self, product: &mut [f64], x: &[f64]) {
        if self.losses.is_empty() {
            return;
        }
        deflate(product, self.gains(), &self.losses, x);
        if self.scale != 1.0 {
            for entry in product {
                *entry *= self.scale;
            }
        }
    }

    /// Lets `P ← (P − loss·ggᵀ)/fade` wait. Returns whether all that waits has now to be written.
    pub(super) fn push(&mut self, gain: &[f64], loss: f64, fade: f64, stored: impl Fn(usize) -> f64) -> bool {
        let d = gain.len();
        if self.losses.is_empty() {
            self.variances.extend((0..d).map(&stored));
        }
        self.gains.extend_from_slice(gain);
        self.losses.push(loss / self.scale);
        self.scale /= fade;
        let variances = &mut self.variances;
        vectorised(
            #[inline(always)]
            || {
                for (variance, gain) in variances.iter_mut().zip(gain) {
                    *variance = (*variance - loss * gain * gain) / fade;
                }
            },
        );
        let lost = |i: usize| self.scale * stored(i) > MOST_LOST * self.variances[i];
        self.len() >= Self::most(d) || self.scale > MOST_FADED || (0..d).any(lost)
    }

    /// Writes what waits into `P₀`, the lower triangle of `covariance`.
    pub(super) fn write(&mut self, covariance: &mut Mat<f64>) {
        if self.losses.is_empty() {
            return;
        }
        let gains = self.gains();
        let scaled = Mat::from_fn(gains.nrows(), gains.ncols(), |i, j| -self.losses[j] * gains[(i, j)]);
        tiled_rank_r(covariance.as_mut(), scaled.as_ref(), gains, Par::Seq);
        if self.scale != 1.0 {
            for (j, column) in covariance.as_mut().col_iter_mut().enumerate() {
                if let Some(column) = column.try_as_col_major_mut() {
                    column.as_slice_mut()[j..].iter_mut().for_each(|entry| *entry *= self.scale);
                }
            }
        }
        self.clear();
    }

    /// Forgets what waits.
    pub(super) fn clear(&mut self) {
        self.gains.clear();
        self.losses.clear();
        self.variances.clear();
        self.scale = 1.0;
    }

    /// What waits as numbers, for storing: `s`, the variances, and for each step its loss and gain; nothing where none waits.
    pub(super) fn stored(&self) -> impl Iterator<Item = f64> + '_ {
        let k = self.len();
        let d = self.variances.len();
        let head = (k > 0).then_some(self.scale).into_iter().chain(self.variances.iter().copied());
        let step =
            move |j: usize| std::iter::once(self.losses[j]).chain(self.gains[j * d..(j + 1) * d].iter().copied());
        head.chain((0..k).flat_map(step))
    }

    /// What [`stored`](Self::stored) gave, for dimension `d`; `None` for numbers that it cannot have given.
    pub(super) fn of_stored(d: usize, numbers: &[f64]) -> Option<Self> {
        let Some((&scale, rest)) = numbers.split_first() else { return Some(Self::default()) };
        let (variances, steps) = rest.split_at_checked(d)?;
        let k = steps.len() / (d + 1);
        let whole = steps.len() == k * (d + 1) && (1..Self::most(d)).contains(&k);
        let positive = (1.0..=MOST_FADED).contains(&scale) && variances.iter().all(|variance| *variance > 0.0);
        if !whole || !positive || numbers.iter().any(|number| !number.is_finite()) {
            return None;
        }
        let mut waiting = Self { scale, variances: variances.to_vec(), ..Self::default() };
        for step in steps.chunks_exact(d + 1) {
            waiting.losses.push(step[0]);
            waiting.gains.extend_from_slice(&step[1..]);
        }
        Some(waiting)
    }
}

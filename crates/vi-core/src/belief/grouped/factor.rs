//! One group's effects given the common weights: small matrices, lower and by rows.

use vi_linalg::faer::{Mat, MatRef};

use crate::Error;
use crate::check;

/// The lower triangle of a root, by rows with zeros above.
///
/// # Errors
/// [`Error::Empty`], [`Error::Dimension`], [`Error::NonFinite`].
pub(super) fn read_root(root: MatRef<'_, f64>) -> Result<Vec<f64>, Error> {
    let q = root.nrows();
    check::not_empty("root of the effects' prior", q)?;
    check::length("columns of the effects' prior", q, root.ncols())?;
    let mut lower = vec![0.0; q * q];
    for i in 0..q {
        (0..=i).for_each(|j| lower[i * q + j] = root[(i, j)]);
    }
    check::finite("root of the effects' prior", &lower)?;
    Ok(lower)
}

/// `q` of a root of `q²` numbers.
pub(super) fn order(root: &[f64]) -> usize {
    root.len().isqrt()
}

/// `D = I + ΛᵀGΛ = LLᵀ`, for a group or, reused, for one after another.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupFactor {
    q: usize,
    root: Vec<f64>,
    /// `L`, by rows.
    lower: Vec<f64>,
    /// `GΛ`, by rows.
    scaled: Vec<f64>,
}

impl GroupFactor {
    /// The factor for a group's record.
    pub(super) fn new(root: &[f64], record: &[f64]) -> Result<Self, Error> {
        let mut factor = Self::default();
        factor.set(order(root), root, record)?;
        Ok(factor)
    }

    /// Takes another group, of which `G` is the beginning of the record. Cost `O(q³)`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    pub(super) fn set(&mut self, q: usize, root: &[f64], record: &[f64]) -> Result<(), Error> {
        // Loops of known length are unrolled.
        let done = match q {
            1 => self.take(1, root, record),
            2 => self.take(2, root, record),
            3 => self.take(3, root, record),
            _ => self.take(q, root, record),
        };
        done.map_err(|pivot| Error::NotPositiveDefinite { argument: "precision of a group's effects", pivot })
    }

    #[inline(always)]
    fn take(&mut self, q: usize, root: &[f64], record: &[f64]) -> Result<(), usize> {
        self.q = q;
        self.root.clear();
        self.root.extend_from_slice(root);
        self.lower.resize(q * q, 0.0);
        self.scaled.resize(q * q, 0.0);
        let (root, square) = (&root[..q * q], &record[..q * (q + 1) / 2]);
        let (lower, scaled) = (&mut self.lower[..q * q], &mut self.scaled[..q * q]);
        for i in 0..q {
            for j in 0..q {
                scaled[i * q + j] = (j..q).map(|k| triangle(square, i, k) * root[k * q + j]).sum();
            }
        }
        for i in 0..q {
            for j in 0..=i {
                let product: f64 = (i..q).map(|k| root[k * q + i] * scaled[k * q + j]).sum();
                let sum: f64 = (0..j).map(|k| lower[i * q + k] * lower[j * q + k]).sum();
                let left = f64::from(u8::from(i == j)) + product - sum;
                if i > j {
                    lower[i * q + j] = left / lower[j * q + j];
                } else if left > 0.0 && left.is_finite() {
                    lower[i * q + i] = left.sqrt();
                } else {
                    return Err(i);
                }
            }
        }
        Ok(())
    }

    /// `log|D|`.
    pub(super) fn log_det(&self) -> f64 {
        2.0 * (0..self.q).map(|i| self.lower[i * self.q + i].ln()).sum::<f64>()
    }

    /// `L⁻¹B` in place, `B` of `q` rows of `k` numbers.
    pub(super) fn whiten(&self, b: &mut [f64], k: usize) {
        for i in 0..self.q {
            let (before, own) = b.split_at_mut(i * k);
            for (j, above) in before.chunks_exact(k).enumerate() {
                let factor = self.lower[i * self.q + j];
                own[..k].iter_mut().zip(above).for_each(|(own, above)| *own -= factor * above);
            }
            let pivot = self.lower[i * self.q + i];
            for own in &mut own[..k] {
                *own /= pivot;
            }
        }
    }

    /// `L⁻ᵀB` in place.
    pub(super) fn unwhiten(&self, b: &mut [f64], k: usize) {
        for i in (0..self.q).rev() {
            let (own, after) = b[i * k..].split_at_mut(k);
            for (j, below) in after.chunks_exact(k).enumerate() {
                let factor = self.lower[(i + 1 + j) * self.q + i];
                own.iter_mut().zip(below).for_each(|(own, below)| *own -= factor * below);
            }
            let pivot = self.lower[i * self.q + i];
            for own in own {
                *own /= pivot;
            }
        }
    }

    /// `ΛᵀB`, `B` of `q` rows of `k` numbers, into `out`.
    pub(super) fn rotate_rows(&self, b: &[f64], k: usize, out: &mut [f64]) {
        out.fill(0.0);
        for (j, line) in out.chunks_exact_mut(k).enumerate() {
            for (i, b) in b.chunks_exact(k).enumerate().skip(j) {
                let factor = self.root[i * self.q + j];
                line.iter_mut().zip(b).for_each(|(sum, b)| *sum += factor * b);
            }
        }
    }

    /// `ΛB`, `B` of `q` rows of `k` numbers, in place.
    pub(super) fn apply_root(&self, b: &mut [f64], k: usize) {
        for i in (0..self.q).rev() {
            let (before, own) = b.split_at_mut(i * k);
            let pivot = self.root[i * self.q + i];
            for own in &mut own[..k] {
                *own *= pivot;
            }
            for (j, above) in before.chunks_exact(k).enumerate() {
                let factor = self.root[i * self.q + j];
                own[..k].iter_mut().zip(above).for_each(|(own, above)| *own += factor * above);
            }
        }
    }

    /// `ΛD⁻¹ΛᵀB` for `B` of `q` rows of `k` numbers, into `out`.
    pub(super) fn shrink(&self, b: &[f64], k: usize, out: &mut [f64]) {
        self.rotate_rows(b, k, out);
        self.whiten(out, k);
        self.unwhiten(out, k);
        self.apply_root(out, k);
    }

    /// `ΛD⁻¹Λᵀb`, into `out`.
    pub(super) fn shrink_vec(&self, b: &[f64], out: &mut [f64]) {
        match self.q {
            1 => self.shrink_of(1, b, out),
            2 => self.shrink_of(2, b, out),
            3 => self.shrink_of(3, b, out),
            q => self.shrink_of(q, b, out),
        }
    }

    #[inline(always)]
    fn shrink_of(&self, q: usize, b: &[f64], out: &mut [f64]) {
        let (root, lower) = (&self.root[..q * q], &self.lower[..q * q]);
        let (b, out) = (&b[..q], &mut out[..q]);
        for i in 0..q {
            let turned: f64 = (i..q).map(|k| root[k * q + i] * b[k]).sum();
            let sum: f64 = (0..i).map(|k| lower[i * q + k] * out[k]).sum();
            out[i] = (turned - sum) / lower[i * q + i];
        }
        for i in (0..q).rev() {
            let sum: f64 = (i + 1..q).map(|k| lower[k * q + i] * out[k]).sum();
            out[i] = (out[i] - sum) / lower[i * q + i];
        }
        for i in (0..q).rev() {
            out[i] = (0..=i).map(|k| root[i * q + k] * out[k]).sum();
        }
    }

    /// The covariance `ΛD⁻¹Λᵀ` of the effects given the common weights.
    pub(super) fn covariance(&self) -> Mat<f64> {
        let q = self.q;
        let identity: Vec<f64> = (0..q * q).map(|at| f64::from(u8::from(at / q == at % q))).collect();
        let mut out = vec![0.0; q * q];
        self.shrink(&identity, q, &mut out);
        Mat::from_fn(q, q, |i, j| out[i * q + j])
    }

    /// `F = ΛD⁻¹ΛᵀC`, by rows: the effects' mean is `ΛD⁻¹Λᵀc − Fβ`.
    pub(super) fn follow(&self, cross: &[f64], p: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.q * p];
        self.shrink(cross, p, &mut out);
        out
    }
}

/// Entry `(i, j)` of a symmetric matrix kept as its lower triangle by rows.
pub(super) fn triangle(lower: &[f64], i: usize, j: usize) -> f64 {
    let (i, j) = (i.max(j), i.min(j));
    lower[i * (i + 1) / 2 + j]
}

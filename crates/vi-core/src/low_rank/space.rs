//! The sequential filter in the space of the buffered rows.
//!
//! With `P₀ = (Ψ + WWᵀ)⁻¹` and rows `x_1 … x_k`, the exact filter from `P₀` needs only inner products:
//!
//! ```text
//! k_w = WᵀΨ⁻¹x,  t_j = x_jᵀΨ⁻¹x − (L⁻¹k_w,j)ᵀ(L⁻¹k_w) = x_jᵀP₀x          M = I + WᵀΨ⁻¹W = LLᵀ
//! v_j = x_jᵀP_{j−1}x = t_j − Σ_{i<j} c_i T_ji v_i                          T_ji = x_jᵀP_{i−1}x_i
//! ν = x ᵀP₀x − Σ c_j v_j²,   a = xᵀμ₀ + Σ e_j v_j
//! ```
//!
//! This is [`BlockRecursion`](crate::block::BlockRecursion) row by row, so that rows can come singly or together.

use serde::{Deserialize, Serialize};
use vi_linalg::cholesky;
use vi_linalg::faer::{Mat, MatRef, Par};
use vi_linalg::kernels::{add_lower_product, axpy, dot};

use super::look::Looked;
use super::range::{self, Bounds};
use crate::check;
use crate::{Error, Projection, Site};

/// The site and the inner products of one row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct SpaceRow {
    /// `g`.
    pub(super) slope: f64,
    /// `h`.
    pub(super) curvature: f64,
    /// `e`.
    pub(super) gain: f64,
    /// `c = h/(1+hν)`.
    pub(super) shrinkage: f64,
    /// `WᵀΨ⁻¹x`, length `p`.
    pub(super) wx: Vec<f64>,
    /// `L⁻¹WᵀΨ⁻¹x`, length `p`.
    pub(super) whitened: Vec<f64>,
    /// `x_jᵀΨ⁻¹x` for the rows before and this one.
    pub(super) xx: Vec<f64>,
    /// `v_j` for the rows before: row of `T`.
    pub(super) overlaps: Vec<f64>,
}

impl SpaceRow {
    /// `xᵀΨ⁻¹x`.
    pub(super) fn own(&self) -> f64 {
        self.xx.last().copied().unwrap_or(0.0)
    }
}

/// A row whose projection is known and which has no site yet.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    projection: Projection,
    wx: Vec<f64>,
    whitened: Vec<f64>,
    xx: Vec<f64>,
    overlaps: Vec<f64>,
}

/// The buffered rows, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Space {
    pub(super) rows: Vec<SpaceRow>,
}

impl Space {
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The projection along a row of which `wx = WᵀΨ⁻¹x`, `xx_j = x_jᵀΨ⁻¹x` (itself last) and `mean = xᵀμ₀` are known; `root` is
    /// `L`.
    ///
    /// # Errors
    /// [`Error::NegativeVariance`], [`Error::Overflow`].
    pub(super) fn see(&self, root: MatRef<'_, f64>, wx: Vec<f64>, xx: Vec<f64>, mean: f64) -> Result<Seen, Error> {
        let mut whitened = wx.clone();
        solve_lower(root, &mut whitened);
        let own = xx.last().copied().unwrap_or(0.0);
        let overlaps = self.overlaps(&xx, &whitened);
        let mut mean = mean;
        let mut variance = own - dot(&whitened, &whitened);
        for (row, v) in self.rows.iter().zip(&overlaps) {
            mean += row.gain * v;
            variance -= row.shrinkage * v * v;
        }
        // The rounding of each difference is that of xᵀΨ⁻¹x.
        let rounding = 8.0 * (wx.len() + self.len() + 8) as f64 * f64::EPSILON * own;
        let projection = Projection::new(mean, variance, rounding)?;
        Ok(Seen { projection, wx, whitened, xx, overlaps })
    }

    /// `Xμ` and the lower triangle of `XPXᵀ` for several rows, given the buffered ones. Cost `(p + k₀)k²` and `(p + k₀)k₀k`
    /// flops.
    pub(super) fn joint(&self, root: MatRef<'_, f64>, looked: &Looked) -> (Vec<f64>, Mat<f64>) {
        let (k0, k) = (self.len(), looked.len());
        let mut whitened = looked.wx_all().to_owned();
        cholesky::solve_lower_in_place(root, whitened.as_mut(), Par::Seq);
        // v_j for all new rows at once, one buffered row after another.
        let mut v = vec![0.0; k0 * k];
        for (j, row) in self.rows.iter().enumerate() {
            let (before, rest) = v.split_at_mut(j * k);
            let own = &mut rest[..k];
            for (t, own) in own.iter_mut().enumerate() {
                let along: f64 = row.whitened.iter().zip(whitened.col(t).iter()).map(|(a, b)| a * b).sum();
                *own = looked.waiting(j, t) - along;
            }
            for ((earlier, overlap), before) in self.rows.iter().zip(&row.overlaps).zip(before.chunks_exact(k.max(1))) {
                axpy(own, -earlier.shrinkage * overlap, before);
            }
        }
        let mut means: Vec<f64> = (0..k).map(|t| looked.mean(t)).collect();
        let mut scaled = v.clone();
        for ((row, v), scaled) in self.rows.iter().zip(v.chunks(k.max(1))).zip(scaled.chunks_mut(k.max(1))) {
            axpy(&mut means, row.gain, v);
            for value in scaled.iter_mut() {
                *value *= -row.shrinkage;
            }
        }
        let mut covariance = Mat::from_fn(k, k, |t, j| if t >= j { looked.own(t, j) } else { 0.0 });
        let negated = Mat::from_fn(whitened.nrows(), k, |i, t| -whitened[(i, t)]);
        add_lower_product(covariance.as_mut(), negated.transpose(), whitened.as_ref(), Par::Seq);
        let [v, scaled] = [&v, &scaled].map(|values| MatRef::from_row_major_slice(values, k0, k));
        add_lower_product(covariance.as_mut(), scaled.transpose(), v, Par::Seq);
        (means, covariance)
    }

    /// `v_j = x_jᵀP_{j−1}x` for the buffered rows.
    fn overlaps(&self, xx: &[f64], whitened: &[f64]) -> Vec<f64> {
        let mut overlaps: Vec<f64> = Vec::with_capacity(self.len() + 1);
        for (row, xx) in self.rows.iter().zip(xx) {
            let mut v = xx - dot(&row.whitened, whitened);
            for ((earlier, t), seen) in self.rows.iter().zip(&row.overlaps).zip(&overlaps) {
                v -= earlier.shrinkage * t * seen;
            }
            overlaps.push(v);
        }
        overlaps
    }

    /// `g` with `P ⪯ g·Ψ⁻¹`: a negative curvature stretches the covariance by up to `1/(1+hν)`, which is `c/h`.
    fn growth(&self) -> f64 {
        self.rows.iter().filter(|row| row.curvature < 0.0).map(|row| row.shrinkage / row.curvature).product()
    }

    /// Adds a row with its site, checking that this leaves a Gaussian in range; `psi` are the bounds of `ψ`.
    ///
    /// # Errors
    /// [`Error::ImproperSite`], [`Error::Overflow`]; the space is then as it was.
    pub(super) fn push(&mut self, seen: Seen, site: Site, psi: Bounds) -> Result<(), Error> {
        self.check(&seen, site, psi)?;
        self.add(seen, site);
        Ok(())
    }

    /// Checks that [`push`](Self::push) would succeed.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(super) fn check(&self, seen: &Seen, site: Site, psi: Bounds) -> Result<(), Error> {
        let Seen { projection, xx, .. } = seen;
        site.check(projection.variance)?;
        range::check_added(site.curvature.abs() * xx.last().copied().unwrap_or(0.0), psi)?;
        // |(Px)ᵢ| ≤ √(ν·Pᵢᵢ)
        let length = (projection.variance * self.growth() / psi.least).sqrt();
        range::check_shift(site.gain(projection.variance).abs() * length)
    }

    /// Adds a row with a site that has been [checked](Self::check).
    pub(super) fn add(&mut self, seen: Seen, site: Site) {
        let Seen { projection, wx, whitened, xx, overlaps } = seen;
        self.rows.push(SpaceRow {
            slope: site.slope,
            curvature: site.curvature,
            gain: site.gain(projection.variance),
            shrinkage: site.shrinkage(projection.variance),
            wx,
            whitened,
            xx,
            overlaps,
        });
    }

    /// `L_c⁻ᵀz`, with the unit lower triangular `(L_c)_jt = c_t·T_jt`.
    fn solve_transposed(&self, mut z: Vec<f64>) -> Vec<f64> {
        for j in (0..z.len()).rev() {
            let value = z[j];
            for (t, overlap) in self.rows[j].overlaps.iter().enumerate() {
                z[t] -= self.rows[t].shrinkage * overlap * value;
            }
        }
        z
    }

    /// `s` with `μ = μ₀ + P₀X·s`.
    pub(super) fn mean_weights(&self) -> Vec<f64> {
        self.solve_transposed(self.rows.iter().map(|row| row.gain).collect())
    }

    /// `m` with `Px = P₀(x − X·m)` for a row whose projection is known.
    pub(super) fn covariance_weights(&self, seen: &Seen) -> Vec<f64> {
        self.solve_transposed(self.rows.iter().zip(&seen.overlaps).map(|(row, v)| row.shrinkage * v).collect())
    }

    /// `Σ_j z_j·WᵀΨ⁻¹x_j`, length `p`.
    pub(super) fn combine_wx(&self, z: &[f64], p: usize) -> Vec<f64> {
        let mut sum = vec![0.0; p];
        for (row, z) in self.rows.iter().zip(z) {
            axpy(&mut sum, *z, &row.wx);
        }
        sum
    }

    /// `D²`: 1 for each of `p` columns of `W`, `h` for each row.
    pub(super) fn weights(&self, p: usize) -> Vec<f64> {
        std::iter::repeat_n(1.0, p).chain(self.curvatures()).collect()
    }

    /// The curvatures `h`.
    pub(super) fn curvatures(&self) -> impl Iterator<Item = f64> + '_ {
        self.rows.iter().map(|row| row.curvature)
    }

    /// `K = FᵀΨ⁻¹F` (`p + k` square, lower triangle), from `gram = WᵀΨ⁻¹W`.
    pub(super) fn gram(&self, gram: MatRef<'_, f64>) -> Mat<f64> {
        let p = gram.nrows();
        let mut full = Mat::zeros(p + self.len(), p + self.len());
        for j in 0..p {
            for i in j..p {
                full[(i, j)] = gram[(i, j)];
            }
        }
        for (j, row) in self.rows.iter().enumerate() {
            for (i, &value) in row.wx.iter().chain(&row.xx).enumerate() {
                full[(p + j, i)] = value;
            }
        }
        full
    }

    /// Checks that products with the buffered rows stay finite in [`fade`](Self::fade).
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn check_fade(&self, lambda: f64) -> Result<(), Error> {
        for row in &self.rows {
            let products = row.xx.iter().chain(&row.overlaps).map(|value| value / lambda);
            check::results("xᵀΨ⁻¹x of a row that waits", products)?;
            check::results("WᵀΨ⁻¹x of a row that waits", row.wx.iter().map(|value| value / lambda.sqrt()))?;
        }
        Ok(())
    }

    /// Fades `Ψ + WWᵀ` and the buffered sites, `Λ ← λΛ`: covariances and what is linear in them grow by `1/λ`.
    pub(super) fn fade(&mut self, lambda: f64) {
        for row in &mut self.rows {
            row.slope *= lambda;
            row.curvature *= lambda;
            row.gain *= lambda;
            row.shrinkage *= lambda;
            for value in row.xx.iter_mut().chain(&mut row.overlaps) {
                *value /= lambda;
            }
            for value in row.wx.iter_mut().chain(&mut row.whitened) {
                *value /= lambda.sqrt();
            }
        }
    }
}

impl Seen {
    /// `(a, ν)` for a belief whose precision is `scale` times that of the space.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub(super) fn projection(&self, scale: f64) -> Result<Projection, Error> {
        Projection::new(self.projection.mean, self.projection.variance / scale, 0.0)
    }

    pub(super) fn wx(&self) -> &[f64] {
        &self.wx
    }
}

/// `z ← L⁻¹z`.
pub(super) fn solve_lower(root: MatRef<'_, f64>, z: &mut [f64]) {
    for j in 0..z.len() {
        z[j] /= root[(j, j)];
        let value = z[j];
        for i in j + 1..z.len() {
            z[i] -= root[(i, j)] * value;
        }
    }
}

/// `z ← (LLᵀ)⁻¹z`.
pub(super) fn solve(root: MatRef<'_, f64>, z: &mut [f64]) {
    solve_lower(root, z);
    for j in (0..z.len()).rev() {
        let sum: f64 = (j + 1..z.len()).map(|i| root[(i, j)] * z[i]).sum();
        z[j] = (z[j] - sum) / root[(j, j)];
    }
}

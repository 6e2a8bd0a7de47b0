//! Joint distribution of the scores of several rows, without a number for each coordinate.
#![allow(clippy::cast_possible_truncation, reason = "positions are below 2³², as `Records::can_hold` has found")]

use vi_linalg::faer::{Mat, Par};

use super::LowRankGaussian;
use super::lazy::Lazy;
use super::look::Looked;
use super::storage::{Full, Storage};
use super::touched::Panel;
use super::waiting::WaitingRows;
use crate::belief::shared::Shared;
use crate::belief::{Belief, Scores, check_rows};
use crate::vectors::vectorised;
use crate::{Error, Row};

impl LowRankGaussian {
    /// See [`GaussianBelief::scores`](crate::GaussianBelief::scores).
    pub(super) fn scores_along(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        check_rows(self.dim(), rows)?;
        let looked = match &self.storage {
            Storage::Lazy(lazy) => lazy.look_together(rows),
            Storage::Full(full) if rows.iter().any(|row| matches!(row, Row::Dense(_))) => {
                full.look_together_densely(rows)
            }
            Storage::Full(full) => full.look_together(rows),
        };
        let core = self.core();
        let (means, mut covariance) = core.waiting.space.joint(core.root(), &looked);
        for j in 0..rows.len() {
            (j..rows.len()).for_each(|t| covariance[(t, j)] /= core.scale);
        }
        let terms = 8.0 * (core.rank() + core.waiting.len() + 8) as f64 * f64::EPSILON / core.scale;
        Scores::new(means, covariance, |t| terms * looked.own(t, t))
    }
}

impl Full {
    fn look_together_densely(&self, rows: &[Row<'_>]) -> Looked {
        let mut x = Mat::zeros(rows.len(), self.mean.len());
        for (t, row) in rows.iter().enumerate() {
            row.for_each(|i, value| x[(t, i)] = value);
        }
        self.look(x.as_ref(), Par::Seq)
    }

    fn look_together(&self, rows: &[Row<'_>]) -> Looked {
        let shared = Shared::new(rows);
        let mut products = Products::new(&shared, self.core.rank(), self.core.waiting.len());
        for (local, &i) in shared.positions().iter().enumerate() {
            products.add(local, self.precision.w_row(i), self.precision.psi()[i], self.mean[i]);
        }
        match &self.core.waiting.rows {
            WaitingRows::Dense(values) => {
                for (j, row) in values.chunks_exact(self.mean.len().max(1)).enumerate() {
                    for (local, &i) in shared.positions().iter().enumerate() {
                        products.add_waiting(local, j, row[i]);
                    }
                }
            }
            WaitingRows::Sparse(buffer) => {
                for j in 0..buffer.len() {
                    let (positions, values) = buffer.rows().pieces(j);
                    for (&i, &value) in positions.iter().zip(values) {
                        if let Some(local) = shared.local(i) {
                            products.add_waiting(local, j, value);
                        }
                    }
                }
            }
        }
        products.looked(self.core.rank())
    }
}

impl Lazy {
    fn look_together(&self, rows: &[Row<'_>]) -> Looked {
        let Self { records, touched, .. } = self;
        let shared = Shared::new(rows);
        let mut products = Products::new(&shared, records.width(), self.core.waiting.len());
        let known: Vec<Option<usize>> = shared.positions().iter().map(|&i| touched.local(i as u32)).collect();
        let mut fresh = Panel::new(records.width());
        let unknown = shared.positions().iter().zip(&known).filter(|(_, known)| known.is_none());
        records.read(unknown.map(|(&i, _)| i), &mut fresh);
        let mut read = 0;
        for (local, known) in known.into_iter().enumerate() {
            if let Some(l) = known {
                let at = touched.panel.numbers[l];
                products.add(local, touched.panel.row(l), at.psi, at.mean);
                touched.entries_at(l, |j, value| products.add_waiting(local, j, value));
            } else {
                let at = fresh.numbers[read];
                products.add(local, fresh.row(read), at.psi, at.mean);
                read += 1;
            }
        }
        products.looked(self.core.rank())
    }
}

/// The sums of [`Looked`], accumulated coordinate by coordinate.
struct Products<'a> {
    shared: &'a Shared,
    /// Numbers of a row of `W`, padding included.
    width: usize,
    /// `WᵀΨ⁻¹X`, `k` columns of that length.
    wx: Vec<f64>,
    /// `x_jᵀΨ⁻¹x_t` for buffered rows, then for the rows themselves (lower triangle).
    xx: Mat<f64>,
    means: Mat<f64>,
    /// `1/ψ`.
    inverse: Vec<f64>,
    waiting: usize,
}

impl<'a> Products<'a> {
    fn new(shared: &'a Shared, width: usize, waiting: usize) -> Self {
        let k = shared.rows();
        Self {
            shared,
            width,
            wx: vec![0.0; width * k],
            xx: Mat::zeros(waiting + k, k),
            means: Mat::zeros(k, 1),
            inverse: Vec::with_capacity(shared.positions().len()),
            waiting,
        }
    }

    /// Adds coordinate `local`, the next one, with its `W`, `ψ` and `μ`.
    fn add(&mut self, local: usize, w: &[f64], psi: f64, mean: f64) {
        let inverse = 1.0 / psi;
        self.inverse.push(inverse);
        let width = self.width;
        vectorised(
            #[inline(always)]
            || {
                for &(t, value) in self.shared.entries(local) {
                    let y = value * inverse;
                    for (to, w) in self.wx[t * width..][..width].iter_mut().zip(w) {
                        *to += y * w;
                    }
                    self.means[(t, 0)] += value * mean;
                }
            },
        );
    }

    /// Sets the value that buffered row `j` has at coordinate `local`, which has been added.
    fn add_waiting(&mut self, local: usize, j: usize, waiting: f64) {
        let y = waiting * self.inverse[local];
        for &(t, value) in self.shared.entries(local) {
            self.xx[(j, t)] += value * y;
        }
    }

    fn looked(mut self, p: usize) -> Looked {
        let k = self.shared.rows();
        self.shared.add_gram(&self.inverse, self.xx.as_mut().subrows_mut(self.waiting, k));
        let wx = Mat::from_fn(p, k, |i, t| self.wx[t * self.width + i]);
        Looked::of(wx, self.xx, self.means)
    }
}

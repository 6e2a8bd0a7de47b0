//! Scores of several rows together, without a number for each coordinate.

use vi_linalg::faer::{Mat, Par};

use super::LowRankGaussian;
use super::lazy::Lazy;
use super::look::{Looked, sparse_product};
use super::touched::Touched;
use crate::belief::{Belief, Scores, check_rows};
use crate::{Error, Row};

impl LowRankGaussian {
    /// [`GaussianBelief::scores`](crate::GaussianBelief::scores).
    pub(super) fn scores_along(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        check_rows(self.dim(), rows)?;
        let looked = match self.lazy.as_deref() {
            Some(lazy) => self.look_together_lazily(lazy, rows),
            None => self.look_together(rows),
        };
        let (means, mut covariance) = self.waiting.space.joint(self.root(), &looked);
        for j in 0..rows.len() {
            (j..rows.len()).for_each(|t| covariance[(t, j)] /= self.scale);
        }
        let terms = 8.0 * (self.rank() + self.waiting.len() + 8) as f64 * f64::EPSILON / self.scale;
        Scores::new(means, covariance, |t| terms * looked.own(t, t))
    }

    fn look_together(&self, rows: &[Row<'_>]) -> Looked {
        let sparse: Option<Vec<_>> = rows
            .iter()
            .map(|row| match *row {
                Row::Sparse { positions, values } => Some((positions, values)),
                Row::Dense(_) => None,
            })
            .collect();
        let Some(sparse) = sparse else {
            let mut x = Mat::zeros(rows.len(), self.dim());
            for (t, row) in rows.iter().enumerate() {
                row.for_each(|i, value| x[(t, i)] = value);
            }
            return self.look(x.as_ref(), Par::Seq);
        };
        let k0 = self.waiting.len();
        let mut looked = Looked::zeros(self.rank(), k0, rows.len());
        for (t, row) in sparse.iter().enumerate() {
            let alone = self.look_sparse(row.0, row.1);
            let xx = alone.xx(0);
            let psi = self.precision.psi();
            let mut own: Vec<f64> = sparse[..t].iter().map(|before| sparse_product(*before, *row, psi)).collect();
            own.push(xx[k0]);
            looked.set(t, &alone.wx(0), &xx[..k0], &own, alone.mean(0));
        }
        looked
    }

    /// Coordinates that several rows share are read once.
    fn look_together_lazily(&self, lazy: &Lazy, rows: &[Row<'_>]) -> Looked {
        let mut together = Touched::new(self.rank());
        let mut looked = Looked::zeros(self.rank(), self.waiting.len(), rows.len());
        let mut waiting = vec![0.0; self.waiting.len()];
        for (t, row) in rows.iter().enumerate() {
            let (found, values) = together.find(*row, &lazy.records);
            let products = together.products(&found, &values);
            lazy.touched.overlaps(*row, &mut waiting);
            looked.set(t, &products.wx, &waiting, &products.xx, products.mean);
            together.add(&found, &values);
        }
        looked
    }
}

//! The recursion as the paper prints it: Algorithm 1 with `α = β = 1`, and the mean by (27) or (53).

use vi_linalg::faer::{MatRef, Par};
use vi_linalg::low_rank::{Capacitance, weighted_gram};

use super::columns::Columns;
use super::em::{self, Floor, Target};
use super::kernels::Factor;
use super::range::{self, Bounds};
use super::settings::MeanMoves;
use super::space::Space;
use super::storage::Full;
use crate::Error;

impl Full {
    /// Projects the rows of the space, which are those of `x` (`k × d`), by `inner_loops` EM steps from the old `(W, ψ)`.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::NotPositiveDefinite`] with the coordinate whose `ψ` would not stay positive. On an error the
    /// belief is unchanged.
    pub(super) fn reduce_recursively(
        &mut self,
        x: MatRef<'_, f64>,
        inner_loops: usize,
        mean: MeanMoves,
        par: Par,
    ) -> Result<(), Error> {
        let (p, d) = (self.core.rank(), self.mean.len());
        let columns = Columns::Dense(x);
        let weights = self.core.waiting.space.weights(p);
        let target = Target { columns, weights: &weights, share: 1.0, least: 1.0, begun: 0.0 };
        let (w, psi) = (Factor::new(self.precision.w_row_major(), d), self.precision.psi());
        let (mut w1, mut psi1) = (self.precision.w_row_major().to_vec(), psi.to_vec());
        for _ in 0..inner_loops {
            em::step(target, (w, psi), (&mut w1, &mut psi1), Floor::REFUSE, par)?.proper()?;
        }
        // This fails if the new factor overflows, before anything is written.
        Capacitance::from_gram(weighted_gram(MatRef::from_row_major_slice(&w1, d, p), &psi1, par))?;
        let mut shift = self.core.checked_mean_weights(&self.core.waiting.space)?;
        if mean == MeanMoves::AfterProjection {
            self.check_move_after(x, &psi1)?;
            shift.as_mut().fill(0.0);
        }
        let gram = self.replace_precision((&w1, &psi1), columns, &shift, par);
        let rows = std::mem::take(&mut self.core.waiting.space);
        self.settle(gram, 0);
        if mean == MeanMoves::AfterProjection {
            self.move_mean_after(&rows, x, par);
        }
        Ok(())
    }

    /// Bounds `g·(P₊x)ᵢ` by `g·√(xᵀΨ₊⁻¹x/ψ₊ᵢ)`.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    fn check_move_after(&self, x: MatRef<'_, f64>, psi: &[f64]) -> Result<(), Error> {
        let least = Bounds::of(psi).least;
        for (row, x) in self.core.waiting.space.rows.iter().zip(x.row_iter()) {
            let square: f64 = x.iter().zip(psi).map(|(x, psi)| x * (x / psi)).sum();
            range::check_shift(row.slope.abs() * (square / least).sqrt())?;
        }
        Ok(())
    }

    /// `μ ← μ + P₊X·g` for the rows of `space`, the belief having none buffered.
    fn move_mean_after(&mut self, space: &Space, x: MatRef<'_, f64>, par: Par) {
        let looked = self.look(x, par);
        let mut fresh = space.clone();
        for (t, row) in fresh.rows.iter_mut().enumerate() {
            row.wx = looked.wx(t);
            row.gain = row.slope;
            row.overlaps.fill(0.0);
        }
        let shift = self.core.mean_weights(&fresh);
        let mut mean = std::mem::take(&mut self.mean);
        self.add_scaled(&mut mean, Columns::Dense(x), &shift, par);
        self.mean = mean;
    }
}

//! How a square-root belief forgets.

use vi_linalg::cholesky::{panel_update_in_place, panel_update_scratch, rank_one_update_in_place, solve_in_place};
use vi_linalg::faer::dyn_stack::{MemBuffer, MemStack};
use vi_linalg::faer::{Mat, MatMut, Par};

use super::dense::pull;
use super::{Forget, LARGEST_VARIANCE};
use crate::Error;
use crate::belief::{Belief, GaussianBelief, SquareRootGaussian, check_fade, fade_root};
use crate::check;

impl Forget for SquareRootGaussian {
    type Anchor = Self;

    fn anchor(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    /// Decides by the variances given the later coordinates, `1/L_jj²`.
    fn can_fade(&self, lambda: f64) -> bool {
        (0..self.dim()).all(|j| self.root()[(j, j)].powi(2) * lambda >= 1.0 / LARGEST_VARIANCE)
    }

    /// `L ← √λ·L`.
    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        check_fade(self.root(), lambda)?;
        fade_root(self.parts_mut().1.as_mut(), lambda);
        Ok(())
    }

    /// The columns of `√(1−λ)·L₀` join `√λ·L` by rotations: positive definite by construction. Cost `d³` to `2d³`.
    fn towards(&mut self, anchor: &Self, lambda: f64) -> Result<(), Error> {
        /// The dimension from which on panels are faster.
        const NARROW: usize = 64;
        let d = self.dim();
        let mut next = self.clone();
        let mut moved = pull(anchor, self.mean(), 1.0 - lambda);
        let (mean, root) = next.parts_mut();
        fade_root(root.as_mut(), lambda);
        let share = (1.0 - lambda).sqrt();
        let prior = Mat::from_fn(d, d, |i, j| if i >= j { share * anchor.root()[(i, j)] } else { 0.0 });
        if d <= NARROW {
            // Column j begins at row j.
            let mut column = vec![0.0; d];
            for j in 0..d {
                (0..d).for_each(|i| column[i] = prior[(i, j)]);
                rank_one_update_in_place(root.as_mut(), &mut column)?;
            }
        } else {
            let mut memory = MemBuffer::new(panel_update_scratch(d, d));
            panel_update_in_place(root.as_mut(), prior.as_ref(), Par::Seq, MemStack::new(&mut memory))?;
        }
        solve_in_place(root.as_ref(), MatMut::from_column_major_slice_mut(&mut moved, d, 1), Par::Seq);
        mean.iter_mut().zip(&moved).for_each(|(mean, moved)| *mean += moved);
        check::finite("mean", mean)?;
        *self = next;
        Ok(())
    }

    /// Goes through the covariance: `4d³/3`.
    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        let mut dense = self.to_dense()?;
        dense.diffuse(q)?;
        let diffused = Self::from_dense(&dense)?;
        check::finite("mean", diffused.mean())?;
        *self = diffused;
        Ok(())
    }
}

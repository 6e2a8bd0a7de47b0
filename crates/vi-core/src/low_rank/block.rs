//! The low-rank belief in the generic blocked pass.

use vi_linalg::faer::{MatRef, Par};

use super::LowRankGaussian;
use super::look::Looked;
use crate::Error;
use crate::block::{BlockBelief, BlockRecursion};

/// The state of the low-rank belief between projecting a block and absorbing it.
#[derive(Debug, Default)]
pub struct LowRankPanels {
    looked: Option<Looked>,
}

impl BlockBelief for LowRankGaussian {
    type Panels = LowRankPanels;

    fn panels(&self, _b: usize) -> LowRankPanels {
        LowRankPanels::default()
    }

    /// `a` and `T` of the belief with its buffered rows. Cost `2dk(p + k₀ + k/2)` flops for `k` rows with `k₀` buffered.
    fn project_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &mut BlockRecursion,
        panels: &mut LowRankPanels,
        par: Par,
    ) {
        let full = self.in_full();
        let looked = full.look(x, par);
        let (means, mut overlaps) = recursion.inputs(x.nrows());
        let (found, covariance) = full.core.waiting.space.joint(full.core.root(), &looked);
        means.copy_from_slice(&found);
        for j in 0..x.nrows() {
            (j..x.nrows()).for_each(|t| overlaps[(t, j)] = covariance[(t, j)] / full.core.scale);
        }
        panels.looked = Some(looked);
    }

    /// The rows join the buffered ones. They are projected once the belief's own block is full, so with blocks of that size the
    /// partition, and with it the posterior, is that of [`run`](LowRankGaussian::run).
    fn absorb_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &BlockRecursion,
        panels: &mut LowRankPanels,
        par: Par,
    ) -> Result<(), Error> {
        let Some(looked) = panels.looked.take() else { return Ok(()) };
        self.through_full(|full| full.absorb_looked(x, &looked, |t, _| Ok(recursion.steps()[t].site), par)).map(|_| ())
    }
}

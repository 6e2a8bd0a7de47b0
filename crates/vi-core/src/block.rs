//! The blocked filter: the sequential filter's numbers by matrix products.
//!
//! A block `X_b ∈ ℝᵈˣᵇ` is projected once, through `S = PX_b`, `T = X_bᵀPX_b` and `a = X_bᵀμ`. The steps of the sequential
//! filter, observation by observation, are then taken on these `b`-vectors and `b × b` matrices alone, and the belief is updated
//! once, by a rank-`b` change.

mod recursion;
mod run;

pub use recursion::BlockRecursion;
pub use run::{BlockInfo, BlockScratch, BlockSettings, run};

use vi_linalg::faer::{MatRef, Par};

use crate::{Belief, Error};

/// Below this dimension a second thread does not pay, the products of a block being too short.
const THREADS_FROM: usize = 500;

/// The threads that share a block of a dense belief of dimension `d`. Their number changes no bit of the result.
pub(crate) fn threads(d: usize, par: Par) -> Par {
    if d < THREADS_FROM { Par::Seq } else { par }
}

/// A belief that can be projected along many rows at once and updated by their sites together.
pub trait BlockBelief: Belief {
    /// The belief's own memory for a block.
    type Panels;

    /// Memory for blocks of up to `b` rows.
    fn panels(&self, b: usize) -> Self::Panels;

    /// Writes `a = X_bᵀμ` and the lower triangle of `T = X_bᵀPX_b` into `recursion`, for the rows of `x` (`b × d`).
    ///
    /// Storage of the belief that carries no meaning may be used, hence `&mut`.
    fn project_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &mut BlockRecursion,
        panels: &mut Self::Panels,
        par: Par,
    );

    /// Multiplies in all factors of the block at once, after the recursion has found them.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`] when negative curvatures leave no Gaussian, [`Error::Overflow`] when a number would not
    /// stay finite, [`Error::Unresolved`] when rounding would leave no Cholesky factor. On an error the belief is unchanged.
    fn absorb_block(
        &mut self,
        x: MatRef<'_, f64>,
        recursion: &BlockRecursion,
        panels: &mut Self::Panels,
        par: Par,
    ) -> Result<(), Error>;
}

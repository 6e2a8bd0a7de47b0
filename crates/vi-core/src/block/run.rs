//! A pass over many rows, block by block.

use vi_linalg::faer::{MatRef, Par};

use super::{BlockBelief, BlockRecursion};
use crate::check;
use crate::filter::{self, StepInfo, advance, check_observations};
use crate::rows::contiguous_row;
use crate::{Error, Site, SiteRule, SiteRules};

/// The largest [cancellation](BlockRecursion::cancellation) at which a block is absorbed by products: what it may differ by from
/// the sequential filter, in standard deviations, is about that.
const MOST_CANCELLATION: f64 = 1e-6;

/// How a pass is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockSettings {
    block: usize,
}

impl BlockSettings {
    /// Blocks of `block` rows. What is done in the space of a block takes `block²` numbers.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `1 ≤ block ≤ 16384`.
    pub fn new(block: usize) -> Result<Self, Error> {
        if !(1..=16_384).contains(&block) {
            return Err(Error::Setting { name: "block", value: block as f64, requirement: "between 1 and 16384" });
        }
        Ok(Self { block })
    }

    /// Blocks chosen for dimension `d`: large enough that the products run at matrix-multiply speed, small enough that what is
    /// done in the space of the block stays a small part.
    #[must_use]
    pub fn for_dim(d: usize) -> Self {
        Self { block: (24 + d / 12).clamp(32, 256) }
    }
}

/// Memory of a blocked pass, owned by the caller and used again by later passes.
#[derive(Debug)]
pub struct BlockScratch<B: BlockBelief> {
    dim: usize,
    pub(crate) recursion: BlockRecursion,
    pub(crate) panels: B::Panels,
}

impl<B: BlockBelief> BlockScratch<B> {
    /// Memory for `belief` in blocks of `settings`.
    pub fn new(belief: &B, settings: BlockSettings) -> Self {
        let recursion = BlockRecursion::new(settings.block);
        Self { dim: belief.dim(), recursion, panels: belief.panels(settings.block) }
    }
}

/// What a blocked pass did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct BlockInfo {
    /// Blocks absorbed.
    pub blocks: usize,
}

/// One pass over the rows of `x` (`n × d`) with labels `y` (length `n`), in blocks; the same posterior as
/// [`filter::run`](crate::filter::run) to rounding.
///
/// `on_step(first, belief, steps)` is called after each block with the index of its first row. Cost `3nd² + 4nbd` flops for a
/// dense belief, in matrix products, and one copy of the belief. A block whose rows leave little of the belief's variance along
/// them, six digits less than rounding, is taken row by row: its products would lose what is left. Threads change no bit of a dense
/// belief, and the rounding of a square root.
///
/// # Errors
/// As [`filter::run`](crate::filter::run); [`Error::Dimension`] when `scratch` is of another dimension. On any error the
/// belief is as it was before the call.
///
/// ```
/// use vi_core::block::{self, BlockScratch, BlockSettings};
/// use vi_core::{Belief, BernoulliLogit, DenseGaussian, Implicit, Mixture8};
/// use vi_linalg::faer::{MatRef, Par};
/// let x = MatRef::from_row_major_slice(&[1.0, 0.2, 1.0, -1.3, 1.0, 2.1, 1.0, -0.4], 4, 2);
/// let mut belief = DenseGaussian::isotropic(&[0.0, 0.0], 3.0)?;
/// let mut scratch = BlockScratch::new(&belief, BlockSettings::for_dim(2));
/// let rule = Implicit(BernoulliLogit(Mixture8));
/// let info = block::run(&mut belief, &rule, x, &[1.0, 0.0, 1.0, 0.0], &mut scratch, Par::Seq, |_, _, _| {})?;
/// assert_eq!(info.blocks, 1);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn run<B: BlockBelief + Clone, R: SiteRules>(
    belief: &mut B,
    rule: &R,
    x: MatRef<'_, f64>,
    y: &[f64],
    scratch: &mut BlockScratch<B>,
    par: Par,
    mut on_step: impl FnMut(usize, &B, &[StepInfo]),
) -> Result<BlockInfo, Error> {
    check_observations(belief.dim(), rule, x, y)?;
    check::length("scratch", belief.dim(), scratch.dim)?;
    let before = belief.clone();
    let block = scratch.recursion.capacity();
    let mut info = BlockInfo { blocks: 0 };
    for first in (0..x.nrows()).step_by(block) {
        let rows = x.subrows(first, block.min(x.nrows() - first));
        let site = |t: usize, a: f64, nu: f64| rule.rule_of(first + t).site(a, nu, y[first + t]);
        if let Err(error) = absorb(belief, rows, &site, scratch, par) {
            *belief = before;
            return Err(error.shift_row(first));
        }
        info.blocks += 1;
        on_step(first, belief, scratch.recursion.steps());
    }
    Ok(info)
}

/// One block: by products, or row by row where these would lose the digits that the rows leave.
fn absorb<B: BlockBelief>(
    belief: &mut B,
    rows: MatRef<'_, f64>,
    site: &impl Fn(usize, f64, f64) -> Result<Site, Error>,
    scratch: &mut BlockScratch<B>,
    par: Par,
) -> Result<(), Error> {
    let BlockScratch { recursion, panels, .. } = scratch;
    belief.project_block(rows, recursion, panels, par);
    let resolved = recursion.resolve(|t, seen| site(t, seen.mean, seen.variance));
    if recursion.cancellation() <= MOST_CANCELLATION {
        resolved?;
        match belief.absorb_block(rows, recursion, panels, par) {
            Err(Error::Unresolved { .. }) => {}
            absorbed => return absorbed,
        }
    }
    let mut memory = filter::Scratch::<B>::default();
    recursion.steps_mut().clear();
    for t in 0..rows.nrows() {
        let filter::Scratch { step: of_step, row } = &mut memory;
        let x = contiguous_row(rows, t, row);
        let step = advance(belief, x.into(), of_step, |a, nu| site(t, a, nu)).map_err(|error| error.at_row(t))?;
        recursion.steps_mut().push(step);
    }
    Ok(())
}

//! Settings of a low-rank belief: its rank, and how rows are projected.

use crate::Error;

/// The largest rank and the largest block: work in their space takes squares of them.
const LARGEST: usize = 16_384;

/// The most EM steps of a projection; each is a pass over `W`, and they converge in some tens.
const MOST_LOOPS: usize = 1000;

/// When the mean moves in the [recursion as printed](LowRankSettings::recursive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeanMoves {
    /// The mean moves with the covariance before the projection, `μ ← μ + e·P₋x`: L-RVGA (31), (53). Exact for the old belief.
    BeforeProjection,
    /// The mean moves with the covariance after the projection, `μ ← μ + g·P₊x`: L-RVGA (25), (27).
    AfterProjection,
}

/// The way of projection from `Ψ + WWᵀ + XHXᵀ` back to `Ψ + WWᵀ`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scheme {
    Blocked { block: usize, inner_loops: usize },
    OneLoop,
    Recursive { inner_loops: usize, mean: MeanMoves },
}

/// Which rows of `W` a block of sparse rows rewrites, in the [blocked](LowRankSettings::blocked) form.
///
/// | | a block of rows that touch `t` coordinates | memory |
/// | :-- | :-- | :-- |
/// | `Full` | `O(dp(p + b))` flops, all rows of `W` exactly | `8(p + 2)` bytes a coordinate |
/// | `Lazy` | `O((t + sweep)p²)` flops: updates of the other rows are applied when they are touched | the same and 16 more, in lines of 64 bytes: 128 at `p = 10` |
/// | `Chosen` | `Lazy` from 4096 coordinates on, where a block touches no more than a third of them | |
///
/// A dense row returns the belief to the full form, at the cost that dense rows have anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Upkeep {
    /// `Lazy` or `Full`, whichever is cheaper.
    #[default]
    Chosen,
    /// A block rewrites all rows of `W`.
    Full,
    /// A block rewrites the rows that it touches, and in turn some that were touched before.
    Lazy {
        /// The number of rows that are rewritten in turn, at least 1.
        sweep: usize,
    },
}

/// The rank and the way of projection of a [`LowRankGaussian`](super::LowRankGaussian); checked at construction.
///
/// | form | buffered rows | work for one observation, in flops |
/// | :-- | :-- | :-- |
/// | [`blocked`](Self::blocked) (default) | up to `b` | `18·d·p` at `b = 2p` with one inner loop, `9·d·p` with none |
/// | [`one_loop`](Self::one_loop) | none | `d·p²` |
/// | [`recursive`](Self::recursive) | none | `10·d·p²` for each inner loop |
///
/// ```
/// use vi_core::LowRankSettings;
/// let settings = LowRankSettings::blocked(10)?;
/// assert_eq!((settings.rank(), settings.block()), (10, 64));
/// let fine = settings.with_block(20)?.with_inner_loops(0)?;
/// assert_eq!((fine.block(), fine.inner_loops()), (20, 0));
/// assert_eq!(LowRankSettings::one_loop(10)?.block(), 1);
/// assert!(LowRankSettings::one_loop(10)?.with_block(20).is_err());
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LowRankSettings {
    rank: usize,
    pub(super) scheme: Scheme,
    upkeep: Upkeep,
}

impl LowRankSettings {
    fn of(rank: usize, scheme: Scheme) -> Self {
        Self { rank, scheme, upkeep: Upkeep::Chosen }
    }

    /// The blocked form: blocks of `b = max(2p, 64)` rows are projected together from a spectral start with one inner loop.
    ///
    /// More accurate and far cheaper than projecting row by row. `p = rank` may be 0 (a diagonal precision) and may
    /// exceed `d`.
    ///
    /// # Errors
    /// [`Error::Setting`] for a rank above 16384.
    pub fn blocked(rank: usize) -> Result<Self, Error> {
        let rank = check_rank(rank)?;
        Ok(Self::of(rank, Scheme::Blocked { block: (2 * rank).clamp(64, LARGEST), inner_loops: 1 }))
    }

    /// The one-loop form: each row is projected at once by one EM step in a form without cancellation, with which `ψ` never
    /// falls.
    ///
    /// # Errors
    /// [`Error::Setting`] for a rank above 16384.
    pub fn one_loop(rank: usize) -> Result<Self, Error> {
        Ok(Self::of(check_rank(rank)?, Scheme::OneLoop))
    }

    /// The recursion as the paper prints it (Algorithm 1 with `α = β = 1`): each row is projected at once by `inner_loops` EM
    /// steps that start from the old `(W, Ψ)`.
    ///
    /// A column of `W` that is zero stays zero, so it needs a start with `W₀ ≠ 0`
    /// ([`with_small_factor`](super::LowRankGaussian::with_small_factor)). Use it to compare with the other forms.
    ///
    /// # Errors
    /// [`Error::Setting`] for a rank above 16384, or unless `1 ≤ inner_loops ≤ 1000`.
    pub fn recursive(rank: usize, inner_loops: usize, mean: MeanMoves) -> Result<Self, Error> {
        check_loops(1, inner_loops)?;
        Ok(Self::of(check_rank(rank)?, Scheme::Recursive { inner_loops, mean }))
    }

    /// The [`blocked`](Self::blocked) form in blocks of `block` rows.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `1 ≤ block ≤ 16384`, and for the forms that project row by row.
    pub fn with_block(self, block: usize) -> Result<Self, Error> {
        match self.scheme {
            Scheme::Blocked { .. } => self.in_blocks(block),
            Scheme::OneLoop | Scheme::Recursive { .. } => {
                Err(Error::Setting { name: "block", value: block as f64, requirement: "set for the blocked form only" })
            }
        }
    }

    /// The blocked form with blocks of `block` rows, whatever form these settings have.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `1 ≤ block ≤ 16384`.
    pub(super) fn in_blocks(self, block: usize) -> Result<Self, Error> {
        if !(1..=LARGEST).contains(&block) {
            return Err(Error::Setting { name: "block", value: block as f64, requirement: "between 1 and 16384" });
        }
        Ok(Self { scheme: Scheme::Blocked { block, inner_loops: self.inner_loops() }, ..self })
    }

    /// These settings with another number of EM steps: after the spectral start of the [`blocked`](Self::blocked) form, where 0
    /// is allowed, or from the old `(W, Ψ)` in the [`recursive`](Self::recursive) form, which has at least one.
    ///
    /// # Errors
    /// [`Error::Setting`] for more than 1000, for `inner_loops = 0` in the recursive form, and for any number in the form
    /// [`one_loop`](Self::one_loop), which has exactly one.
    pub fn with_inner_loops(self, inner_loops: usize) -> Result<Self, Error> {
        match self.scheme {
            Scheme::Blocked { block, .. } => {
                check_loops(0, inner_loops)?;
                Ok(Self { scheme: Scheme::Blocked { block, inner_loops }, ..self })
            }
            Scheme::Recursive { mean, .. } => Self::recursive(self.rank, inner_loops, mean),
            Scheme::OneLoop => Err(Error::Setting {
                name: "inner_loops",
                value: inner_loops as f64,
                requirement: "left alone in the form of one loop",
            }),
        }
    }

    /// These settings with another [`Upkeep`].
    ///
    /// # Errors
    /// [`Error::Setting`] for a sweep of 0 rows, and for [`Upkeep::Lazy`] in the forms that project row by row.
    ///
    /// ```
    /// use vi_core::{LowRankSettings, Upkeep};
    /// let exact = LowRankSettings::blocked(10)?.with_upkeep(Upkeep::Full)?;
    /// assert_eq!(exact.upkeep(), Upkeep::Full);
    /// assert!(exact.with_upkeep(Upkeep::Lazy { sweep: 0 }).is_err());
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn with_upkeep(self, upkeep: Upkeep) -> Result<Self, Error> {
        if let Upkeep::Lazy { sweep } = upkeep {
            if sweep == 0 {
                return Err(Error::Setting { name: "sweep", value: 0.0, requirement: "at least 1" });
            }
            if !matches!(self.scheme, Scheme::Blocked { .. }) {
                let requirement = "set for the blocked form only";
                return Err(Error::Setting { name: "sweep", value: sweep as f64, requirement });
            }
        }
        Ok(Self { upkeep, ..self })
    }

    /// Which rows of `W` a block rewrites; see [`with_upkeep`](Self::with_upkeep).
    #[must_use]
    pub fn upkeep(&self) -> Upkeep {
        self.upkeep
    }

    /// How many rows a block rewrites in turn, if the settings say.
    pub(super) fn sweep(&self) -> Option<usize> {
        match self.upkeep {
            Upkeep::Lazy { sweep } => Some(sweep),
            Upkeep::Chosen | Upkeep::Full => None,
        }
    }

    /// The number `p` of columns of `W`.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// How many rows are projected together; 1 for the forms that project row by row.
    #[must_use]
    pub fn block(&self) -> usize {
        match self.scheme {
            Scheme::Blocked { block, .. } => block,
            Scheme::OneLoop | Scheme::Recursive { .. } => 1,
        }
    }

    /// The number of EM steps in a projection.
    #[must_use]
    pub fn inner_loops(&self) -> usize {
        match self.scheme {
            Scheme::Blocked { inner_loops, .. } | Scheme::Recursive { inner_loops, .. } => inner_loops,
            Scheme::OneLoop => 1,
        }
    }
}

fn check_rank(rank: usize) -> Result<usize, Error> {
    if rank <= LARGEST {
        Ok(rank)
    } else {
        Err(Error::Setting { name: "rank", value: rank as f64, requirement: "at most 16384" })
    }
}

/// Checks a number of EM steps.
///
/// # Errors
/// [`Error::Setting`].
pub(crate) fn check_loops(least: usize, inner_loops: usize) -> Result<(), Error> {
    if (least..=MOST_LOOPS).contains(&inner_loops) {
        return Ok(());
    }
    let requirement = if least == 0 { "at most 1000" } else { "between 1 and 1000" };
    Err(Error::Setting { name: "inner_loops", value: inner_loops as f64, requirement })
}

//! The beliefs a front-door model can keep, behind one type.

use std::borrow::Cow;

use rand::Rng;
use serde::{Deserialize, Serialize};
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::filter::{self, StepInfo};
use vi_core::merge::{Part, Pull, pull};
use vi_core::{
    Belief, Checkpoint, DenseGaussian, DenseStep, DiagonalGaussian, DiagonalStep, Error, Forget, GaussianBelief,
    Health, LowRankAnchor, LowRankGaussian, LowRankSettings, LowRankStep, Mergeable, PerRow, Projection, Row, Scores,
    Site, SiteRule, SquareRootGaussian,
};
use vi_linalg::faer::{MatRef, Par};

use super::apart::Apart;

/// How the posterior over the `p` weights (inputs and intercept) is kept.
///
/// | kind | memory | work for a row | for |
/// | :-- | :-- | :-- | :-- |
/// | `Full` | `p²` | `3p²` flops | up to some thousand weights; the only one that can be refined |
/// | `SquareRoot` | `p²` | `5p²` flops | the same with very flat priors or collinear columns: positive definite by construction |
/// | `LowRank` of rank `r` | `p·r` | some `20p·r` flops; for sparse rows some `10r²` an entry, whatever `p` | up to millions of weights; intervals somewhat narrow |
/// | `Diagonal` | `p` | entries of the row | many sparse inputs; intervals are too narrow where inputs are correlated |
///
/// The work is that of one prior scale. [`Memory::Fading`](super::Memory::Fading) at most doubles it, costs a diagonal nothing, and adds to a
/// low-rank belief some 500 flops, once in `m` rows, for each input that the last `27.6/(1−λ)` sparse rows have met.
///
/// ```
/// use vi_models::online::{BeliefKind, OnlineLogistic, OnlineSettings, PriorScale, Standardise};
/// let settings = OnlineSettings {
///     belief: BeliefKind::LowRank { rank: 4 },
///     prior_scale: PriorScale::Given(0.5),
///     standardise: Standardise::Never,
///     ..OnlineSettings::default()
/// };
/// let mut words = OnlineLogistic::with_settings(100_000, settings)?;
/// words.update((&[17, 4_711, 90_000], &[1.0, 2.0, 1.0]), 1.0)?;
/// assert!(words.predict((&[4_711], &[1.0]))?.probability > 0.5);
/// # Ok::<(), vi_models::ModelError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[non_exhaustive]
pub enum BeliefKind {
    /// A full covariance matrix.
    #[default]
    Full,
    /// The square root of the full precision matrix.
    SquareRoot,
    /// The precision as a diagonal and a factor of this rank: rows gather in blocks and are projected together.
    LowRank {
        /// Columns `r` of the factor; 0 is a diagonal.
        rank: usize,
    },
    /// A variance for each weight.
    Diagonal,
    /// [`LowRank`](Self::LowRank), whose blocks are of `max(2r, 64)` rows, in blocks of another length. The row that completes a block
    /// pays for all of it: with blocks of a few sparse rows the slowest update is some six times quicker, and the average one up to twice
    /// as slow.
    LowRankInBlocks {
        /// Columns `r` of the factor; 0 is a diagonal.
        rank: usize,
        /// Rows of a block, from 1 to 16384.
        block: usize,
    },
}

impl BeliefKind {
    /// How many numbers a belief over so many weights keeps; `None` where that number overflows.
    pub(super) fn numbers(self, weights: usize) -> Option<usize> {
        let each = match self {
            Self::Full | Self::SquareRoot => weights,
            Self::LowRank { rank } | Self::LowRankInBlocks { rank, .. } => rank.checked_mul(2)?.checked_add(2)?,
            Self::Diagonal => 2,
        };
        weights.checked_mul(each)
    }
}

/// A belief of any of the kinds.
#[derive(Debug, Clone)]
pub(super) enum AnyBelief {
    Full(DenseGaussian),
    SquareRoot(SquareRootGaussian),
    LowRank(Box<LowRankGaussian>),
    Diagonal(DiagonalGaussian),
    /// One belief for each of several predictors, independent of each other.
    Apart(Box<Apart>),
}

/// Memory for one step of a belief of any kind.
#[derive(Debug, Default)]
pub(super) struct AnyStep {
    dense: DenseStep,
    low_rank: LowRankStep,
    diagonal: DiagonalStep,
}

impl AnyStep {
    /// `Px` of the row that a belief with a full covariance was projected along last.
    pub(super) fn gain(&self) -> &[f64] {
        self.dense.gain()
    }
}

/// The prior that a belief returns to, in the form that its kind mixes in.
#[derive(Debug, Clone)]
pub(super) enum AnyAnchor {
    Root(SquareRootGaussian),
    LowRank(LowRankAnchor),
    /// A diagonal belief remembers its prior.
    Own,
}

/// Evaluates `$body` with the belief, whatever its kind, as `$belief`; a second form also binds that kind's part of a step.
macro_rules! each {
    ($any:expr, $belief:ident => $body:expr) => {
        match $any {
            AnyBelief::Full($belief) => $body,
            AnyBelief::SquareRoot($belief) => $body,
            AnyBelief::LowRank($belief) => $body,
            AnyBelief::Diagonal($belief) => $body,
            AnyBelief::Apart($belief) => $body,
        }
    };
    ($any:expr, $step:expr, ($belief:ident, $part:ident) => $body:expr, $apart:ident => $other:expr) => {
        match ($any, $step) {
            (AnyBelief::Full($belief), AnyStep { dense: $part, .. }) => $body,
            (AnyBelief::SquareRoot($belief), AnyStep { dense: $part, .. }) => $body,
            (AnyBelief::LowRank($belief), AnyStep { low_rank: $part, .. }) => $body,
            (AnyBelief::Diagonal($belief), AnyStep { diagonal: $part, .. }) => $body,
            (AnyBelief::Apart($apart), _) => $other,
        }
    };
}

impl Belief for AnyBelief {
    type Step = AnyStep;

    fn dim(&self) -> usize {
        each!(self, belief => belief.dim())
    }

    fn mean(&self) -> &[f64] {
        each!(self, belief => belief.mean())
    }

    fn look_ahead(&self, rows: &[Row<'_>], step: &mut AnyStep) {
        each!(self, step, (belief, part) => belief.look_ahead(rows, part), _apart => ());
    }

    fn project(&self, x: Row<'_>, fade: f64, step: &mut AnyStep) -> Result<Projection, Error> {
        each!(self, step, (belief, part) => belief.project(x, fade, part), apart => apart.project(x))
    }

    /// Prepares a step. The parts of [`Apart`] are prepared one by one by the family instead.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut AnyStep) -> Result<(), Error> {
        each!(self, step, (belief, part) => belief.prepare(x, site, part), _apart => Err(Error::Unsupported {
            operation: "one site",
            belief: "one for each class",
        }))
    }

    fn commit(&mut self, x: Row<'_>, step: &mut AnyStep) {
        each!(self, step, (belief, part) => belief.commit(x, part), _apart => ());
    }
}

impl GaussianBelief for AnyBelief {
    fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        each!(self, belief => belief.draw_deviation(deviation, rng))
    }

    fn scores(&self, rows: &[Row<'_>]) -> Result<Scores, Error> {
        match self {
            Self::Full(belief) => belief.scores(rows),
            Self::SquareRoot(belief) => belief.scores(rows),
            Self::LowRank(belief) => belief.scores(rows),
            Self::Diagonal(belief) => belief.scores(rows),
            Self::Apart(_) => Err(Error::Unsupported { operation: "one score", belief: "one for each class" }),
        }
    }

    fn quadratic_form(&self, v: &[f64]) -> Result<f64, Error> {
        each!(self, belief => belief.quadratic_form(v))
    }

    fn log_det(&self) -> Result<f64, Error> {
        each!(self, belief => belief.log_det())
    }

    fn to_dense(&self) -> Result<DenseGaussian, Error> {
        each!(self, belief => belief.to_dense())
    }
}

impl AnyBelief {
    /// The prior `N(0, diag(variances))`, `variances` positive.
    pub(super) fn prior(kind: BeliefKind, variances: &[f64]) -> Result<Self, Error> {
        let mean = vec![0.0; variances.len()];
        let diagonal = DiagonalGaussian::new(&mean, variances)?;
        Ok(match kind {
            BeliefKind::Full => Self::Full(diagonal.to_dense()?),
            BeliefKind::SquareRoot => Self::SquareRoot(SquareRootGaussian::from_dense(&diagonal.to_dense()?)?),
            BeliefKind::LowRank { rank } => {
                Self::LowRank(Box::new(LowRankGaussian::new(&mean, variances, LowRankSettings::blocked(rank)?)?))
            }
            BeliefKind::LowRankInBlocks { rank, block } => {
                let settings = LowRankSettings::blocked(rank)?.with_block(block)?;
                Self::LowRank(Box::new(LowRankGaussian::new(&mean, variances, settings)?))
            }
            BeliefKind::Diagonal => Self::Diagonal(diagonal),
        })
    }

    /// Whether the belief is kept as [`prior`](Self::prior) keeps beliefs of this kind.
    pub(super) fn is(&self, kind: BeliefKind) -> bool {
        match (self, kind) {
            (Self::Apart(belief), kind) => belief.is(kind),
            (Self::LowRank(belief), BeliefKind::LowRank { rank }) => {
                LowRankSettings::blocked(rank).is_ok_and(|settings| settings == belief.settings())
            }
            (Self::LowRank(belief), BeliefKind::LowRankInBlocks { rank, block }) => LowRankSettings::blocked(rank)
                .and_then(|settings| settings.with_block(block))
                .is_ok_and(|settings| settings == belief.settings()),
            (Self::Full(_), BeliefKind::Full)
            | (Self::SquareRoot(_), BeliefKind::SquareRoot)
            | (Self::Diagonal(_), BeliefKind::Diagonal) => true,
            _ => false,
        }
    }

    /// Whether learning so many rows at once is cheaper than learning them one by one: a full covariance looks ahead by itself.
    pub(super) fn gains_by_blocks(&self, rows: usize) -> bool {
        const FEWEST: usize = 16;
        const NARROWEST: usize = 48;
        matches!(self, Self::SquareRoot(_)) && self.dim() >= NARROWEST && rows >= FEWEST
    }

    /// Learns many observations by matrix products: the same belief to rounding as one by one. On an error it is unchanged.
    pub(super) fn run<R: SiteRule>(
        &mut self,
        rules: &[R],
        x: MatRef<'_, f64>,
        y: &[f64],
        on_step: impl FnMut(usize, &StepInfo),
    ) -> Result<(), Error> {
        match self {
            Self::Full(belief) => run_blocks(belief, rules, x, y, on_step),
            Self::SquareRoot(belief) => run_blocks(belief, rules, x, y, on_step),
            Self::LowRank(belief) => one_by_one(&mut **belief, rules, x, y, on_step),
            Self::Diagonal(belief) => one_by_one(belief, rules, x, y, on_step),
            Self::Apart(_) => Err(Error::Unsupported { operation: "one site", belief: "one for each class" }),
        }
    }

    /// This prior in the form in which beliefs of its kind return to it. Cost `d³/3` with a full covariance.
    pub(super) fn anchor(&self) -> Result<AnyAnchor, Error> {
        Ok(match self {
            Self::Full(prior) => AnyAnchor::Root(prior.anchor()?),
            Self::SquareRoot(prior) => AnyAnchor::Root(prior.anchor()?),
            Self::LowRank(prior) => AnyAnchor::LowRank(prior.anchor()?),
            Self::Diagonal(_) => AnyAnchor::Own,
            // All parts have the same prior.
            Self::Apart(prior) => prior.parts[0].anchor()?,
        })
    }

    /// Returns the belief towards a prior: `Λ ← λΛ + (1−λ)Λ₀`, `Λμ` likewise. Returns the [`spread`] of the two where a covariance is
    /// kept, otherwise 0. On an error the belief is unchanged.
    pub(super) fn towards(&mut self, anchor: &AnyAnchor, lambda: f64) -> Result<f64, Error> {
        match (self, anchor) {
            (Self::Full(belief), AnyAnchor::Root(prior)) => returned(belief, prior, lambda),
            (Self::SquareRoot(belief), AnyAnchor::Root(prior)) => returned(belief, prior, lambda),
            (Self::LowRank(belief), AnyAnchor::LowRank(prior)) => belief.towards(prior, lambda).map(|()| 0.0),
            (Self::Diagonal(belief), AnyAnchor::Own) => belief.return_to_start(lambda).map(|()| 0.0),
            (Self::Apart(belief), prior) => belief.towards(prior, lambda),
            _ => Err(other_kind()),
        }
    }

    /// The belief with its covariance written out; `None` for a diagonal or low-rank belief.
    pub(super) fn full(&self) -> Result<Option<DenseGaussian>, Error> {
        match self {
            Self::Full(_) | Self::SquareRoot(_) => self.to_dense().map(Some),
            Self::LowRank(_) | Self::Diagonal(_) | Self::Apart(_) => Ok(None),
        }
    }

    /// The belief with the mean of the last weight raised.
    ///
    /// # Errors
    /// `NonFinite`.
    pub(super) fn raised(&self, by: f64) -> Result<Cow<'_, Self>, Error> {
        match self {
            Self::Full(belief) if by != 0.0 => {
                let mut mean = belief.mean().to_vec();
                mean.last_mut().into_iter().for_each(|last| *last += by);
                Ok(Cow::Owned(Self::Full(DenseGaussian::new(&mean, belief.covariance().as_ref())?)))
            }
            _ => Ok(Cow::Borrowed(self)),
        }
    }

    /// The posterior of all shards: `prior` times what each of `parts` has gained over it.
    pub(super) fn merge(prior: &Self, parts: &[&Self]) -> Result<Self, Error> {
        Ok(match prior {
            Self::Full(prior) => Self::Full(merged(prior, parts, |part| match part {
                Self::Full(belief) => Some(belief),
                _ => None,
            })?),
            Self::SquareRoot(prior) => Self::SquareRoot(merged(prior, parts, |part| match part {
                Self::SquareRoot(belief) => Some(belief),
                _ => None,
            })?),
            Self::LowRank(prior) => Self::LowRank(Box::new(merged(&**prior, parts, |part| match part {
                Self::LowRank(belief) => Some(&**belief),
                _ => None,
            })?)),
            Self::Diagonal(prior) => Self::Diagonal(merged(prior, parts, |part| match part {
                Self::Diagonal(belief) => Some(belief),
                _ => None,
            })?),
            Self::Apart(prior) => {
                let mut others = Vec::with_capacity(parts.len());
                for part in parts {
                    match part {
                        Self::Apart(part) if part.parts.len() == prior.parts.len() => others.push(&**part),
                        _ => return Err(other_kind()),
                    }
                }
                Self::Apart(Box::new(Apart::merge(prior, &others)?))
            }
        })
    }

    /// How far [`merge`](Self::merge) left `merged` behind what `parts`, given with their rows and runs, knew.
    pub(super) fn pull(prior: &Self, merged: &Self, parts: &[Part<'_, Self>]) -> Pull {
        match (prior, merged) {
            (Self::Diagonal(prior), Self::Diagonal(merged)) => {
                let diagonal = parts.iter().filter_map(|&Part { belief, rows, runs }| match belief {
                    Self::Diagonal(belief) => Some(Part { belief, rows, runs }),
                    _ => None,
                });
                pull(prior, merged, &diagonal.collect::<Vec<_>>())
            }
            (Self::Apart(prior), Self::Apart(merged)) => prior.pull(|c| {
                let of = parts.iter().filter_map(|&Part { belief, rows, runs }| match belief {
                    Self::Apart(belief) => Some(Part { belief: &belief.parts[c], rows, runs }),
                    _ => None,
                });
                Self::pull(&prior.parts[c], &merged.parts[c], &of.collect::<Vec<_>>())
            }),
            _ => Pull::default(),
        }
    }

    /// The numerical state of the belief.
    pub(super) fn health(&self) -> Health {
        each!(self, belief => belief.health())
    }

    /// The precision not yet given back to weights that no row has touched lately; of several parts the largest.
    pub(super) fn owed(&self) -> f64 {
        match self {
            Self::LowRank(belief) => belief.owed(),
            Self::Apart(belief) => belief.parts.iter().map(Self::owed).fold(0.0, f64::max),
            Self::Full(_) | Self::SquareRoot(_) | Self::Diagonal(_) => 0.0,
        }
    }

    pub(super) fn to_wire(&self) -> Result<BeliefWire, Error> {
        Ok(match self {
            Self::Full(belief) => BeliefWire::Full(belief.to_wire()?),
            Self::SquareRoot(belief) => BeliefWire::SquareRoot(belief.to_wire()?),
            Self::LowRank(belief) => BeliefWire::LowRank(Box::new(belief.to_wire()?)),
            Self::Diagonal(belief) => BeliefWire::Diagonal(belief.to_wire()?),
            Self::Apart(belief) => BeliefWire::Apart(belief.to_wire()?),
        })
    }

    pub(super) fn from_wire(wire: BeliefWire) -> Result<Self, Error> {
        Ok(match wire {
            BeliefWire::Full(wire) => Self::Full(DenseGaussian::from_wire(wire)?),
            BeliefWire::SquareRoot(wire) => Self::SquareRoot(SquareRootGaussian::from_wire(wire)?),
            BeliefWire::LowRank(wire) => Self::LowRank(Box::new(LowRankGaussian::from_wire(*wire)?)),
            BeliefWire::Diagonal(wire) => Self::Diagonal(DiagonalGaussian::from_wire(wire)?),
            BeliefWire::Apart(wire) => Self::Apart(Box::new(Apart::from_wire(wire)?)),
        })
    }
}

/// The stored form of a belief.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum BeliefWire {
    Full(<DenseGaussian as Checkpoint>::Wire),
    SquareRoot(<SquareRootGaussian as Checkpoint>::Wire),
    LowRank(Box<<LowRankGaussian as Checkpoint>::Wire>),
    Diagonal(<DiagonalGaussian as Checkpoint>::Wire),
    Apart(Vec<BeliefWire>),
}

fn run_blocks<B: BlockBelief + Clone, R: SiteRule>(
    belief: &mut B,
    rules: &[R],
    x: MatRef<'_, f64>,
    y: &[f64],
    mut on_step: impl FnMut(usize, &StepInfo),
) -> Result<(), Error> {
    let mut scratch = BlockScratch::new(belief, BlockSettings::for_dim(x.ncols()));
    block::run(belief, &PerRow(rules), x, y, &mut scratch, Par::Seq, |first, _, steps| {
        steps.iter().enumerate().for_each(|(t, step)| on_step(first + t, step));
    })?;
    Ok(())
}

fn one_by_one<B: Belief + Clone, R: SiteRule>(
    belief: &mut B,
    rules: &[R],
    x: MatRef<'_, f64>,
    y: &[f64],
    mut on_step: impl FnMut(usize, &StepInfo),
) -> Result<(), Error> {
    filter::run(belief, &PerRow(rules), x, y, |t, _, step| on_step(t, step))
}

fn merged<B: Mergeable>(prior: &B, parts: &[&AnyBelief], inner: impl Fn(&AnyBelief) -> Option<&B>) -> Result<B, Error> {
    let parts = parts.iter().map(|part| inner(part).ok_or_else(other_kind)).collect::<Result<Vec<_>, _>>()?;
    B::merge(prior, &parts)
}

/// Returns the belief towards a prior, and says by which [`spread`].
fn returned<B>(belief: &mut B, prior: &SquareRootGaussian, lambda: f64) -> Result<f64, Error>
where
    B: Forget<Anchor = SquareRootGaussian>,
{
    let before = belief.mean().to_vec();
    belief.towards(prior, lambda)?;
    Ok(spread(prior, lambda, &before, belief.mean()))
}

/// By how much a return lowers the least of the quadratic forms, `λμᵀΛμ − μ′ᵀΛ′μ′` for deviations of the means from that of the prior. With
/// `Λ′μ′ = λΛμ` it is `(1−λ)·μᵀΛ₀μ′`, which does not cancel. Cost `2d²`.
fn spread(prior: &SquareRootGaussian, lambda: f64, before: &[f64], after: &[f64]) -> f64 {
    let (d, root) = (before.len(), prior.root());
    let along = |mean: &[f64], j: usize| (j..d).map(|i| root[(i, j)] * (mean[i] - prior.mean()[i])).sum::<f64>();
    // Rounding can leave less than 0 of a form that vanishes.
    ((1.0 - lambda) * (0..d).map(|j| along(before, j) * along(after, j)).sum::<f64>()).max(0.0)
}

fn other_kind() -> Error {
    Error::Setting { name: "belief", value: f64::NAN, requirement: "of the same kind in every part" }
}

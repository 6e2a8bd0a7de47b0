//! The beliefs a front-door model can keep, behind one type.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};
use vi_core::block::{self, BlockBelief, BlockScratch, BlockSettings};
use vi_core::filter::{self, Scratch, StepInfo};
use vi_core::{
    Belief, Checkpoint, DenseGaussian, DiagonalGaussian, Error, Forgetting, LowRankGaussian, LowRankSettings,
    Mergeable, PerRow, Projection, SiteRule, SparseRow, SquareRootGaussian,
};
use vi_linalg::faer::{MatRef, Par};
use vi_linalg::kernels::axpy;

/// How the posterior over the `p` weights (inputs and intercept) is kept.
///
/// | kind | memory | work for a row | for |
/// | :-- | :-- | :-- | :-- |
/// | `Full` | `p²` | `3p²` flops | up to some thousand weights; the only one that can be refined |
/// | `SquareRoot` | `p²` | `5p²` flops | the same with very flat priors or collinear columns: positive definite by construction |
/// | `LowRank` of rank `r` | `p·r` | some `20p·r` flops, less for sparse rows | up to millions of weights; intervals somewhat narrow |
/// | `Diagonal` | `p` | entries of the row | many sparse inputs; intervals are too narrow where inputs are correlated |
///
/// The work is that of one prior scale without forgetting. With [`PriorScale::Learned`](super::PriorScale::Learned), the default, or
/// a [`Memory`](super::Memory) that forgets, each row also copies the model, so that an error can leave it as it was: for a million
/// weights that is a matter of milliseconds, and [`PriorScale::Given`](super::PriorScale::Given) of microseconds.
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
}

impl BeliefKind {
    /// How many numbers a belief over so many weights keeps; none where they cannot be counted.
    pub(super) fn numbers(self, weights: usize) -> Option<usize> {
        let each = match self {
            Self::Full | Self::SquareRoot => weights,
            Self::LowRank { rank } => rank.checked_mul(2)?.checked_add(2)?,
            Self::Diagonal => 2,
        };
        weights.checked_mul(each)
    }
}

/// A ratio of variances beyond which the smaller has fewer than half of its digits.
const HALF_OF_THE_DIGITS: f64 = 1e8;

/// A belief of one of the kinds.
#[derive(Debug, Clone)]
pub(super) enum AnyBelief {
    Full(DenseGaussian),
    SquareRoot(SquareRootGaussian),
    LowRank(Box<LowRankGaussian>),
    Diagonal(DiagonalGaussian),
}

/// A row in the model's own columns.
#[derive(Debug, Clone, Copy)]
pub(super) enum DesignRow<'a> {
    Dense(&'a [f64]),
    Sparse(SparseRow<'a>),
}

impl<'a> DesignRow<'a> {
    /// All its entries, in `dense` where they are not already.
    pub(super) fn written_out(self, dense: &'a mut Vec<f64>) -> &'a [f64] {
        match self {
            Self::Dense(row) => row,
            Self::Sparse(row) => {
                dense.clear();
                dense.resize(row.dim(), 0.0);
                self.for_each(|j, value| dense[j] = value);
                dense
            }
        }
    }

    pub(super) fn for_each(self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::Dense(row) => row.iter().enumerate().for_each(|(j, &value)| visit(j, value)),
            Self::Sparse(row) => row.indices().iter().zip(row.values()).for_each(|(&j, &value)| visit(j, value)),
        }
    }
}

impl AnyBelief {
    /// `N(0, diag(variances))`, `variances` positive.
    pub(super) fn prior(kind: BeliefKind, variances: &[f64]) -> Result<Self, Error> {
        let mean = vec![0.0; variances.len()];
        let diagonal = DiagonalGaussian::new(&mean, variances)?;
        Ok(match kind {
            BeliefKind::Full => Self::Full(diagonal.to_dense()),
            BeliefKind::SquareRoot => Self::SquareRoot(SquareRootGaussian::from_dense(&diagonal.to_dense())?),
            BeliefKind::LowRank { rank } => {
                Self::LowRank(Box::new(LowRankGaussian::new(&mean, variances, LowRankSettings::blocked(rank)?)?))
            }
            BeliefKind::Diagonal => Self::Diagonal(diagonal),
        })
    }

    /// Whether it is kept as [`prior`](Self::prior) keeps a belief of this kind.
    pub(super) fn is(&self, kind: BeliefKind) -> bool {
        match (self, kind) {
            (Self::LowRank(belief), BeliefKind::LowRank { rank }) => {
                LowRankSettings::blocked(rank).is_ok_and(|settings| settings == belief.settings())
            }
            (Self::Full(_), BeliefKind::Full)
            | (Self::SquareRoot(_), BeliefKind::SquareRoot)
            | (Self::Diagonal(_), BeliefKind::Diagonal) => true,
            _ => false,
        }
    }

    pub(super) fn mean(&self) -> &[f64] {
        match self {
            Self::Full(belief) => belief.mean(),
            Self::SquareRoot(belief) => belief.mean(),
            Self::LowRank(belief) => belief.mean(),
            Self::Diagonal(belief) => belief.mean(),
        }
    }

    pub(super) fn dim(&self) -> usize {
        match self {
            Self::Full(belief) => belief.dim(),
            Self::SquareRoot(belief) => belief.dim(),
            Self::LowRank(belief) => belief.dim(),
            Self::Diagonal(belief) => belief.dim(),
        }
    }

    /// One observation.
    pub(super) fn step<R: SiteRule>(
        &mut self,
        rule: &R,
        row: DesignRow<'_>,
        y: f64,
        scratch: &mut Scratch,
        dense: &mut Vec<f64>,
    ) -> Result<StepInfo, Error> {
        match (self, row) {
            (Self::Diagonal(belief), DesignRow::Sparse(row)) => belief.step_sparse(rule, row, y),
            (Self::LowRank(belief), DesignRow::Sparse(row)) => belief.step_sparse(rule, row, y, Par::Seq),
            (Self::LowRank(belief), DesignRow::Dense(row)) => belief.step(rule, row, y, Par::Seq),
            (Self::Full(belief), row) => filter::step(belief, rule, row.written_out(dense), y, scratch),
            (Self::SquareRoot(belief), row) => filter::step(belief, rule, row.written_out(dense), y, scratch),
            (Self::Diagonal(belief), row) => filter::step(belief, rule, row.written_out(dense), y, scratch),
        }
    }

    /// Whether many rows at once are cheaper than one by one, for as many as there are.
    pub(super) fn gains_by_blocks(&self, rows: usize) -> bool {
        const FEWEST: usize = 16;
        const NARROWEST: usize = 48;
        matches!(self, Self::Full(_) | Self::SquareRoot(_)) && self.dim() >= NARROWEST && rows >= FEWEST
    }

    /// Many observations, by matrix products: the same belief to rounding. On an error it is as it was.
    pub(super) fn run<R: SiteRule>(
        &mut self,
        rules: &[R],
        x: MatRef<'_, f64>,
        y: &[f64],
        observe: impl FnMut(usize, &StepInfo),
    ) -> Result<(), Error> {
        match self {
            Self::Full(belief) => run_blocks(belief, rules, x, y, observe),
            Self::SquareRoot(belief) => run_blocks(belief, rules, x, y, observe),
            Self::LowRank(belief) => one_by_one(&mut **belief, rules, x, y, observe),
            Self::Diagonal(belief) => one_by_one(belief, rules, x, y, observe),
        }
    }

    /// `(xᵀμ, xᵀPx)`.
    pub(super) fn project(&self, row: DesignRow<'_>) -> Result<Projection, Error> {
        let mut dense = Vec::new();
        match self {
            Self::Full(belief) => project(belief, row.written_out(&mut dense)),
            Self::SquareRoot(belief) => project(belief, row.written_out(&mut dense)),
            Self::LowRank(belief) => match row {
                DesignRow::Dense(row) => belief.predict(row, Par::Seq),
                DesignRow::Sparse(row) => belief.predict_sparse(row),
            },
            Self::Diagonal(belief) => match row {
                DesignRow::Dense(row) => project(belief, row),
                DesignRow::Sparse(row) => {
                    let (mut mean, mut variance) = (0.0, 0.0);
                    row.indices().iter().zip(row.values()).for_each(|(&j, x)| {
                        mean += x * belief.mean()[j];
                        variance += x * x / belief.precisions()[j];
                    });
                    Projection::new(mean, variance, 0.0)
                }
            },
        }
    }

    /// `P ← P/λ`.
    pub(super) fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        match self {
            Self::Full(belief) => Forgetting::fading(lambda)?.apply(belief),
            Self::SquareRoot(belief) => Forgetting::fading(lambda)?.apply(belief),
            Self::LowRank(belief) => Forgetting::fading(lambda)?.apply(&mut **belief),
            Self::Diagonal(belief) => Forgetting::fading(lambda)?.apply(belief),
        }
    }

    /// Checks that a full covariance which fades has kept the digits of its narrow directions beside the widest; the other kinds
    /// keep precisions, which fade without harm.
    ///
    /// # Errors
    /// `Entry` with a weight whose variance has grown beyond `widest` prior variances of `10⁸`.
    pub(super) fn check_faded(&self, widest: f64) -> Result<(), Error> {
        let Self::Full(belief) = self else { return Ok(()) };
        let covariance = belief.covariance_lower();
        for index in 0..self.dim() {
            let value = covariance[(index, index)];
            if value > HALF_OF_THE_DIGITS * widest {
                let requirement = "below 1e8 prior variances: no recent input tells this weight, and `Memory::Fading` forgets what did";
                return Err(Error::Entry { argument: "variances of the weights", index, value, requirement });
            }
        }
        Ok(())
    }

    /// `Λ ← λΛ + (1−λ)Λ₀`, `Λμ` likewise.
    pub(super) fn return_towards(&mut self, prior: &Self, lambda: f64) -> Result<(), Error> {
        match (self, prior) {
            (Self::Full(belief), Self::Full(prior)) => Forgetting::towards(prior, lambda)?.apply(belief),
            (Self::SquareRoot(belief), Self::SquareRoot(prior)) => Forgetting::towards(prior, lambda)?.apply(belief),
            (Self::LowRank(belief), Self::LowRank(prior)) => {
                Forgetting::towards(&**prior, lambda)?.apply(&mut **belief)
            }
            (Self::Diagonal(belief), Self::Diagonal(prior)) => Forgetting::towards(prior, lambda)?.apply(belief),
            _ => Err(other_kind()),
        }
    }

    /// `prior` times what `parts` have gained over it.
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
        })
    }

    /// `vᵀΛv` under the precision `Λ = P⁻¹`.
    pub(super) fn precision_form(&self, v: &[f64]) -> Result<f64, Error> {
        match self {
            Self::Full(belief) => Ok(belief.cholesky()?.quadratic_form_inverse(v)?),
            Self::SquareRoot(belief) => {
                let root = belief.root();
                Ok((0..v.len()).map(|j| (j..v.len()).map(|i| root[(i, j)] * v[i]).sum::<f64>().powi(2)).sum())
            }
            Self::LowRank(belief) => {
                let mut projected = (**belief).clone();
                projected.flush(Par::Seq)?;
                let product = projected.precision().mul(MatRef::from_column_major_slice(v, v.len(), 1), Par::Seq)?;
                Ok(product.col(0).iter().zip(v).map(|(p, v)| p * v).sum())
            }
            Self::Diagonal(belief) => Ok(belief.precisions().iter().zip(v).map(|(p, v)| p * v * v).sum()),
        }
    }

    /// A draw of `θ − μ`, `θ ~ N(μ, P)`, into `deviation`.
    pub(super) fn draw_deviation<R: Rng + ?Sized>(&self, deviation: &mut [f64], rng: &mut R) -> Result<(), Error> {
        match self {
            Self::Full(belief) => {
                let z: Vec<f64> = deviation.iter().map(|_| StandardNormal.sample(rng)).collect();
                let factor = belief.cholesky()?;
                for (i, to) in deviation.iter_mut().enumerate() {
                    *to = (0..=i).map(|j| factor.factor()[(i, j)] * z[j]).sum();
                }
            }
            Self::SquareRoot(belief) => {
                belief.draw(deviation, rng)?;
                axpy(deviation, -1.0, belief.mean());
            }
            Self::LowRank(belief) => {
                let draw = belief.draw(1, rng, Par::Seq)?;
                for ((to, theta), mean) in deviation.iter_mut().zip(draw.col(0).iter()).zip(belief.mean()) {
                    *to = theta - mean;
                }
            }
            Self::Diagonal(belief) => {
                for (to, precision) in deviation.iter_mut().zip(belief.precisions()) {
                    let z: f64 = StandardNormal.sample(rng);
                    *to = z / precision.sqrt();
                }
            }
        }
        Ok(())
    }

    pub(super) fn to_wire(&self) -> Result<BeliefWire, Error> {
        Ok(match self {
            Self::Full(belief) => BeliefWire::Full(belief.to_wire()?),
            Self::SquareRoot(belief) => BeliefWire::SquareRoot(belief.to_wire()?),
            Self::LowRank(belief) => BeliefWire::LowRank(belief.to_wire()?),
            Self::Diagonal(belief) => BeliefWire::Diagonal(belief.to_wire()?),
        })
    }

    pub(super) fn from_wire(wire: BeliefWire) -> Result<Self, Error> {
        Ok(match wire {
            BeliefWire::Full(wire) => Self::Full(DenseGaussian::from_wire(wire)?),
            BeliefWire::SquareRoot(wire) => Self::SquareRoot(SquareRootGaussian::from_wire(wire)?),
            BeliefWire::LowRank(wire) => Self::LowRank(Box::new(LowRankGaussian::from_wire(wire)?)),
            BeliefWire::Diagonal(wire) => Self::Diagonal(DiagonalGaussian::from_wire(wire)?),
        })
    }
}

/// The stored form of a belief.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum BeliefWire {
    Full(<DenseGaussian as Checkpoint>::Wire),
    SquareRoot(<SquareRootGaussian as Checkpoint>::Wire),
    LowRank(<LowRankGaussian as Checkpoint>::Wire),
    Diagonal(<DiagonalGaussian as Checkpoint>::Wire),
}

fn run_blocks<B: BlockBelief + Clone, R: SiteRule>(
    belief: &mut B,
    rules: &[R],
    x: MatRef<'_, f64>,
    y: &[f64],
    mut observe: impl FnMut(usize, &StepInfo),
) -> Result<(), Error> {
    let mut scratch = BlockScratch::new(belief, BlockSettings::for_dim(x.ncols()));
    block::run(belief, &PerRow(rules), x, y, &mut scratch, Par::Seq, |first, _, steps| {
        steps.iter().enumerate().for_each(|(t, step)| observe(first + t, step));
    })?;
    Ok(())
}

fn one_by_one<B: Belief + Clone, R: SiteRule>(
    belief: &mut B,
    rules: &[R],
    x: MatRef<'_, f64>,
    y: &[f64],
    mut observe: impl FnMut(usize, &StepInfo),
) -> Result<(), Error> {
    filter::run(belief, &PerRow(rules), x, y, |t, _, step| observe(t, step))
}

fn project<B: Belief>(belief: &B, x: &[f64]) -> Result<Projection, Error> {
    let mut gain = vec![0.0; x.len()];
    let seen = belief.project(x, &mut gain);
    let size: f64 = x.iter().zip(&gain).map(|(x, g)| (x * g).abs()).sum();
    Projection::new(seen.mean, seen.variance, x.len() as f64 * f64::EPSILON * size)
}

fn merged<B: Mergeable>(prior: &B, parts: &[&AnyBelief], inner: impl Fn(&AnyBelief) -> Option<&B>) -> Result<B, Error> {
    let parts = parts.iter().map(|part| inner(part).ok_or_else(other_kind)).collect::<Result<Vec<_>, _>>()?;
    B::merge(prior, &parts)
}

fn other_kind() -> Error {
    Error::Setting { name: "belief", value: f64::NAN, requirement: "of the same kind in every part" }
}

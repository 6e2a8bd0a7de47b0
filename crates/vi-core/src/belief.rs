//! The trait of Gaussian beliefs, and the forms in which they are kept.

mod dense;
mod dense_block;
mod dense_step;
mod dense_vector;
mod diagonal;
mod digits;
mod gaussian;
mod grouped;
mod scores;
pub(crate) mod shared;
mod square_root;
mod square_root_block;
mod waiting;

pub use dense::DenseGaussian;
pub(crate) use dense::{check_symmetric, factor, is_diagonal};
pub use dense_step::DenseStep;
pub use dense_vector::{VectorSite, VectorStep};
pub use diagonal::{DiagonalGaussian, DiagonalStep};
pub use gaussian::GaussianBelief;
pub(crate) use grouped::Sums as GroupedSums;
pub use grouped::{Arrow, Grouped, GroupedRow, GroupedSlopes, GroupedSolution, GroupedStep};
pub(crate) use scores::check_rows;
pub use scores::{FactoredScores, Scores};
pub use square_root::SquareRootGaussian;
pub(crate) use square_root::{check_fade, fade_root};

use std::fmt;

use crate::check;
use crate::{Error, Row, Site};

/// What a belief says along one direction `x`: `t = xᵀθ ~ N(a, ν)`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Projection {
    /// `a = xᵀμ`.
    pub mean: f64,
    /// `ν = xᵀPx`.
    pub variance: f64,
}

impl Projection {
    /// A projection whose variance may have rounded to as little as `−rounding`, in which case it becomes 0.
    ///
    /// # Errors
    /// [`Error::NegativeVariance`] for a variance below that, which shows that rounding has destroyed the covariance;
    /// [`Error::Overflow`] if the mean or the variance is not finite.
    pub fn new(mean: f64, variance: f64, rounding: f64) -> Result<Self, Error> {
        if !mean.is_finite() {
            return Err(Error::Overflow { quantity: "xᵀμ", value: mean });
        }
        if !variance.is_finite() {
            return Err(Error::Overflow { quantity: "xᵀPx", value: variance });
        }
        if variance < -rounding {
            return Err(Error::NegativeVariance { value: variance });
        }
        Ok(Self { mean, variance: variance.max(0.0) })
    }
}

/// A Gaussian belief over `θ ∈ ℝᵈ` that can be projected along a row and updated by a site.
///
/// A belief sees no label and a rule no vector. A step has three parts: [`project`](Self::project) gives mean and variance along
/// the row, and a rule answers with a site; [`prepare`](Self::prepare) checks everything that can fail; [`commit`](Self::commit)
/// writes and cannot fail. So several beliefs can learn a row together, all of them or none, without a copy of any.
///
/// ```text
/// P′ = P/λ                                             forgetting, λ = 1 for none
/// a = xᵀμ,  ν = xᵀP′x                                   project
/// μ ← μ + e·P′x,  P ← P′ − c·(P′x)(P′x)ᵀ                 commit, e = g/(1+hν), c = h/(1+hν)
/// ```
///
/// Rows have length `d` and finite entries; callers of these methods check that with [`Row::check`].
///
/// ```
/// use vi_core::{Belief, DenseGaussian, Row, Site};
/// let mut belief = DenseGaussian::isotropic(&[0.0, 1.0], 2.0)?;
/// let (row, mut step) = (Row::from(&[3.0, 1.0]), <DenseGaussian as Belief>::Step::default());
/// let seen = belief.project(row, 1.0, &mut step)?;
/// assert_eq!((seen.mean, seen.variance), (1.0, 40.0));
/// // A measurement y = 42 of xᵀθ with a noise of variance 10: g = (y − a)/10, h = 1/10.
/// belief.prepare(row, Site { slope: 4.1, curvature: 0.1 }, &mut step)?;
/// belief.commit(row, &mut step);
/// assert!((belief.mean()[0] - 9.84).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub trait Belief {
    /// Memory for one step and what is prepared in it, reusable for any number of rows.
    type Step: fmt::Debug + Default;

    /// Dimension `d` of `θ`.
    fn dim(&self) -> usize;

    /// The mean `μ`, length `d`.
    fn mean(&self) -> &[f64];

    /// May compute in advance what [`project`](Self::project) will need for `rows`, of which the first is projected and learned next,
    /// with the same `step`, and so on; every answer is the same to the bit. A single row, or none, forgets what was computed.
    fn look_ahead(&self, _rows: &[Row<'_>], _step: &mut Self::Step) {}

    /// Projects along `x`: `(xᵀμ, xᵀPx/λ)` of the belief that has forgotten by the factor `fade = λ`, `0 < λ ≤ 1`; 1 forgets
    /// nothing.
    ///
    /// # Errors
    /// [`Error::NegativeVariance`] if rounding has destroyed the covariance, [`Error::Overflow`].
    fn project(&self, x: Row<'_>, fade: f64, step: &mut Self::Step) -> Result<Projection, Error>;

    /// Prepares the factor of `site` along `x`, which [`project`](Self::project) has just been called for with the same `step`.
    /// Everything that can fail happens here.
    ///
    /// # Errors
    /// [`Error::ImproperSite`], [`Error::NotPositiveDefinite`], [`Error::Overflow`] or [`Error::NonFinite`] when this form of the
    /// belief cannot hold the result.
    fn prepare(&self, x: Row<'_>, site: Site, step: &mut Self::Step) -> Result<(), Error>;

    /// Writes the step that was prepared for `x`: forgets, then multiplies in the factor. It cannot fail.
    fn commit(&mut self, x: Row<'_>, step: &mut Self::Step);

    /// The predictive mean and variance `(xᵀμ, xᵀPx)` along a row of length `d`. Allocates memory for a step.
    ///
    /// # Errors
    /// As [`Row::check`] and [`project`](Self::project).
    ///
    /// ```
    /// use vi_core::{Belief, DiagonalGaussian};
    /// let belief = DiagonalGaussian::isotropic(&[1.0; 1000], 2.0)?;
    /// let seen = belief.predict((&[3, 998], &[1.0, -2.0]))?;
    /// assert_eq!((seen.mean, seen.variance), (-1.0, 20.0));
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    fn predict<'a>(&self, x: impl Into<Row<'a>>) -> Result<Projection, Error>
    where
        Self: Sized,
    {
        let x = x.into();
        x.check(self.dim())?;
        self.project(x, 1.0, &mut Self::Step::default())
    }

    /// Multiplies in the factor of `site` along `x`, which [`project`](Self::project) has just been called for with the same
    /// `step`.
    ///
    /// # Errors
    /// As [`prepare`](Self::prepare); the belief is then as it was, to the bit.
    fn absorb(&mut self, x: Row<'_>, site: Site, step: &mut Self::Step) -> Result<(), Error> {
        self.prepare(x, site, step)?;
        self.commit(x, step);
        Ok(())
    }
}

/// Checks that the mean `μ + e·Px` is finite.
///
/// # Errors
/// [`Error::Overflow`].
fn check_moved(mean: &[f64], e: f64, gain: &[f64]) -> Result<(), Error> {
    check::results("μ + e·Px", mean.iter().zip(gain).map(|(mean, gain)| mean + e * gain))
}

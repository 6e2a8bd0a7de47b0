//! What a filter needs of a Gaussian belief, and the ways to keep one.

mod dense;
mod dense_block;
mod dense_vector;
mod diagonal;
mod square_root;
mod square_root_block;

pub use dense::DenseGaussian;
pub(crate) use dense::{check_symmetric, factor};
pub use dense_block::DensePanels;
pub use diagonal::DiagonalGaussian;
pub use square_root::SquareRootGaussian;
pub use square_root_block::RootPanels;

use crate::error::check_results;
use crate::{Error, Site};

/// A belief seen along one direction `x`: `t = xᵀθ ~ N(a, ν)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Projection {
    /// `a = xᵀμ`.
    pub mean: f64,
    /// `ν = xᵀPx`.
    pub variance: f64,
}

impl Projection {
    /// A projection whose variance may have rounded to as little as `−rounding`: it is then 0.
    ///
    /// # Errors
    /// [`Error::NegativeVariance`] for a variance below that: the covariance is destroyed; [`Error::Overflow`] for a mean or
    /// variance beyond what a float holds.
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

/// A Gaussian belief over `θ ∈ ℝᵈ` that can be seen along a row and updated by a site.
///
/// A belief sees no label and a rule no vector. The caller owns the memory: `gain` has length `d`, carries `Px` from
/// [`project`](Self::project) to [`absorb`](Self::absorb), and is scratch afterwards.
pub trait Belief {
    /// Dimension `d` of `θ`.
    fn dim(&self) -> usize;

    /// The mean `μ`, length `d`.
    fn mean(&self) -> &[f64];

    /// `(xᵀμ, xᵀPx)`, leaving `Px` in `gain`.
    fn project(&self, x: &[f64], gain: &mut [f64]) -> Projection;

    /// Multiplies in the factor of `site` along `x`, given what [`project`](Self::project) answered for the same `x`.
    ///
    /// # Errors
    /// [`Error::ImproperSite`], [`Error::NotPositiveDefinite`] or [`Error::Overflow`] when this form of the belief cannot hold the
    /// result; the belief is then as it was, to the bit.
    fn absorb(&mut self, x: &[f64], projection: Projection, site: Site, gain: &mut [f64]) -> Result<(), Error>;
}

/// Checks that the mean `μ + e·Px` is finite.
///
/// # Errors
/// [`Error::Overflow`].
fn check_moved(mean: &[f64], e: f64, gain: &[f64]) -> Result<(), Error> {
    check_results("μ + e·Px", mean.iter().zip(gain).map(|(mean, gain)| mean + e * gain))
}

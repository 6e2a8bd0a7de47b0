//! Forgetting: what a belief loses between observations, so that it can follow a `θ` that drifts.
//!
//! | strategy | change before each observation | effect |
//! | :-- | :-- | :-- |
//! | [`Forgetting::fading`] | `P ← P/λ` | observation `s` weighs `λ^(t−s)`: memory of about `1/(1−λ)`, the prior fades too |
//! | [`Forgetting::towards`] | `Λ ← λΛ + (1−λ)Λ₀`, `Λμ ← λΛμ + (1−λ)Λ₀μ₀` | the same memory, but the prior does not fade |
//! | [`Forgetting::noise`] | `P ← P + diag(q)` | `θ` walks at random with variance `q` a step |
//!
//! The change comes *before* each observation, including the first of a call: time passes, then data arrive. So a stream can be
//! split into calls anywhere. To choose between them, compare their [evidence](crate::filter::run).

mod dense;
mod diagonal;
mod square_root;

use crate::check;
use crate::{Belief, Error};

/// The variance beyond which fading is held back, so that products of two variances stay finite.
const LARGEST_VARIANCE: f64 = 1e150;

/// A belief that can forget; [`Forgetting`] checks the arguments of these methods.
///
/// On an error the belief must be as it was, to the bit.
pub trait Forget: Belief {
    /// The prior in the form that [`towards`](Self::towards) mixes in.
    type Anchor: Clone + std::fmt::Debug;

    /// This belief as an anchor.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`].
    fn anchor(&self) -> Result<Self::Anchor, Error>;

    /// Whether later rows can be learned by the belief `P/λ`, because its variances stay far from the largest float. It costs no
    /// more than a row.
    fn can_fade(&self, lambda: f64) -> bool;

    /// Fades the belief: `P ← P/λ`, for `0 < λ < 1`.
    ///
    /// # Errors
    /// [`Error::NonFinite`] when a variance overflows: fading in a direction that no observation visits.
    fn fade(&mut self, lambda: f64) -> Result<(), Error>;

    /// Returns the belief towards a prior: `Λ ← λΛ + (1−λ)Λ₀`, `Λμ ← λΛμ + (1−λ)Λ₀μ₀`, for `0 < λ < 1`.
    ///
    /// # Errors
    /// [`Error::NotPositiveDefinite`], [`Error::NonFinite`] for a mean that overflows.
    fn towards(&mut self, anchor: &Self::Anchor, lambda: f64) -> Result<(), Error>;

    /// Adds noise: `P ← P + diag(q)`, `q` of length `d`, finite, not negative, not all 0.
    ///
    /// # Errors
    /// [`Error::NonFinite`] when a variance overflows; [`Error::NotPositiveDefinite`] from beliefs that keep a factor.
    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error>;
}

/// How a belief forgets between observations: built and checked once, applied at every step.
///
/// ```
/// use vi_core::{DenseGaussian, Forgetting};
/// let mut belief = DenseGaussian::isotropic(&[0.0], 1.0)?;
/// Forgetting::fading(0.5)?.apply(&mut belief)?;
/// assert_eq!(belief.covariance()[(0, 0)], 2.0);
/// Forgetting::noise(&[0.25])?.apply(&mut belief)?;
/// assert_eq!(belief.covariance()[(0, 0)], 2.25);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Forgetting<B: Forget>(Strategy<B::Anchor>);

#[derive(Debug, Clone)]
enum Strategy<A> {
    Nothing,
    Fading { lambda: f64 },
    Towards { anchor: A, dim: usize, lambda: f64 },
    Noise { q: Vec<f64> },
}

impl<B: Forget> Forgetting<B> {
    /// Forgets nothing.
    #[must_use]
    pub fn none() -> Self {
        Self(Strategy::Nothing)
    }

    /// Fading memory, `P ← P/λ`, `λ ∈ (0, 1]`. Cost `d²/2` a step for a dense belief.
    ///
    /// In directions that no observation visits variances grow as `λ⁻ᵗ`. When one exceeds 10¹⁵⁰, or for a low-rank belief 10¹²
    /// times that of the prior, fading is held back, which [`apply`](Self::apply) reports. [`towards`](Self::towards) stays bounded
    /// by the prior.
    ///
    /// # Errors
    /// [`Error::Setting`].
    pub fn fading(lambda: f64) -> Result<Self, Error> {
        let lambda = check_lambda(lambda)?;
        Ok(Self(if lambda < 1.0 { Strategy::Fading { lambda } } else { Strategy::Nothing }))
    }

    /// Return to a prior `N(μ₀, Λ₀⁻¹)`, `Λ ← λΛ + (1−λ)Λ₀`, `Λμ ← λΛμ + (1−λ)Λ₀μ₀`, `λ ∈ (0, 1]`.
    ///
    /// Variances never exceed the prior's. Cost `d³` to `3d³` a step for a dense belief, against `3d²` for an observation: do it
    /// once for `m` rows, with `λᵐ`.
    ///
    /// # Errors
    /// [`Error::Setting`], [`Error::NotPositiveDefinite`] for the prior.
    pub fn towards(prior: &B, lambda: f64) -> Result<Self, Error> {
        let (lambda, anchor) = (check_lambda(lambda)?, prior.anchor()?);
        Ok(Self(if lambda < 1.0 { Strategy::Towards { anchor, dim: prior.dim(), lambda } } else { Strategy::Nothing }))
    }

    /// Additive noise, `P ← P + diag(q)`, `q` of length `d` in squared units of `θ`. Cost `d` a step for a dense
    /// belief.
    ///
    /// # Errors
    /// [`Error::Empty`], [`Error::NonFinite`], [`Error::Entry`] for a negative variance.
    pub fn noise(q: &[f64]) -> Result<Self, Error> {
        if q.is_empty() {
            return Err(Error::Empty { argument: "q" });
        }
        check::finite("q", q)?;
        if let Some(index) = q.iter().position(|&v| v < 0.0) {
            return Err(Error::Entry { argument: "q", index, value: q[index], requirement: "at least 0" });
        }
        Ok(Self(Strategy::Noise { q: q.to_vec() }))
    }

    /// Whether applying this changes nothing: no forgetting, `λ = 1`, or `q = 0`.
    #[must_use]
    pub fn is_none(&self) -> bool {
        match &self.0 {
            Strategy::Nothing => true,
            Strategy::Noise { q } => q.iter().all(|&v| v == 0.0),
            Strategy::Fading { .. } | Strategy::Towards { .. } => false,
        }
    }

    /// Makes `belief` forget for one step; if [`is_none`](Self::is_none), its bits stay. Returns `false` if
    /// [fading](Self::fading) was held back, which leaves the belief unchanged.
    ///
    /// # Errors
    /// [`Error::Dimension`] for a `q` or prior of another dimension, and as [`Forget`]'s methods; the belief is then as
    /// it was.
    pub fn apply(&self, belief: &mut B) -> Result<bool, Error> {
        self.check_dim(belief.dim())?;
        if self.is_none() {
            return Ok(true);
        }
        match &self.0 {
            Strategy::Nothing => {}
            Strategy::Fading { lambda } if !belief.can_fade(*lambda) => return Ok(false),
            Strategy::Fading { lambda } => belief.fade(*lambda)?,
            Strategy::Towards { anchor, lambda, .. } => belief.towards(anchor, *lambda)?,
            Strategy::Noise { q } => belief.diffuse(q)?,
        }
        Ok(true)
    }

    /// Checks that `q` or the prior fits a belief of dimension `d`.
    fn check_dim(&self, d: usize) -> Result<(), Error> {
        match &self.0 {
            Strategy::Noise { q } => check::length("q", d, q.len()),
            Strategy::Towards { dim, .. } => check::length("prior of the forgetting", d, *dim),
            Strategy::Nothing | Strategy::Fading { .. } => Ok(()),
        }
    }
}

fn check_lambda(lambda: f64) -> Result<f64, Error> {
    if lambda > 0.0 && lambda <= 1.0 {
        Ok(lambda)
    } else {
        Err(Error::Setting { name: "lambda", value: lambda, requirement: "above 0 and at most 1" })
    }
}

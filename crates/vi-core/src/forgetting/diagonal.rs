//! How a diagonal belief forgets, in `O(d)`.

use super::{Forget, LARGEST_VARIANCE};
use crate::Error;
use crate::belief::DiagonalGaussian;

impl Forget for DiagonalGaussian {
    type Anchor = Self;

    fn anchor(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    /// Decides by what is left of the prior: one comparison.
    fn can_fade(&self, lambda: f64) -> bool {
        self.prior_left() * lambda >= 1.0 / LARGEST_VARIANCE
    }

    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        self.fade_by(lambda)
    }

    fn towards(&mut self, anchor: &Self, lambda: f64) -> Result<(), Error> {
        *self = renewed(self, |i| {
            let ((mean, precision), (prior_mean, prior_precision)) = (self.moments(i), anchor.moments(i));
            let (own, prior) = (lambda * precision, (1.0 - lambda) * prior_precision);
            ((own * mean + prior * prior_mean) / (own + prior), own + prior)
        })?;
        Ok(())
    }

    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        *self = renewed(self, |i| {
            let (mean, precision) = self.moments(i);
            (mean, precision / (1.0 + q[i] * precision))
        })?;
        Ok(())
    }
}

/// The belief with new moments. A precision that has become 0 means a variance that has overflowed.
fn renewed(belief: &DiagonalGaussian, moments: impl Fn(usize) -> (f64, f64)) -> Result<DiagonalGaussian, Error> {
    belief.with_moments(moments).map_err(|error| match error {
        Error::NotPositiveDefinite { pivot, .. } => {
            Error::NonFinite { argument: "variance", index: pivot, value: f64::INFINITY }
        }
        other => other,
    })
}

//! How a square-root belief forgets.

use super::Forget;
use crate::Error;
use crate::belief::{Belief, SquareRootGaussian, check_fade, fade_root};
use crate::check;
use crate::theorems::NaturalParameters;

impl Forget for SquareRootGaussian {
    type Anchor = NaturalParameters;

    fn anchor(&self) -> Result<NaturalParameters, Error> {
        Ok(self.natural())
    }

    /// `L ← √λ·L`.
    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        check_fade(self.root(), lambda)?;
        fade_root(self.parts_mut().1.as_mut(), lambda);
        Ok(())
    }

    /// Through the precision: `2d³/3`.
    fn return_towards(&mut self, anchor: &NaturalParameters, lambda: f64) -> Result<(), Error> {
        let mut natural = self.natural();
        natural.mix(anchor, lambda);
        *self = Self::from_natural(&natural)?;
        Ok(())
    }

    /// Through the covariance: `4d³/3`.
    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        let mut dense = self.to_dense();
        dense.diffuse(q)?;
        let diffused = Self::from_dense(&dense)?;
        check::finite("mean", diffused.mean())?;
        *self = diffused;
        Ok(())
    }
}

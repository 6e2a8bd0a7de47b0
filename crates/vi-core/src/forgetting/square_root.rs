//! How a square-root belief forgets.

use super::Forget;
use crate::Error;
use crate::belief::{Belief, SquareRootGaussian};
use crate::error::check_finite;
use crate::natural::NaturalParameters;

impl Forget for SquareRootGaussian {
    type Anchor = NaturalParameters;

    fn anchor(&self) -> Result<NaturalParameters, Error> {
        Ok(self.natural())
    }

    /// `L ← √λ·L`.
    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let d = self.dim();
        let (_, root) = self.parts_mut();
        for i in 0..d {
            let faded = root[(i, i)] * lambda.sqrt();
            if faded * faded == 0.0 {
                return Err(Error::NonFinite { argument: "variance", index: i, value: f64::INFINITY });
            }
        }
        for j in 0..d {
            for i in j..d {
                root[(i, j)] *= lambda.sqrt();
            }
        }
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
        check_finite("mean", diffused.mean())?;
        *self = diffused;
        Ok(())
    }
}

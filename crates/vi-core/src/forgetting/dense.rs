//! How a dense belief forgets.

use super::Forget;
use crate::Error;
use crate::belief::{Belief, DenseGaussian};
use crate::check;
use crate::theorems::NaturalParameters;

impl Forget for DenseGaussian {
    type Anchor = NaturalParameters;

    fn anchor(&self) -> Result<NaturalParameters, Error> {
        NaturalParameters::of(self)
    }

    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let d = self.dim();
        let (_, p) = self.parts_mut();
        // No entry of a positive definite matrix is larger than the largest on its diagonal.
        for i in 0..d {
            check_variance(i, p[(i, i)] / lambda)?;
        }
        for j in 0..d {
            for i in j..d {
                p[(i, j)] /= lambda;
            }
        }
        Ok(())
    }

    fn return_towards(&mut self, anchor: &NaturalParameters, lambda: f64) -> Result<(), Error> {
        let mut natural = NaturalParameters::of(self)?;
        natural.mix(anchor, lambda);
        let mixed = natural.to_belief()?;
        check::finite("mean", mixed.mean())?;
        *self = mixed;
        Ok(())
    }

    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        let (_, p) = self.parts_mut();
        for (i, q) in q.iter().enumerate() {
            check_variance(i, p[(i, i)] + q)?;
        }
        for (i, q) in q.iter().enumerate() {
            p[(i, i)] += q;
        }
        Ok(())
    }
}

fn check_variance(index: usize, value: f64) -> Result<(), Error> {
    if value.is_finite() { Ok(()) } else { Err(Error::NonFinite { argument: "variance", index, value }) }
}

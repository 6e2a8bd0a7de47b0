//! How a diagonal belief forgets, in `O(d)`.

use super::Forget;
use crate::Error;
use crate::belief::{Belief, DiagonalGaussian};

impl Forget for DiagonalGaussian {
    type Anchor = Self;

    fn anchor(&self) -> Result<Self, Error> {
        Ok(self.clone())
    }

    fn fade(&mut self, lambda: f64) -> Result<(), Error> {
        let faded = self.precisions().iter().map(|precision| precision * lambda).collect();
        *self = renewed(self.mean().to_vec(), faded)?;
        Ok(())
    }

    fn return_towards(&mut self, anchor: &Self, lambda: f64) -> Result<(), Error> {
        let (mut mean, mut precisions) = (Vec::with_capacity(self.dim()), Vec::with_capacity(self.dim()));
        for i in 0..self.dim() {
            let (own, prior) = (lambda * self.precisions()[i], (1.0 - lambda) * anchor.precisions()[i]);
            precisions.push(own + prior);
            mean.push((own * self.mean()[i] + prior * anchor.mean()[i]) / (own + prior));
        }
        *self = renewed(mean, precisions)?;
        Ok(())
    }

    fn diffuse(&mut self, q: &[f64]) -> Result<(), Error> {
        let diffused =
            self.precisions().iter().zip(q).map(|(precision, q)| precision / (1.0 + q * precision)).collect();
        *self = renewed(self.mean().to_vec(), diffused)?;
        Ok(())
    }
}

/// A precision that has run to 0 is a variance that has overflowed.
fn renewed(mean: Vec<f64>, precisions: Vec<f64>) -> Result<DiagonalGaussian, Error> {
    DiagonalGaussian::from_precisions(mean, precisions).map_err(|error| match error {
        Error::NotPositiveDefinite { pivot, .. } => {
            Error::NonFinite { argument: "variance", index: pivot, value: f64::INFINITY }
        }
        other => other,
    })
}

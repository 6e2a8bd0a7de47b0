//! Length scales: one for all inputs or one for each.

use serde::{Deserialize, Serialize};

use super::{Bound, Parameter};
use crate::{RevrandError, check};

/// The initial length scales.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum LengthScale {
    /// One length scale for all inputs.
    Shared(f64),
    /// One length scale for each input (automatic relevance determination).
    PerInput(Vec<f64>),
}

/// The length scales of a basis, with their bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Scales {
    inputs: usize,
    start: LengthScale,
    bound: Bound,
}

impl Scales {
    pub(crate) fn new(inputs: usize, start: LengthScale) -> Result<Self, RevrandError> {
        let scales = Self { inputs, start, bound: Bound::POSITIVE };
        scales.check(inputs)?;
        Ok(scales)
    }

    /// These length scales with other bounds.
    pub(crate) fn bounded(self, bound: Bound) -> Result<Self, RevrandError> {
        let inputs = self.inputs;
        let scales = Self { bound, ..self };
        scales.check(inputs)?;
        Ok(scales)
    }

    /// Checks length scales that a constructor was given or that were read.
    pub(crate) fn check(&self, inputs: usize) -> Result<(), RevrandError> {
        check::not_empty("inputs", inputs)?;
        check::length("inputs of the length scales", inputs, self.inputs)?;
        if let LengthScale::PerInput(values) = &self.start {
            check::length("length scales", inputs, values.len())?;
        }
        check::positive_entries("length scales", self.values())?;
        let (lower, upper) = (self.bound.lower(), self.bound.upper());
        if lower < 0.0 {
            return Err(RevrandError::Bounds { lower, upper });
        }
        for (index, &value) in self.values().iter().enumerate() {
            self.bound.check("length scales", index, value)?;
        }
        Ok(())
    }

    fn values(&self) -> &[f64] {
        match &self.start {
            LengthScale::Shared(value) => std::slice::from_ref(value),
            LengthScale::PerInput(values) => values,
        }
    }

    pub(crate) fn inputs(&self) -> usize {
        self.inputs
    }

    /// The number of parameters.
    pub(crate) fn len(&self) -> usize {
        self.values().len()
    }

    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let one = |&start| Parameter { name: "length scale", start, bound: self.bound };
        self.values().iter().map(one).collect()
    }

    /// The length scale of input `i`.
    pub(crate) fn at(theta: &[f64], i: usize) -> f64 {
        if theta.len() == 1 { theta[0] } else { theta[i] }
    }

    /// Adds the derivative in the length scale of input `i` to that of its parameter.
    pub(crate) fn add(out: &mut [f64], i: usize, derivative: f64) {
        let p = if out.len() == 1 { 0 } else { i };
        out[p] += derivative;
    }
}

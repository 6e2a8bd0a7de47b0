//! The sites of a set of observations, free of any belief: two numbers for each.

use crate::Error;
use crate::error::{check_finite, check_len};
use crate::filter::StepInfo;

/// The factors `exp(r·t − ½h·t²)`, `t = xᵀθ`, that stand for `n` observations in a Gaussian posterior:
/// `Λ = Λ₀ + Σh·xxᵀ`, `Λμ = Λ₀μ₀ + Σr·x`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sites {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Sites {
    /// Sites from natural slopes `r` and curvatures `h`, one of each for an observation.
    ///
    /// # Errors
    /// [`Error::Dimension`], [`Error::NonFinite`].
    pub fn new(slopes: Vec<f64>, curvatures: Vec<f64>) -> Result<Self, Error> {
        check_len("curvatures", slopes.len(), curvatures.len())?;
        check_finite("slopes", &slopes)?;
        check_finite("curvatures", &curvatures)?;
        Ok(Self { slopes, curvatures })
    }

    /// Number of observations.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slopes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slopes.is_empty()
    }

    /// The natural slopes `r`.
    #[must_use]
    pub fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// The curvatures `h`.
    #[must_use]
    pub fn curvatures(&self) -> &[f64] {
        &self.curvatures
    }

    /// Appends the site of a filter's step, `r = g + h·a`.
    pub fn push(&mut self, step: &StepInfo) {
        self.slopes.push(step.site.natural_slope(step.projection.mean));
        self.curvatures.push(step.site.curvature);
    }

    /// Adds `(Δr, Δh)` to site `i`.
    pub(crate) fn add(&mut self, i: usize, slope: f64, curvature: f64) {
        self.slopes[i] += slope;
        self.curvatures[i] += curvature;
    }
}

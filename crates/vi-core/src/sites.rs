//! The sites of a set of observations, independent of any belief: two numbers for each.

use crate::Error;
use crate::check;
use crate::filter::StepInfo;

/// The factors `exp(r·t − ½h·t²)`, `t = xᵀθ`, that stand for `n` observations in a Gaussian posterior:
/// `Λ = Λ₀ + Σh·xxᵀ`, `Λμ = Λ₀μ₀ + Σr·x`.
///
/// ```
/// use vi_core::Sites;
/// let sites = Sites::new(vec![0.5, -1.0], vec![0.2, 0.25])?;
/// assert_eq!((sites.len(), sites.slopes()[1], sites.curvatures()[1]), (2, -1.0, 0.25));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sites {
    slopes: Vec<f64>,
    curvatures: Vec<f64>,
}

impl Sites {
    /// Sites from natural slopes `r` (nats per unit of `t`) and curvatures `h` (nats per squared unit), one of each for an
    /// observation. Curvatures may be negative, as refinement can make them.
    ///
    /// # Errors
    /// [`Error::Dimension`] for two lengths, [`Error::NonFinite`].
    pub fn new(slopes: Vec<f64>, curvatures: Vec<f64>) -> Result<Self, Error> {
        check::length("curvatures", slopes.len(), curvatures.len())?;
        check::finite("slopes", &slopes)?;
        check::finite("curvatures", &curvatures)?;
        Ok(Self { slopes, curvatures })
    }

    /// Number of observations `n`.
    #[must_use]
    pub fn len(&self) -> usize {
        self.slopes.len()
    }

    /// Whether there are no sites.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.slopes.is_empty()
    }

    /// The natural slopes `r`, length `n`.
    #[must_use]
    pub fn slopes(&self) -> &[f64] {
        &self.slopes
    }

    /// The curvatures `h`, length `n`.
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

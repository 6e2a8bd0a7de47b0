//! A known part of the predictor.

use vi_core::implicit::ImplicitRoot;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, Tilted};

/// A likelihood of `t + o`: the predictor is `xᵀθ` plus a known offset `o`, as in other programs for generalised linear models.
///
/// If rows have different offsets, use a [`PerRow`](vi_core::PerRow) of these. It may be wrapped in a
/// [`Weighted`](vi_core::Weighted).
///
/// ```
/// use vi_core::Likelihood;
/// use vi_models::likelihood::{Offset, Poisson};
/// let shifted = Offset::new(Poisson::default(), f64::ln(12.0))?;
/// assert!((shifted.slope(12.0, 0.0)).abs() < 1e-14);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Offset<L> {
    likelihood: L,
    offset: f64,
}

impl<L> Offset<L> {
    /// `likelihood` at `offset = o`, in units of the predictor.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `o` is finite.
    pub fn new(likelihood: L, offset: f64) -> Result<Self, Error> {
        if offset.is_finite() {
            Ok(Self { likelihood, offset })
        } else {
            Err(Error::Setting { name: "offset", value: offset, requirement: "finite" })
        }
    }

    /// The likelihood without the offset.
    pub(crate) fn likelihood(&self) -> &L {
        &self.likelihood
    }

    /// The offset `o`.
    pub(crate) fn offset(&self) -> f64 {
        self.offset
    }
}

impl<L: Likelihood> Likelihood for Offset<L> {
    fn family(&self) -> &'static str {
        self.likelihood.family()
    }

    fn supports(&self, label: f64) -> bool {
        self.likelihood.supports(label)
    }

    fn is_log_concave(&self) -> bool {
        self.likelihood.is_log_concave()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        self.likelihood.log_density(y, t + self.offset)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        self.likelihood.slope(y, t + self.offset)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        self.likelihood.curvature(y, t + self.offset)
    }

    fn derivatives(&self, y: f64, t: f64) -> [f64; 3] {
        self.likelihood.derivatives(y, t + self.offset)
    }

    fn beyond_tangent(&self, y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        self.likelihood.beyond_tangent(y, t + self.offset, steps, out);
    }

    fn peak(&self, y: f64) -> Option<f64> {
        self.likelihood.peak(y).map(|peak| peak - self.offset)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        self.likelihood.fisher_information(t + self.offset)
    }
}

impl<L: GaussianExpectation> GaussianExpectation for Offset<L> {
    fn expected_log_density(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.likelihood.expected_log_density(y, a + self.offset, nu)
    }

    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        self.likelihood.expected_slope_curvature(y, a + self.offset, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        self.likelihood.expected(y, a + self.offset, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        self.likelihood.log_predictive(y, a + self.offset, nu)
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        self.likelihood.tilted(y, a + self.offset, nu)
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        let root = self.likelihood.implicit_root(y, a + self.offset, nu)?;
        Ok(ImplicitRoot { alpha: root.alpha - self.offset, ..root })
    }

    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        let root = self.likelihood.weighted_implicit_root(weight, y, a + self.offset, nu)?;
        Ok(ImplicitRoot { alpha: root.alpha - self.offset, ..root })
    }
}

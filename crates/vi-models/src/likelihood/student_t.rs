//! Regression with Student-t noise: a likelihood that is not log-concave.

use vi_core::{Error, Expected, GaussianExpectation, Likelihood, quadrature};

use crate::check;

/// The likelihood of `y = t + s·ε`, `ε` Student-t with `k` degrees of freedom: outliers beyond a few `s` lose their influence.
///
/// It is not log-concave: the curvature is negative for `|y − t| > s√k`, and an outlier can leave a belief wider than it was. All
/// expectations are by [`quadrature`]; implicit steps search several basins.
///
/// ```
/// use vi_core::{Implicit, MomentMatching, SiteRule};
/// use vi_models::likelihood::StudentT;
/// let noise = StudentT::new(3.0, 0.5)?;
/// let near = Implicit(noise).site(0.0, 1.0, 0.4)?;
/// let far = MomentMatching(noise).site(0.0, 1.0, 40.0)?;
/// assert!(near.curvature > 0.0 && far.curvature < 0.0);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StudentT {
    dof: f64,
    scale: f64,
    /// `log p` at `y = t`.
    peak: f64,
}

impl StudentT {
    /// Noise with `dof = k` degrees of freedom and scale `s`, in units of `y`; the variance is `s²k/(k−2)` for `k > 2`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless both are positive and finite.
    pub fn new(dof: f64, scale: f64) -> Result<Self, Error> {
        check::positive("dof", dof)?;
        check::positive("scale", scale)?;
        let gammas = libm::lgamma(0.5 * (dof + 1.0)) - libm::lgamma(0.5 * dof);
        let peak = gammas - 0.5 * (std::f64::consts::PI * dof).ln() - scale.ln();
        Ok(Self { dof, scale, peak })
    }

    /// The degrees of freedom `k`.
    pub(crate) fn dof(&self) -> f64 {
        self.dof
    }

    /// The scale `s`.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }
}

impl Likelihood for StudentT {
    fn family(&self) -> &'static str {
        "Student-t"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn is_log_concave(&self) -> bool {
        false
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        let r = (y - t) / self.scale;
        self.peak - 0.5 * (self.dof + 1.0) * (r * r / self.dof).ln_1p()
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        let r = (y - t) / self.scale;
        (self.dof + 1.0) * r / ((self.dof + r * r) * self.scale)
    }

    fn curvature(&self, y: f64, t: f64) -> f64 {
        let r = (y - t) / self.scale;
        let square = self.dof + r * r;
        (self.dof + 1.0) * ((self.dof - r * r) / square) / (square * self.scale * self.scale)
    }

    fn fisher_information(&self, _t: f64) -> f64 {
        (self.dof + 1.0) / ((self.dof + 3.0) * self.scale * self.scale)
    }
}

impl GaussianExpectation for StudentT {
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        quadrature::Quadrature(*self).expected_slope_curvature(y, a, nu)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        quadrature::Quadrature(*self).expected(y, a, nu)
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        quadrature::Quadrature(*self).log_predictive(y, a, nu)
    }
}

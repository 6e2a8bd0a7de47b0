//! The Gaussian likelihood of linear regression, `y = t + N(0, σ²)`.

use crate::Error;
use crate::check;
use crate::implicit::{ImplicitRoot, check_variance};
use crate::likelihood::{Expected, GaussianExpectation, Likelihood, Tilted};
use crate::special::LN_2PI;

/// `p(y|t) = N(y | t, σ²)`. With it, every rule but the printed mirror-prox and skip-covariance
/// is the Kalman filter (R-VGA, Theorem 2).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GaussianLikelihood {
    noise_variance: f64,
}

impl GaussianLikelihood {
    /// A Gaussian likelihood with noise variance `σ²`, in squared units of `y`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `10⁻¹⁵⁰ ≤ σ² ≤ 10¹⁵⁰`, beyond which products of two variances leave the floats.
    ///
    /// ```
    /// use vi_core::{GaussianLikelihood, Likelihood};
    /// let noise = GaussianLikelihood::new(0.25)?;
    /// assert_eq!(noise.slope(1.0, 0.0), 4.0);
    /// # Ok::<(), vi_core::Error>(())
    /// ```
    pub fn new(noise_variance: f64) -> Result<Self, Error> {
        check::positive("noise_variance", noise_variance)?;
        if (1e-150..=1e150).contains(&noise_variance) {
            Ok(Self { noise_variance })
        } else {
            let requirement = "between 1e-150 and 1e150";
            Err(Error::Setting { name: "noise_variance", value: noise_variance, requirement })
        }
    }

    /// The noise variance `σ²`.
    #[must_use]
    pub fn noise_variance(&self) -> f64 {
        self.noise_variance
    }
}

fn log_normal_density(residual: f64, variance: f64) -> f64 {
    -0.5 * (LN_2PI + variance.ln() + residual * residual / variance)
}

impl Likelihood for GaussianLikelihood {
    fn family(&self) -> &'static str {
        "Gaussian"
    }

    fn supports(&self, label: f64) -> bool {
        label.is_finite()
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        log_normal_density(y - t, self.noise_variance)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        (y - t) / self.noise_variance
    }

    fn curvature(&self, _y: f64, _t: f64) -> f64 {
        1.0 / self.noise_variance
    }

    fn fisher_information(&self, _t: f64) -> f64 {
        1.0 / self.noise_variance
    }
}

impl GaussianExpectation for GaussianLikelihood {
    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        Expected {
            value: self.log_density(y, a) - 0.5 * nu / self.noise_variance,
            slope: self.slope(y, a),
            curvature: 1.0 / self.noise_variance,
            third: 0.0,
            fourth: 0.0,
        }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        log_normal_density(y - a, self.noise_variance + nu)
    }

    fn tilted(&self, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
        let total = self.noise_variance + nu;
        Ok(Tilted {
            log_normaliser: log_normal_density(y - a, total),
            slope: (y - a) / total,
            curvature: 1.0 / self.noise_variance,
            variance: nu * self.noise_variance / total,
        })
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        check_variance(nu)?;
        let gain = (y - a) / (self.noise_variance + nu);
        Ok(ImplicitRoot {
            alpha: a + nu * gain,
            nu: nu * self.noise_variance / (self.noise_variance + nu),
            gain,
            curvature: 1.0 / self.noise_variance,
        })
    }

    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        Self { noise_variance: self.noise_variance / weight }.implicit_root(y, a, nu)
    }
}

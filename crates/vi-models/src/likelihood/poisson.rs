//! Counts with the log link.

use vi_core::implicit::ImplicitRoot;
use vi_core::special::exp_beyond_tangent;
use vi_core::{Error, Expected, GaussianExpectation, Likelihood, quadrature};

use crate::check;

use super::logistic_counts::is_count;
use super::saddle::{ln_poisson, poisson_slope};

/// The Poisson likelihood `p(y|t) = mʸe⁻ᵐ/y!`, `m = E·eᵗ`: counts at exposure `E`, the time, area or population in which they
/// were counted.
///
/// Expectations are closed forms, `E[m] = E·e^(a+ν/2)`, and so is the implicit step except for one monotone scalar equation; the
/// predictive density (a Poisson-lognormal) and tilted moments are by [`quadrature`]. Log-concave. If rows have different
/// exposures, use a [`PerRow`](vi_core::PerRow).
///
/// `e^(a+ν/2)` overflows beyond `a + ν/2 = 709`: the explicit rule is then an error (`ImproperSite`), the implicit one is not.
///
/// ```
/// use vi_core::{GaussianExpectation, Implicit, Likelihood, SiteRule};
/// use vi_models::likelihood::Poisson;
/// assert_eq!(Poisson::default().expected(3.0, 0.0, 0.0).slope, 2.0);
/// let yearly = Poisson::new(12.0)?;
/// assert_eq!(yearly.slope(12.0, 0.0), 0.0);
/// // From a prior so vague that E[m] is infinite.
/// let site = Implicit(yearly).site(0.0, 1e4, 3.0)?;
/// assert!((0.0 + 1e4 * site.gain(1e4) - (3.0_f64 / 12.0).ln()).abs() < 0.3);
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Poisson {
    exposure: f64,
    /// `log E`.
    shift: f64,
}

impl Default for Poisson {
    /// The default exposure is 1.
    fn default() -> Self {
        Self { exposure: 1.0, shift: 0.0 }
    }
}

/// The number of steps that bisection would need on the widest possible bracket.
const MAX_ITERATIONS: usize = 1200;

impl Poisson {
    /// The likelihood of counts at exposure `E`.
    ///
    /// # Errors
    /// [`Error::Setting`] unless `E` is positive and finite.
    pub fn new(exposure: f64) -> Result<Self, Error> {
        check::positive("exposure", exposure)?;
        Ok(Self { exposure, shift: exposure.ln() })
    }

    /// The exposure `E`.
    pub(crate) fn exposure(&self) -> f64 {
        self.exposure
    }

    /// `E[m]` under `t ~ N(a, ν)`.
    fn mean_rate(&self, a: f64, nu: f64) -> f64 {
        (self.shift + a + 0.5 * nu).exp()
    }
}

impl Likelihood for Poisson {
    fn family(&self) -> &'static str {
        "Poisson (counts 0, 1, 2, …)"
    }

    fn supports(&self, label: f64) -> bool {
        is_count(label)
    }

    fn log_density(&self, y: f64, t: f64) -> f64 {
        ln_poisson(y, self.shift, t)
    }

    fn slope(&self, y: f64, t: f64) -> f64 {
        poisson_slope(y, self.shift, t)
    }

    fn curvature(&self, _y: f64, t: f64) -> f64 {
        (self.shift + t).exp()
    }

    fn beyond_tangent(&self, _y: f64, t: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        let rate = (self.shift + t).exp();
        for (out, &step) in out.iter_mut().zip(steps) {
            *out = exp_beyond_tangent(step).map(|x| -rate * x);
        }
    }

    fn peak(&self, y: f64) -> Option<f64> {
        Some(y.ln() - self.shift)
    }

    fn fisher_information(&self, t: f64) -> f64 {
        (self.shift + t).exp()
    }
}

impl GaussianExpectation for Poisson {
    fn expected_slope_curvature(&self, y: f64, a: f64, nu: f64) -> (f64, f64) {
        let rate = self.mean_rate(a, nu);
        (y - rate, rate)
    }

    fn expected(&self, y: f64, a: f64, nu: f64) -> Expected {
        let rate = self.mean_rate(a, nu);
        // As for a label at `a + ½ν`, less `½ν` for each count.
        let value = ln_poisson(y, self.shift, a + 0.5 * nu) - 0.5 * nu * y;
        Expected { value, slope: y - rate, curvature: rate, third: -rate, fourth: -rate }
    }

    fn log_predictive(&self, y: f64, a: f64, nu: f64) -> f64 {
        quadrature::tilted(self, y, a, nu).map_or(f64::NAN, |tilted| tilted.log_normaliser)
    }

    fn implicit_root(&self, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        self.weighted_implicit_root(1.0, y, a, nu)
    }

    /// With weight `ω` and `w = log νωm`, the system `α = a + νω(y−m)`, `ν* = ν/(1+νωm)`, `log m = log E + α + ½ν*` is one
    /// equation,
    ///
    /// ```text
    /// w + e^w − ½ν/(1+e^w) = c,   c = log νω + log E + a + νωy
    /// ```
    ///
    /// whose left side has slope 1 or more; its last term is between 0 and ½ν, which brackets the root.
    fn weighted_implicit_root(&self, weight: f64, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
        if nu == 0.0 {
            let (slope, curvature) = self.expected_slope_curvature(y, a, 0.0);
            return Ok(ImplicitRoot { alpha: a, nu: 0.0, gain: weight * slope, curvature: weight * curvature });
        }
        let log_scale = nu.ln() + weight.ln();
        let c = log_scale + self.shift + a + nu * weight * y;
        let (mut low, mut high) = (below_root(c), above_root(c + 0.5 * nu));
        let mut w = high;
        for _ in 0..MAX_ITERATIONS {
            let e = w.exp();
            let shrunk = nu / (1.0 + e); // ν*
            let residual = w + (e - c) - 0.5 * shrunk;
            if residual > 0.0 {
                high = w;
            } else {
                low = w;
            }
            let newton = w - residual / (1.0 + e + 0.5 * shrunk * (e / (1.0 + e)));
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let done = (next - w).abs() <= 2.0 * f64::EPSILON * w.abs().max(1.0) || high <= low;
            w = next;
            if done {
                let e = w.exp();
                let (curvature, shrunk) = (e / nu, nu / (1.0 + e));
                // Each form where it does not cancel: νω(y−m) loses digits when νωm is large, log m when it is small.
                let (alpha, gain) = if e > 1.0 {
                    let alpha = w - log_scale - self.shift - 0.5 * shrunk;
                    (alpha, (alpha - a) / nu)
                } else {
                    let gain = weight * y - curvature;
                    (a + nu * gain, gain)
                };
                return Ok(ImplicitRoot { alpha, nu: shrunk, gain, curvature });
            }
        }
        Err(Error::RootNotFound { mean: a, variance: nu, label: y })
    }
}

/// A `w` with `w + e^w ≤ c`.
fn below_root(c: f64) -> f64 {
    if c > 1.0 { (c - c.ln()).ln() } else { c - c.exp() }
}

/// A `w` with `w + e^w ≥ c`.
fn above_root(c: f64) -> f64 {
    if c > 1.0 { c.ln() } else { c }
}

//! The quadratic Kalman filter: logistic regression under Jaakkola and Jordan's bound.

use crate::expectation::Mixture8;
use crate::implicit::check_variance;
use crate::likelihood::Likelihood;
use crate::logit::BernoulliLogit;
use crate::special::jaakkola_jordan;
use crate::{Error, Site, SiteRule};

/// The number of iterations after which the search for `ξ` fails; bisection alone ends in about 60.
const MAX_ITERATIONS: usize = 200;

/// Logistic regression under the quadratic bound `log s(t) ≥ log s(ξ) + (t−ξ)/2 − ½h(t²−ξ²)` (R-VGA eqs 82-90): `h =
/// tanh(ξ/2)/(2ξ)`, `r = y − ½`, `g = y − ½ − h·a`.
///
/// ```
/// use vi_core::{QuadraticBound, SiteRule};
/// let site = QuadraticBound::Once.site(0.0, 0.0, 1.0)?;
/// assert_eq!((site.slope, site.curvature), (0.5, 0.25));
/// # Ok::<(), vi_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum QuadraticBound {
    /// `ξ² = xᵀ(P₋+μ₋μ₋ᵀ)x = ν + a²`, once, from the old belief: the QKF as the paper has it (eq 90).
    #[default]
    Once,
    /// `ξ² = xᵀ(P₊+μ₊μ₊ᵀ)x`, the bound's optimum, from the new belief (Jaakkola and Jordan 1997;
    /// Drugowitsch §2.5.1).
    Optimal,
}

impl QuadraticBound {
    /// The bound's free parameter `ξ ≥ 0` at `(a, ν, y)`.
    ///
    /// # Errors
    /// [`Error::NegativeVariance`]; [`Error::RootNotFound`] if the search for the optimum does not converge, which was not seen
    /// for `|a|` and `ν` up to 1e150.
    pub fn xi(self, a: f64, nu: f64, y: f64) -> Result<f64, Error> {
        self.xi_at_weight(1.0, a, nu, y)
    }

    fn xi_at_weight(self, weight: f64, a: f64, nu: f64, y: f64) -> Result<f64, Error> {
        check_variance(nu)?;
        match self {
            Self::Once => Ok(nu.sqrt().hypot(a)),
            Self::Optimal => optimal_xi(a, nu, weight, y),
        }
    }

    /// The site of `weight·log p(y|t)`: the bound is scaled as the likelihood is.
    pub(super) fn site_at_weight(self, weight: f64, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        let curvature = weight * jaakkola_jordan(self.xi_at_weight(weight, a, nu, y)?); // (89)
        Ok(Site { slope: weight * (y - 0.5) - curvature * a, curvature }) // (88)
    }
}

/// The root of `ξ² = ν/(1+hν) + ((a+νr)/(1+hν))²` by bracketed secant steps; the right side lies
/// between its values at `h = w/4` and `h = 0`, with `r = w(y−½)`.
fn optimal_xi(a: f64, nu: f64, weight: f64, y: f64) -> Result<f64, Error> {
    let r = weight * (y - 0.5);
    let root_mean_square = |h: f64| {
        let shrink = 1.0 / (1.0 + h * nu);
        (nu * shrink).sqrt().hypot((a + nu * r) * shrink)
    };
    let (mut low, mut high) = (root_mean_square(0.25 * weight), root_mean_square(0.0));
    // The paper's ξ, then the fixed-point map with a secant on its residual.
    let mut xi = nu.sqrt().hypot(a).clamp(low, high);
    let mut last_step = f64::INFINITY;
    let mut last: Option<(f64, f64)> = None;
    for _ in 0..MAX_ITERATIONS {
        let image = root_mean_square(weight * jaakkola_jordan(xi));
        let residual = xi - image;
        if residual > 0.0 {
            high = xi;
        } else {
            low = xi;
        }
        let guess = match last {
            Some((old_xi, old_residual)) if old_residual != residual => {
                xi - residual * (xi - old_xi) / (residual - old_residual)
            }
            _ => image,
        };
        if residual.abs() <= 2.0 * f64::EPSILON * xi {
            return Ok(xi);
        }
        // Steps that do not halve may crawl: bisect instead.
        let inside = guess >= low && guess <= high && (guess - xi).abs() <= 0.5 * last_step;
        let next = if inside { guess } else { low.sqrt() * high.sqrt() };
        last_step = (next - xi).abs();
        if last_step <= 4.0 * f64::EPSILON * xi {
            return Ok(next);
        }
        last = Some((xi, residual));
        xi = next;
    }
    Err(Error::RootNotFound { mean: a, variance: nu, label: y })
}

impl SiteRule for QuadraticBound {
    fn check_label(&self, label: f64) -> Result<(), Error> {
        BernoulliLogit(Mixture8).check_label(label)
    }

    fn site(&self, a: f64, nu: f64, y: f64) -> Result<Site, Error> {
        self.site_at_weight(1.0, a, nu, y)
    }
}

//! The implicit step of any log-concave likelihood, from its Gaussian expectations.

use super::{ImplicitRoot, check_variance};
use crate::Error;
use crate::likelihood::{Expected, GaussianExpectation};

const MAX_NEWTON: usize = 60;
const MAX_HALVINGS: usize = 20;
const MAX_BISECTIONS: usize = 200;
/// A relative change whose square is below rounding.
const SMALL: f64 = 1e-8;

/// [`log_concave_root_from`] the explicit step.
///
/// # Errors
/// As [`log_concave_root_from`].
pub(crate) fn log_concave_root<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
) -> Result<ImplicitRoot, Error> {
    check_variance(nu)?;
    // The guess is the explicit step, whose ν̂ is near ν*.
    let (slope, curvature) = likelihood.expected_slope_curvature(y, a, nu);
    let shrunk = nu / (1.0 + nu * curvature.max(0.0));
    log_concave_root_from(likelihood, y, a, nu, (a + shrunk * slope, shrunk))
}

/// Finds the root of `α = a + ν·E∂`, `ν* = ν/(1+νh)` under `N(α, ν*)`, for a log-concave likelihood, from a guess `(α, ν*)`.
///
/// Newton's method in `(α, σ)`, `ν* = σ²`, on the convex objective `J` of the [module](super); if a step fails to shrink the
/// scaled gradient, the profile of `J` over `α` is bracketed in `σ` instead, which always converges. It typically takes 4 to 8
/// expectations with four derivatives.
///
/// # Errors
/// [`Error::NegativeVariance`]; [`Error::RootNotFound`] when no bracket is found: the likelihood is not log-concave, or an
/// argument is NaN.
pub fn log_concave_root_from<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
    guess: (f64, f64),
) -> Result<ImplicitRoot, Error> {
    check_variance(nu)?;
    if nu == 0.0 {
        let (gain, curvature) = likelihood.expected_slope_curvature(y, a, 0.0);
        return Ok(ImplicitRoot { alpha: a, nu: 0.0, gain, curvature });
    }
    newton(likelihood, y, a, nu, guess).map_or_else(|| bracketed(likelihood, y, a, nu, guess.0), Ok)
}

/// The stationarity conditions of `J`, scaled by `ν`: `α − a − νE∂` and `σ(1+νh) − ν/σ`.
struct Gradient {
    alpha: f64,
    sigma: f64,
    /// The size of the terms that cancel in each condition, for the stopping rule.
    scale_alpha: f64,
    scale_sigma: f64,
    at: Expected,
}

fn gradient<L: GaussianExpectation>(likelihood: &L, y: f64, a: f64, nu: f64, alpha: f64, sigma: f64) -> Gradient {
    let at = likelihood.expected(y, alpha, sigma * sigma);
    Gradient {
        alpha: alpha - a - nu * at.slope,
        sigma: sigma * (1.0 + nu * at.curvature) - nu / sigma,
        scale_alpha: alpha.abs().max(a.abs()).max(nu * at.slope.abs()),
        scale_sigma: nu / sigma,
        at,
    }
}

impl Gradient {
    /// The slope and the curvature one step further on, extrapolated, if both change so little that the square of the change is
    /// below rounding.
    fn beside(&self, sigma: f64, d_alpha: f64, d_sigma: f64) -> Option<(f64, f64)> {
        let Expected { slope, curvature, third, fourth, .. } = self.at;
        let d_slope = sigma * third * d_sigma - curvature * d_alpha;
        let d_curvature = -(third * d_alpha + sigma * fourth * d_sigma);
        let small = d_slope.abs() <= SMALL * slope.abs() && d_curvature.abs() <= SMALL * curvature.abs();
        small.then_some((slope + d_slope, curvature + d_curvature))
    }

    /// Squared size in the metric of the prior's own Hessian, `(1, 1)/ν`.
    fn merit(&self) -> f64 {
        self.alpha * self.alpha + self.sigma * self.sigma
    }

    /// The root, from the point at which this gradient was taken.
    fn finish(&self, a: f64, nu: f64, alpha: f64) -> ImplicitRoot {
        root(a, nu, alpha, (self.at.slope, self.at.curvature))
    }
}

/// The root at `α`, where `slope` and `curvature` are the expected ones.
fn root(a: f64, nu: f64, alpha: f64, (slope, curvature): (f64, f64)) -> ImplicitRoot {
    let information = nu * curvature;
    ImplicitRoot {
        // a + ν·E∂ passes an error of α on with factor ν·h.
        alpha: if information > 1.0 { alpha } else { a + nu * slope },
        nu: nu / (1.0 + information),
        gain: if information > 1.0 { (alpha - a) / nu } else { slope },
        curvature,
    }
}

pub(super) fn newton<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
    guess: (f64, f64),
) -> Option<ImplicitRoot> {
    let (mut alpha, mut sigma) = (guess.0, guess.1.sqrt());
    let mut here = gradient(likelihood, y, a, nu, alpha, sigma);
    for _ in 0..MAX_NEWTON {
        // ν·∇²J, with dE/dσ = σ·d²E/da².
        let (third, fourth) = (here.at.third, here.at.fourth);
        let aa = 1.0 + nu * here.at.curvature;
        let as_ = -nu * sigma * third;
        let ss = aa - nu * sigma * sigma * fourth + nu / (sigma * sigma);
        let determinant = aa * ss - as_ * as_;
        if !(determinant > 0.0 && aa > 0.0) {
            return None;
        }
        let mut d_alpha = -(ss * here.alpha - as_ * here.sigma) / determinant;
        let mut d_sigma = -(aa * here.sigma - as_ * here.alpha) / determinant;
        let converged = d_alpha.abs() <= 1e-9 * (alpha.abs() + sigma) && d_sigma.abs() <= 1e-9 * sigma;
        let at_rounding = here.alpha.abs() <= 4.0 * f64::EPSILON * here.scale_alpha
            && here.sigma.abs() <= 4.0 * f64::EPSILON * here.scale_sigma;
        if at_rounding {
            return Some(here.finish(a, nu, alpha));
        }
        if converged && let Some(at) = here.beside(sigma, d_alpha, d_sigma) {
            return Some(root(a, nu, alpha + d_alpha, at));
        }
        // σ stays positive: at most a factor of 4 down at a time.
        let limit = -0.75 * sigma;
        if d_sigma < limit {
            let shrink = limit / d_sigma;
            d_alpha *= shrink;
            d_sigma *= shrink;
        }
        let mut next = gradient(likelihood, y, a, nu, alpha + d_alpha, sigma + d_sigma);
        if converged {
            return Some(next.finish(a, nu, alpha + d_alpha));
        }
        // Newton's direction lowers the gradient's norm for short enough steps.
        let mut halvings = 0;
        while next.merit() >= here.merit() || next.merit().is_nan() {
            if halvings == MAX_HALVINGS {
                return None;
            }
            halvings += 1;
            d_alpha *= 0.5;
            d_sigma *= 0.5;
            next = gradient(likelihood, y, a, nu, alpha + d_alpha, sigma + d_sigma);
        }
        alpha += d_alpha;
        sigma += d_sigma;
        here = next;
    }
    None
}

/// Bisection in `σ` on the slope of `min_α J(α, σ)`, increasing for a convex `J`.
fn bracketed<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
    start: f64,
) -> Result<ImplicitRoot, Error> {
    let lost = Error::RootNotFound { mean: a, variance: nu, label: y };
    let (mut low, mut high) = (0.0, nu.sqrt());
    let mut sigma = high;
    let mut alpha = start;
    // σ ≤ √ν because h ≥ 0; find a lower end by halving, then bisect on a logarithmic scale.
    for _ in 0..MAX_BISECTIONS {
        let at = profile(likelihood, y, a, nu, alpha, sigma).ok_or(lost.clone())?;
        alpha = at.0;
        let slope = at.1.sigma;
        if slope > 0.0 {
            high = sigma;
        } else {
            low = sigma;
        }
        let narrow = high - low <= 4.0 * f64::EPSILON * high;
        if narrow || slope.abs() <= 4.0 * f64::EPSILON * at.1.scale_sigma {
            return Ok(at.1.finish(a, nu, alpha));
        }
        sigma = if low == 0.0 { 0.5 * high } else { (low * high).sqrt() };
    }
    Err(lost)
}

/// `argmin_α J(α, σ)`: Newton on the increasing `α − a − νE∂`, kept in a bracket.
fn profile<L: GaussianExpectation>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
    start: f64,
    sigma: f64,
) -> Option<(f64, Gradient)> {
    let mut alpha = start;
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut last_step = f64::INFINITY;
    for _ in 0..MAX_BISECTIONS {
        let here = gradient(likelihood, y, a, nu, alpha, sigma);
        if here.alpha > 0.0 {
            high = alpha;
        } else {
            low = alpha;
        }
        let newton = -here.alpha / (1.0 + nu * here.at.curvature);
        let bisection = 0.5 * (low + high) - alpha;
        let inside = alpha + newton >= low && alpha + newton <= high;
        // Inside a bracket a step must halve the last one, or two steps may cycle.
        let step =
            if inside && (newton.abs() <= 0.5 * last_step || !bisection.is_finite()) { newton } else { bisection };
        if !step.is_finite() {
            return None;
        }
        last_step = step.abs();
        if step.abs() <= 4.0 * f64::EPSILON * alpha.abs().max(sigma) {
            return Some((alpha, here));
        }
        alpha += step;
    }
    None
}

//! The implicit step of a likelihood that is not log-concave: of several roots the one with the lowest objective.

use super::log_concave::{log_concave_root_from, newton};
use super::{ImplicitRoot, check_variance};
use crate::Error;
use crate::likelihood::GaussianExpectation;
use crate::quadrature::modes;

const MAX_DESCENTS: usize = 100;
const MAX_HALVINGS: usize = 30;

/// Finds the root of `α = a + ν·E∂`, `ν* = ν/(1+νh)` at which `J` of the [module](super) is lowest, among those reached by
/// descent from the old belief, from the tilted density's mean and variance, and from a Gaussian at each of its modes.
///
/// There `h` may be negative, but `ν* > 0` always. With one basin of attraction the result is exact; with several it is the best
/// of those that the search tries.
///
/// # Errors
/// [`Error::NegativeVariance`]; [`Error::RootNotFound`] when no descent ends in a root.
pub fn lowest_root<L: GaussianExpectation>(likelihood: &L, y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
    check_variance(nu)?;
    if nu == 0.0 {
        return log_concave_root_from(likelihood, y, a, nu, (a, 0.0));
    }
    let mut starts = vec![(a, nu.sqrt())];
    if let Ok(tilted) = likelihood.tilted(y, a, nu) {
        starts.push((a + nu * tilted.slope, tilted.variance.sqrt()));
    }
    if let Ok(modes) = modes(likelihood, y, a, nu) {
        starts.extend(modes.iter().map(|mode| (a + mode.offset, mode.scale)));
    }
    let objective = Objective { likelihood, y, a, nu };
    let mut best: Option<(f64, ImplicitRoot)> = None;
    for start in starts {
        let (alpha, sigma) = objective.descend(start);
        let Some(root) = newton(likelihood, y, a, nu, (alpha, sigma * sigma)) else { continue };
        let value = objective.value(root.alpha, root.nu.sqrt());
        if value.is_finite() && best.is_none_or(|(least, _)| value < least) {
            best = Some((value, root));
        }
    }
    best.map(|(_, root)| root).ok_or(Error::RootNotFound { mean: a, variance: nu, label: y })
}

struct Objective<'a, L> {
    likelihood: &'a L,
    y: f64,
    a: f64,
    nu: f64,
}

impl<L: GaussianExpectation> Objective<'_, L> {
    /// `J(α, σ)`.
    fn value(&self, alpha: f64, sigma: f64) -> f64 {
        let shift = alpha - self.a;
        0.5 * (shift * shift + sigma * sigma) / self.nu
            - sigma.ln()
            - self.likelihood.expected_log_density(self.y, alpha, sigma * sigma)
    }

    /// Newton's method with the Hessian made positive definite, every step lowering `J`, until steps are small.
    fn descend(&self, (mut alpha, mut sigma): (f64, f64)) -> (f64, f64) {
        let mut here = self.value(alpha, sigma);
        for _ in 0..MAX_DESCENTS {
            let Some((d_alpha, d_sigma)) = self.direction(alpha, sigma) else { break };
            let mut length = 1.0;
            let mut next = self.value(alpha + d_alpha, sigma + d_sigma);
            let mut halvings = 0;
            while (next > here || next.is_nan()) && halvings < MAX_HALVINGS {
                halvings += 1;
                length *= 0.5;
                next = self.value(alpha + length * d_alpha, sigma + length * d_sigma);
            }
            if halvings == MAX_HALVINGS {
                break;
            }
            alpha += length * d_alpha;
            sigma += length * d_sigma;
            here = next;
            if d_alpha.abs() <= 1e-6 * sigma && d_sigma.abs() <= 1e-6 * sigma {
                break;
            }
        }
        (alpha, sigma)
    }

    /// A descent direction in which `σ` changes by at most a factor of 4.
    fn direction(&self, alpha: f64, sigma: f64) -> Option<(f64, f64)> {
        let nu = self.nu;
        let at = self.likelihood.expected(self.y, alpha, sigma * sigma);
        // ν·∇J and ν·∇²J, as for a log-concave likelihood.
        let (g_alpha, g_sigma) = (alpha - self.a - nu * at.slope, sigma * (1.0 + nu * at.curvature) - nu / sigma);
        let aa = 1.0 + nu * at.curvature;
        let as_ = -nu * sigma * at.third;
        let ss = aa - nu * sigma * sigma * at.fourth + nu / (sigma * sigma);
        let half_gap = 0.5 * (aa - ss);
        let radius = half_gap.hypot(as_);
        let least = 0.5 * (aa + ss) - radius;
        let floor = 0.1 * (0.5 * (aa + ss).abs() + radius);
        let lift = (floor - least).max(0.0) * f64::from(u8::from(least < 1e-3 * floor));
        let (aa, ss) = (aa + lift, ss + lift);
        let determinant = aa * ss - as_ * as_;
        let d_alpha = -(ss * g_alpha - as_ * g_sigma) / determinant;
        let d_sigma = -(aa * g_sigma - as_ * g_alpha) / determinant;
        if !(d_alpha.is_finite() && d_sigma.is_finite()) {
            return None;
        }
        let shrink = if d_sigma < -0.75 * sigma {
            -0.75 * sigma / d_sigma
        } else if d_sigma > 3.0 * sigma {
            3.0 * sigma / d_sigma
        } else {
            1.0
        };
        Some((shrink * d_alpha, shrink * d_sigma))
    }
}

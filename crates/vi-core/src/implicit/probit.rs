//! The implicit step of logistic regression with the papers' expectations (R-VGA eqs 64-72).

use super::{ImplicitRoot, check_variance};
use crate::expectation::BETA;
use crate::{Error, Site};

/// The number of iterations after which the search fails; bisection alone ends in about 60.
const MAX_ITERATIONS: usize = 200;
/// The largest `|a|` and `ν` accepted: beyond, products of three overflow.
const LARGEST: f64 = 1e100;

/// Finds the root of R-VGA's eqs (69)-(70): `α = a + ν(y − s(kα))`, `ν* = ν/(1 + ν·k·s′(kα))`, `k = β/√(ν*+β²)`.
///
/// This is one scalar equation. Given `z = kα`, with `c = s′(z)`, `B = νβc`, the variance's equation is the cubic `(w²−β²)(w+B) =
/// νw` in `w = √(ν*+β²)`, with one root on the domain; the remaining equation, `F(z) = z·w(z) − β(a + ν·s(−z)) = 0` (for `y = 1`,
/// the other label by symmetry), changes sign once. Newton's method on `F` is kept inside a shrinking bracket, with one
/// exponential an iteration. `α` and `ν*` are accurate to about 1e-15 relative to `max(|α|, √ν*)`, the gain and curvature to
/// about `ε·(1+|z|)`.
///
/// # Errors
/// [`Error::NegativeVariance`]; [`Error::RootNotFound`] for `|a|` or `ν` beyond 1e100 or NaN, or if the search does not converge
/// (never seen within these bounds).
///
/// ```
/// let root = vi_core::implicit::probit_root(1.0, -1e4, 1e6)?;
/// assert!((root.alpha - 177.86).abs() < 0.01);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn probit_root(y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
    // Newton's method squares the error, so a step of 1e-8 is the last.
    search(y, a, nu, 1e-8)
}

/// [`probit_root`] to about 1e-4 in `z`, as a start for a search with other expectations.
///
/// # Errors
/// As [`probit_root`].
pub(crate) fn probit_guess(y: f64, a: f64, nu: f64) -> Result<ImplicitRoot, Error> {
    search(y, a, nu, 1e-2)
}

/// The root after the first step in `z` that is no longer than `last`.
fn search(y: f64, a: f64, nu: f64, last: f64) -> Result<ImplicitRoot, Error> {
    check_variance(nu)?;
    let sign = if y > 0.5 { 1.0 } else { -1.0 };
    let lost = Error::RootNotFound { mean: a, variance: nu, label: y };
    if !(nu <= LARGEST && a.abs() <= LARGEST) {
        return Err(lost);
    }
    // For y = 1: α = a + ν·s(−z), equally α = b − ν·s(z).
    let a = sign * a;
    let b = a + nu;
    let w_max = (nu + BETA * BETA).sqrt();

    // The domain (71)-(72): α between a and b, w between β and w_max.
    let mut low = BETA * a / if a < 0.0 { BETA } else { w_max };
    let mut high = BETA * b / if b < 0.0 { w_max } else { BETA };

    if nu > 100.0 {
        // Half of zw = β(a + ν·s(−z)) comes from a, so z ≤ 2a, or from the tail, so z ≤ 1 or z·e^z ≤ 2ν; mirrored below.
        let reach = (2.0 * nu).ln().max(1.0);
        high = high.min(reach.max(2.0 * a));
        low = low.max(-reach.max(-2.0 * b));
    }

    let (z, mut w) = start(a, nu, w_max);
    let mut z = z.clamp(low, high);
    let mut last_step = f64::INFINITY;
    for _ in 0..MAX_ITERATIONS {
        let e = (-z.abs()).exp();
        let (below, above) = if z >= 0.0 { (e, 1.0) } else { (1.0, e) };
        let c = e / ((1.0 + e) * (1.0 + e)); // s′(z)
        let bend = nu * BETA * c;
        w = positive_root(w, bend, nu, w_max);
        // dw/dz by the cubic's implicit derivative; s″ = s′·(s(−z) − s(z)).
        let skew = (below - above) / (1.0 + e);
        let w_slope = -(w * w - BETA * BETA) * bend * skew / cubic_slope(w, bend);

        // Both forms of the mean's equation, times β: the tail that z requires, and the tail that there is.
        let (needed, tail) = if z >= 0.0 { (z * w - BETA * a, below) } else { (BETA * b - z * w, above) };
        let offered = BETA * nu * tail / (1.0 + e);
        let too_high = if z >= 0.0 { needed > offered } else { needed < offered };
        if too_high {
            high = z;
        } else {
            low = z;
        }
        let slope = w + z * w_slope;
        let toward = if z >= 0.0 { 1.0 } else { -1.0 };
        let newton = if needed > slope.max(0.5 * z.abs() * w) {
            // The tail falls like e^(−|z|): its logarithm is nearly straight, and so is that of what is required, unless the
            // search starts near 0, where the step of the logarithm is a fraction of |z| however far the root.
            toward * (offered / needed).ln() / (slope / needed + 1.0 / (1.0 + e))
        } else {
            toward * (offered - needed) / (slope + BETA * nu * c)
        };
        // Newton's error is squared by the step just taken; two steps that do not shrink may cycle.
        let inside = z + newton >= low && z + newton <= high && newton.abs() <= 0.5 * last_step;
        let step = if inside { newton } else { 0.5 * (low + high) - z };
        let rounding = 4.0 * f64::EPSILON * z.abs();
        if step.abs() <= rounding.max(last) && inside || high - low <= rounding {
            return Ok(finish(sign, a, b, nu, z + step, w + w_slope * step));
        }
        last_step = step.abs();
        z += step;
        w = (w + w_slope * step).clamp(BETA, w_max);
    }
    Err(lost)
}

/// A first `z`: the explicit step if the prior is moderate, the balance of `ν·s(−z)` with what `α` lacks if the label contradicts
/// a vague prior; and `w` at the explicit step's variance.
fn start(a: f64, nu: f64, w_max: f64) -> (f64, f64) {
    let k = BETA / w_max;
    let z = k * a;
    let e = (-z.abs()).exp();
    let residual = if z >= 0.0 { e } else { 1.0 } / (1.0 + e);
    let c = k * e / ((1.0 + e) * (1.0 + e));
    let shrunk = nu / (1.0 + nu * c);
    (k * (a + shrunk * residual), (shrunk + BETA * BETA).sqrt())
}

/// `∂/∂w` of `(w²−β²)(w+B) − νw` at its root, where `ν` can be eliminated: always positive.
fn cubic_slope(w: f64, b: f64) -> f64 {
    2.0 * w * w + b * w + BETA * BETA * b / w
}

/// The root `w ≥ β` of `(w²−β²)(w+B) = νw` by Newton; the cubic is convex there. Starts at `near`, or at an upper bound of the
/// root where `near` is left of the cubic's minimum.
fn positive_root(near: f64, b: f64, nu: f64, w_max: f64) -> f64 {
    let mut w = near;
    for _ in 0..MAX_ITERATIONS {
        let excess = w * w - BETA * BETA;
        let f = excess * (w + b) - nu * w;
        let slope = 2.0 * w * (w + b) + excess - nu;
        // (w−β)(w+β) = νw/(w+B) ≤ νw/B, so w ≤ β + ν/B.
        let next = if slope > 0.0 { w - f / slope } else { w_max.min(BETA + nu / b) };
        let next = next.max(BETA);
        // The error is squared and grows by less than 2.
        if (next - w).abs() <= 1e-8 * next {
            return next;
        }
        w = next;
    }
    w
}

/// `(α, ν*, e, h)` from `z` and `w`, each by the form that does not cancel.
fn finish(sign: f64, a: f64, b: f64, nu: f64, z: f64, w: f64) -> ImplicitRoot {
    let e = (-z.abs()).exp();
    let (below, above) = if z >= 0.0 { (e, 1.0) } else { (1.0, e) };
    let residual = below / (1.0 + e);
    let curvature = BETA / w * e / ((1.0 + e) * (1.0 + e));
    // a + ν·s(−z) passes an error of z on with factor ν·h, z/k with factor 1.
    let alpha = if nu * curvature > 1.0 {
        z * w / BETA
    } else if z >= 0.0 {
        a + nu * residual
    } else {
        b - nu * (above / (1.0 + e))
    };
    ImplicitRoot { alpha: sign * alpha, nu: nu / (1.0 + nu * curvature), gain: sign * residual, curvature }
}

impl ImplicitRoot {
    /// The site that takes a belief with projected variance `variance` to this root.
    pub(crate) fn site(&self, variance: f64) -> Site {
        Site { slope: self.gain * (1.0 + self.curvature * variance), curvature: self.curvature }
    }
}

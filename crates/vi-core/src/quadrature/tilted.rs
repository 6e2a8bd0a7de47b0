//! The tilted density `p(y|t)·N(t|a, ν)/Z`: its normaliser, mean and variance.

use super::modes::{Mode, modes};
use super::panel::{Budget, Room, bisect, kronrod};
use super::{NOTHING, TOLERANCE, check_gaussian, trapezoid};
use crate::Error;
use crate::likelihood::{Likelihood, Tilted};
use crate::special::HALF_LN_2PI;

/// A panel's share of the tolerance.
const SHARE: f64 = TOLERANCE / 64.0;
/// What is left outside the panels, relative to `Z`.
const OUTSIDE: f64 = 1e-18;
/// Panels double in width from the mode outwards, at most this often.
const MOST_DOUBLINGS: usize = 200;
/// How large the spacing of floats at the density's mode may be relative to its width: beyond, `t` no longer distinguishes the
/// density's points.
const UNRESOLVED: f64 = 1e-3;

/// The log normaliser `log Z(a, ν) = log ∫p(y|t)·N(t|a, ν) dt` and the moments of the tilted density, for any `ν ≥ 0`.
///
/// A log-concave likelihood has one mode, and a rule of equal steps about it converges geometrically: 32 points in steps of half
/// the mode's width are accurate to 1e-12 if every second of them agrees to 1e-6. If not, and for several modes, panels start at
/// each mode with the mode's own width and double outwards, each halved until it is accurate. All is computed in logarithms
/// relative to the highest mode, so tails are as accurate as the centre. With `δ` the distance from the mode,
///
/// ```text
/// ℓ′ = E∂ = (E t − a)/ν      ℓ″ = Cov(∂, t)/ν = (Var t − ν)/ν²      h = −ℓ″/(1+νℓ″) = −Cov(∂, t)/Var t
/// ```
///
/// under the tilted density, so nothing cancels for small `ν` nor for large. At most
/// [`MOST_EVALUATIONS`](super::MOST_EVALUATIONS) and the search for modes.
///
/// # Errors
/// [`Error::NonFinite`] or [`Error::NegativeVariance`] for the arguments; [`Error::ImproperSite`] when there is no mode;
/// [`Error::Quadrature`] when [`TOLERANCE`] is not reached, or the density is narrower than a thousand spacings of floats at its
/// mode; [`Error::Overflow`] for a moment that is not finite.
///
/// ```
/// use vi_core::{GaussianLikelihood, quadrature};
/// let tilted = quadrature::tilted(&GaussianLikelihood::new(0.5)?, 3.0, 1.0, 2.0)?;
/// assert!((tilted.variance - 0.4).abs() < 1e-12 && (tilted.curvature - 2.0).abs() < 1e-11);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn tilted<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, nu: f64) -> Result<Tilted, Error> {
    check_gaussian(a, nu)?;
    if nu == 0.0 {
        let [log_normaliser, slope, curvature] = likelihood.derivatives(y, a);
        return Tilted { log_normaliser, slope, curvature, variance: 0.0 }.checked();
    }
    let modes = modes(likelihood, y, a, nu)?;
    let height = |mode: &Mode| likelihood.log_density(y, a + mode.offset) - 0.5 * mode.offset * mode.offset / nu;
    let highest = modes.iter().copied().max_by(|p, q| height(p).total_cmp(&height(q)));
    let Some(centre) = highest else {
        return Err(Error::ImproperSite { slope: f64::NAN, curvature: f64::NAN, variance: nu });
    };
    let at = a + centre.offset;
    let spacing = f64::EPSILON * at.abs();
    if spacing > UNRESOLVED * centre.scale {
        return Err(lost(a, nu, spacing / centre.scale));
    }
    if let [mode] = modes[..]
        && let Some(sums) = trapezoid::sums(likelihood, y, (a, nu), mode)
    {
        let found = sums.tilted(nu, mode, likelihood.log_density(y, at), likelihood.slope(y, at));
        if let Ok(found) = found.checked() {
            return Ok(found);
        }
    }
    let mut tilt = Tilt {
        log_density: |t: f64| likelihood.log_density(y, t),
        slope: |t: f64| likelihood.slope(y, t),
        a,
        nu,
        centre,
        top: likelihood.log_density(y, a + centre.offset),
        middle: likelihood.slope(y, a + centre.offset),
        sums: [0.0; 5],
        size: [0.0; 5],
        error: [0.0; 5],
        complete: true,
        budget: Budget::new(),
    };
    for (i, mode) in modes.iter().enumerate() {
        let to_left = if i > 0 { 0.5 * (mode.offset - modes[i - 1].offset) } else { f64::INFINITY };
        let to_right = modes.get(i + 1).map_or(f64::INFINITY, |next| 0.5 * (next.offset - mode.offset));
        tilt.side(*mode, -1.0, to_left);
        tilt.side(*mode, 1.0, to_right);
    }
    tilt.finish()
}

/// Sums over the tilted density, in units of the highest mode: `u = (t − a − offset)/scale`.
struct Tilt<F, S> {
    log_density: F,
    slope: S,
    a: f64,
    nu: f64,
    centre: Mode,
    /// `log p` at the highest mode.
    top: f64,
    /// `∂` there.
    middle: f64,
    /// `∫` of `e`, `e·u`, `e·u²`, `e·d`, `e·d·u`, with `d = ∂ − middle`.
    sums: [f64; 5],
    size: [f64; 5],
    error: [f64; 5],
    complete: bool,
    budget: Budget,
}

/// `∫` of `e`, `e·u`, `e·u²`, `e·d`, `e·d·u` over the tilted density `e` relative to its mode, `u = δ/scale`, `d` the change of `∂`.
#[derive(Clone, Copy)]
pub(super) struct Sums(pub(super) [f64; 5]);

impl Sums {
    /// The moments, with `log p` and `∂` at the mode.
    pub(super) fn tilted(self, nu: f64, centre: Mode, top: f64, middle: f64) -> Tilted {
        let Mode { offset, scale } = centre;
        let [mass, u, u2, d, du] = self.0;
        let (mean, mean_slope) = (u / mass, d / mass);
        let spread = u2 / mass - mean * mean;
        let covariance = du / mass - mean * mean_slope;
        let variance = spread * scale * scale;
        let shift = offset + mean * scale;
        Tilted {
            log_normaliser: top - 0.5 * offset * (offset / nu) + mass.ln() + (scale / nu.sqrt()).ln() - HALF_LN_2PI,
            // For a narrow likelihood its steep slopes would cancel, for a wide one the shifts would.
            slope: if variance < 0.5 * nu { shift / nu } else { middle + mean_slope },
            curvature: -covariance / (spread * scale),
            variance,
        }
    }
}

impl<F: Fn(f64) -> f64, S: Fn(f64) -> f64> Tilt<F, S> {
    /// The tilted density's logarithm at a distance `delta` from `mode`, relative to the highest.
    fn exponent(&self, mode: Mode, delta: f64) -> f64 {
        // −½((offset+δ)² − centre²)/ν without a difference of squares.
        let from_centre = mode.offset - self.centre.offset + delta;
        let prior = (self.centre.offset + 0.5 * from_centre) * from_centre / self.nu;
        (self.log_density)(self.a + mode.offset + delta) - self.top - prior
    }

    /// Adds one side of a mode, up to a distance `limit`.
    fn side(&mut self, mode: Mode, sign: f64, limit: f64) {
        let mut near = 0.0;
        let mut width = 2.0 * mode.scale;
        for _ in 0..MOST_DOUBLINGS {
            let far = (near + width).min(limit);
            self.stretch(mode, sign, near, far);
            // What may lie beyond: at most as high as the edge, and as wide as the edge is far or the Gaussian wide.
            let extent = (mode.offset + sign * far).abs().max(10.0 * self.nu.sqrt());
            let beyond = self.exponent(mode, sign * far).exp() * extent / self.centre.scale;
            if far >= limit || beyond <= OUTSIDE * self.size[0] {
                return;
            }
            if self.budget.is_spent() {
                break;
            }
            near = far;
            width *= 2.0;
        }
        self.complete = false;
    }

    /// Adds the distances `[near, far]` from `mode`, nearest panels first, so that small contributions are measured against large
    /// ones.
    fn stretch(&mut self, mode: Mode, sign: f64, near: f64, far: f64) {
        let scale = self.centre.scale;
        let shift = mode.offset - self.centre.offset;
        let narrowest = 1e-13 * scale.min(mode.scale).max(far);
        let mut budget = std::mem::replace(&mut self.budget, Budget::new());
        bisect(near, far, narrowest, &mut budget, |near, far, room| {
            let panel = kronrod::<6, 5>(near / scale, far / scale, |x| {
                let delta = sign * x * scale;
                let u = shift / scale + sign * x;
                let e = self.exponent(mode, delta).exp();
                let slope = (self.slope)(self.a + mode.offset + delta);
                let d = slope - self.middle;
                let climb = sign * (slope - (mode.offset + delta) / self.nu) * scale;
                [e, e * u, e * u * u, e * d, e * d * u, e * climb]
            });
            let noise = self.noise(mode, &panel.size);
            let allowed = |i: usize| 0.5 * TOLERANCE * panel.size[i] + SHARE * self.size[i] + NOTHING;
            let good = |i: usize| panel.error[i] <= allowed(i).max(noise[i]);
            // What the nodes have missed: the change of e less the integral of its derivative.
            let ends = [near, far].map(|distance| self.exponent(mode, sign * distance).exp());
            let missed = (ends[1] - ends[0] - panel.value[5]).abs();
            let missed_mass = missed * (far - near) / scale;
            let seen = missed_mass <= allowed(0)
                || missed <= noise[5] + noise[0] / panel.size[0].max(NOTHING) * (ends[0] + ends[1]);
            let settled = (0..5).all(good) && seen;
            if settled || room != Room::Halve {
                for i in 0..5 {
                    self.sums[i] += panel.value[i];
                    self.size[i] += panel.size[i];
                    self.error[i] += (panel.error[i] - noise[i]).max(0.0);
                }
                self.error[0] += if seen { 0.0 } else { missed_mass };
            }
            settled
        });
        self.budget = budget;
    }

    /// Rounding of sums with these integrals of absolute values: of the exponent, of `t`, and of `d` as a difference.
    fn noise(&self, mode: Mode, size: &[f64; 6]) -> [f64; 6] {
        let scale = self.centre.scale.min(mode.scale);
        let reach = (self.a + mode.offset).abs();
        let exponent = f64::EPSILON * (50.0 + 8.0 * (self.top.abs() + reach * (self.middle.abs() + 1.0 / scale)));
        let slope = 8.0 * f64::EPSILON * (self.middle.abs() + reach / (scale * scale));
        let beyond = slope * (size[0] + size[2]);
        [0, 1, 2, 3, 4, 5].map(|i| exponent * size[i] + if i > 2 { beyond } else { 0.0 })
    }

    fn finish(&self) -> Result<Tilted, Error> {
        let (a, nu) = (self.a, self.nu);
        let relative = (0..5).map(|i| if self.error[i] > NOTHING { self.error[i] / self.size[i] } else { 0.0 });
        let worst = relative.fold(0.0, f64::max);
        let finite = self.complete && self.sums.iter().all(|sum| sum.is_finite()) && self.sums[0] > 0.0;
        if !finite || worst > TOLERANCE || worst.is_nan() {
            let relative_error = if finite { worst } else { f64::INFINITY };
            return Err(lost(a, nu, relative_error));
        }
        Sums(self.sums).tilted(nu, self.centre, self.top, self.middle).checked()
    }
}

fn lost(mean: f64, variance: f64, relative_error: f64) -> Error {
    Error::Quadrature { quantity: "the tilted density", mean, variance, relative_error }
}

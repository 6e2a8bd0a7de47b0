//! `E[log p(y|t)]` and its derivatives under `t ~ N(a, ν)`.

use super::panel::{Budget, Room, bisect, kronrod};
use super::{NOTHING, TOLERANCE, check_gaussian, local};
use crate::Error;
use crate::likelihood::{Expected, Likelihood};
use crate::special::normal_density;

/// Spacing of the trapezoid rule in standard deviations: its error on a Gaussian times a polynomial is `e^(−2π²/s²)`, 5e-21.
const SPACING: f64 = 0.65;
/// Points on either side: the Gaussian ends at 9.1 standard deviations.
const POINTS: i32 = 14;
/// The most halvings: 29, 57, 113, 225, 449 points.
const LEVELS: usize = 4;
/// If a halving leaves more than this share of the last change, convergence is not geometric.
const HOPELESS: f64 = 0.1;
/// The width of a panel before halving, in standard deviations.
const PANEL: f64 = 3.0;
/// How many panels on either side are always taken.
const ALWAYS: i32 = 3;
/// The most panels on either side: `e^(−36²/2)` is near the smallest float.
const MOST: i32 = 12;
/// A panel's share of the tolerance.
const SHARE: f64 = TOLERANCE / 64.0;
/// The error, relative to the integral of absolute values, below which a panel's sums are all rounding.
const ROUNDING: f64 = 50.0 * f64::EPSILON;

/// `E[log p(y|t)]` and its first four derivatives by `a`, `t ~ N(a, ν)`, for any `ν ≥ 0`.
///
/// The trapezoid rule with doubled points is taken if it converges, which it does geometrically when `σ = √ν` is not large
/// against the likelihood's own scale. Otherwise panels are halved until every one is accurate, and until the change of the slope
/// across a panel agrees with its curvature, so that structure too narrow for any node is still found. A kink of `log p` counts
/// as the jump of its slope. The third and fourth derivatives follow from the curvature by Stein's lemma, `E∂³ = E[∂²·ε]/σ`, `E∂⁴
/// = E[∂²(ε²−1)]/σ²`, and from local differences if `σ` is too small for that.
///
/// # Errors
/// [`Error::NonFinite`] or [`Error::NegativeVariance`] for the arguments; [`Error::Quadrature`] when [`TOLERANCE`] is not
/// reached.
///
/// ```
/// use vi_core::{BernoulliLogit, Exact, GaussianExpectation, quadrature};
/// let logit = BernoulliLogit(Exact);
/// let by_panels = quadrature::expected(&logit, 1.0, -2.0, 1e6)?;
/// assert!((by_panels.slope / logit.expected(1.0, -2.0, 1e6).slope - 1.0).abs() < 1e-12);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn expected<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, nu: f64) -> Result<Expected, Error> {
    check_gaussian(a, nu)?;
    let sigma = nu.sqrt();
    let [value, slope, curvature, by_third, by_fourth] = sums(likelihood, y, a, sigma)?;
    let flat = by_third.abs() + by_fourth.abs() <= local::FLAT * curvature.abs();
    let (third, fourth) = if flat && local::is_flat(likelihood, y, a, sigma) {
        local::derivatives(likelihood, y, a)
    } else {
        (-by_third / sigma, -by_fourth / nu)
    };
    Ok(Expected { value, slope, curvature, third, fourth })
}

/// The expected slope and curvature `(E[∂ log p], −E[∂² log p])`, as in [`expected`], without the higher derivatives.
///
/// # Errors
/// As [`expected`].
pub(crate) fn expected_slope_curvature<L: Likelihood + ?Sized>(
    likelihood: &L,
    y: f64,
    a: f64,
    nu: f64,
) -> Result<(f64, f64), Error> {
    check_gaussian(a, nu)?;
    let [_, slope, curvature, ..] = sums(likelihood, y, a, nu.sqrt())?;
    Ok((slope, curvature))
}

/// `E` of `log p`, `∂`, `c = −∂²`, `c·ε`, `c·(ε²−1)`.
type Sums = [f64; 5];

fn sums<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, sigma: f64) -> Result<Sums, Error> {
    let point = |x: f64| {
        let t = a + sigma * x;
        likelihood.derivatives(y, t)
    };
    if sigma == 0.0 {
        let [value, slope, curvature] = point(0.0);
        return Ok([value, slope, curvature, 0.0, 0.0]);
    }
    let floor = match trapezoid(&point, a, sigma) {
        Ok(sums) => return Ok(sums),
        Err(crude) => crude.floor(sigma),
    };
    // A floor that was too high shows in the relative error.
    panels(&point, a, sigma, floor).or_else(|_| panels(&point, a, sigma, [0.0; 3]))
}

/// Sums at the points of one trapezoid rule.
#[derive(Clone, Copy, Default)]
struct Trapezoid {
    sums: Sums,
    size: [f64; 3],
    /// `E[log p·ε]` and `E[∂·ε]`.
    stein: [f64; 2],
    /// `E|log p·ε|` and `E|∂·ε|`.
    stein_size: [f64; 2],
    /// Largest term at either end.
    edge: [f64; 3],
}

impl Trapezoid {
    /// The rule with points at `(k + offset)·spacing`, `|k| ≤ reach`.
    fn new(point: &impl Fn(f64) -> [f64; 3], spacing: f64, offset: f64, reach: i32) -> Self {
        let mut rule = Self::default();
        for k in -reach..=reach {
            let x = (f64::from(k) + offset) * spacing;
            let at = point(x);
            let weight = spacing * normal_density(x);
            for i in 0..3 {
                rule.sums[i] += weight * at[i];
                rule.size[i] += weight * at[i].abs();
                if k.abs() == reach {
                    rule.edge[i] = rule.edge[i].max(weight * at[i].abs());
                }
            }
            rule.sums[3] += weight * at[2] * x;
            rule.sums[4] += weight * at[2] * (x * x - 1.0);
            for i in 0..2 {
                rule.stein[i] += weight * at[i] * x;
                rule.stein_size[i] += weight * (at[i] * x).abs();
            }
        }
        rule
    }

    /// The rule at half the spacing, from that at the points between.
    fn merge(self, between: Self) -> Self {
        let mean = |p: f64, q: f64| 0.5 * (p + q);
        Self {
            sums: [0, 1, 2, 3, 4].map(|i| mean(self.sums[i], between.sums[i])),
            size: [0, 1, 2].map(|i| mean(self.size[i], between.size[i])),
            stein: [0, 1].map(|i| mean(self.stein[i], between.stein[i])),
            stein_size: [0, 1].map(|i| mean(self.stein_size[i], between.stein_size[i])),
            edge: [0, 1, 2].map(|i| self.edge[i].max(between.edge[i])),
        }
    }

    /// Whether Stein's lemma holds, `E[log p·ε] = σ·E∂` and `E[∂·ε] = −σ·E[c]`: structure too narrow for the points on the right
    /// side is still a step on the left.
    fn is_consistent(&self, a: f64, sigma: f64) -> bool {
        (0..2).all(|i| {
            let sum = if i == 0 { -self.sums[1] } else { self.sums[2] };
            let rounding = 8.0 * f64::EPSILON * (self.stein_size[i] + a.abs() * self.size[i + 1]);
            (self.stein[i] + sigma * sum).abs() <= TOLERANCE * sigma * self.size[i + 1] + rounding
        })
    }

    /// About a tenth of what the integrals of absolute values will be. A narrow peak of `c` counts by the step that it makes in
    /// `∂`.
    fn floor(&self, sigma: f64) -> [f64; 3] {
        [self.size[0], self.size[1], self.stein[1].abs() / sigma]
            .map(|size| if size.is_finite() { 0.1 * size } else { 0.0 })
    }
}

/// The trapezoid rule, its spacing halved until two agree and Stein's lemma holds; the last rule as an error if that takes too
/// many points.
///
/// On an analytic integrand halving squares the error: two that agree to 1e-8, after two that were further apart by as much as
/// that says, are good to 1e-16.
fn trapezoid(point: &impl Fn(f64) -> [f64; 3], a: f64, sigma: f64) -> Result<Sums, Trapezoid> {
    let mut rule = Trapezoid::new(point, SPACING, 0.0, POINTS);
    let mut last = f64::INFINITY;
    for level in 0..LEVELS {
        let (spacing, reach) = (SPACING / f64::from(1 << level), POINTS << level);
        let fine = rule.merge(Trapezoid::new(point, spacing, 0.5, reach));
        if !fine.sums.iter().all(|sum| sum.is_finite()) || (0..3).any(|i| fine.edge[i] > SHARE * fine.size[i]) {
            return Err(fine);
        }
        let noise = noise(fine.size, a.abs(), sigma);
        let change = |i: usize| ((fine.sums[i] - rule.sums[i]).abs() - noise[i]).max(0.0) / fine.size[i].max(NOTHING);
        let worst = (0..3).map(change).fold(0.0, f64::max);
        let geometric = last.is_finite() && worst <= 1e-8 && worst <= 10.0 * last * last;
        if fine.is_consistent(a, sigma) && (worst <= TOLERANCE || geometric) {
            return Ok(fine.sums);
        }
        if worst > last.min(1.0) * HOPELESS {
            return Err(fine);
        }
        last = worst;
        rule = fine;
    }
    Err(rule)
}

/// The rounding error of the sums of `log p`, `∂`, `c` with these integrals of absolute values: their own, and that of `t` up to
/// `reach`, if `c` varies over no less than `width`.
fn noise(size: [f64; 3], reach: f64, width: f64) -> [f64; 3] {
    let shift = 8.0 * f64::EPSILON * reach;
    [
        ROUNDING * size[0] + shift * size[1],
        ROUNDING * size[1] + shift * size[2],
        ROUNDING * size[2] + shift * size[2] / width,
    ]
}

/// Running sums of the accepted panels.
#[derive(Default)]
struct Totals {
    sums: Sums,
    size: [f64; 3],
    error: [f64; 3],
    /// What the sizes are known to reach.
    floor: [f64; 3],
    /// Whether the last stretch added anything that counts.
    counts: bool,
}

fn panels(point: &impl Fn(f64) -> [f64; 3], a: f64, sigma: f64, floor: [f64; 3]) -> Result<Sums, Error> {
    let mut totals = Totals { floor, ..Totals::default() };
    let mut ends = [true; 2];
    let mut budget = Budget::new();
    for k in 0..MOST {
        let (near, far) = (PANEL * f64::from(k), PANEL * f64::from(k + 1));
        for (end, sign) in ends.iter_mut().zip([1.0, -1.0]) {
            if k < ALWAYS || *end {
                totals.counts = false;
                stretch(point, (a, sigma), (sign, near, far), &mut totals, &mut budget);
                *end = totals.counts;
            }
        }
    }
    let relative = (0..3).map(|i| if totals.error[i] > NOTHING { totals.error[i] / totals.size[i] } else { 0.0 });
    let worst = relative.fold(0.0, f64::max);
    let finite = totals.sums.iter().chain(&totals.error).all(|sum| sum.is_finite());
    if finite && worst <= TOLERANCE && ends == [false; 2] {
        Ok(totals.sums)
    } else {
        let relative_error = if finite && ends == [false; 2] { worst } else { f64::INFINITY };
        Err(Error::Quadrature {
            quantity: "the expected log-density",
            mean: a,
            variance: sigma * sigma,
            relative_error,
        })
    }
}

/// Adds `sign·[near, far]`, in standard deviations, nearest panels first, so that small contributions are measured against large
/// ones.
fn stretch(
    point: &impl Fn(f64) -> [f64; 3],
    (a, sigma): (f64, f64),
    (sign, near, far): (f64, f64, f64),
    totals: &mut Totals,
    budget: &mut Budget,
) {
    let narrowest = 1e-12_f64.max(8.0 * f64::EPSILON * a.abs() / sigma);
    bisect(near, far, narrowest, budget, |near, far, room| {
        // Weighted by the Gaussian, then ∂ and c as they are.
        let panel = kronrod::<7, 3>(near, far, |distance| {
            let x = sign * distance;
            let [value, slope, curvature] = point(x);
            let weight = normal_density(x);
            let weighted = weight * curvature;
            [weight * value, weight * slope, weighted, weighted * x, weighted * (x * x - 1.0), slope, curvature]
        });
        let ends = [point(sign * near), point(sign * far)];
        // What the nodes have missed: the change of log p less ∫∂, and that of ∂ less ∫∂².
        let missed_slope = sign * (ends[1][0] - ends[0][0]) / sigma - panel.value[5];
        let missed = sign * (ends[0][1] - ends[1][1]) / sigma - panel.value[6];
        let reach = a.abs() + sigma * far;
        let rounding = |i: usize| {
            let sizes = ends.map(|end| end[i].abs() + reach * end[i + 1].abs());
            64.0 * f64::EPSILON * (sizes[0] + sizes[1] + panel.size[i + 5] * sigma) / sigma
        };
        let peak = normal_density(near);
        let noise = noise([panel.size[0], panel.size[1], panel.size[2]], reach, sigma * (far - near));
        let allowed =
            |i: usize| 0.5 * TOLERANCE * panel.size[i] + SHARE * totals.size[i].max(totals.floor[i]) + NOTHING;
        let precise = (0..3).all(|i| panel.error[i] <= allowed(i).max(noise[i]));
        let continuous = missed_slope.abs() * peak <= allowed(1) || missed_slope.abs() <= rounding(0);
        let smooth = missed.abs() * peak <= allowed(2) || missed.abs() <= rounding(1);
        let settled = precise && continuous && smooth;
        if settled || room != Room::Halve {
            totals.counts |= (0..3).any(|i| panel.size[i] > 1e-2 * SHARE * totals.size[i]);
            for i in 0..5 {
                totals.sums[i] += panel.value[i];
            }
            for i in 0..3 {
                totals.size[i] += panel.size[i];
                totals.error[i] += (panel.error[i] - noise[i]).max(0.0);
            }
            totals.error[1] += if continuous { 0.0 } else { missed_slope.abs() * peak };
            if !smooth && room == Room::Narrowest {
                // A kink: all of the slope's jump is here.
                let x = sign * near;
                let jump = missed * normal_density(x);
                totals.sums[2] += jump;
                totals.sums[3] += jump * x;
                totals.sums[4] += jump * (x * x - 1.0);
                totals.size[2] += jump.abs();
            } else if !smooth {
                totals.error[2] += missed.abs() * peak;
            }
        }
        settled
    });
}

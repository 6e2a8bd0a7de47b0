//! The Gaussian mean of a bounded function.

use super::panel::{Budget, Room, bisect, kronrod};
use super::{NOTHING, check_gaussian};
use crate::Error;
use crate::special::normal_density;

/// The relative tolerance, which the accuracy of incomplete beta and gamma functions allows.
const TOLERANCE: f64 = 1e-11;
/// The panels, each this wide in standard deviations: the Gaussian is cut off at 9.
const PANELS: [i32; 6] = [-3, -2, -1, 0, 1, 2];
const WIDTH: f64 = 3.0;

/// The value at the upper end of `[−1, 1]` of the polynomial through 15 values at Kronrod's nodes, in the order in which
/// [`kronrod`] asks for them: node 0, then each node above and below the middle. Mirrored for the lower end.
const AT_END: [f64; 15] = [
    -0.11292917291898198,
    0.139783431782909,
    0.09168729684857137,
    -0.17457035156224215,
    -0.0737789796442628,
    0.2211759702248937,
    0.0577191186189117,
    -0.291418695919992,
    -0.04325081597817417,
    0.4200471997208854,
    0.0304383095303681,
    -0.7066739934045778,
    -0.01845157704696355,
    1.4539837311033149,
    0.006238528645340322,
];
/// The distance from the last node to the end, of half a panel.
const LAST_GAP: f64 = 1.0 - 0.9914553711208126;

/// The mean `E[f(t)]`, `t ~ N(a, ν)`, `ν ≥ 0`, of a bounded monotone function, such as a distribution function at a point. A step
/// of any steepness is found: if it falls between nodes, it shows at the ends of panels. Error below 1e-11 of `E|f|`, 192 to
/// [`MOST_EVALUATIONS`](super::MOST_EVALUATIONS) evaluations.
///
/// # Errors
/// [`Error::NonFinite`] or [`Error::NegativeVariance`] for the arguments; [`Error::Quadrature`] when the tolerance is not
/// reached, or `f` is not finite.
///
/// ```
/// use vi_core::quadrature;
/// let step = quadrature::average(|t| f64::from(u8::from(t < 1.0)), 0.0, 1.0)?;
/// assert!((step - vi_core::special::normal_cdf(1.0)).abs() < 1e-10);
/// # Ok::<(), vi_core::Error>(())
/// ```
pub fn average(f: impl Fn(f64) -> f64, a: f64, nu: f64) -> Result<f64, Error> {
    check_gaussian(a, nu)?;
    let sigma = nu.sqrt();
    if sigma == 0.0 {
        let value = f(a);
        return if value.is_finite() { Ok(value) } else { Err(lost(a, nu, f64::INFINITY)) };
    }
    // What the tolerance is relative to, before an integral is known.
    let crude: f64 = PANELS.iter().map(|&k| whole(k, |x| [normal_density(x) * f(a + sigma * x)])).sum();
    let (mut sum, mut size, mut error) = (0.0, 0.0, 0.0);
    let mut budget = Budget::new();
    for k in PANELS {
        let (low, high) = (WIDTH * f64::from(k), WIDTH * f64::from(k + 1));
        bisect(low, high, 1e-14, &mut budget, |low, high, room| {
            let (mut values, mut count) = ([0.0; 15], 0);
            let panel = kronrod::<1, 1>(low, high, |x| {
                let value = f(a + sigma * x);
                values[count] = value;
                count += 1;
                [normal_density(x) * value]
            });
            let gap = 0.5 * (high - low) * LAST_GAP * normal_density(low.abs().min(high.abs()));
            let unseen = gap * missed(&values, f(a + sigma * low), f(a + sigma * high));
            let allowed = 0.1 * TOLERANCE * (panel.size[0] + crude / 64.0) + NOTHING;
            let settled = panel.error[0] <= allowed && unseen <= allowed;
            if settled || room != Room::Halve {
                sum += panel.value[0];
                size += panel.size[0];
                error += panel.error[0] + if unseen <= allowed { 0.0 } else { unseen };
            }
            settled
        });
    }
    let relative = if size > NOTHING { error / size } else { 0.0 };
    if sum.is_finite() && relative <= TOLERANCE { Ok(sum) } else { Err(lost(a, nu, relative)) }
}

/// `∫|f|` over panel `k` by one rule.
fn whole(k: i32, f: impl Fn(f64) -> [f64; 1]) -> f64 {
    kronrod::<1, 1>(WIDTH * f64::from(k), WIDTH * f64::from(k + 1), f).size[0]
}

/// How far `f` at the ends of a panel is from the values extrapolated from its nodes.
fn missed(values: &[f64; 15], low: f64, high: f64) -> f64 {
    let (mut at_low, mut at_high) = (AT_END[0] * values[0], AT_END[0] * values[0]);
    for pair in (1..15).step_by(2) {
        at_high += AT_END[pair] * values[pair] + AT_END[pair + 1] * values[pair + 1];
        at_low += AT_END[pair] * values[pair + 1] + AT_END[pair + 1] * values[pair];
    }
    (high - at_high).abs().max((low - at_low).abs())
}

fn lost(mean: f64, variance: f64, relative_error: f64) -> Error {
    Error::Quadrature { quantity: "a Gaussian mean", mean, variance, relative_error }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::special::normal_cdf;

    #[test]
    fn steps_and_slopes_of_any_steepness() {
        for (a, nu) in [(0.0_f64, 1.0_f64), (3.0, 0.01), (-2.0, 100.0), (1.0, 1e6), (0.3, 1e-12)] {
            for steepness in [1e-2_f64, 1.0, 50.0, 1e5] {
                // E Φ(k·t) = Φ(ka/√(1+k²ν)).
                let exact = normal_cdf(steepness * a / (1.0 + steepness * steepness * nu).sqrt());
                let found = average(|t| normal_cdf(steepness * t), a, nu).unwrap();
                // The tail beyond 9 standard deviations holds 1e-19.
                assert!((found - exact).abs() <= 1e-10 * exact + 1e-18, "{a}, {nu}, {steepness}: {found} {exact}");
            }
        }
        assert_eq!(average(|t| t, 2.0, 0.0), Ok(2.0));
    }

    #[test]
    fn what_is_not_finite_is_an_error() {
        assert!(matches!(average(|_| f64::NAN, 0.0, 1.0), Err(Error::Quadrature { .. })));
        assert!(matches!(average(|_| f64::INFINITY, 0.0, 0.0), Err(Error::Quadrature { .. })));
        assert!(matches!(average(|t| t, f64::NAN, 1.0), Err(Error::NonFinite { .. })));
        assert!(matches!(average(|t| t, 0.0, -1.0), Err(Error::NegativeVariance { .. })));
    }
}

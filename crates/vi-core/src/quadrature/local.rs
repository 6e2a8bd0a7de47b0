//! Third and fourth derivatives of `log p` at a point, from differences of its curvature.

use crate::likelihood::Likelihood;

/// The relative change of the curvature over `±σ` below which Stein's lemma would give only rounding.
pub(super) const FLAT: f64 = 1e-4;
/// Relative change that a difference should see: truncation `O(change³)` after extrapolation, rounding `16·ε/change`.
const CHANGE: (f64, f64) = (1e-3, 2e-2);
/// Steps are sought over `4^±60` of the first.
const MOST_STEPS: usize = 60;

/// `c(a ± step)` and `c(a)`.
struct Sample {
    below: f64,
    at: f64,
    above: f64,
    step: f64,
}

impl Sample {
    fn take<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, step: f64) -> Self {
        let c = |t: f64| likelihood.curvature(y, t);
        Self { below: c(a - step), at: c(a), above: c(a + step), step }
    }

    fn change(&self) -> f64 {
        let size = self.below.abs() + self.at.abs() + self.above.abs();
        let change = (self.above - self.below).abs() + (self.above - 2.0 * self.at + self.below).abs();
        if size > 0.0 { change / size } else { 0.0 }
    }

    /// `(∂³, ∂⁴)` of `log p` by central differences of `−c`.
    fn differences(&self) -> (f64, f64) {
        let third = (self.below - self.above) / (2.0 * self.step);
        let fourth = (2.0 * self.at - self.below - self.above) / (self.step * self.step);
        (third, fourth)
    }
}

/// Whether the curvature hardly changes over one standard deviation.
pub(super) fn is_flat<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64, sigma: f64) -> bool {
    Sample::take(likelihood, y, a, sigma).change() < FLAT
}

/// Romberg's limit of differences at steps `s, s/2, s/4`: the errors of order `s²` and `s⁴` cancel.
fn extrapolate([first, second, third]: [f64; 3]) -> f64 {
    let (coarse, fine) = ((4.0 * second - first) / 3.0, (4.0 * third - second) / 3.0);
    (16.0 * fine - coarse) / 15.0
}

/// `(∂³ log p, ∂⁴ log p)` at `a`, to about eight digits; zero where the curvature is constant.
pub(super) fn derivatives<L: Likelihood + ?Sized>(likelihood: &L, y: f64, a: f64) -> (f64, f64) {
    let mut step = 1e-3 * a.abs().max(1.0);
    for _ in 0..MOST_STEPS {
        let sample = Sample::take(likelihood, y, a, step);
        let change = sample.change();
        if change > CHANGE.1 {
            step *= 0.25;
        } else if change < CHANGE.0 {
            step *= 4.0;
        } else {
            let [first, second, last] =
                [1.0, 0.5, 0.25].map(|part| Sample::take(likelihood, y, a, part * step).differences());
            let third = extrapolate([first.0, second.0, last.0]);
            return (third, extrapolate([first.1, second.1, last.1]));
        }
    }
    (0.0, 0.0)
}

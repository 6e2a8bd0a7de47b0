//! Counts of two kinds with logistic probabilities: what the binomial and the negative binomial share.
//!
//! `log p = c − k·softplus(−u) − f·softplus(u)`, with `k` successes, `f` failures, `u` the logit of success and `c` independent
//! of `u`. Everything follows from the Gaussian expectations of the logistic function, taken once, on the side where `s` is
//! small.

use vi_core::Expected;
use vi_core::expectation::LogisticExpectation;
use vi_core::special::{sigmoid, sigmoid_derivative, softplus, softplus_beyond_tangent};

use super::saddle::{binomial_and_slope, binomial_slope, ln_binomial};

/// `k` successes and `f` failures.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogisticCounts {
    pub(super) successes: f64,
    pub(super) failures: f64,
    /// `c`.
    pub(super) constant: f64,
}

/// `k·x`, and 0 for `k = 0` even where `x` is infinite.
fn times(k: f64, x: f64) -> f64 {
    if k == 0.0 { 0.0 } else { k * x }
}

impl LogisticCounts {
    /// `log p` with the `c` of a binomial, at `u = shift + t`.
    pub(super) fn ln_binomial(&self, shift: f64, t: f64) -> f64 {
        let Self { successes, failures, .. } = *self;
        let u = shift + t;
        if successes == 0.0 || failures == 0.0 {
            -times(successes, softplus(-u)) - times(failures, softplus(u))
        } else {
            ln_binomial(successes, failures, shift, t)
        }
    }

    /// [`ln_binomial`](Self::ln_binomial) and [`slope`](Self::slope), and [`curvature`](Self::curvature) at `u`.
    pub(super) fn derivatives(&self, shift: f64, t: f64) -> [f64; 3] {
        let Self { successes, failures, .. } = *self;
        let [value, slope] = if successes == 0.0 || failures == 0.0 {
            [self.ln_binomial(shift, t), self.slope(shift, t)]
        } else {
            binomial_and_slope(successes, failures, shift, t)
        };
        [value, slope, self.curvature(shift + t)]
    }

    /// `k·s(−u) − f·s(u)`, `u = shift + t`.
    pub(super) fn slope(&self, shift: f64, t: f64) -> f64 {
        let Self { successes, failures, .. } = *self;
        if successes == 0.0 || failures == 0.0 {
            successes * sigmoid(-shift - t) - failures * sigmoid(shift + t)
        } else {
            binomial_slope(successes, failures, shift, t)
        }
    }

    pub(super) fn curvature(&self, u: f64) -> f64 {
        (self.successes + self.failures) * sigmoid_derivative(u)
    }

    /// See [`Likelihood::beyond_tangent`](vi_core::Likelihood::beyond_tangent).
    pub(super) fn beyond_tangent(&self, u: f64, steps: &[f64], out: &mut [[f64; 2]]) {
        let (p, q, trials) = (sigmoid(u), sigmoid(-u), self.successes + self.failures);
        for (out, &step) in out.iter_mut().zip(steps) {
            *out = softplus_beyond_tangent(p, q, step).map(|x| -trials * x);
        }
    }

    /// The logit `ln(k/f)` of success at which `log p` is largest; `None` without trials.
    pub(super) fn peak(&self) -> Option<f64> {
        let peak = (self.successes / self.failures).ln();
        (!peak.is_nan()).then_some(peak)
    }

    /// Whether the absolute error of `method`, times the number of trials, is not negligible: more than a millionth of the
    /// standard deviation of the slope, or of a unit if that is less. Then expectations are taken by quadrature of `log p`
    /// itself, whose deviation from its mode has all its digits.
    pub(super) fn outgrow<M: LogisticExpectation>(&self, method: &M) -> bool {
        const SEEN: f64 = 1e-6;
        let trials = self.successes + self.failures;
        let spread = (self.successes * (self.failures / trials)).sqrt();
        method.absolute_error().is_some_and(|error| trials * error > SEEN * spread.max(1.0))
    }

    /// `E log p` under `u ~ N(a, ν)`.
    pub(super) fn expected_log_density<M: LogisticExpectation>(&self, method: &M, a: f64, nu: f64) -> f64 {
        let small = method.softplus(-a.abs(), nu);
        self.value(small, a)
    }

    /// `(E∂, −E∂²)`.
    pub(super) fn expected_slope_curvature<M: LogisticExpectation>(&self, method: &M, a: f64, nu: f64) -> (f64, f64) {
        let (small, first) = method.sigmoid(-a.abs(), nu);
        (self.mean_slope(small, a), (self.successes + self.failures) * first)
    }

    pub(super) fn expected<M: LogisticExpectation>(&self, method: &M, a: f64, nu: f64) -> Expected {
        let moments = method.moments(-a.abs(), nu);
        let trials = self.successes + self.failures;
        // s″ is odd, s‴ even.
        let second = if a > 0.0 { -moments.second } else { moments.second };
        Expected {
            value: self.value(moments.softplus, a),
            slope: self.mean_slope(moments.sigmoid, a),
            curvature: trials * moments.first,
            third: -trials * second,
            fourth: -trials * moments.third,
        }
    }

    /// The value from `E softplus(−|u|)`, `|·|` by the sign of `a`: `softplus(t) = softplus(−t) + t`.
    fn value(&self, small: f64, a: f64) -> f64 {
        let large = small + a.abs();
        let (of_failure, of_success) = if a > 0.0 { (large, small) } else { (small, large) };
        self.constant - times(self.successes, of_success) - times(self.failures, of_failure)
    }

    /// The slope from the smaller of `E s(u)` and `E s(−u)`.
    fn mean_slope(&self, small: f64, a: f64) -> f64 {
        let large = 1.0 - small;
        if a > 0.0 {
            self.successes * small - self.failures * large
        } else {
            self.successes * large - self.failures * small
        }
    }
}

/// Whether `label` is one of 0, 1, 2, ….
pub(super) fn is_count(label: f64) -> bool {
    label >= 0.0 && label.is_finite() && label.fract() == 0.0
}

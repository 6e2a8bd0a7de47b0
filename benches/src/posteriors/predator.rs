//! Lotka and Volterra's predators and prey: `u̇ = (α − βv)u`, `v̇ = (−γ + δu)v`, observed with log-normal errors.

use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};

use super::Model;
use super::dual::{Dual, Real};

/// `(α, β, γ, δ)`, the first populations `z` and the errors `σ` of each.
#[derive(Debug, Clone)]
pub(super) struct Predator {
    pub(super) times: Vec<f64>,
    pub(super) first: [f64; 2],
    pub(super) later: Vec<[f64; 2]>,
}

/// Steps of the integrator for each unit of time. At draws of the posterior the log-density then agrees with one of four times as many
/// steps to below 0.01.
const STEPS: usize = 8;

/// A population beyond this is no number of animals.
const MOST: f64 = 1e100;

/// The populations at each time, by the classical Runge-Kutta method. `None` where they grow beyond all bounds or turn negative: the steps are
/// then too long for parameters that are as good as impossible.
fn path<R: Real>(theta: [R; 4], start: [R; 2], times: &[f64], steps: usize) -> Option<Vec<[R; 2]>> {
    let [alpha, beta, gamma, delta] = theta;
    let slope = |[u, v]: [R; 2]| [(alpha - beta * v) * u, (delta * u - gamma) * v];
    let ahead = |x: [R; 2], k: [R; 2], h: f64| [x[0] + k[0].times(h), x[1] + k[1].times(h)];
    let (mut x, mut t, mut found) = (start, 0.0, Vec::with_capacity(times.len()));
    for &time in times {
        let h = (time - t) / steps as f64;
        for _ in 0..steps {
            let k1 = slope(x);
            let k2 = slope(ahead(x, k1, 0.5 * h));
            let k3 = slope(ahead(x, k2, 0.5 * h));
            let k4 = slope(ahead(x, k3, h));
            x = std::array::from_fn(|i| x[i] + (k1[i] + (k2[i] + k3[i]).times(2.0) + k4[i]).times(h / 6.0));
        }
        if !x.iter().all(|x| (0.0..MOST).contains(&x.value())) {
            return None;
        }
        t = time;
        found.push(x);
    }
    Some(found)
}

impl Predator {
    /// Priors and their derivatives: `α, γ ~ N(1, ½²)`, `β, δ ~ N(0.05, 0.05²)`, `log z ~ N(log 10, 1)`, `log σ ~ N(−1, 1)`.
    fn prior(x: &[f64], out: &mut [f64]) -> f64 {
        let mut value = 0.0;
        for (i, (mean, sd)) in [(1.0, 0.5), (0.05, 0.05), (1.0, 0.5), (0.05, 0.05)].into_iter().enumerate() {
            let away: f64 = (x[i] - mean) / sd;
            value -= 0.5 * away * away;
            out[i] = -away / sd;
        }
        for (i, mean) in [10.0_f64.ln(), 10.0_f64.ln(), -1.0, -1.0].into_iter().enumerate() {
            let away = x[4 + i].ln() - mean;
            value -= 0.5 * away * away + x[4 + i].ln();
            out[4 + i] = -(away + 1.0) / x[4 + i];
        }
        value
    }

    /// `−log σ − ½(log y − log z)²/σ²` over all observations of a population, predicted to be `z`, and the derivative by `σ`.
    fn fit(&self, k: usize, z: impl Iterator<Item = f64>, sigma: f64) -> (f64, f64) {
        let observed = std::iter::once(self.first[k]).chain(self.later.iter().map(|y| y[k]));
        let (mut value, mut by_sigma) = (0.0, 0.0);
        for (y, z) in observed.zip(z) {
            let away = (y / z).ln() / sigma;
            value -= sigma.ln() + 0.5 * away * away;
            by_sigma += (away * away - 1.0) / sigma;
        }
        (value, by_sigma)
    }

    fn log_density_with(&self, x: &[f64], steps: usize) -> f64 {
        let start = [x[4], x[5]];
        let Some(path) = path([x[0], x[1], x[2], x[3]], start, &self.times, steps) else { return f64::NEG_INFINITY };
        let mut value = Self::prior(x, &mut [0.0; 8]);
        for k in 0..2 {
            let z = std::iter::once(start[k]).chain(path.iter().map(|z| z[k]));
            value += self.fit(k, z, x[6 + k]).0;
        }
        value
    }
}

impl LogDensity for Predator {
    fn dim(&self) -> usize {
        8
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        self.log_density_with(x, STEPS)
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let start = [Dual::<6>::variable(x[4], 4), Dual::variable(x[5], 5)];
        let theta = std::array::from_fn(|k| Dual::variable(x[k], k));
        let Some(path) = path(theta, start, &self.times, STEPS) else {
            out.fill(f64::NAN);
            return Some(f64::NEG_INFINITY);
        };
        let mut value = Self::prior(x, out);
        for k in 0..2 {
            let z = std::iter::once(start[k]).chain(path.iter().map(|z| z[k]));
            let (fit, by_sigma) = self.fit(k, z.clone().map(|z| z.value), x[6 + k]);
            value += fit;
            out[6 + k] += by_sigma;
            let observed = std::iter::once(self.first[k]).chain(self.later.iter().map(|y| y[k]));
            for (y, z) in observed.zip(z) {
                let slope = (y.ln() - z.value.ln()) / (x[6 + k].powi(2) * z.value);
                for (out, by) in out.iter_mut().zip(z.by) {
                    *out += slope * by;
                }
            }
        }
        Some(value)
    }
}

impl Model for Predator {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        Parameters::new().positive("theta", 4)?.positive("z_init", 2)?.positive("sigma", 2)
    }
}

//! Lotka and Volterra's predators and prey: `u̇ = (α − βv)u`, `v̇ = (−γ + δu)v`, observed with log-normal errors.

use std::array::from_fn;

use pulp::{Arch, Simd, WithSimd};
use vi_boost::transform::Parameters;
use vi_boost::{BoostError, LogDensity};
use vi_linalg::faer::{MatMut, MatRef};

use super::Model;
use super::orbit::{self, LANES, Lanes, Rates};

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

    /// `LANES` densities at once: adds their logarithms to `values`, and derivatives by `(α, β, γ, δ, z, σ)` to `slopes` where asked for.
    /// The density is 0 where populations grow beyond all bounds or turn negative: the steps are then too long for parameters that are as
    /// good as impossible.
    #[inline(always)]
    fn fit(&self, x: &[Lanes; 8], steps: usize, values: &mut Lanes, slopes: Option<&mut [Lanes; 8]>) {
        let rates: Rates = [x[0], x[1], x[2], x[3]];
        let mut states = Vec::with_capacity(1 + steps * self.times.len());
        states.push([x[4], x[5]]);
        let (mut now, mut t) = ([x[4], x[5]], 0.0);
        for &time in &self.times {
            let h = (time - t) / steps as f64;
            for _ in 0..steps {
                now = orbit::step(rates, now, h);
                states.push(now);
            }
            t = time;
        }
        let mut by = [Lanes([0.0; LANES]); 8];
        // What the observations at a time pull at the populations then.
        let mut pulls = vec![[Lanes([0.0; LANES]); 2]; 1 + self.times.len()];
        let observed = std::iter::once(&self.first).chain(&self.later);
        for ((pull, y), state) in pulls.iter_mut().zip(observed).zip(states.iter().step_by(steps)) {
            for k in 0..2 {
                let log_y = y[k].ln();
                for lane in 0..LANES {
                    let (z, sigma) = (state[k].0[lane], x[6 + k].0[lane]);
                    if !(0.0..MOST).contains(&z) {
                        values.0[lane] = f64::NEG_INFINITY;
                    }
                    let away = (log_y - z.ln()) / sigma;
                    values.0[lane] -= sigma.ln() + 0.5 * away * away;
                    pull[k].0[lane] = away / (sigma * z);
                    by[6 + k].0[lane] += (away * away - 1.0) / sigma;
                }
            }
        }
        let Some(slopes) = slopes else { return };
        let (mut g, mut of_rates) = ([Lanes([0.0; LANES]); 2], [Lanes([0.0; LANES]); 4]);
        for (k, &time) in self.times.iter().enumerate().rev() {
            let h = (time - if k == 0 { 0.0 } else { self.times[k - 1] }) / steps as f64;
            g = [g[0] + pulls[k + 1][0], g[1] + pulls[k + 1][1]];
            for state in states[k * steps..(k + 1) * steps].iter().rev() {
                g = orbit::step_back(rates, *state, h, g, &mut of_rates);
            }
        }
        by[..4].copy_from_slice(&of_rates);
        by[4] = g[0] + pulls[0][0];
        by[5] = g[1] + pulls[0][1];
        slopes.iter_mut().zip(by).for_each(|(slope, by)| *slope = *slope + by);
    }
}

/// Densities at the rows of `points`, some at once in the vectors that the processor has.
struct Many<'a> {
    model: &'a Predator,
    points: MatRef<'a, f64>,
    steps: usize,
    values: &'a mut [f64],
    gradients: Option<MatMut<'a, f64>>,
}

impl WithSimd for Many<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self { model, points, steps, values, mut gradients } = self;
        for (k, values) in values.chunks_mut(LANES).enumerate() {
            // A last group that is not full repeats its first.
            let row = |lane: usize| k * LANES + if lane < values.len() { lane } else { 0 };
            let x: [Lanes; 8] = from_fn(|j| Lanes(from_fn(|lane| points[(row(lane), j)])));
            let (mut sums, mut slopes) = (Lanes([0.0; LANES]), [Lanes([0.0; LANES]); 8]);
            for lane in 0..LANES {
                let mut slope = [0.0; 8];
                sums.0[lane] = Predator::prior(&from_fn::<f64, 8, _>(|j| x[j].0[lane]), &mut slope);
                slopes.iter_mut().zip(slope).for_each(|(to, from)| to.0[lane] = from);
            }
            model.fit(&x, steps, &mut sums, gradients.is_some().then_some(&mut slopes));
            for (lane, value) in values.iter_mut().enumerate() {
                *value = if sums.0[lane].is_nan() { f64::NEG_INFINITY } else { sums.0[lane] };
                if let Some(gradients) = &mut gradients {
                    for (j, slope) in slopes.iter().enumerate() {
                        gradients[(k * LANES + lane, j)] = slope.0[lane];
                    }
                }
            }
        }
    }
}

impl Predator {
    fn many(&self, points: MatRef<'_, f64>, steps: usize, values: &mut [f64], gradients: Option<MatMut<'_, f64>>) {
        Arch::new().dispatch(Many { model: self, points, steps, values, gradients });
    }
}

impl LogDensity for Predator {
    fn dim(&self) -> usize {
        8
    }

    fn log_density(&self, x: &[f64]) -> f64 {
        let mut value = [0.0];
        self.many(MatRef::from_row_major_slice(x, 1, 8), STEPS, &mut value, None);
        value[0]
    }

    fn value_and_gradient(&self, x: &[f64], out: &mut [f64]) -> Option<f64> {
        let mut value = [0.0];
        let gradient = MatMut::from_row_major_slice_mut(out, 1, 8);
        self.many(MatRef::from_row_major_slice(x, 1, 8), STEPS, &mut value, Some(gradient));
        Some(value[0])
    }

    fn log_densities(&self, points: MatRef<'_, f64>, values: &mut [f64]) {
        self.many(points, STEPS, values, None);
    }

    fn log_densities_and_gradients(
        &self,
        points: MatRef<'_, f64>,
        values: &mut [f64],
        gradients: MatMut<'_, f64>,
    ) -> bool {
        self.many(points, STEPS, values, Some(gradients));
        true
    }
}

impl Model for Predator {
    fn parameters(&self) -> Result<Parameters, BoostError> {
        Parameters::new().positive("theta", 4)?.positive("z_init", 2)?.positive("sigma", 2)
    }
}

//! Algorithms 1 and 3: stochastic Newton's method for `α`.

use crate::BoostError;
use crate::error::check_positive_entries;
use vi_core::check;

/// Draws of a distribution, with three log-densities at each.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Samples {
    /// `log q_{t−1}`.
    pub log_q: Vec<f64>,
    /// `log h_t`.
    pub log_h: Vec<f64>,
    /// `log f`.
    pub log_f: Vec<f64>,
}

impl Samples {
    /// Checks that there are draws and that all three columns are as long.
    fn check(&self, argument: &'static str) -> Result<(), BoostError> {
        if self.log_f.is_empty() {
            return Err(vi_core::Error::Empty { argument }.into());
        }
        check::length("log_q", self.log_f.len(), self.log_q.len())?;
        Ok(check::length("log_h", self.log_f.len(), self.log_h.len())?)
    }
}

/// A report of the iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct NewtonInfo {
    /// The number of steps taken.
    pub iterations: usize,
    /// Whether a second derivative was not positive: no Newton step exists there, and the iteration ends.
    pub indefinite: bool,
    /// The number of steps that had to be clipped to `[0, 1]`.
    pub clipped: usize,
    /// The effective sample size `(Σw)²/Σw²` of the importance weights; `n` for Algorithm 1, which has none.
    pub effective_sample_size: f64,
}

/// The most steps; `b/k` falls too slowly for the loop to end by itself in every case.
const STEPS: usize = 1000;

/// The values at which a log-density ratio `log(h/q)` makes `q_α` and `(h−q)/q_α`.
pub(super) fn mixed(alpha: f64, log_q: f64, log_h: f64) -> (f64, f64) {
    let largest = log_q.max(log_h);
    let (q, h) = ((log_q - largest).exp(), (log_h - largest).exp());
    let total = (1.0 - alpha) * q + alpha * h;
    (largest + total.ln(), (h - q) / total)
}

/// Algorithm 1, *stochastic Newton's*: from `α = 0`, `α ← α − (b/k)·D̂′/D̂″` with the means (7) and (8) over draws of `h_t` and of
/// `q_{t−1}`, until a step is at most `tolerance`. Kept in `[0, 1]`.
///
/// The second derivative, a difference of two means, can be negative; the iteration then ends where it is. Each step costs two
/// logarithms a draw.
///
/// # Errors
/// [`BoostError::Core`] with `Empty` without draws, `Dimension` if the columns of one set differ in length, `NonFinite` or
/// `Entry` unless `step` and `tolerance` are positive.
///
/// ```
/// use vi_boost::papers::{Samples, stochastic_newton};
/// // q = N(0, 1), h = N(2, 1), f their mean: the weight is ½.
/// let at = |xs: &[f64]| {
///     let log = |x: f64, m: f64| -0.5 * (x - m) * (x - m);
///     let each = |of: &dyn Fn(f64) -> f64| xs.iter().map(|x| of(*x)).collect::<Vec<f64>>();
///     Samples {
///         log_q: each(&|x| log(x, 0.0)),
///         log_h: each(&|x| log(x, 2.0)),
///         log_f: each(&|x| (0.5 * log(x, 0.0).exp() + 0.5 * log(x, 2.0).exp()).ln()),
///     }
/// };
/// let (of_q, of_h) = (at(&[-1.2, -0.4, 0.3, 1.3]), at(&[0.8, 1.7, 2.4, 3.1]));
/// let (alpha, _) = stochastic_newton(&of_h, &of_q, 1.0, 1e-6)?;
/// assert!((alpha - 0.5).abs() < 0.1);
/// # Ok::<(), vi_boost::BoostError>(())
/// ```
pub fn stochastic_newton(
    of_h: &Samples,
    of_q: &Samples,
    step: f64,
    tolerance: f64,
) -> Result<(f64, NewtonInfo), BoostError> {
    of_h.check("draws of h")?;
    of_q.check("draws of q")?;
    check_steps(step, tolerance)?;
    // (9): γ = log(q_α/f); (10): η = (h−q)/q_α
    let mean = |samples: &Samples, alpha: f64| {
        let (mut gamma, mut eta) = (0.0, 0.0);
        for i in 0..samples.log_f.len() {
            let (log_total, ratio) = mixed(alpha, samples.log_q[i], samples.log_h[i]);
            gamma += log_total - samples.log_f[i];
            eta += ratio;
        }
        let n = samples.log_f.len() as f64;
        (gamma / n, eta / n)
    };
    let n = of_q.log_f.len() as f64;
    Ok(newton(step, tolerance, n, |alpha| {
        let ((gamma_h, eta_h), (gamma_q, eta_q)) = (mean(of_h, alpha), mean(of_q, alpha));
        (gamma_h - gamma_q, eta_h - eta_q)
    }))
}

fn check_steps(step: f64, tolerance: f64) -> Result<(), BoostError> {
    check_positive_entries("step", &[step])?;
    check_positive_entries("tolerance", &[tolerance])
}

/// Algorithm 3, stochastic Newton's method on `KL(p‖q)`: `w_i = f/q_{t−1}` at draws of `q_{t−1}`, `s_i = (h−q)/q_α`, `D̂′ =
/// −(1/n)Σ w_is_i` and `D̂″ = (1/n)Σ w_is_i²` (24)-(25).
///
/// # Errors
/// As [`stochastic_newton`].
pub fn weighted_newton(of_q: &Samples, step: f64, tolerance: f64) -> Result<(f64, NewtonInfo), BoostError> {
    of_q.check("draws of q")?;
    check_steps(step, tolerance)?;
    let logs: Vec<f64> = of_q.log_f.iter().zip(&of_q.log_q).map(|(f, q)| f - q).collect();
    let largest = logs.iter().fold(f64::NEG_INFINITY, |a, b| a.max(*b));
    // Only the ratio of the two sums matters, so weights are taken relative to the largest.
    let weights: Vec<f64> = logs.iter().map(|log| (log - largest).exp()).collect();
    let (sum, squares) = (weights.iter().sum::<f64>(), weights.iter().map(|w| w * w).sum::<f64>());
    Ok(newton(step, tolerance, sum * sum / squares, |alpha| {
        let (mut first, mut second) = (0.0, 0.0);
        for (i, w) in weights.iter().enumerate() {
            let (_, s) = mixed(alpha, of_q.log_q[i], of_q.log_h[i]);
            first -= w * s;
            second += w * s * s;
        }
        (first, second)
    }))
}

fn newton(
    step: f64,
    tolerance: f64,
    effective_sample_size: f64,
    derivatives: impl Fn(f64) -> (f64, f64),
) -> (f64, NewtonInfo) {
    let mut info = NewtonInfo { iterations: 0, indefinite: false, clipped: 0, effective_sample_size };
    let mut alpha = 0.0;
    for k in 1..=STEPS {
        let (first, second) = derivatives(alpha);
        if !(second > 0.0 && first.is_finite() && second.is_finite()) {
            info.indefinite = true;
            break;
        }
        info.iterations = k;
        let proposed = alpha - step / k as f64 * first / second;
        let next = proposed.clamp(0.0, 1.0);
        info.clipped += usize::from(next != proposed);
        let moved = (next - alpha).abs();
        alpha = next;
        if moved <= tolerance {
            break;
        }
    }
    (alpha, info)
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::SeedableRng;

    use super::*;
    use crate::points;

    /// Draws for `q = N(0, 1)`, `h = N(2, 1)`, `f = (1−w)q + wh`: from `q` and from `h`.
    fn draws(w: f64) -> (Samples, Samples) {
        let z = points::random(20000, 2, &mut ChaCha8Rng::seed_from_u64(3));
        let (mut of_q, mut of_h) = (Samples::default(), Samples::default());
        for i in 0..20000 {
            for (samples, x) in [(&mut of_q, z[(i, 0)]), (&mut of_h, 2.0 + z[(i, 1)])] {
                let (q, h) = (-0.5 * x * x, -0.5 * (x - 2.0) * (x - 2.0));
                samples.log_q.push(q);
                samples.log_h.push(h);
                samples.log_f.push(((1.0 - w) * q.exp() + w * h.exp()).ln());
            }
        }
        (of_q, of_h)
    }

    #[test]
    fn both_find_the_weight_of_a_mixture() {
        for w in [0.2, 0.5, 0.8] {
            let (of_q, of_h) = draws(w);
            let (alpha, info) = stochastic_newton(&of_h, &of_q, 1.0, 1e-6).unwrap();
            // At α = w every γ is 0, so the draws bring no error; what is left is the shrinking step's.
            assert!((alpha - w).abs() < 0.03, "{w}: {alpha} {info:?}");
            let (alpha, info) = weighted_newton(&of_q, 1.0, 1e-6).unwrap();
            // Importance weights of effective size above 1000: an error of about 1/√1000 in w(1−w).
            assert!((alpha - w).abs() < 0.08 && info.effective_sample_size > 500.0, "{w}: {alpha} {info:?}");
        }
    }

    #[test]
    fn unequal_columns_and_steps_that_are_none_are_named() {
        let (of_q, of_h) = draws(0.5);
        let short = Samples { log_h: of_h.log_h[1..].to_vec(), ..of_h.clone() };
        let both = |of_h: &Samples, of_q: &Samples, step: f64| {
            let weighted = weighted_newton(of_h, step, 1e-3).unwrap_err();
            assert_eq!(stochastic_newton(of_h, of_q, step, 1e-3).unwrap_err().to_string(), weighted.to_string());
            weighted
        };
        let dimension = both(&short, &of_q, 1.0);
        assert!(matches!(
            dimension,
            BoostError::Core(vi_core::Error::Dimension { argument: "log_h", expected: 20000, found: 19999 })
        ));
        for step in [f64::NAN, 0.0, -1.0] {
            let error = both(&of_h, &of_q, step).to_string();
            assert!(error.contains("step"), "{error}");
        }
        assert!(stochastic_newton(&of_h, &Samples::default(), 1.0, 1e-3).is_err());
        assert!(weighted_newton(&of_q, 1.0, f64::NAN).is_err());
    }

    #[test]
    fn weights_stay_between_zero_and_one() {
        for w in [0.0, 1.0] {
            let (of_q, of_h) = draws(w);
            let (alpha, _) = stochastic_newton(&of_h, &of_q, 1.0, 1e-6).unwrap();
            assert!((0.0..=1.0).contains(&alpha) && (alpha - w).abs() < 0.05, "{w}: {alpha}");
        }
    }
}

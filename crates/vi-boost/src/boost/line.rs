//! The weight of a further component, optimised exactly on common points.

/// Rows on which the divergence along `q_α = (1−α)q + αh` can be computed: drawn from `q` and from `h`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line {
    /// Share of each row in `E_q` and in `E_h`; each sums to 1.
    by_q: Vec<f64>,
    by_h: Vec<f64>,
    /// `q/m` and `h/m` with `m = (q+h)/2`.
    q: Vec<f64>,
    h: Vec<f64>,
    /// `log(m/f)`.
    loss: Vec<f64>,
}

/// The result of a line search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Found {
    /// The best weight.
    pub(crate) alpha: f64,
    /// `D̃(q) − D̃(q_α)`, at least 0.
    pub(crate) gain: f64,
    /// `E_q ℓ − E_h ℓ` with `ℓ = log(q/f)`: the slope at `α = 0`, downwards.
    pub(crate) slope: f64,
}

impl Line {
    pub(crate) fn clear(&mut self) {
        for column in [&mut self.by_q, &mut self.by_h, &mut self.q, &mut self.h, &mut self.loss] {
            column.clear();
        }
    }

    /// Adds a row of weight `c` (those of `q` sum to 1, those of `h` too) with `log q`, `log h`, `log f`.
    pub(crate) fn push(&mut self, c: f64, log_q: f64, log_h: f64, log_f: f64) {
        let largest = log_q.max(log_h);
        if largest == f64::NEG_INFINITY {
            return;
        }
        let log_m = largest + (0.5 * ((log_q - largest).exp() + (log_h - largest).exp())).ln();
        let (q, h) = ((log_q - log_m).exp(), (log_h - log_m).exp());
        self.by_q.push(c * q);
        self.by_h.push(c * h);
        self.q.push(q);
        self.h.push(h);
        self.loss.push(log_m - log_f);
    }

    /// Finds the least divergence over `α ∈ [0, 1]`; `None` if it is not finite.
    ///
    /// Rows are weighted by the balance heuristic, so `q_α` integrates to 1 for every `α` and the sum is convex in `α` (its
    /// second derivative is `Σ c(h−q)²/(m·q_α) ≥ 0`, where (8) as a difference of two means can be negative): Newton's method
    /// on (7) inside a bracket.
    pub(crate) fn minimise(&mut self) -> Option<Found> {
        self.normalise()?;
        let at_zero = self.value(0.0);
        if !at_zero.is_finite() || self.loss.iter().zip(&self.by_h).any(|(l, c)| *c > 0.0 && !l.is_finite()) {
            return None;
        }
        let (mut low, mut high) = (0.0, 1.0);
        let mut alpha: f64 = 0.5;
        for _ in 0..STEPS {
            let (first, second) = self.derivatives(alpha);
            if first > 0.0 {
                high = alpha;
            } else {
                low = alpha;
            }
            let newton = alpha - first / second;
            let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
            let moved = (next - alpha).abs();
            alpha = next;
            if moved < TOLERANCE {
                break;
            }
        }
        // Steps inside the bracket do not reach the ends.
        let best = [0.0, alpha, 1.0].into_iter().map(|a| (a, self.value(a))).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let slope: f64 = (0..self.loss.len())
            .filter(|&i| self.q[i] > 0.0)
            .map(|i| (self.by_q[i] - self.by_h[i]) * (self.q[i].ln() + self.loss[i]))
            .sum();
        Some(Found { alpha: best.0, gain: at_zero - best.1, slope })
    }

    /// `D̃(q) − D̃(h)`; NaN if it is not finite.
    pub(crate) fn difference(&mut self) -> f64 {
        self.normalise().map_or(f64::NAN, |()| self.value(0.0) - self.value(1.0))
    }

    fn normalise(&mut self) -> Option<()> {
        for column in [&mut self.by_q, &mut self.by_h] {
            let sum: f64 = column.iter().sum();
            if !(sum > 0.0 && sum.is_finite()) {
                return None;
            }
            for c in column.iter_mut() {
                *c /= sum;
            }
        }
        Some(())
    }

    fn value(&self, alpha: f64) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.loss.len() {
            let share = (1.0 - alpha) * self.by_q[i] + alpha * self.by_h[i];
            if share > 0.0 {
                sum += share * (((1.0 - alpha) * self.q[i] + alpha * self.h[i]).ln() + self.loss[i]);
            }
        }
        sum
    }

    /// First and second derivative of [`value`](Self::value), `0 < α < 1`.
    fn derivatives(&self, alpha: f64) -> (f64, f64) {
        let (mut first, mut second) = (0.0, 0.0);
        for i in 0..self.loss.len() {
            let (difference, shares) = (self.h[i] - self.q[i], self.by_h[i] - self.by_q[i]);
            let total = (1.0 - alpha) * self.q[i] + alpha * self.h[i];
            let share = (1.0 - alpha) * self.by_q[i] + alpha * self.by_h[i];
            let ratio = difference / total;
            first += shares * (total.ln() + self.loss[i]) + share * ratio;
            second += (2.0 * shares - share * ratio) * ratio;
        }
        (first, second)
    }
}

/// The accuracy to which the weight is determined.
const TOLERANCE: f64 = 1e-7;

/// The most steps; bisection alone would need 24.
const STEPS: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::points;

    /// `q = N(−2, 1)`, `h = N(2, 1)`, `f = (1−w)q + wh`: the best weight is `w`, the divergence there 0.
    fn line(w: f64) -> Line {
        let z = points::quasi(512, 1, 5).unwrap();
        let log = |x: f64, mean: f64| -0.5 * (x - mean) * (x - mean);
        let mut line = Line::default();
        for i in 0..512 {
            for mean in [-2.0, 2.0] {
                let x = z[(i, 0)] + mean;
                let (q, h) = (log(x, -2.0), log(x, 2.0));
                line.push(1.0 / 512.0, q, h, ((1.0 - w) * q.exp() + w * h.exp()).ln());
            }
        }
        line
    }

    #[test]
    fn the_weight_of_a_mixture_is_found() {
        for w in [1e-4, 0.1, 0.5, 0.97] {
            let found = line(w).minimise().unwrap();
            // The loss is 0 at every point where α = w, so points bring no error; 1e-7 is where the search stops.
            assert!((found.alpha - w).abs() < 1e-6, "{w}: {found:?}");
            // D̃(q) = −E_q log((1−w) + w·h/q), between 0 and −log(1−w).
            assert!(found.gain >= 0.0 && found.gain <= -(-w).ln_1p(), "{found:?}");
        }
        assert!(line(0.0).minimise().unwrap().alpha < 1e-6);
        assert!(line(1.0).minimise().unwrap().alpha > 1.0 - 1e-6);
    }

    #[test]
    fn a_component_where_the_target_is_zero_is_no_candidate() {
        let mut line = line(0.5);
        line.push(1e-3, -1.0, -1.0, f64::NEG_INFINITY);
        assert_eq!(line.minimise(), None);
    }
}

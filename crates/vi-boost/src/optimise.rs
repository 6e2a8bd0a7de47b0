//! Minimisation of smooth functions: L-BFGS (Nocedal and Wright 2006, Algorithm 7.5) with a line search for the strong Wolfe
//! conditions (their Algorithms 3.5 and 3.6), which avoids points where the function is not finite.

mod line;

use std::collections::VecDeque;

use self::line::Along;

/// The limits of a search.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Search {
    /// The number of evaluations of the function with its gradient.
    pub(crate) evaluations: usize,
    /// The search ends when a step lowers the function by less than this.
    pub(crate) tolerance: f64,
}

/// Why a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// A step from a cleared memory lowered the function by less than the tolerance, or the gradient vanished.
    Converged,
    /// The evaluations were used up.
    Evaluations,
    /// No step along the gradient lowered the function.
    NoStep,
}

/// The result of a search.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minimum {
    /// The best point found.
    pub(crate) x: Vec<f64>,
    /// Its value.
    pub(crate) value: f64,
    /// The number of evaluations taken.
    pub(crate) evaluations: usize,
    /// Why the search ended.
    pub(crate) end: End,
}

/// The largest entry of a gradient that counts as vanished, whatever the tolerance.
const FLAT: f64 = 1e-10;

/// The number of pairs of steps and gradients that are kept.
const MEMORY: usize = 12;

/// A local minimum of `f` near `start`, where `f` writes its gradient and returns its value; the search turns back from points at
/// which the value is NaN or infinite. Returns `None` if `f` is not finite at `start`.
///
/// The first step has length at most 1, so coordinates should be scaled for that.
pub(crate) fn minimise<F>(start: &[f64], search: Search, mut f: F) -> Option<Minimum>
where
    F: FnMut(&[f64], &mut [f64]) -> f64,
{
    let mut gradient = vec![0.0; start.len()];
    let value = f(start, &mut gradient);
    let mut here = Point { x: start.to_vec(), value, gradient };
    if !here.is_finite() {
        return None;
    }
    let mut left = search.evaluations.saturating_sub(1);
    let mut memory = Memory::default();
    // The length of a first step, if there is no memory.
    let mut first = 1.0;
    let end = loop {
        if here.gradient.iter().all(|g| g.abs() <= FLAT) {
            break End::Converged;
        }
        if left == 0 {
            break End::Evaluations;
        }
        let mut direction = memory.direction(&here.gradient);
        let mut slope = dot(&direction, &here.gradient);
        if slope.is_nan() || slope >= 0.0 || slope == f64::NEG_INFINITY {
            memory.clear();
            let length = first / norm(&here.gradient).max(1.0);
            direction = here.gradient.iter().map(|g| -length * g).collect();
            slope = dot(&direction, &here.gradient);
        }
        let fresh = memory.pairs.is_empty();
        let along = Along { here: &here, direction: &direction, slope };
        match along.search(&mut f, &mut left) {
            Some(next) => {
                let gain = here.value - next.value;
                memory.push(&here, &next);
                here = next;
                first = 1.0;
                if gain < search.tolerance {
                    // One small step says little about the next: only a small step without memory ends the search.
                    if fresh {
                        break End::Converged;
                    }
                    memory.clear();
                }
            }
            None if left == 0 => break End::Evaluations,
            None if !fresh => memory.clear(),
            None if first > LEAST_STEP => first *= 1e-3,
            None => break End::NoStep,
        }
    };
    Some(Minimum { x: here.x, value: here.value, evaluations: search.evaluations.max(1) - left, end })
}

/// The least length of the steps that are tried if no longer one lowers the function.
const LEAST_STEP: f64 = 1e-12;

/// A point with the function's value and gradient.
#[derive(Debug, Clone)]
struct Point {
    x: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Point {
    fn is_finite(&self) -> bool {
        self.value.is_finite() && self.gradient.iter().all(|g| g.is_finite())
    }
}

/// The last steps `s` and changes `y` of the gradient, with `1/sᵀy`.
#[derive(Debug, Default)]
struct Memory {
    pairs: VecDeque<(Vec<f64>, Vec<f64>, f64)>,
}

impl Memory {
    fn clear(&mut self) {
        self.pairs.clear();
    }

    fn push(&mut self, from: &Point, to: &Point) {
        let s: Vec<f64> = to.x.iter().zip(&from.x).map(|(a, b)| a - b).collect();
        let y: Vec<f64> = to.gradient.iter().zip(&from.gradient).map(|(a, b)| a - b).collect();
        let product = dot(&s, &y);
        // A pair without positive curvature would make the next direction one of ascent.
        if product > f64::EPSILON * norm(&s) * norm(&y) && product.is_finite() {
            if self.pairs.len() == MEMORY {
                self.pairs.pop_front();
            }
            self.pairs.push_back((s, y, 1.0 / product));
        }
    }

    /// `−H·g` by the two loops of Algorithm 7.4; `0` if there is no memory.
    fn direction(&self, gradient: &[f64]) -> Vec<f64> {
        let Some((s, y, inverse)) = self.pairs.back() else { return vec![0.0; gradient.len()] };
        let mut q: Vec<f64> = gradient.iter().map(|g| -g).collect();
        let mut shares = Vec::with_capacity(self.pairs.len());
        for (s, y, inverse) in self.pairs.iter().rev() {
            let share = inverse * dot(s, &q);
            q.iter_mut().zip(y).for_each(|(q, y)| *q -= share * y);
            shares.push(share);
        }
        // sᵀy/yᵀy, in units of the larger so that squares stay in range.
        let (size, product) = (norm(y), 1.0 / inverse);
        let scale = if size > 0.0 { product / size / size } else { norm(s) };
        for q in &mut q {
            *q *= scale;
        }
        for ((s, y, inverse), share) in self.pairs.iter().zip(shares.into_iter().rev()) {
            let back = inverse * dot(y, &q);
            q.iter_mut().zip(s).for_each(|(q, s)| *q += (share - back) * s);
        }
        q
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// `‖a‖` without squares that overflow.
fn norm(a: &[f64]) -> f64 {
    let largest = a.iter().fold(0.0_f64, |most, a| most.max(a.abs()));
    if largest == 0.0 || !largest.is_finite() {
        return largest;
    }
    largest * a.iter().map(|a| (a / largest) * (a / largest)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests;

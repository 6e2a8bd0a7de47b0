//! L-BFGS that tolerates steps to where the objective is not defined.
//!
//! The method is argmin's. This module adds what that lacks: the first step has length 1, a step to where the objective has no
//! value ends the round, and a new round starts from the best point found, until a round gains nothing.

use std::cell::RefCell;
use vi_core::Stop;

use argmin::core::{ArgminError, CostFunction, Error, Executor, Gradient, State};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

/// The number of pairs of steps and gradient changes that are kept.
const MEMORY: usize = 10;
/// The number of evaluations for each step of a line search, on average, after which the round ends.
const EVALUATIONS_PER_STEP: usize = 20;
/// The number of evaluations in a row without a better value after which the round ends: line searches near the limit of rounding
/// do not end by themselves.
const IDLE: usize = 20;
/// The shortest first step of a round; after each round that gains nothing it is ten times shorter.
const SHORTEST: f64 = 1e-9;
/// The least relative change of the objective that counts as a gain: a few hundred roundings.
const GAIN: f64 = 1e-13;

/// The end of a search.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) point: Vec<f64>,
    pub(super) value: f64,
    /// The largest derivative at the result.
    pub(super) gradient: f64,
    pub(super) iterations: usize,
    pub(super) evaluations: usize,
    pub(super) stop: Stop,
}

/// A point with its value and gradient.
#[derive(Debug, Clone)]
struct Evaluated {
    point: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

impl Evaluated {
    /// Evaluates `objective` at `point`; `None` if the value or a derivative is not finite.
    fn new(point: &[f64], objective: &impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>) -> Option<Self> {
        let (value, gradient) = objective(point)?;
        let finite = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        finite.then(|| Self { point: point.to_vec(), value, gradient })
    }

    fn largest(&self) -> f64 {
        self.gradient.iter().fold(0.0, |largest, g| largest.max(g.abs()))
    }

    fn norm(&self) -> f64 {
        self.gradient.iter().map(|g| g * g).sum::<f64>().sqrt()
    }

    fn size(&self) -> f64 {
        self.value.abs().max(1.0)
    }

    /// Whether the value is higher or, if rounding hides the difference, the gradient smaller.
    fn better_than(&self, other: &Self) -> bool {
        let gain = self.value - other.value;
        let rounding = GAIN * other.size();
        gain > rounding || (gain > -rounding && self.largest() < other.largest())
    }

    fn converged(&self, tolerance: f64) -> bool {
        self.largest() <= tolerance * self.size()
    }
}

/// What is kept from round to round.
#[derive(Debug)]
struct Memory {
    last: Evaluated,
    best: Evaluated,
    evaluations: usize,
    /// The number of evaluations since the best.
    idle: usize,
    limit: usize,
}

/// `−scale·objective`, in the form that argmin takes.
struct Descent<'a, F> {
    objective: &'a F,
    scale: f64,
    tolerance: f64,
    memory: &'a RefCell<Memory>,
}

impl<F: Fn(&[f64]) -> Option<(f64, Vec<f64>)>> Descent<'_, F> {
    fn at(&self, point: &[f64]) -> Result<Evaluated, Error> {
        let stop = |text: &str| Error::from(ArgminError::ConditionViolated { text: text.to_owned() });
        let mut memory = self.memory.try_borrow_mut().map_err(|_| stop("evaluated within an evaluation"))?;
        if memory.last.point == point {
            return Ok(memory.last.clone());
        }
        if memory.best.converged(self.tolerance) {
            return Err(stop("converged"));
        }
        if memory.evaluations >= memory.limit {
            return Err(stop("too many evaluations"));
        }
        if memory.idle >= IDLE {
            return Err(stop("nothing better"));
        }
        memory.evaluations += 1;
        memory.idle += 1;
        memory.last = Evaluated::new(point, self.objective).ok_or_else(|| stop("no value here"))?;
        if memory.last.better_than(&memory.best) {
            memory.best = memory.last.clone();
            memory.idle = 0;
        }
        Ok(memory.last.clone())
    }
}

impl<F: Fn(&[f64]) -> Option<(f64, Vec<f64>)>> CostFunction for Descent<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, point: &Vec<f64>) -> Result<f64, Error> {
        Ok(-self.scale * self.at(point)?.value)
    }
}

impl<F: Fn(&[f64]) -> Option<(f64, Vec<f64>)>> Gradient for Descent<'_, F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, point: &Vec<f64>) -> Result<Vec<f64>, Error> {
        Ok(self.at(point)?.gradient.iter().map(|g| -self.scale * g).collect())
    }
}

/// Maximises `objective` from `start`; `None` if it has no value there.
pub(super) fn maximise(
    start: &[f64],
    objective: &impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>,
    tolerance: f64,
    max_iterations: usize,
) -> Option<Found> {
    let first = Evaluated::new(start, objective)?;
    let limit = max_iterations.saturating_mul(EVALUATIONS_PER_STEP);
    let memory = RefCell::new(Memory { last: first.clone(), best: first, evaluations: 1, idle: 0, limit });

    let (mut iterations, mut length) = (0, 1.0);
    let stop = loop {
        let from = memory.borrow().best.clone();
        if from.converged(tolerance) {
            break Stop::Converged;
        }
        if iterations >= max_iterations || memory.borrow().evaluations >= limit {
            break Stop::Iterations;
        }
        if length < SHORTEST {
            break Stop::Improvement;
        }
        memory.borrow_mut().idle = 0;
        // L-BFGS begins with a step of `scale` times the gradient.
        let descent = Descent { objective, scale: length / from.norm(), tolerance, memory: &memory };
        iterations += round(descent, &from, max_iterations - iterations).max(1);
        let gained = memory.borrow().best.better_than(&from);
        length = if gained { 1.0_f64.min(10.0 * length) } else { 0.1 * length };
    };
    let Memory { best, evaluations, .. } = memory.into_inner();
    let gradient = best.largest();
    Some(Found { point: best.point, value: best.value, gradient, iterations, evaluations, stop })
}

/// Makes one run of L-BFGS, and returns its number of steps. The result is in the memory, also if the run failed.
fn round(
    descent: Descent<'_, impl Fn(&[f64]) -> Option<(f64, Vec<f64>)>>,
    from: &Evaluated,
    max_iterations: usize,
) -> usize {
    let solver = LBFGS::new(MoreThuenteLineSearch::new(), MEMORY);
    let run = || -> Result<u64, Error> {
        let solver = solver.with_tolerance_grad(0.0)?.with_tolerance_cost(0.0)?;
        let executor = Executor::new(descent, solver)
            .configure(|state| state.param(from.point.clone()).max_iters(max_iterations as u64))
            .ctrlc(false)
            .timer(false);
        Ok(executor.run()?.state.get_iter())
    };
    run().ok().and_then(|steps| usize::try_from(steps).ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_maximum_of_a_narrow_valley() {
        // Rosenbrock's function, upside down.
        let objective = |u: &[f64]| {
            let (a, b) = (1.0 - u[0], u[1] - u[0] * u[0]);
            Some((-(a * a + 100.0 * b * b), vec![2.0 * a + 400.0 * u[0] * b, -200.0 * b]))
        };
        let found = maximise(&[-1.2, 1.0], &objective, 1e-9, 500).unwrap();
        assert_eq!(found.stop, Stop::Converged);
        // The gradient's tolerance over the smallest curvature, 0.4.
        assert!((found.point[0] - 1.0).abs() < 1e-8 && (found.point[1] - 1.0).abs() < 1e-8);
        assert!(found.iterations < 60, "{}", found.iterations);
    }

    #[test]
    fn steps_over_the_edge_are_taken_back() {
        // Defined for u < 1 only, the maximum at 0.99 beside the edge.
        let objective = |u: &[f64]| {
            let gap = 1.0 - u[0];
            (gap > 0.0).then(|| (100.0 * u[0] + gap.ln(), vec![100.0 - gap.recip()]))
        };
        for start in [-3.0, 0.5, 0.9999] {
            let found = maximise(&[start], &objective, 1e-9, 500).unwrap();
            assert_eq!(found.stop, Stop::Converged, "from {start}");
            assert!((found.point[0] - 0.99).abs() < 1e-9);
        }
        assert!(maximise(&[1.0], &objective, 1e-9, 500).is_none());
    }

    #[test]
    fn a_wrong_gradient_stalls_and_nothing_worse() {
        let objective = |u: &[f64]| Some((-u[0] * u[0], vec![2.0 * u[0]]));
        let found = maximise(&[1.0], &objective, 1e-9, 500).unwrap();
        assert_eq!(found.stop, Stop::Improvement);
        assert!(found.value >= -1.0);
        let nowhere = |u: &[f64]| Some((-u[0].abs(), vec![f64::NAN]));
        assert!(maximise(&[1.0], &nowhere, 1e-9, 500).is_none());
    }

    #[test]
    fn the_limit_of_steps_is_kept() {
        let objective = |u: &[f64]| Some((-(-u[0]).exp(), vec![(-u[0]).exp()]));
        let found = maximise(&[0.0], &objective, 1e-300, 7).unwrap();
        assert_eq!(found.stop, Stop::Iterations);
        assert!(found.iterations <= 7 && found.value > -1.0);
    }
}

//! Minimisation of smooth functions: `argmin`'s L-BFGS with a Moré-Thuente line search, kept away from where the function
//! is not finite.

use std::cell::RefCell;

use argmin::core::{CostFunction, Error, Executor, Gradient, State, TerminationReason, TerminationStatus};
use argmin::solver::linesearch::MoreThuenteLineSearch;
use argmin::solver::quasinewton::LBFGS;

/// When a search stops.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Search {
    /// Evaluations of the function with its gradient.
    pub(crate) evaluations: usize,
    /// A step that changes the function by less ends it.
    pub(crate) tolerance: f64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Minimum {
    /// The best point seen.
    pub(crate) x: Vec<f64>,
    /// Its value.
    pub(crate) value: f64,
    /// Evaluations taken.
    pub(crate) evaluations: usize,
    /// Whether the last step changed the function by less than the tolerance.
    pub(crate) converged: bool,
}

/// The length of the gradient at which a search is done whatever its tolerance.
const FLAT: f64 = 1e-10;

/// Pairs of steps and gradients that are kept.
const MEMORY: usize = 12;

/// A search that ran into values that are not finite begins anew where it was; one that got nowhere, with a shorter first
/// step, down to this.
const LEAST_STEP: f64 = 1e-6;

/// A local minimum of `f` near `start`, where `f` writes its gradient and returns its value; NaN or infinite values turn the
/// search round. `None` if `f` is not finite at `start`.
///
/// The first step has length at most 1, so coordinates should be such that 1 is a step worth trying.
pub(crate) fn minimise<F>(start: &[f64], search: Search, mut f: F) -> Option<Minimum>
where
    F: FnMut(&[f64], &mut [f64]) -> f64,
{
    let mut gradient = vec![0.0; start.len()];
    let value = f(start, &mut gradient);
    if !value.is_finite() || gradient.iter().any(|g| !g.is_finite()) {
        return None;
    }
    let memo = RefCell::new(Memo {
        f,
        left: search.evaluations.saturating_sub(1),
        best: (start.to_vec(), value),
        last: (start.to_vec(), value, gradient),
    });
    let (mut converged, mut first) = (false, 1.0);
    while first >= LEAST_STEP {
        let before = memo.borrow().best.1;
        let outcome = descend(&memo, search.tolerance, first);
        converged = outcome == Outcome::Converged;
        if converged || outcome == Outcome::Spent {
            break;
        }
        first *= if memo.borrow().best.1 < before - search.tolerance { 1.0 } else { 0.1 };
    }
    let memo = memo.into_inner();
    let evaluations = search.evaluations.max(1) - memo.left;
    Some(Minimum { x: memo.best.0, value: memo.best.1, evaluations, converged })
}

/// The function with what it last returned, as value and gradient are asked for one after the other.
struct Memo<F> {
    f: F,
    left: usize,
    best: (Vec<f64>, f64),
    last: (Vec<f64>, f64, Vec<f64>),
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Memo<F> {
    fn at(&mut self, x: &[f64]) -> Result<(), Error> {
        if self.last.0 == x {
            return Ok(());
        }
        if self.left == 0 {
            return Err(Error::msg("no evaluations left"));
        }
        self.left -= 1;
        let mut gradient = std::mem::take(&mut self.last.2);
        gradient.resize(x.len(), 0.0);
        let value = (self.f)(x, &mut gradient);
        let finite = value.is_finite() && gradient.iter().all(|g| g.is_finite());
        // A point without a value is not remembered: asked for again, it fails again.
        self.last = (if finite { x.to_vec() } else { Vec::new() }, value, gradient);
        if !finite {
            return Err(Error::msg("not finite"));
        }
        if value < self.best.1 {
            self.best = (x.to_vec(), value);
        }
        Ok(())
    }
}

/// `u ↦ f(x₀ + σu)`.
struct Scaled<'a, F> {
    memo: &'a RefCell<Memo<F>>,
    origin: &'a [f64],
    sigma: f64,
}

impl<F> Scaled<'_, F> {
    fn x(&self, u: &[f64]) -> Vec<f64> {
        self.origin.iter().zip(u).map(|(x, u)| x + self.sigma * u).collect()
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> CostFunction for Scaled<'_, F> {
    type Param = Vec<f64>;
    type Output = f64;

    fn cost(&self, u: &Vec<f64>) -> Result<f64, Error> {
        let mut memo = self.memo.borrow_mut();
        memo.at(&self.x(u))?;
        Ok(memo.last.1)
    }
}

impl<F: FnMut(&[f64], &mut [f64]) -> f64> Gradient for Scaled<'_, F> {
    type Param = Vec<f64>;
    type Gradient = Vec<f64>;

    fn gradient(&self, u: &Vec<f64>) -> Result<Vec<f64>, Error> {
        let mut memo = self.memo.borrow_mut();
        memo.at(&self.x(u))?;
        Ok(memo.last.2.iter().map(|g| self.sigma * g).collect())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Converged,
    /// No evaluations left.
    Spent,
    /// The line search found no step.
    Stuck,
}

/// One run of L-BFGS from the best point so far.
fn descend<F: FnMut(&[f64], &mut [f64]) -> f64>(memo: &RefCell<Memo<F>>, tolerance: f64, first: f64) -> Outcome {
    let origin = memo.borrow().best.0.clone();
    let gradient = {
        let mut memo = memo.borrow_mut();
        if memo.at(&origin).is_err() {
            return Outcome::Spent;
        }
        memo.last.2.clone()
    };
    let norm = gradient.iter().map(|g| g * g).sum::<f64>().sqrt();
    // The first step is −σ²·∇f in x.
    let sigma = (first / norm.max(1.0)).sqrt();
    let scaled: Vec<f64> = gradient.iter().map(|g| sigma * g).collect();
    let problem = Scaled { memo, origin: &origin, sigma };
    let line = MoreThuenteLineSearch::new();
    let solver = LBFGS::<_, Vec<f64>, Vec<f64>, f64>::new(line, MEMORY)
        .with_tolerance_cost(tolerance)
        .and_then(|solver| solver.with_tolerance_grad(FLAT * sigma));
    let Ok(solver) = solver else { return Outcome::Stuck };
    let u = vec![0.0; origin.len()];
    let run = Executor::new(problem, solver)
        .configure(|state| state.param(u).gradient(scaled).max_iters(MOST_STEPS))
        .ctrlc(false)
        .run();
    let converged = run.is_ok_and(|result| {
        matches!(
            result.state().get_termination_status(),
            TerminationStatus::Terminated(TerminationReason::SolverConverged)
        )
    });
    match (converged, memo.borrow().left) {
        (true, _) => Outcome::Converged,
        (false, 0) => Outcome::Spent,
        (false, _) => Outcome::Stuck,
    }
}

/// Steps of one run; evaluations run out long before.
const MOST_STEPS: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    const SEARCH: Search = Search { evaluations: 400, tolerance: 1e-14 };

    fn rosenbrock(x: &[f64], g: &mut [f64]) -> f64 {
        let (a, b) = (1.0 - x[0], x[1] - x[0] * x[0]);
        g[0] = -2.0 * a - 400.0 * x[0] * b;
        g[1] = 200.0 * b;
        a * a + 100.0 * b * b
    }

    #[test]
    fn the_valley_is_followed_to_its_end() {
        let found = minimise(&[-1.2, 1.0], SEARCH, rosenbrock).unwrap();
        assert!(found.converged && found.evaluations < 100, "{found:?}");
        // The value is quadratic about the minimum, with curvature of order 1 along the valley.
        assert!((found.x[0] - 1.0).abs() < 1e-5, "{found:?}");
    }

    #[test]
    fn walls_turn_the_search_round() {
        // −log x + x, with nothing left of 0, started so steep that the first steps leap the wall.
        let wall = |x: &[f64], g: &mut [f64]| {
            if x[0] <= 0.0 {
                return f64::NAN;
            }
            g[0] = 1.0 - 1.0 / x[0];
            x[0] - x[0].ln()
        };
        for start in [1e-3, 0.5, 50.0, 1e4] {
            let found = minimise(&[start], SEARCH, wall).unwrap();
            assert!((found.x[0] - 1.0).abs() < 1e-5, "{start}: {found:?}");
        }
        assert!(minimise(&[-1.0], SEARCH, wall).is_none());
    }

    #[test]
    fn a_function_without_a_minimum_ends_with_the_evaluations() {
        let slope = |x: &[f64], g: &mut [f64]| {
            g[0] = 1.0;
            x[0]
        };
        let found = minimise(&[0.0], Search { evaluations: 50, tolerance: 1e-9 }, slope).unwrap();
        assert!(!found.converged && found.evaluations <= 50 && found.x[0] < -1e6, "{found:?}");
    }

    #[test]
    fn the_start_may_be_the_minimum() {
        let bowl = |x: &[f64], g: &mut [f64]| {
            g[0] = 2.0 * x[0];
            x[0] * x[0]
        };
        let found = minimise(&[0.0], SEARCH, bowl).unwrap();
        assert!(found.converged && found.evaluations == 1);
    }
}

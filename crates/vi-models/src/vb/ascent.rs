//! Coordinate ascent on ℒ: the loop of all fits, with its stopping rules and its extrapolation.

use super::settings::{StopRule, VbInfo, VbSettings};
use crate::ModelError;
use vi_core::Stop;

/// One iteration of a fit, as a map on the logarithms `θ` of its parameters.
pub(super) trait Cycle {
    /// What an iteration gives besides the next parameters.
    type State;

    /// Updates everything from `θ`.
    fn cycle(&mut self, theta: &[f64]) -> Result<Step<Self::State>, ModelError>;

    /// Whether an iteration can overshoot the optimum, so that ℒ falls.
    const OVERSHOOTS: bool = false;

    /// The point a part `rho` of the way, for an iteration that [overshoots](Self::OVERSHOOTS).
    fn part_way(&self, from: &[f64], to: &[f64], rho: f64) -> Vec<f64> {
        from.iter().zip(to).map(|(from, to)| (1.0 - rho) * from + rho * to).collect()
    }
}

/// The result of one iteration.
pub(super) struct Step<S> {
    /// ℒ without its constants.
    pub(super) bound: f64,
    /// Sum of the sizes of ℒ's terms.
    pub(super) size: f64,
    /// The parameters of the next iteration.
    pub(super) next: Vec<f64>,
    pub(super) state: S,
}

/// The end of an ascent.
pub(super) struct Ascent<S> {
    /// The parameters that the last iteration started from.
    pub(super) theta: Vec<f64>,
    pub(super) step: Step<S>,
    pub(super) stop: Stop,
    pub(super) authors_rule: bool,
    pub(super) iterations: usize,
    /// ℒ without its constants after each iteration that was kept.
    pub(super) bounds: Vec<f64>,
    /// The largest [`rounding`] of the iterations that were kept.
    pub(super) rounding: f64,
    pub(super) last_change: f64,
    pub(super) rejected: usize,
}

impl<S> Ascent<S> {
    /// The report of the fit, with the constants of ℒ included.
    pub(super) fn info(&self, constants: f64, condition: f64, reflections: usize) -> VbInfo {
        VbInfo {
            stop: self.stop,
            authors_rule: self.authors_rule,
            iterations: self.iterations,
            bounds: self.bounds.iter().map(|bound| bound + constants).collect(),
            rounding: self.rounding,
            last_change: self.last_change,
            rejected: self.rejected,
            condition,
            reflections,
        }
    }
}

/// The authors' tolerance on ℒ.
const AUTHORS_TOLERANCE: f64 = 1e-5;

/// The start of an ascent.
pub(super) struct Start {
    pub(super) theta: Vec<f64>,
    /// The value that the authors' rule takes as the bound before the first iteration, if it has one; their rule then stops when
    /// the bound falls.
    pub(super) pseudo_bound: Option<f64>,
}

/// Iterates until the stopping rule of `settings` is met.
pub(super) fn ascend<C: Cycle>(
    cycle: &mut C,
    start: Start,
    settings: &VbSettings,
) -> Result<Ascent<C::State>, ModelError> {
    match settings.rule() {
        StopRule::Authors if !C::OVERSHOOTS => by_authors_rule(cycle, start, settings.max_iterations),
        rule => guarded(cycle, start.theta, rule, settings.max_iterations),
    }
}

fn by_authors_rule<C: Cycle>(
    cycle: &mut C,
    start: Start,
    max_iterations: usize,
) -> Result<Ascent<C::State>, ModelError> {
    let mut theta = start.theta;
    let mut last = start.pseudo_bound.unwrap_or(f64::NEG_INFINITY);
    let mut bounds = Vec::new();
    let mut largest = 0.0;
    loop {
        let step = cycle.cycle(&theta)?;
        bounds.push(step.bound);
        largest = f64::max(largest, rounding(step.size));
        let stop = if start.pseudo_bound.is_some() && last > step.bound {
            Some(Stop::Improvement)
        } else if (last - step.bound).abs() < (AUTHORS_TOLERANCE * step.bound).abs() {
            Some(Stop::Converged)
        } else if bounds.len() >= max_iterations {
            Some(Stop::Iterations)
        } else {
            None
        };
        if let Some(stop) = stop {
            let last_change = largest_change(&theta, &step.next);
            let iterations = bounds.len();
            let (authors_rule, rounding, rejected) = (true, largest, 0);
            return Ok(Ascent { theta, step, stop, authors_rule, iterations, bounds, rounding, last_change, rejected });
        }
        last = step.bound;
        theta = step.next;
    }
}

/// Iterates so that ℒ never falls: an extrapolated point that would lower it is taken back, a plain one shortened.
fn guarded<C: Cycle>(
    cycle: &mut C,
    theta: Vec<f64>,
    rule: StopRule,
    max_iterations: usize,
) -> Result<Ascent<C::State>, ModelError> {
    let mut squarem = Squarem::default();
    let (mut rejected, mut iterations) = (0, 1);
    // The share `rho` of a step is taken, or `damping` of it if whole steps oscillate about the optimum.
    let (mut rho, mut damping) = (1.0, 1.0);
    let mut stop = Stop::Iterations;
    let step = cycle.cycle(&theta)?;
    let mut kept = Kept { rounding: rounding(step.size), bounds: vec![step.bound], theta, step };
    while iterations < max_iterations {
        if let Some(reason) = kept.done(rule) {
            stop = reason;
            break;
        }
        let plain = kept.part_way::<C>(cycle, damping);
        let extrapolated = match rule {
            StopRule::Parameters { .. } if rho == 1.0 => squarem.propose(&kept.theta, &plain),
            _ => None,
        };
        let is_plain = extrapolated.is_none();
        let theta = match extrapolated {
            Some(theta) => theta,
            None if rho == 1.0 => plain,
            None if C::OVERSHOOTS && rho >= SHORTEST => kept.part_way::<C>(cycle, rho * damping),
            None => {
                stop = Stop::Improvement;
                break;
            }
        };
        iterations += 1;
        // An extrapolated point without a Gaussian is taken back; if a plain one has none, the fit fails.
        let step = match cycle.cycle(&theta) {
            Ok(step) => Some(step),
            Err(error) if is_plain => return Err(error),
            Err(_) => None,
        };
        match step {
            Some(step) if step.bound >= kept.step.bound - rounding(step.size) => {
                if C::OVERSHOOTS && is_plain && swings(&kept, &theta, &step.next) {
                    damping = f64::max(0.5 * damping, LEAST_DAMPING);
                }
                kept.advance(theta, step);
                rho = 1.0;
            }
            _ => {
                rejected += 1;
                squarem.hold();
                if is_plain {
                    rho *= 0.5;
                }
            }
        }
    }
    let last_change = kept.last_change();
    let stop = kept.done(rule).unwrap_or(stop);
    let Kept { theta, step, bounds, rounding } = kept;
    let authors_rule = rule == StopRule::Authors;
    Ok(Ascent { theta, step, stop, authors_rule, iterations, bounds, rounding, last_change, rejected })
}

/// The state of a guarded ascent.
struct Kept<S> {
    theta: Vec<f64>,
    step: Step<S>,
    bounds: Vec<f64>,
    rounding: f64,
}

impl<S> Kept<S> {
    fn last_change(&self) -> f64 {
        largest_change(&self.theta, &self.step.next)
    }

    fn done(&self, rule: StopRule) -> Option<Stop> {
        match rule {
            StopRule::Parameters { tolerance } => (self.last_change() <= tolerance).then_some(Stop::Converged),
            StopRule::Authors => match self.bounds[..] {
                [.., last, bound] if (last - bound).abs() < (AUTHORS_TOLERANCE * bound).abs() => Some(Stop::Converged),
                _ => None,
            },
        }
    }

    fn part_way<C: Cycle>(&self, cycle: &C, rho: f64) -> Vec<f64> {
        if rho == 1.0 { self.step.next.clone() } else { cycle.part_way(&self.theta, &self.step.next, rho) }
    }

    fn advance(&mut self, theta: Vec<f64>, step: Step<S>) {
        self.bounds.push(step.bound);
        self.rounding = self.rounding.max(rounding(step.size));
        (self.theta, self.step) = (theta, step);
    }
}

/// Whether the step from `theta` to `next` reverses more than half of the one before.
fn swings<S>(kept: &Kept<S>, theta: &[f64], next: &[f64]) -> bool {
    let (mut along, mut square) = (0.0, 0.0);
    for ((old, theta), next) in kept.theta.iter().zip(theta).zip(next) {
        along += (theta - old) * (next - theta);
        square += (theta - old) * (theta - old);
    }
    along < -0.5 * square
}

/// How far ℒ may seem to fall through the rounding of its terms, each a sum of many.
fn rounding(size: f64) -> f64 {
    4096.0 * f64::EPSILON * (1.0 + size)
}

fn largest_change(theta: &[f64], next: &[f64]) -> f64 {
    theta.iter().zip(next).map(|(old, new)| (new - old).abs()).fold(0.0, f64::max)
}

/// Extrapolation of a fixed-point iteration from two of its steps (Varadhan and Roland 2008, scheme S3).
///
/// ```text
/// r = θ₁ − θ₀,  v = (θ₂ − θ₁) − r,  s = max(1, ‖r‖/‖v‖):   θ = θ₀ + 2s·r + s²·v
/// ```
#[derive(Default)]
struct Squarem {
    /// `θ₀` and `r`.
    first: Option<(Vec<f64>, Vec<f64>)>,
    /// Whether the next step must be a plain one.
    hold: bool,
}

/// The largest change from which to extrapolate: earlier, an iteration may still choose between optima.
const SETTLED: f64 = 0.1;
/// The shortest part of a step that is tried.
const SHORTEST: f64 = 1e-6;
/// The least damping of steps that oscillate.
const LEAST_DAMPING: f64 = 0.125;
/// The largest step of a logarithm by extrapolation.
const LONGEST: f64 = 5.0;

impl Squarem {
    /// The point to try after `next = F(theta)`; `None` if it is `next` itself.
    fn propose(&mut self, theta: &[f64], next: &[f64]) -> Option<Vec<f64>> {
        let change = largest_change(theta, next);
        let step: Vec<f64> = next.iter().zip(theta).map(|(next, theta)| next - theta).collect();
        if self.hold || change > SETTLED {
            self.hold = false;
            self.first = None;
            return None;
        }
        let Some((origin, r)) = self.first.take() else {
            self.first = Some((theta.to_vec(), step));
            return None;
        };
        let v: Vec<f64> = step.iter().zip(&r).map(|(step, r)| step - r).collect();
        let length = norm(&r) / norm(&v);
        let largest = change.max(r.iter().fold(0.0, |largest, r| f64::max(largest, r.abs())));
        // s·|r| bounds each half of the step; NaN if nothing changed.
        let s = length.min(LONGEST / largest);
        if s.is_nan() || s <= 1.0 {
            return None;
        }
        Some(origin.iter().zip(r.iter().zip(&v)).map(|(origin, (r, v))| origin + s * (2.0 * r + s * v)).collect())
    }

    /// Makes the next step a plain one, after a point that was taken back.
    fn hold(&mut self) {
        self.hold = true;
        self.first = None;
    }
}

fn norm(v: &[f64]) -> f64 {
    v.iter().map(|v| v * v).sum::<f64>().sqrt()
}

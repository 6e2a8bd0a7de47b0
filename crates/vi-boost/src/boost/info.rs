//! Reports of a run.

use vi_core::Estimate;

/// The report of one iteration of any of the algorithms. Fields that an algorithm does not have are NaN or 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The number of components proposed so far, including the start: `t` of the paper.
    pub iteration: usize,
    /// The current number of components of the mixture.
    pub components: usize,
    /// The divergence up to a constant, `E_q[log(q/f)]`: minus the bound on the log evidence, in nats. For a step it is taken on
    /// the points by which components and weights were chosen, with the standard error of as many independent points; it is then
    /// too low, by more than this error if the target's tails are far from Gaussian. After a run, [`last`](crate::Boost::last)
    /// has it from fresh points, with the scatter of their scramblings as its error.
    pub objective: Estimate,
    /// `log E_q[f/q]`, an estimate of the log evidence, in nats; too low if `q` misses mass.
    pub log_evidence: Estimate,
    /// The effective sample size of the points with the importance weights `f/q`: `N·(E v)²/E v²`.
    pub effective_sample_size: f64,
    /// The new component's weight when it was added.
    pub alpha: f64,
    /// By how much the iteration lowered the objective, in nats, on the old and the new points together; as uncertain as the
    /// objective of a step.
    pub improvement: f64,
    /// The largest `E_q ℓ − E_h ℓ`, `ℓ = log(q/f)`, over the candidates, on a few hundred points: a bound by convexity on the
    /// gain from mixing one in. If it is far above the improvement, searches overfit their points.
    pub gap: f64,
    /// The number of candidates tried (for the paper's algorithm: of starts).
    pub tries: usize,
    /// The number of candidates for which a fallback covariance was taken, because their Hessian was not positive definite or
    /// their search left its ball (for the paper's algorithm: of starts drawn again).
    pub fallbacks: usize,
    /// The number of candidates given up because the target was NaN, +∞ or zero at some of their points.
    pub rejected: usize,
    /// The smallest eigenvalue of `∇²log(q/f)` at the start the new component came from, in units of the start
    /// distribution.
    pub least_eigenvalue: f64,
    /// The number of components dropped because their weight had vanished.
    pub pruned: usize,
    /// The total number of points at which the log-density was evaluated.
    pub evaluations: u64,
}

impl Info {
    /// The divergence `KL(q‖p) = E_q[log(q/f)] + log E_q[f/q]` in nats, as far as `q`'s own points show it: never negative except
    /// by rounding, and without any mass that `q` misses.
    #[must_use]
    pub fn kl(&self) -> f64 {
        self.objective.value + self.log_evidence.value
    }

    pub(crate) fn new(iteration: usize) -> Self {
        let nan = Estimate { value: f64::NAN, standard_error: f64::NAN };
        Self {
            iteration,
            components: 0,
            objective: nan,
            log_evidence: nan,
            effective_sample_size: f64::NAN,
            alpha: f64::NAN,
            improvement: f64::NAN,
            gap: f64::NAN,
            tries: 0,
            fallbacks: 0,
            rejected: 0,
            least_eigenvalue: f64::NAN,
            pruned: 0,
            evaluations: 0,
        }
    }
}

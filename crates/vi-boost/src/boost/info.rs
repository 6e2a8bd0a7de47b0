//! What a run says of itself.

use vi_core::Estimate;

/// One iteration of any of the algorithms. Fields that an algorithm does not have are NaN or 0.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// Components proposed so far, the start included: `t` of the paper.
    pub iteration: usize,
    /// Components of the mixture now.
    pub components: usize,
    /// `E_q[log(q/f)]`, minus the bound on the log evidence, in nats. Of a step, the standard error is that of as
    /// many independent points, on points that components and weights were chosen by: the value is then too low, by more than this error where the
    /// target's tails are far from Gaussian. What [`last`](crate::Boost::last) says after a run is from fresh points and the scatter of
    /// their scramblings.
    pub objective: Estimate,
    /// `log E_q[f/q]`, an estimate of the log evidence, in nats; too low where `q` misses mass.
    pub log_evidence: Estimate,
    /// How much of the points the importance weights `f/q` leave: `N·(E v)²/E v²`.
    pub effective_sample_size: f64,
    /// The new component's weight when it was added.
    pub alpha: f64,
    /// By how much the iteration lowered the objective, in nats, on the points of before and after together; as uncertain as the
    /// objective of a step.
    pub improvement: f64,
    /// The largest `E_q ℓ − E_h ℓ`, `ℓ = log(q/f)`, over the candidates: what convexity leaves to gain by mixing one in, on a few
    /// hundred points only. Far above the improvement, it says that searches overfit their points.
    pub gap: f64,
    /// Candidates tried (for the paper's algorithm: starts).
    pub tries: usize,
    /// Candidates whose Hessian was not positive definite or whose search left its ball, so that a fallback covariance was
    /// taken (for the paper's algorithm: starts drawn again).
    pub fallbacks: usize,
    /// Candidates given up because the target was NaN, +∞ or zero at some of their points.
    pub rejected: usize,
    /// The smallest eigenvalue of `∇²log(q/f)` at the start the new component came from, in units of the start
    /// distribution.
    pub least_eigenvalue: f64,
    /// Components dropped because their weight had vanished.
    pub pruned: usize,
    /// Points at which the log-density was asked for, in all.
    pub evaluations: u64,
}

impl Info {
    /// `E_q[log(q/f)] + log E_q[f/q]`: the divergence `KL(q‖p)` in nats as far as `q`'s own points show it, never negative but for
    /// rounding. What `q` misses, it does not see.
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

//! How close is close enough, and why: the only place where that is decided.
//!
//! Every number is relative, to the size that the comparison names.

/// Roots of the implicit system, row by row: `α` relative to `max(|α|, √ν)`, the rest to itself.
///
/// The oracle has 60 digits; double precision reaches 6e-14 on its whole grid, so 1e-12 leaves room for
/// another processor's exponential and for nothing else.
pub const ROOT: f64 = 1e-12;

/// Below this a number is so near to underflow that it has lost digits: `MIN_POSITIVE/ε`.
pub const UNDERFLOW: f64 = f64::MIN_POSITIVE / f64::EPSILON;

/// Tails of Student's t, and the quantiles at them, relative to the tail's logarithm: some operations of `ε` each. Seen: 15 `ε`, which leaves
/// room for another processor's logarithm and for nothing else.
pub const STUDENT: f64 = 32.0 * f64::EPSILON;

/// The KL divergence of a *stored* Gaussian, with expectations by quadrature on both sides: each is good to
/// about 1e-12, and the stored numbers, rounded to 17 digits, lose what the covariance's condition takes.
pub const KL_OF_STORED: f64 = 1e-8;

/// A stored Monte-Carlo estimate against the exact value, in standard errors. Two-sided, 6e-5 of honest
/// estimates are further away.
pub const STANDARD_ERRORS: f64 = 4.0;

/// A Monte-Carlo estimate of our own, with a fixed seed, in standard errors: with a few thousand draws the
/// standard error itself is off by a few percent, more where the integrand has heavy tails.
pub const OWN_STANDARD_ERRORS: f64 = 6.0;

/// Draws of that estimate.
pub const OWN_DRAWS: usize = 2000;

/// The exact linear-Gaussian posterior and its evidence: the recursion and the batch closed form agree to
/// about `n·ε·κ`, κ ≤ 1e4 in regressions worth storing.
pub const KALMAN: f64 = 1e-10;

/// The gradient at the mode in the posterior's own metric, `√(gᵀPg)`: how many posterior standard deviations
/// the mode is away. What Laplace's Newton iteration promises by default.
pub const GRADIENT: f64 = 1e-10;

/// Moments of the true posterior, and its log normaliser, by two different grids. The trapezoid rule converges
/// exponentially; what is left is where the tails are cut. A file may state its own grid's error.
#[must_use]
pub fn grid(stated_error: f64) -> f64 {
    1e-8 + 10.0 * stated_error.abs()
}

/// What may be asked of one algorithm's stored run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfRun {
    /// Mean and covariance, relative to their norms; trace and log-determinant likewise.
    pub belief: f64,
    /// KL divergence of our own run's belief from the posterior, relative to the stored one.
    pub kl: f64,
}

/// An independent run with roots of 30 digits: rounding alone. Rounding grows with the dimension and with the
/// flatness of the prior, `n·ε·κ`.
#[must_use]
pub fn exact_roots(d: usize) -> OfRun {
    OfRun { belief: if d <= 10 { 1e-9 } else { 1e-7 }, kl: 1e-6 }
}

/// The published implicit filter: its two-dimensional solver stops at 1e-6. A file may state how far that run is from
/// the one with exact roots, `stated_gap`: the solver's error and not ours.
#[must_use]
pub fn published_implicit(stated_gap: f64) -> OfRun {
    OfRun { belief: 1e-6 + 2.0 * stated_gap, kl: 1e-6 + 10.0 * stated_gap }
}

/// Closed-form filters (explicit, EKF, QKF).
pub const CLOSED_FORM: OfRun = OfRun { belief: 1e-9, kl: 1e-6 };

/// The extended Kalman filter where it overshoots, that is, sees a row with `|a|` above [`OVERSHOT`]: the published
/// code takes `s(a)(1 − s(a))`, which then has lost half of its digits, and bounds it below.
pub const EXTENDED_KALMAN_OVERSHOT: OfRun = OfRun { belief: 1e-6, kl: 1e-4 };

/// The `|a|` at which `1 − s(a)` keeps half of the digits: `e⁻ᵃ = √ε`.
pub const OVERSHOT: f64 = 18.0;

/// Laplace by Newton's method on both sides: the mode to rounding over the posterior's condition.
pub const LAPLACE: OfRun = OfRun { belief: 1e-8, kl: 1e-6 };

/// Laplace as the published code has it: a quasi-Newton search with finite differences that stops when the objective
/// moves by 2e-9 of itself. Three digits, so half a unit of the third.
pub const LAPLACE_AS_CODED: OfRun = OfRun { belief: 5e-3, kl: 5e-3 };

/// The limited-memory recursion as printed, on means and on `WWᵀ + Ψ`: rounding, which each step's EM iteration carries on.
pub const RECURSION: f64 = 1e-9;

/// The same where a file states how far two implementations of the same run are apart; nothing where that is too far for
/// the run to mean anything.
#[must_use]
pub fn recursion(stated: f64) -> Option<f64> {
    (stated.abs() <= 1e-4).then(|| RECURSION + 10.0 * stated.abs())
}

/// The KL divergence of a low-rank belief that is known to `belief`, relative. It moves with the square root of itself times the
/// belief's error in standard deviations.
#[must_use]
pub fn kl_of_low_rank(belief: f64) -> f64 {
    10.0 * belief
}

/// What may be asked of a factor analysis.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OfFactor {
    /// `C = Ψ + WWᵀ` and `ψ`, relative to their norms.
    pub matrix: f64,
    /// The loss, relative to itself and to one nat.
    pub loss: f64,
}

/// The start of EM and the loss of a stored factor: rounding alone, some `d·ε·κ` in the determinants.
pub const STORED_FACTOR: OfFactor = OfFactor { matrix: 1e-9, loss: 1e-9 };

/// A run whose result moves by `sensitivity` when the rows are nudged by 1e-12: rounding is a thousand times
/// less, but its effects are those of another run and not a multiple of this one, so ten times the sensitivity is allowed.
/// `None` where nothing would be left to compare.
#[must_use]
pub fn factor_of_run(sensitivity: f64) -> Option<OfFactor> {
    let tolerance = 1e-9 + 10.0 * sensitivity;
    (tolerance < 1e-3).then_some(OfFactor { matrix: tolerance, loss: 10.0 * tolerance })
}

/// Where rounding decides, the loss keeps its order of magnitude: powers of ten.
pub const MAGNITUDE: f64 = 1.0;

/// Closed forms on a well-conditioned matrix of a few rows: `d·ε·κ`, κ ≤ 1e4.
pub const WOODBURY: f64 = 1e-10;

/// The probit approximation of an expectation, a closed form.
pub const PROBIT: f64 = 1e-10;

/// An expectation of the logistic function by quadrature. Thirty-digit arithmetic agrees with ours to 1e-14; the stored ones
/// are off by up to 2e-8 where the variance is 12.
pub const STORED_QUADRATURE: f64 = 1e-7;
pub mod vb;
/// Likelihoods of a GLM, their derivatives, means and distribution functions, each relative to itself: a few dozen
/// roundings on either side, and a continued fraction.
pub const LIKELIHOOD: f64 = 1e-12;

/// Numerical differentiation with 40 digits leaves this where a derivative is 0.
pub const NUMERICAL_DERIVATIVE_ZERO: f64 = 1e-30;

/// Objectives of a GLM, and features: sums of a few hundred terms in double precision on both sides.
pub const OBJECTIVE: f64 = 1e-11;

/// Their gradients, by automatic differentiation or by hand: likewise, relative to the largest entry.
pub const OBJECTIVE_GRADIENT: f64 = 1e-10;

/// Central differences with a step of about 1e-5: the square of the step, and rounding over it.
pub const CENTRAL_DIFFERENCE: f64 = 1e-6;

/// Predictions of a GLM: ours to 1e-12, the stored by a quadrature with 120 nodes whose weights carry some dozens of
/// roundings each.
pub const PREDICTION: f64 = 1e-9;

/// Twenty steps of an update rule.
pub const TRAJECTORY: f64 = 1e-12;

/// Features, kernels and metrics by the same formula in another order of operations: angles up to 100 lose two digits.
pub const FEATURES: f64 = 1e-12;

/// Gradients of features against stored central differences of step 1e-6: `ε/h` and `h²` of the third derivative, which
/// grows with the cube of the frequency.
pub const FEATURE_DIFFERENCES: f64 = 1e-7;

/// The gradient of the evidence against stored central differences, relative to at least 1.
pub const EVIDENCE_DIFFERENCES: f64 = 1e-6;

/// The posterior of a linear regression on features: `n·ε·κ` with κ up to 1e5 where features are nearly the same.
pub const SLM_POSTERIOR: f64 = 1e-9;

/// How far below the stored maximum a search may end: both stop where the evidence is flat.
pub const SLM_LEARNED: f64 = 1e-6;

/// A kernel from `pairs` random features: each pair gives a number between −1 and 1. Five standard deviations.
#[must_use]
pub fn kernel_by_draws(pairs: usize) -> f64 {
    5.0 / (pairs as f64).sqrt()
}
/// A toy's normaliser in closed form on both sides.
pub const BOOST_NORMALISER: f64 = 1e-12;

/// The divergence of a toy's best single Gaussian, in nats: the files' quadrature is good to 1e-4, and a search on 4096 points ends
/// within 1e-4 of the optimum.
pub const BOOST_SINGLE: f64 = 1e-3;

/// The divergence of the start, relative: quadrature on both sides over a box that cuts a broad start off, where the weights of the
/// box's edge make a few times 1e-4.
pub const BOOST_START: f64 = 1e-3;

/// How far the range of a few runs of the printed algorithm may be from that of a few stored runs, relative to these: both are
/// extremes of three to five draws whose spread is of the size of the numbers themselves, and which mode a run falls
/// into is chance.
pub const BOOST_LITERAL: f64 = 0.3;

/// A run this near, in nats, to the evidence it sees is done; mixtures of the target's own kind come to 1e-6.
pub const BOOST_NEAR: f64 = 1e-5;

/// What a refit may leave where a prototype left `stored`: local optima differ by a few tenths, and a mixture's own components
/// are found to better than 1e-4.
#[must_use]
pub fn boost_refitted(stored: f64) -> f64 {
    (1.45 * stored).max(1e-4)
}

/// The same for the greedy algorithm, whose components depend on where it looks first.
#[must_use]
pub fn boost_greedy(stored: f64) -> f64 {
    1.6 * stored + 1e-3
}

/// How much of the exact bound, in nats, a Gaussian found on 4096 points may lose: the bound is quadratic about its optimum, where the
/// points' error is below 1e-3 in each of some thirty parameters.
pub const BOOST_BOUND: f64 = 1e-4;

/// Two exact optima of the same bound, each found to its own tolerance of at most 1e-8.
pub const BATCH_OPTIMUM: f64 = 1e-6;

/// The share of the best single Gaussian's divergence that mixtures may leave: with sixteen greedy components, with two and with three
/// refitted ones.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoostShares {
    /// Sixteen greedy components.
    pub greedy: f64,
    /// Two refitted ones.
    pub two: f64,
    /// Three refitted ones.
    pub three: f64,
}

/// What is asked for on the paper's data in 0/1 coding, where the best single Gaussian has 0.0082, and in proportion elsewhere.
pub const BOOST_SHARES: BoostShares =
    BoostShares { greedy: 0.0075 / 0.0082, two: 0.0030 / 0.0082, three: 0.0015 / 0.0082 };

/// The standard error that a divergence may have to be held against a bound.
pub const BOOST_KL_ERROR: f64 = 1e-4;

/// Errors of mean (posterior standard deviations) and of standard deviations (relative).
pub const BOOST_GREEDY_MOMENTS: (f64, f64) = (0.03, 0.03);
/// See [`BOOST_GREEDY_MOMENTS`].
pub const BOOST_REFITTED_MOMENTS: (f64, f64) = (0.02, 0.02);

//! What the paper says, sentence by sentence, and where; and why a sentence does not hold where it does not.

use crate::report::{Claim, Correction, Otherwise};

pub(crate) const FIRST_STEP: Correction = Correction {
    id: "lrvga-first-step",
    printed: "L-RVGA, §5.1: recursive EM with α_t = (t−1)/t, β_t = 1/t.",
    right: "α₁ = 0 forgets the start: every column of W becomes a multiple of x₁ and the other directions come back out of rounding \
            alone. With α_t = t/(t+1), β_t = 1/(t+1) the same recursion ends lower on every data set, and blocks from a spectral \
            start lower still.",
};
pub(crate) const D_IS_P: Correction = Correction {
    id: "lrvga-d-is-p",
    printed: "L-RVGA, §5.2: “When d = p we have checked that our algorithm matches the linear Kalman filter’s estimates”.",
    right: "From the start of Appendix D that takes many inner loops (KL 21, 8.5, 1.5 and 0.07 for 1, 3, 10 and 50 at d = p = 50): EM \
            leaves a W near 0 slowly. Blocks from a spectral start are the Kalman filter at d = p.",
};
pub(crate) const RANK_ONE: Correction = Correction {
    id: "lrvga-rank-one",
    printed: "L-RVGA, §5.3: “Even with p = 1, we obtain very good results”.",
    right: "In the authors’ setting their program ends at an unnormalised KL of 127.6 with p = 1 and 119.3 with p = 10, Laplace at \
            106.9: a few directions do not hold the posterior’s correlations. Blocks from a spectral start, then sweeps over the stored \
            sites, come closer.",
};
pub(crate) const MIRROR: Correction = Correction {
    id: "lrvga-mirror-prox",
    printed: "L-RVGA, (37), (139)-(145): the mirror-prox step, with or without the extra covariance update.",
    right: "The term −2(∂f/∂P)μ belongs at the predicted point: μ_t = μ_{t−1} + P_t(E_q̂[∇log p] + (P_t⁻¹ − P_{t−1}⁻¹)(μ̂ − μ_{t−1})). As \
            printed the step is not the Kalman filter even for a linear model, and it ends behind the implicit scheme that it \
            approximates. Corrected, it is the Kalman filter there.",
};
/// The paper's corrections in its order.
pub(crate) const CORRECTIONS: [&Correction; 4] = [&FIRST_STEP, &D_IS_P, &RANK_ONE, &MIRROR];

const fn claim(says: &'static str, place: &'static str, otherwise: Otherwise) -> Claim {
    Claim { says, place, otherwise }
}

pub(super) const FIVE_STEPS: Claim = claim(
    "Five steps are enough for batch EM to converge: its loss is then within a tenth of its limit",
    "§5.1",
    Otherwise::Setting(
        "The paper prints neither N nor p nor ψ of its data; from the start of Appendix D, EM leaves W slowly.",
    ),
);
pub(super) const OVER_ONLINE: Claim = claim(
    "With three inner loops and d = 100 recursive EM is clearly superior to online EM: it ends lower",
    "§5.1, Fig 1",
    Otherwise::Paper(&FIRST_STEP),
);
pub(super) const LIKE_ONLINE: Claim = claim(
    "In the higher dimension a similar loss is achieved with one inner loop: no more than a quarter above online EM’s",
    "§5.1, Fig 1",
    Otherwise::Paper(&FIRST_STEP),
);
pub(super) const REAL_DATA: Claim = claim(
    "On real data recursive EM gives better results than the other algorithms: it ends below online EM and five steps of batch EM",
    "§5.1, Fig 1",
    Otherwise::Paper(&FIRST_STEP),
);
pub(super) const LIKE_BATCH: Claim = claim(
    "Recursive EM generally converges to the result of the batch version (its five steps) after one pass: no more than a tenth above",
    "§5.1",
    Otherwise::Paper(&FIRST_STEP),
);
pub(super) const LAPTOP: Claim =
    claim("It may be performed on a regular laptop: the peak is below 16 GB", "§5.1, Table 1", Otherwise::Untraced);
pub(super) const LESS_MEMORY: Claim =
    claim("Recursive EM consumes less memory than online EM, at the peak", "§5.1, Table 1", Otherwise::Untraced);
pub(super) const MORE_OPERATIONS: Claim = claim(
    "It requires more operations by iteration: an observation takes longer",
    "§5.1, Table 1",
    Otherwise::Untraced,
);
pub(super) const DECREASES: Claim = claim(
    "The divergence decreases globally for all latent dimensions: it ends below where it was after a tenth of the rows",
    "§5.2, Fig 2",
    Otherwise::Untraced,
);
pub(super) const FASTER: Claim =
    claim("The convergence is faster for higher p: KL falls from p = 1 to 2 to 10", "§5.2, Fig 2", Otherwise::Untraced);
pub(super) const KALMAN: Claim =
    claim("When d = p the algorithm matches the Kalman filter: KL below 10⁻⁶", "§5.2", Otherwise::Paper(&D_IS_P));
pub(super) const MAY_BEAT_LAPLACE: Claim = claim(
    "L-RVGA may provide a lower divergence than batch Laplace: for some p it does, on some data set",
    "§5.3, Fig 3",
    Otherwise::Paper(&RANK_ONE),
);
pub(super) const VERY_GOOD: Claim = claim(
    "Even with p = 1 the results are very good: no further from the posterior than Laplace",
    "§5.3, Fig 3",
    Otherwise::Paper(&RANK_ONE),
);
pub(super) const LOW_RANK_CHEAP: Claim = claim(
    "When p is low time and memory are drastically reduced: less than a tenth for p = 1 of those for p = 100",
    "§5.2, Table 2",
    Otherwise::Untraced,
);
pub(super) const MILLION: Claim = claim(
    "It runs in dimension 10⁶ on a laptop: the peak is below 16 GB for p = 100",
    "§5.2, Table 2",
    Otherwise::Untraced,
);
pub(super) const CLOSED_FORMS: Claim = claim(
    "The ensemble approximates the closed forms: its mean is within four standard errors of them",
    "§4.2.2, Table 3",
    Otherwise::Untraced,
);
pub(super) const LIKE_CHOLESKY: Claim = claim(
    "It achieves similar results as Cholesky sampling: the two means agree within four standard errors",
    "§4.2.2, Table 3",
    Otherwise::Untraced,
);
pub(super) const NOT_LIMITED: Claim = claim(
    "Cholesky sampling is not memory-limited: it keeps the full matrix, 8d² bytes, the ensemble does not",
    "§4.2.2",
    Otherwise::Untraced,
);
pub(super) const TEN_HARD: Claim = claim(
    "K = 10 samples suffice even in the more difficult case, σ₀ = 3, to converge to Laplace’s KL: above it by less than 1 nat",
    "§5.4, Fig 4",
    Otherwise::Paper(&MIRROR),
);
pub(super) const TEN_EASY: Claim = claim(
    "K = 10 samples suffice for σ₀ = 1 and 2: above Laplace’s KL by less than 1 nat",
    "§5.4, Fig 4",
    Otherwise::Paper(&MIRROR),
);
pub(super) const BASELINE: Claim = claim(
    "With ensemble sampling it reaches the baseline’s KL: above that of the closed forms by less than 1 nat",
    "§5.4",
    Otherwise::Untraced,
);
pub(super) const SKIP: Claim = claim(
    "It is preferable to skip the extra covariance update: with it the KL ends higher (closed forms, as printed)",
    "§5.4, Appendix G",
    Otherwise::Paper(&MIRROR),
);
pub(super) const OVER_NATURAL: Claim = claim(
    "Mirror-prox clearly better approximates the posterior than natural gradient",
    "Appendix G, Fig 5",
    Otherwise::Paper(&MIRROR),
);
pub(super) const OVER_EXPLICIT: Claim = claim(
    "Mirror-prox clearly better approximates the posterior than the explicit scheme",
    "Appendix G, Fig 5",
    Otherwise::Paper(&MIRROR),
);
pub(super) const OVER_IMPLICIT: Claim = claim(
    "Mirror-prox clearly better approximates the posterior than the implicit scheme",
    "Appendix G, Fig 5",
    Otherwise::Paper(&MIRROR),
);
pub(super) const SKIP_OVER_EXPLICIT: Claim =
    claim("So does skip-covariance, against the explicit scheme", "Appendix G, Fig 5", Otherwise::Paper(&MIRROR));
pub(super) const POOR: Claim = claim(
    "A lower p may lead to a poor estimation of the uncertainty: for p = 1 the 90 % intervals of the weights hold less than 85 %",
    "Remark 1",
    Otherwise::Untraced,
);
pub(super) const RECOVERS: Claim = claim(
    "Process noise Q_t = η_tP_{t−1}, adapted to the prediction error, recovers consistency: the scaled squared error of the mean is \
     nearer to 1 with it, for p = 1 and 2",
    "Remark 1",
    Otherwise::Untraced,
);

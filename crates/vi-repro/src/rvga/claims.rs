//! What the paper says, sentence by sentence, and where; and why a sentence does not hold where it does not.

use crate::report::{Claim, Correction, Otherwise};

pub(crate) const TAILS: Correction = Correction {
    id: "rvga-fig1",
    printed: "R-VGA, Fig 1: logistic function and inverse probit “match well, and shall be indifferently used in applications”.",
    right: "They match to 0.018 in probability, not in log-probability: at a = −10 the logistic has −10.0 nats, the probit −22.4. \
            A mixture of eight probits matches in the tails too.",
};
pub(crate) const CONTRACTION: Correction = Correction {
    id: "rvga-appendix-9-5",
    printed: "R-VGA, Appendix 9.5: “F̃ is not contractive, so that fixed point iterations shall oscillate and do not converge”.",
    right: "For ν₀ = 1 and 5 F̃ contracts at its root (spectral radius below 1) and plain iteration converges; for ν₀ = 10 it does not. \
            One monotone equation in ν, bracketed, gives the root for every ν₀.",
};
pub(crate) const LAPLACE_SPILLS: Correction = Correction {
    id: "rvga-appendix-9-6",
    printed: "R-VGA, Fig 14 to 16: the batch Laplace covariance “is considered accurate”.",
    right: "It is for s = 2. For s = 5 and 10 the posterior is skewed, Laplace’s Gaussian reaches where it has no mass, and the \
            divergence is tens to hundreds of nats (§6.2 says so itself of sharp losses).",
};
pub(crate) const CONSISTENT: Correction = Correction {
    id: "rvga-one-pass",
    printed: "R-VGA, Appendix 9.6: “R-VGA consistently yields good performance”.",
    right: "One pass depends on the order of the rows: with overlapping classes (s = 2) the extended Kalman filter ends closer on \
            almost half of the data sets. One sweep over the stored sites removes most of the one-pass error.",
};
pub(crate) const EXPLICIT: Correction = Correction {
    id: "rvga-explicit",
    printed: "R-VGA, §6.2: the explicit scheme’s results “are close to the R-VGA implicit scheme’s”.",
    right: "They are for σ₀ = 1; from σ₀ = 10 on the excess over the implicit scheme is often above one half.",
};
pub(crate) const GENERALLY: Correction = Correction {
    id: "rvga-generally",
    printed: "R-VGA, §6.2: “R-VGA generally outperforms the EKF”.",
    right: "Over the settings of Figures 3 to 6 together it does on most data sets; for σ₀ = 10 and overlapping classes alone, and \
            on both real data sets, the extended Kalman filter wins about as often. A sweep over the stored sites beats both.",
};
/// The paper's corrections in its order.
pub(crate) const CORRECTIONS: [&Correction; 6] =
    [&TAILS, &EXPLICIT, &GENERALLY, &CONTRACTION, &LAPLACE_SPILLS, &CONSISTENT];

const fn claim(says: &'static str, place: &'static str, otherwise: Otherwise) -> Claim {
    Claim { says, place, otherwise }
}

pub(super) const MATCH: Claim = claim(
    "Logistic function and inverse probit match well: nowhere further apart than a hundredth of \
    their range times two",
    "Fig 1",
    Otherwise::Paper(&TAILS),
);
pub(super) const MATCH_SLOPES: Claim = claim(
    "Their derivatives match well: nowhere further apart than a tenth of the largest",
    "Fig 1",
    Otherwise::Paper(&TAILS),
);
pub(super) const INDIFFERENT: Claim = claim(
    "Both may be used indifferently in applications, where a log-probability decides, too: \
    at a = −10 the two agree within a tenth",
    "Fig 1, §5.1",
    Otherwise::Paper(&TAILS),
);
pub(super) const CLOSEST_QUADRATIC: Claim = claim(
    "A quadratic lower bound on log σ that touches at ±ξ: (83) has the least \
    curvature of all that stay below",
    "§5.5, (82)-(83)",
    Otherwise::Untraced,
);
pub(super) const OVER_EKF: Claim = claim(
    "R-VGA implicit generally outperforms the EKF: it ends closer to the posterior",
    "§6.2, Fig 3 to 6",
    Otherwise::Paper(&GENERALLY),
);
pub(super) const OVER_QKF: Claim = claim(
    "R-VGA implicit generally outperforms the QKF: it ends closer to the posterior",
    "§6.2, Fig 3 to 6",
    Otherwise::Untraced,
);
pub(super) const EXPLICIT_CLOSE: Claim = claim(
    "The explicit scheme yields results close to the implicit one’s: KL within a factor \
    1.5",
    "§6.2",
    Otherwise::Paper(&EXPLICIT),
);
pub(super) const EKF_SOMETIMES: Claim = claim(
    "The EKF might even beat R-VGA sometimes, see Figure 4: it does on the data of the figure",
    "§6.2",
    Otherwise::Untraced,
);
pub(super) const EKF_UNRELIABLE: Claim = claim(
    "The EKF may prove unreliable as shown in Figure 5: on the data of the figure it ends \
    more than 100 nats away",
    "§6.2",
    Otherwise::Untraced,
);
pub(super) const NO_DIVERGENCE: Claim =
    claim("R-VGA cannot wholly diverge: it never ends more than 100 nats away", "§6.2", Otherwise::Untraced);
pub(super) const EXPLICIT_DEGRADES: Claim = claim(
    "The explicit scheme’s results tend to degrade for large σ₀: the median excess over \
    the implicit scheme’s KL rises from σ₀ = 1 to 100",
    "§6.2",
    Otherwise::Untraced,
);
pub(super) const LAPLACE_BEATEN: Claim = claim(
    "Laplace may be beaten when the true posterior is asymmetric: R-VGA beats it on the \
    data of the figure",
    "abstract; Fig 6",
    Otherwise::Untraced,
);
pub(super) const HIGH_OVER_EKF: Claim = claim("R-VGA implicit outperforms the EKF", "§6.3", Otherwise::Untraced);
pub(super) const HIGH_OVER_QKF: Claim = claim("R-VGA implicit outperforms the QKF", "§6.3", Otherwise::Untraced);
pub(super) const SECOND: Claim =
    claim("R-VGA explicit runs a close second: it ends before EKF and QKF", "§6.3", Otherwise::Untraced);
pub(super) const STARK: Claim = claim(
    "With a flat prior the differences are stark: the gap from R-VGA to the better Kalman filter is \
    larger than with a sharp one, in every dimension",
    "§6.3, Fig 8",
    Otherwise::Untraced,
);
pub(super) const SUSCEPTIBLE: Claim = claim(
    "R-VGA is even susceptible to beat batch Laplace: it does on most data sets of at least \
    one panel",
    "§6.3, Fig 9",
    Otherwise::Untraced,
);
pub(super) const LAPLACE_CAUTIOUS: Claim = claim(
    "Laplace gives low probabilities for unseen inputs, the QKF high ones: less and more \
    confident than the posterior itself",
    "Appendix 9.4, Fig 11",
    Otherwise::Untraced,
);
pub(super) const BETWEEN: Claim =
    claim("R-VGA’s probabilities lie between Laplace’s and the QKF’s", "Appendix 9.4, Fig 11", Otherwise::Untraced);
pub(super) const IN_DOMAIN: Claim =
    claim("The root lies in the domain (71)-(72), for every input", "§5.2", Otherwise::Untraced);
pub(super) const BOUNDS_HOLD: Claim =
    claim("The iterated bounds hold the root at every iteration", "Appendix 9.5", Otherwise::Untraced);
pub(super) const SHRINKS: Claim =
    claim("For moderate ν₀ (1) the domain shrinks fast", "Appendix 9.5, Fig 13", Otherwise::Untraced);
pub(super) const SHRINKS_NOT: Claim =
    claim("For a highly uncertain prior (ν₀ = 10) it does not", "Appendix 9.5, Fig 13", Otherwise::Untraced);
pub(super) const OSCILLATES: Claim = claim(
    "F̃ is not contractive at its root, so plain iteration oscillates and does not converge, for each ν₀ \
    shown",
    "Appendix 9.5, Fig 13",
    Otherwise::Paper(&CONTRACTION),
);
pub(super) const GOOD: Claim = claim(
    "R-VGA consistently yields good performance: the better of its two schemes ends closest of the \
    online filters, for s = 2, 5 and 10 alike",
    "Appendix 9.6",
    Otherwise::Paper(&CONSISTENT),
);
pub(super) const LAPLACE_ACCURATE: Claim = claim(
    "The batch Laplace covariance is accurate: KL below half a nat",
    "Fig 14 to 16",
    Otherwise::Paper(&LAPLACE_SPILLS),
);
pub(super) const THEOREM_2: Claim = claim(
    "With a linear model and Gaussian noise the implicit scheme, the explicit scheme, online \
    Newton and the Kalman filter are one algorithm",
    "Theorem 2",
    Otherwise::Untraced,
);
pub(super) const THEOREM_2_POSTERIOR: Claim =
    claim("At each t its Gaussian is the posterior itself", "Theorem 2", Otherwise::Untraced);
pub(super) const THEOREM_3: Claim = claim(
    "Linearised, the R-VGA is the extended Kalman filter and the online natural gradient with \
    rate 1/(t+1)",
    "Theorem 3",
    Otherwise::Untraced,
);
pub(super) const THEOREM_3_LOST: Claim =
    claim("Without linearisation implicit and explicit scheme are no longer one", "§4.2", Otherwise::Untraced);
pub(super) const REAL_OVER_EKF: Claim =
    claim("R-VGA outperforms the EKF: it ends closer to the posterior", "abstract", Otherwise::Paper(&GENERALLY));
pub(super) const REAL_OVER_QKF: Claim = claim(
    "R-VGA outperforms other variants of similar cost: it ends closer to the posterior than \
    the QKF",
    "abstract",
    Otherwise::Untraced,
);

//! What the report says, sentence by sentence, and where; and why a sentence does not hold where it does not.

use crate::report::{Claim, Otherwise};

const fn claim(says: &'static str, place: &'static str, otherwise: Otherwise) -> Claim {
    Claim { says, place, otherwise }
}

const ONE_DRAW: Otherwise = Otherwise::Setting("The printed demonstration is one draw without a seed.");

pub(super) const RATE: Claim = claim(
    "Random features approximate their kernels, for every kernel and kind of draw: the error falls as one over the root of their \
     number (exponent −½, within three standard errors)",
    "§1.4",
    Otherwise::Untraced,
);
pub(super) const UNBIASED: Claim = claim(
    "No kind of draw is biased: the mean error is within four of its standard errors",
    "§1.4",
    Otherwise::Untraced,
);
pub(super) const PRINTED_SMSE: Claim = claim(
    "The linear model’s printed SMSE, 1.19 times the exact process’, is what such a draw gives: it lies in the middle 95 % of ours",
    "regression demonstration",
    ONE_DRAW,
);
pub(super) const PRINTED_MSLL: Claim =
    claim("So is its printed MSLL, 0.095 above the exact process’", "regression demonstration", ONE_DRAW);
pub(super) const GLM_SMSE: Claim = claim(
    "The GLM’s printed SMSE, 1.41 times the exact process’, is what such a draw gives: it lies in the middle 95 % of ours",
    "regression demonstration",
    Otherwise::Setting(
        "One draw without a seed, and the number of steps is not printed; ours are trained longer and end closer.",
    ),
);
pub(super) const GLM_MSLL: Claim = claim(
    "So is its printed MSLL, 0.24 above the exact process’",
    "regression demonstration",
    Otherwise::Setting(
        "One draw without a seed, and the number of steps is not printed; ours are trained longer and end closer.",
    ),
);
pub(super) const OVER_LOGISTIC: Claim = claim(
    "The GLM’s log loss and error are below logistic regression’s (USPS digits: 0.114 against 0.173, 0.021 against 0.036)",
    "§3",
    Otherwise::Untraced,
);
pub(super) const FACTORISES: Claim = claim(
    "The objective can be optimised using stochastic gradients: they raise it, by every rule and expectation",
    "§1.3",
    Otherwise::Untraced,
);
pub(super) const SECOND_ORDER: Claim = claim(
    "The second-order approximation works well in practice: its posterior’s bound is below that of the exact expectation by less than a \
     twentieth",
    "§1.3",
    Otherwise::Untraced,
);
pub(super) const QUANTILES: Claim = claim(
    "Quantiles of the predictive density by root finding (26): intervals cover what they claim, within three standard errors",
    "§1.3, (26)",
    Otherwise::Ours("The rate is learned from few counts by a diagonal Gaussian, which is too sure of it."),
);
pub(super) const NEXT_TO_NOTHING: Claim = claim(
    "Random features lose next to nothing against the exact process (Boston: SMSE 0.0982 against 0.0973): mean SMSE within 2 %",
    "§3",
    Otherwise::Untraced,
);
pub(super) const NEXT_TO_NOTHING_MSLL: Claim =
    claim("Nor in MSLL (Boston: −1.150 against −1.179): within 0.03", "§3", Otherwise::Untraced);

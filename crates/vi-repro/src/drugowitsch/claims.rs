//! What the note and its published examples say, sentence by sentence; and why a sentence does not hold where it does not.

use crate::report::{Claim, Correction, Otherwise};

pub(crate) const STOPPING: Correction = Correction {
    id: "vb-stopping",
    printed: "The published code stops where ℒ changes by less than 10⁻⁵ of itself.",
    right: "That can be tens of nats short. With more columns than rows the fixed point of the shared shrinkage is another model: \
            converged VB then interpolates the training rows, as maximum likelihood does, and only the early stop keeps the \
            published training error of 0.749.",
};
/// The note's corrections in its order.
pub(crate) const CORRECTIONS: [&Correction; 1] = [&STOPPING];

const ONE_DRAW: Otherwise =
    Otherwise::Setting("The published numbers are those of one random data set, whose seed is not given.");

const fn claim(says: &'static str, place: &'static str, otherwise: Otherwise) -> Claim {
    Claim { says, place, otherwise }
}

const LINEAR: &str = "published example, vb_linear_example";
const HIGH: &str = "published example, vb_linear_example_highdim";
const SPARSE: &str = "published example, vb_linear_example_sparse";
const SELECTION: &str = "published example, vb_linear_example_modelsel";
const LOGIT: &str = "published example, vb_logit_example";
const COEFF: &str = "published example, vb_logit_example_coeff";
const LOGIT_SELECTION: &str = "published example, vb_logit_example_modelsel";

pub(super) const TRAIN_VB: Claim =
    claim("VB’s training error is larger than maximum likelihood’s (0.836 against 0.631)", LINEAR, ONE_DRAW);
pub(super) const TRAIN_ARD: Claim =
    claim("So it is with relevance determination (0.849 against 0.631)", LINEAR, ONE_DRAW);
pub(super) const TEST_VB: Claim =
    claim("VB’s test error is smaller than maximum likelihood’s (0.088 against 0.399)", LINEAR, ONE_DRAW);
pub(super) const TEST_ARD: Claim =
    claim("So it is with relevance determination (0.138 against 0.399)", LINEAR, ONE_DRAW);
pub(super) const HIGH_TRAIN: Claim =
    claim("VB’s training error is larger than maximum likelihood’s (0.395 against 0.310)", HIGH, ONE_DRAW);
pub(super) const HIGH_TEST: Claim =
    claim("VB’s test error is smaller than maximum likelihood’s (1.830 against 2.189)", HIGH, ONE_DRAW);
pub(super) const SPARSE_TRAIN: Claim = claim(
    "VB’s training error is larger than maximum likelihood’s, which is 0 (0.749)",
    SPARSE,
    Otherwise::Paper(&STOPPING),
);
pub(super) const SPARSE_TEST: Claim = claim(
    "VB’s test error is smaller than maximum likelihood’s (4.856 against 6.076)",
    SPARSE,
    Otherwise::Paper(&STOPPING),
);
pub(super) const SPARSE_ARD: Claim =
    claim("With relevance determination it is smaller still (4.111)", SPARSE, ONE_DRAW);
pub(super) const PICKS_PUBLISHED: Claim =
    claim("On the published data ℒ is largest for three coefficients, the true number", SELECTION, Otherwise::Untraced);
pub(super) const PICKS: Claim = claim(
    "The largest ℒ selects the true number of coefficients, on further data of the same kind",
    SELECTION,
    ONE_DRAW,
);
pub(super) const PREDICTS: Claim = claim(
    "The selected fit predicts better than maximum likelihood with all coefficients (0.402 against 18.237)",
    SELECTION,
    ONE_DRAW,
);
pub(super) const LOGIT_PICKS_PUBLISHED: Claim = claim(
    "On the published data ℒ is largest for three coefficients, the true number",
    LOGIT_SELECTION,
    Otherwise::Untraced,
);
pub(super) const LOGIT_PICKS: Claim = claim(
    "The largest ℒ selects the true number of coefficients, on further data of the same kind",
    LOGIT_SELECTION,
    ONE_DRAW,
);
pub(super) const LOGIT_PREDICTS: Claim = claim(
    "The selected fit errs less often than a linear discriminant with all coefficients (0.133 against 0.157)",
    LOGIT_SELECTION,
    ONE_DRAW,
);
pub(super) const FEWER_WRONG: Claim =
    claim("VB errs less often than a linear discriminant (0.28 against 0.30), ties left out", LOGIT, ONE_DRAW);
pub(super) const FEWER_WRONG_ARD: Claim =
    claim("So it does with relevance determination (0.24 against 0.30), ties left out", LOGIT, ONE_DRAW);
pub(super) const COEFF_WRONG: Claim =
    claim("VB errs less often than a linear discriminant (0.181 against 0.182), ties left out", COEFF, ONE_DRAW);
pub(super) const COEFF_ROWS: Claim = claim(
    "One row at a time errs more often than all rows at once (0.195 against 0.181), ties left out",
    COEFF,
    ONE_DRAW,
);
pub(super) const RELEVANT: Claim = claim(
    "A high precision tells that an input is irrelevant: the columns ranked first are mostly the informative ones",
    "§2.4",
    Otherwise::Untraced,
);

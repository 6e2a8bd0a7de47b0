"""Rows that come in an order: `fit` learns them again in a random one, where that is not said no to."""

import warnings

import numpy as np
import pytest

from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression, BayesianLogisticRegression

RNG = np.random.default_rng(3)
X = RNG.normal(size=(900, 3))
DOUBT = RNG.random(900)
TWO = (DOUBT < 1.0 / (1.0 + np.exp(-X @ [1.0, -0.5, 0.2]))).astype(int)
COUNTS = RNG.poisson(np.exp(0.3 + X @ [0.3, 0.2, 0.0]))


def log_loss(model, y):
    if hasattr(model, "log_density"):
        return -model.log_density(X, y).mean()
    return -model.predict_log_proba(X)[np.arange(len(y)), y].mean()


@pytest.mark.parametrize(
    ("make", "y"),
    [
        (BayesianLogisticRegression, TWO),
        (BayesianLogisticRegression, np.minimum(COUNTS, 2)),
        (lambda **settings: BayesianGLMRegressor(family="poisson", **settings), COUNTS),
    ],
)
def test_sorted_rows_are_learned_in_a_random_order(make, y):
    at = np.argsort(y, kind="stable")
    random, repaired, kept = (
        make().fit(X, y),
        make().fit(X[at], y[at]),
        make(reorder=False, keep_sample=True).fit(X[at], y[at]),
    )
    assert (random.reordered_, repaired.reordered_, kept.reordered_) == (False, True, False)
    assert abs(log_loss(repaired, y) - log_loss(random, y)) < 0.02 < log_loss(kept, y) - log_loss(random, y)
    assert abs(repaired.evidence_ - random.evidence_) < 8.0 < kept.evidence_ - random.evidence_
    assert kept.info_["order"]["matters"] and not repaired.info_["order"]["in_runs"]
    assert "misleads one pass" in kept.summary() and "in random order" in repaired.summary()
    bare = make(keep_sample=False).fit(X[at], y[at])
    assert bare.reordered_ and bare.info_["order"]["sampled"] == 0


def test_partial_fit_and_exact_models_keep_the_order():
    at = np.argsort(TWO, kind="stable")
    parts = BayesianLogisticRegression()
    with pytest.warns(UserWarning, match="labels come in runs.*shuffle"):
        for part in np.array_split(at, 3):
            parts.partial_fit(X[part], TWO[part], classes=[0, 1])
    random = BayesianLogisticRegression()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for part in np.array_split(np.arange(len(TWO)), 9):
            random.partial_fit(X[part], TWO[part], classes=[0, 1])
    assert parts.info_["order"]["matters"] and not parts.reordered_
    assert BayesianLinearRegression().fit(X[at], TWO[at]).info_["order"] is None


@pytest.mark.parametrize("in_order", [False, True])
def test_a_wrong_label_is_named_by_its_place_among_all_rows(in_order):
    y = np.tile(COUNTS, 7).astype(float)
    y = np.sort(y) if in_order else y
    y[5000] = 0.5
    with pytest.raises(ValueError, match=r"\b5000\b"):
        BayesianGLMRegressor(family="poisson").fit(np.tile(X, (7, 1)), y, exposure=1.0)

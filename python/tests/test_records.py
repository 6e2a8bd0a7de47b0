"""Estimators as records of posteriors, which SQL and the command `rvi` read too."""

import os
from pathlib import Path

import numpy as np
import pytest
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression, BayesianLogisticRegression

X = np.random.default_rng(5).normal(size=(200, 3))
ETA = X @ [1.0, -1.0, 0.5]
NUMBERS = ETA + 0.3 * np.random.default_rng(6).normal(size=200)
CLASSES = (NUMBERS > 0).astype(int)
COUNTS = np.floor(np.exp(0.5 * NUMBERS + 0.5))
PLAIN = {"prior_scale": 1.5, "standardise": "never"}

MODELS = [
    (BayesianLinearRegression(**PLAIN, noise_shape=1.0, noise_rate=0.5), NUMBERS),
    (BayesianLinearRegression(**PLAIN, fit_intercept=False, belief="square_root"), NUMBERS),
    (BayesianLogisticRegression(**PLAIN), CLASSES),
    (BayesianGLMRegressor("logit", **PLAIN, start="one_pass"), CLASSES),
    (BayesianGLMRegressor("probit", **PLAIN), CLASSES),
    (BayesianGLMRegressor("poisson", **PLAIN), COUNTS),
    (BayesianGLMRegressor("negative_binomial", dispersion=2.0, **PLAIN), COUNTS),
]


def answers(model):
    if isinstance(model, BayesianLogisticRegression):
        return np.column_stack([model.predict_proba(X), model.decision_function(X)])
    return np.column_stack(model.predict(X, return_std=True, return_interval=0.8))


@pytest.mark.parametrize(("model", "y"), MODELS)
def test_there_and_back(model, y):
    record = model.fit(X, y).to_record()
    again = type(model).from_record(record)
    # The natural parameters of a Gaussian and back: the rounding of an inverse.
    assert np.allclose(answers(again), answers(model), rtol=1e-9, atol=1e-9)
    assert abs(again.evidence_ - model.evidence_) < 1e-9 * abs(model.evidence_)
    assert again.info_["observations"] == 200
    assert type(model).from_record(again.to_record()).get_params() == again.get_params()
    parameters = again.get_params()
    for name in ("dispersion", "noise_shape", "noise_rate", "prior_scale", "standardise", "fit_intercept"):
        assert parameters.get(name) == model.get_params().get(name)
    # It learns on.
    assert np.allclose(answers(again.partial_fit(X, y)), answers(model.partial_fit(X, y)), rtol=1e-7, atol=1e-7)


def test_names_and_classes_are_given():
    record = BayesianLogisticRegression(**PLAIN).fit(X, np.where(CLASSES, "on", "off")).to_record()
    model = BayesianLogisticRegression.from_record(record, feature_names=["a", "b", "c"], classes=["off", "on"])
    assert list(model.feature_names_in_) == ["a", "b", "c"] and list(model.classes_) == ["off", "on"]
    assert model.coefficients()[0][1:] == ["a", "b", "c"]
    text = model.to_json()
    assert BayesianLogisticRegression.from_json(text).to_record() == model.to_record()
    for arguments in [{"feature_names": ["a"]}, {"feature_names": ["a", "a", "b"]}, {"classes": [1]}]:
        with pytest.raises(ValueError):
            BayesianLogisticRegression.from_record(record, **arguments)


def test_the_fixtures_of_the_record():
    root = os.environ.get("VI_ROOT")
    folder = Path(root or "/nowhere", "crates", "vi-sums", "tests", "fixtures")
    if not folder.exists():
        pytest.skip("the project is not here")
    linear = BayesianLinearRegression.from_record((folder / "linear.bin").read_bytes())
    # Two rows, y = 2x: all but the prior of scale 100.
    assert abs(linear.predict([[5.0]])[0] - 10.0) < 1e-3
    counts = BayesianGLMRegressor.from_record((folder / "optimum-negative_binomial.bin").read_bytes())
    assert (counts.family, counts.dispersion, counts.prior_scale, counts.intercept_scale) == ("negative_binomial", 2.0, 2.0, 4.0)
    for name in ("pass", "pass-2", "at"):
        with pytest.raises(ValueError, match="the record is of kind"):
            BayesianLinearRegression.from_record((folder / f"{name}.bin").read_bytes())


@pytest.mark.parametrize("model", [
    BayesianLinearRegression(standardise="never"),
    BayesianLinearRegression(prior_scale=1.0),
    BayesianLinearRegression(**PLAIN, memory=0.9),
    BayesianLinearRegression(**PLAIN, belief="diagonal"),
    BayesianGLMRegressor("negative_binomial", **PLAIN),
])  # fmt: skip
def test_what_no_record_holds_is_refused_with_what_to_do(model):
    model.fit(X, COUNTS)
    with pytest.raises(ValueError, match="a record needs prior_scale=NUMBER"):
        model.to_record()


def test_damage_is_seen():
    record = bytearray(BayesianLinearRegression(**PLAIN).fit(X, NUMBERS).to_record())
    with pytest.raises(ValueError, match="cannot be a BayesianLogisticRegression"):
        BayesianLogisticRegression.from_record(record)
    for at in range(0, len(record), 7):
        record[at] ^= 16
        with pytest.raises(ValueError):
            BayesianLinearRegression.from_record(record)
        record[at] ^= 16

"""Estimators as bytes and documents, and back."""

import copy
import json
import os
import pickle
import subprocess
from io import BytesIO
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import rvi.sklearn
from rvi._rvi import HorseshoeClass, HorseshoeNumber, Mixture, Online, VbClass, VbNumber
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression, BayesianLogisticRegression
from sklearn.base import clone, is_classifier

X = np.random.default_rng(3).normal(size=(150, 3))
Y = (X @ [1.0, -1.0, 0.5] > 0).astype(int)


def fitted(name):
    return getattr(rvi.sklearn, name)().fit(X, Y)


def answers(model):
    return model.predict_proba(X) if is_classifier(model) else model.predict(X, return_std=True)[1]


@pytest.mark.parametrize("name", rvi.sklearn.__all__)
def test_every_estimator_survives_and_goes_on_with_the_same_bits(name):
    model = fitted(name)
    buffer = BytesIO()
    joblib.dump(model, buffer)
    buffer.seek(0)
    others = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), joblib.load(buffer)]
    for other in others:
        assert np.array_equal(answers(model), answers(other))
    if hasattr(model, "partial_fit"):
        model.partial_fit(X, Y)
        # A shallow copy shares the model beneath, as copies of scikit-learn's estimators share their arrays.
        for other in (others[0], others[2], others[3]):
            assert np.array_equal(answers(model), answers(other.partial_fit(X, Y)))
    assert not hasattr(clone(model), "_model")


@pytest.mark.parametrize("model", [
    BayesianLogisticRegression().fit(X, np.where(Y, "on", "off")),
    BayesianLogisticRegression(belief=2, memory=0.99, prior_scale=1.0).fit(X, Y),
    BayesianLogisticRegression(prior_scale=[0.5, 2.0], keep_rows=True).fit(X, np.digitize(X[:, 0], [-0.5, 0.5]) + 3),
    BayesianLinearRegression(standardise=([0.0] * 3, [1.0] * 3)).fit(X, Y),
    BayesianLinearRegression(memory="learned", standardise=20, fit_intercept=False).fit(X, Y),
    BayesianGLMRegressor("poisson").fit(X, Y),
    BayesianGLMRegressor("logit").fit(X, Y),
])  # fmt: skip
def test_json_there_and_back(model, tmp_path):
    again = type(model).from_json(model.to_json())
    assert np.array_equal(answers(model), answers(again)) and again.evidence_ == model.evidence_
    if hasattr(model, "classes_"):
        assert np.array_equal(model.classes_, again.classes_) and model.classes_.dtype.kind == again.classes_.dtype.kind
    path = tmp_path / "model.rvi"
    again.to_json(path)
    third = type(model).from_json(path)
    labels = model.classes_[Y] if is_classifier(model) and len(model.classes_) == 2 else Y + 3 if is_classifier(model) else Y
    assert np.array_equal(answers(model.partial_fit(X, labels)), answers(third.partial_fit(X, labels)))
    assert third._model.settings() == model._model.settings()


def command():
    """The command `rvi`, where the project has been built."""
    root = os.environ.get("VI_ROOT")
    for profile in ("debug", "release"):
        path = Path(root or "/nowhere", "target", profile, "rvi")
        if path.exists():
            return path
    pytest.skip("the command rvi has not been built")


def test_the_command_reads_what_python_writes_and_back(tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = BayesianLogisticRegression().fit(frame, np.where(Y, "on", "off"))
    data, path = tmp_path / "data.csv", tmp_path / "model.rvi"
    frame.assign(target=np.where(Y, "on", "off")).to_csv(data, index=False)
    model.to_json(path)
    out = subprocess.run([command(), "predict", path, data], capture_output=True, text=True, check=True).stdout
    lines = pd.read_csv(BytesIO(out.encode()))
    column = next(name for name in lines.columns if lines[name].dtype == float)
    # Printed with some digits.
    expected = model.predict_proba(frame)
    assert min(np.abs(lines[column] - expected[:, k]).max() for k in (0, 1)) < 1e-3
    subprocess.run([command(), "update", path, data], capture_output=True, text=True, check=True)
    updated = BayesianLogisticRegression.from_json(path)
    model.partial_fit(frame, np.where(Y, "on", "off"))
    assert np.allclose(updated.predict_proba(frame), model.predict_proba(frame), rtol=1e-9)


def test_documents_that_are_none_are_refused_by_name(tmp_path):
    text = BayesianLogisticRegression().fit(X, Y).to_json()
    found = {**json.loads(text), "seal": {"format": 1, "checksum": None}}  # so that it may be edited
    for broken, words in [
        ("{}", "no model"),
        ("{ this is no JSON", "no model"),
        (text.replace('"rvi": 3', '"rvi": 9'), "version 9"),
        (text.replace('"unlabelled": 0', '"unlabelled": 1'), "checksum"),
        (text.replace('"rvi": 3', '"rvi": 2'), "damaged"),
        (json.dumps({**found, "model": {"Number": {}}}), "is no BayesianLogisticRegression"),
        (json.dumps({**found, "schema": {**found["schema"], "map": {}}}), "plain numbers"),
        (json.dumps({**found, "model": {"Two": {"seal": 1}}}), "seal|missing|invalid"),
        (text.replace('"evidence": -', '"evidence": '), "checksum|seal|damaged"),
    ]:
        with pytest.raises(ValueError, match=words):
            BayesianLogisticRegression.from_json(broken)
    with pytest.raises(FileNotFoundError):
        BayesianLogisticRegression.from_json(tmp_path / "none.rvi")
    with pytest.raises(TypeError):
        BayesianLogisticRegression.from_json(3)
    with pytest.raises(ValueError, match="use pickle"):
        BayesianGLMRegressor("probit").fit(X, Y).to_json()


def test_damaged_bytes_are_a_value_error():
    state = bytearray(fitted("BayesianLinearRegression")._model.state())
    rng = np.random.default_rng(0)
    for _ in range(200):
        at, bit = rng.integers(len(state)), 1 << int(rng.integers(8))
        state[at] ^= bit
        try:
            model = Online.from_state(bytes(state))
        except ValueError:
            pass
        else:
            # What is read all the same is what was written: another way to write the same numbers.
            assert model.inputs == 3
        state[at] ^= bit
    for kind in (Online, VbNumber, VbClass, HorseshoeNumber, HorseshoeClass, Mixture):
        for junk in (b"", b"{}", b"\x89VIC", bytes(100), bytes(state[:500])):
            with pytest.raises(ValueError):
                kind.from_state(junk)
    damaged = pickle.dumps(fitted("BayesianLinearRegression")).replace(b'"shape":', b'"shope":')
    with pytest.raises(ValueError):
        pickle.loads(damaged)

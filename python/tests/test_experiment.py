"""Effects that may be looked at at any time."""

import math
import pickle

import numpy as np
import pytest
from rvi.experiment import Experiment


def data(n, effect, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 2, n), rng.normal(size=n)]).astype(float)
    return X, 3.0 + X @ [effect, -2.0] + 0.7 * rng.normal(size=n)


def test_the_estimate_is_that_of_least_squares_and_parts_merge():
    X, y = data(200, 0.4)
    whole = Experiment(2).update(X, y)
    parts = Experiment(2).update(X[:90], y[:90]).merge(Experiment(2).update(X[90:], y[90:]))
    expected = np.linalg.lstsq(np.column_stack([np.ones(200), X]), y, rcond=None)[0]
    for experiment in (whole, parts, pickle.loads(pickle.dumps(whole))):
        found = experiment.effect(size=0.5)
        assert experiment.rows == 200 and math.isclose(found.estimate, expected[1], rel_tol=1e-10)
    found, other = whole.effect([1.0, 1.0], size=0.5), whole.effect([1.0, 1.0], size=0.5, level=0.5)
    assert math.isclose(found.estimate, expected[1] + expected[2], rel_tol=1e-10)
    assert found.interval[0] < other.interval[0] < found.estimate < other.interval[1] < found.interval[1]


def test_an_end_of_the_interval_has_the_evidence_of_its_level():
    X, y = data(300, 1.0)
    experiment = Experiment(2).update(X, y)
    lower, upper = experiment.effect(size=0.5).interval
    for end in (lower, upper):
        assert math.isclose(experiment.effect(size=0.5, null=end).e_value, 20.0, rel_tol=1e-9)
    found = experiment.effect(size=0.5)
    assert found.p_value < 1e-6 and math.isclose(found.p_value * found.e_value, 1.0, rel_tol=1e-12)


def test_coefficients_have_names():
    X, y = data(200, 0.4)
    named, plain = Experiment(["treated", "age"]).update(X, y), Experiment(2).update(X, y)
    assert named.effect("age", size=0.5) == plain.effect([0.0, 1.0], size=0.5)
    assert named.effect({"age": 2.0, "treated": -1.0}, size=0.5) == plain.effect([-1.0, 2.0], size=0.5)
    assert pickle.loads(pickle.dumps(named)).effect("treated", size=0.5) == plain.effect(size=0.5)
    for experiment, match in ((named, "they are treated, age"), (plain, "give names")):
        with pytest.raises(ValueError, match=match):
            experiment.effect("height", size=0.5)
    with pytest.raises(ValueError, match="one name"):
        Experiment(["a", "a"])


def test_what_cannot_be_said_is_said():
    X, y = data(20, 0.0)
    with pytest.raises(ValueError, match="."):
        Experiment(2).effect(size=0.5)
    few = Experiment(2).update(X[:5], y[:5]).effect(size=0.1, level=0.99)
    assert few.interval == (-math.inf, math.inf)
    experiment = Experiment(2).update(X, y)
    for bad in ({"size": 0.0}, {"size": 0.5, "level": 1.0}, {"size": 0.5, "null": math.nan}):
        with pytest.raises(ValueError, match="."):
            experiment.effect(**bad)
    with pytest.raises(ValueError, match="row 1"):
        experiment.update(X[:2], np.array([1.0, 1e200]))
    assert experiment.rows == 20

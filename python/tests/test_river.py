"""The models for river: its own checks, and that many rows are a loop of one."""

import copy
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from river import checks, datasets, evaluate, linear_model, metrics, preprocessing
from rvi.river import BayesianLinearRegression, BayesianLogisticRegression, BayesianSoftmaxRegression

MODELS = [
    BayesianLinearRegression(),
    BayesianLinearRegression(memory="learned"),
    BayesianLinearRegression(n_hashed=300, belief="diagonal"),
    BayesianLogisticRegression(),
    BayesianLogisticRegression(memory=0.99, prior_scale=1.0),
    BayesianSoftmaxRegression(),
    BayesianLinearRegression(certified=True),
]


def name(case):
    """The same in each process that runs tests: a check in words has its address in memory."""
    return getattr(getattr(case, "func", case), "__name__", str(case))


@pytest.mark.parametrize(
    ("model", "check"), [(model, check) for model in MODELS for check in checks.yield_checks(model)], ids=name
)
def test_check(model, check):
    skipped = model._unit_test_skips()
    assert not skipped
    check(model.clone())


def rows(n=120, seed=1):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=["a", "b", "c"])
    return X, X["a"] - 2 * X["b"] + 0.1 * rng.normal(size=n)


def test_many_are_a_loop_of_one_to_the_bit():
    X, y = rows()
    for kind, labels in ((BayesianLinearRegression, y), (BayesianLogisticRegression, y > 0)):
        for table in (X, pl.from_pandas(X)):
            one, many = kind(), kind()
            for x, label in zip(X.to_dict("records"), labels, strict=True):
                one.learn_one(x, label)
            many.learn_many(table[:70], labels[:70])
            many.learn_many(table[70:], labels[70:])
            assert one._model.state() == many._model.state()
            x = X.to_dict("records")[5]
            assert one.predict_one(x) == many.predict_one(x) == many.predict_many(table)[5]


def test_certified_intervals_and_sets_hold_on_a_stream_that_drifts():
    rng = np.random.default_rng(3)
    kinds = (BayesianLinearRegression, BayesianLogisticRegression, BayesianSoftmaxRegression)
    linear, logistic, several = (kind(certified=True) for kind in kinds)
    assert linear.predict_interval_one({"a": 1.0}, certified=True) == (-np.inf, np.inf) and linear.certificate() == []
    assert logistic.predict_set_one({"a": 1.0}) == {False, True} and several.predict_set_one({"a": 1.0}) == set()
    held = np.zeros((4, 2))
    for t in range(3000):
        x = {"a": rng.normal(), "b": rng.normal()}
        # Noise that grows, which the model's own intervals do not know.
        y = x["a"] * (1.0 + t / 1000) + (0.5 + t / 1000) * rng.standard_t(3)
        label, name = y > 0.0, "low" if y < -1.0 else "mid" if y < 1.0 else "high"
        if t >= 500:
            for k, certified in enumerate((False, True)):
                lower, upper = linear.predict_interval_one(x, certified=certified)
                held[k] += lower <= y <= upper, 1
            held[2] += label in logistic.predict_set_one(x), 1
            held[3] += name in several.predict_set_one(x), 1
        linear.learn_one(x, y)
        logistic.learn_one(x, label)
        several.learn_one(x, name)
    own, certified, of_two, of_three = held[:, 0] / held[:, 1]
    # Steps of the intervals beside three deviations of 2500 labels.
    assert own < 0.88 and abs(certified - 0.9) < 0.025, held
    assert of_two > 0.875 and of_three > 0.875, held
    about = {own["about"] for own in linear.certificate()}
    assert "calibration" in about
    x = {"a": 0.3, "b": -1.0}
    for model in (copy.deepcopy(linear), pickle.loads(pickle.dumps(linear))):
        model.learn_one(x, 100.0)
        assert model.predict_interval_one(x, certified=True) != linear.predict_interval_one(x, certified=True)
    with pytest.raises(ValueError, match="level"):
        linear.predict_interval_one(x, 1.5, certified=True)
    # The record is a part of no other model, and changes none.
    plain, recorded = BayesianLinearRegression(), BayesianLinearRegression(certified=True)
    for x, y in zip(*(rows()[0].to_dict("records"), rows()[1]), strict=True):
        plain.learn_one(x, y)
        recorded.learn_one(x, y)
    assert plain._model.state() == recorded._model.state()
    with pytest.raises(ValueError, match="made with certified=True"):
        plain.predict_interval_one(x, certified=True)
    with pytest.raises(ValueError, match="made with certified=True"):
        BayesianLogisticRegression().predict_set_one(x)


def test_names_find_places_as_they_come():
    X, y = rows(300)
    model, known = BayesianLinearRegression(reserve=1), BayesianLinearRegression(reserve=2)
    for x, label in zip(X.to_dict("records"), y, strict=True):
        known.learn_one(x, label)
        # `c` comes late, `a` is missing where it is 0, names come in another order.
        if len(model._places) < 3 and model.info and model.info["observations"] < 60:
            x = {name: value for name, value in x.items() if name != "c"}
        model.learn_one(dict(reversed(x.items())), label)
    assert set(model._places) == {"a", "b", "c"} and sorted(model._places.values()) == [0, 1, 2]
    assert abs(model.weights["b"] + 2) < 0.1 and abs(model.weights["c"]) < 0.1
    # Beyond the reserve a name shares a place.
    model.learn_one({"a": 1.0, "b": 0.0, "e": 0.0, "f": 0.0}, 1.0)
    assert model._places["f"] in range(3 + 1) and len(model._places) == 5
    assert model.predict_one({"unknown": 5.0}) == model.predict_one({})


def test_a_row_that_cannot_be_learned_leaves_all_as_it_was():
    X, y = rows()
    model = BayesianLogisticRegression()
    model.learn_many(X, y > 0)
    before = pickle.dumps(model)
    for x, label in [({"a": float("nan"), "new": 1.0}, True), ({"a": 1.0}, "yes"), ({"a": "text"}, True), ({"a": None}, True)]:
        with pytest.raises((ValueError, TypeError)):
            model.learn_one(x, label)
        assert pickle.dumps(model) == before
    first = BayesianLogisticRegression()
    before = pickle.dumps(first)
    with pytest.raises(ValueError):
        first.learn_one({"a": float("inf")}, True)
    assert pickle.dumps(first) == before
    with pytest.raises(TypeError, match="'colour' is 'red', not a number: .*OneHotEncoder"):
        model.learn_one({"a": 1.0, "colour": "red"}, True)
    few = BayesianSoftmaxRegression(n_classes=2)
    for label in "ab":
        few.learn_one({"a": 1.0}, label)
    with pytest.raises(ValueError, match="n_classes = 2"):
        few.learn_one({"a": 1.0}, "c")
    assert set(few.predict_proba_one({"a": 1.0})) == {"a", "b"}


def test_copies_are_their_own():
    X, y = rows()
    model = BayesianLinearRegression()
    model.learn_many(X, y)
    other, stored = copy.deepcopy(model), pickle.loads(pickle.dumps(model))
    model.learn_one({"a": 1.0, "z": 2.0}, 9.0)
    assert other._model.state() == stored._model.state() != model._model.state() and "z" not in other._places


def test_beside_river_on_its_own_data():
    """Nothing set by hand: no loss of river's scaled logistic regression is below ours."""
    ours, theirs = BayesianLogisticRegression(), preprocessing.StandardScaler() | linear_model.LogisticRegression()
    losses = [evaluate.progressive_val_score(datasets.Phishing(), model, metrics.LogLoss()).get() for model in (ours, theirs)]
    assert losses[0] < losses[1]


@pytest.mark.parametrize("width", [3, 300])
def test_an_interval_is_about_its_prediction(width):
    """Beyond 200 places rows are sparse."""
    rng = np.random.default_rng(8)
    model = BayesianLogisticRegression(n_hashed=width, belief="diagonal", standardise="never")
    assert model.predict_interval_one({"a": 1.0}) == (0.0, 1.0)
    for x in rng.normal(size=(200, 3)):
        model.learn_one(dict(zip("abc", x.tolist(), strict=True)), x[0] > 0)
    x = {"c": 0.2, "unknown": 9.0, "a": 0.7}
    matrix = model._matrix(pd.DataFrame([x]), model._places)
    for level in (0.5, 0.9):
        lower, upper = model._model.interval(matrix, level)
        # A row of many zeros sums in another order than its entries alone.
        assert np.allclose(model.predict_interval_one(x, level), (lower[0], upper[0]), rtol=1e-12, atol=0)
        assert lower[0] < model.predict_proba_one(x)[True] < upper[0]

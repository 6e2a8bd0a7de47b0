"""Mixed models: groups of any names, old and new."""

import pickle

import numpy as np
import pytest
from rvi.grouped import GroupedClassifier, GroupedRegressor


def table(n=800, m=40):
    rng = np.random.default_rng(3)
    group, X = rng.integers(0, m, n), rng.normal(size=(n, 2))
    effects = rng.normal(size=m)
    return X, X @ [1.0, -0.5] + effects[group] + 0.3 * rng.normal(size=n), group, effects


def test_effects_and_components_are_found():
    X, y, group, effects = table()
    model = GroupedRegressor(slopes=[0]).fit(X, y, groups=group)
    names, mean, deviation = model.effects()
    truth = effects[np.array(names)]
    # 20 rows of noise 0.3 for each group; the mean of all effects is the intercept's.
    assert np.all(np.abs(mean[:, 0] - truth + truth.mean()) < 6 * 0.3 / np.sqrt(10))
    assert mean.shape == deviation.shape == (40, 2)
    first = model.components()[0]
    assert first["lower"] < truth.std() < first["upper"] and 0.25 < model.noise_ < 0.35


def test_names_of_groups_are_keys():
    X, y, group, _ = table()
    by_number = GroupedRegressor().fit(X, y, groups=group)
    by_float = GroupedRegressor().fit(X, y, groups=group.astype(float))
    by_text = GroupedRegressor().fit(X, y, groups=[f"g{g}" for g in group])
    assert np.array_equal(by_number.predict(X, group), by_float.predict(X, group))
    assert np.array_equal(by_number.predict(X, group), by_text.predict(X, [f"g{g}" for g in group]))
    _, known = by_text.predict(X[:1], ["g3"], return_std=True)
    _, new = by_text.predict(X[:1], ["unknown"], return_std=True)
    assert known[0] < new[0]


def test_parts_and_pickles_go_on():
    X, y, group, _ = table()
    model = GroupedRegressor().partial_fit(X[:400], y[:400], group[:400])
    again = pickle.loads(pickle.dumps(model))
    for each in (model, again):
        each.partial_fit(X[400:], y[400:], group[400:])
    assert np.array_equal(model.predict(X, group), again.predict(X, group))


def test_classes():
    X, y, group, _ = table()
    labels = np.where(y > 0, "yes", "no")
    model = GroupedClassifier().fit(X, labels, groups=group)
    assert model.score(X, labels, group) > 0.85
    probability, ends = model.predict_proba(X, group, return_interval=0.9)
    assert np.all((ends[:, 0] < probability[:, 1]) & (probability[:, 1] < ends[:, 1]))


def test_bad_input_is_named():
    X, y, group, _ = table(50, 5)
    with pytest.raises(ValueError, match="groups has the shape"):
        GroupedRegressor().fit(X, y, groups=group[:-1])
    with pytest.raises(ValueError, match="missing"):
        GroupedRegressor().fit(X, y, groups=[None, *group[1:]])
    with pytest.raises(ValueError, match="no feature"):
        GroupedRegressor(slopes=["age"]).fit(X, y, groups=group)
    with pytest.raises(ValueError, match="classes"):
        GroupedClassifier().fit(X, group, groups=group)

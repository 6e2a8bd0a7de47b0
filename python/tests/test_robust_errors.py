"""Standard errors that hold whatever the noise."""

import numpy as np
import pytest
import rvi
from rvi.sklearn import BayesianLinearRegression, BayesianLogisticRegression


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(7)
    X = np.column_stack([rng.normal(5.0, 1.0, 300), rng.normal(size=300)])
    return X, 1.0 + 0.5 * X[:, 0] - X[:, 1] + (X[:, 0] - 5.0) ** 2 * rng.normal(size=300)


def least_squares(X, y, clusters=None):
    """Errors of HC3, or of CR1."""
    Z = np.column_stack([np.ones(len(y)), X])
    inverse = np.linalg.inv(Z.T @ Z)
    rest = y - Z @ (inverse @ (Z.T @ y))
    if clusters is None:
        scores = Z * (rest / (1.0 - np.einsum("ij,jk,ik->i", Z, inverse, Z)))[:, None]
        factor = 1.0
    else:
        own = np.unique(clusters)
        scores = np.array([(Z * rest[:, None])[clusters == c].sum(0) for c in own])
        factor = len(own) / (len(own) - 1) * (len(y) - 1) / (len(y) - Z.shape[1])
    return np.sqrt(factor * np.diag(inverse @ (scores.T @ scores) @ inverse))


def test_errors_are_those_of_least_squares(data):
    X, y = data
    model = BayesianLinearRegression(prior_scale=1e3).fit(X, y)
    np.testing.assert_allclose(model.robust_errors(X, y), least_squares(X, y), rtol=1e-4)
    clusters = np.arange(300) % 50
    np.testing.assert_allclose(model.robust_errors(X, y, [f"c{k}" for k in clusters]), least_squares(X, y, clusters), rtol=1e-4)
    said = str(model.summary(X=X, y=y))
    assert "robust sd" in said and "differs by more than a third" in said
    with pytest.raises(ValueError, match="two different ones"):
        model.robust_errors(X, y, np.zeros(300))


def test_tables_and_classes_have_them(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    table = pandas.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "clinic": np.arange(300) % 50})
    model = rvi.fit(table, formula="y ~ a + b", family="gaussian")
    found = {own["name"]: own for own in model.robust_errors(table)["coefficients"]}
    assert found["a"]["robust"] > 1.3 * found["a"]["sd"]
    assert model.robust_errors(table, "clinic")["clusters"] == 50
    with pytest.raises(ValueError, match="there is no column `firm`"):
        model.robust_errors(table, "firm")
    two = BayesianLogisticRegression().fit(X, np.where(y > 3, "yes", "no"))
    assert two.robust_errors(X, np.where(y > 3, "yes", "no")).shape == (3,)
    assert "robust sd" in str(two.summary(X=X, y=np.where(y > 3, "yes", "no")))


def test_beliefs_without_a_covariance_have_none(data):
    X, y = data
    model = BayesianLinearRegression(belief="diagonal").fit(X, y)
    with pytest.raises(ValueError, match="full covariance"):
        model.robust_errors(X, y)
    assert "robust sd" not in str(model.summary(X=X, y=y))

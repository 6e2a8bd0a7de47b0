"""skpro's own checks of its interface, and the numbers behind it."""

import numpy as np
import pytest

pytest.importorskip("skpro")

from rvi.skpro import Regressor  # noqa: E402
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression  # noqa: E402
from sklearn.datasets import load_diabetes  # noqa: E402


def test_the_checks_of_skpro():
    from skpro.utils.estimator_checks import check_estimator

    found = check_estimator(Regressor, verbose=False)
    failed = {name: result for name, result in found.items() if result != "PASSED"}
    assert len(found) > 20 and not failed


def test_the_numbers_are_those_of_the_estimator():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    own = BayesianLinearRegression().fit(X[:300], y[:300])
    model = Regressor().fit(X[:200], y[:200]).update(X[200:300], y[200:300])
    seen, rows, labels = model.predict_proba(X[300:]), X[300:], y[300:].to_frame()
    assert np.allclose(seen.mean().iloc[:, 0], own.predict(rows)) and np.allclose(seen.cdf(labels).iloc[:, 0], own.cdf(rows, y[300:]))
    assert np.allclose(seen.log_pdf(labels).iloc[:, 0], own.log_density(rows, y[300:]))
    assert np.allclose(seen.quantile([0.1, 0.9]), own.predict_quantiles(rows, [0.1, 0.9]))
    assert np.allclose(model.predict_interval(rows, coverage=0.8), own.predict_interval(rows, 0.8))
    assert seen.iloc[2:5].mean().shape == (3, 1) and seen.sample(4).shape == (4 * len(rows), 1)
    counts = Regressor(BayesianGLMRegressor("count")).fit(X[:300], y[:300].round())
    assert (counts.predict_quantiles(rows, alpha=0.5).to_numpy() % 1 == 0).all()

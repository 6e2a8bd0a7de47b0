"""Pictures show what they say, and draws reach ArviZ."""

import matplotlib
import numpy as np
import pytest
from rvi import boost, plot
from rvi.sklearn import BayesianLinearRegression, BayesianLogisticRegression
from sklearn.datasets import load_iris

matplotlib.use("Agg")

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
X, Y = X[ORDER], Y[ORDER]


def test_coefficients():
    ax = plot.plot_coefficients(BayesianLogisticRegression().fit(X, Y))
    assert [label.get_text() for label in ax.get_yticklabels()] == ["intercept", "x0", "x1", "x2", "x3"]
    assert len(ax.containers) == 2 and ax.get_legend() is not None
    model = BayesianLinearRegression().fit(X[:, :3], X[:, 3])
    ax = plot.plot_coefficients(model)
    assert np.allclose(ax.containers[0].lines[0].get_xdata()[1:], model.coef_)


def test_reliability():
    rng = np.random.default_rng(0)
    said = rng.random(5000)
    happened = rng.random(5000) < said
    ax = plot.plot_reliability(happened, said)
    points = ax.containers[0].lines[0].get_xydata()
    # 500 rows a group: 6 standard errors of at most 0.0224.
    assert points.shape == (10, 2) and np.all(np.abs(points[:, 0] - points[:, 1]) < 0.135)
    for labels, wrong in (([0, 2], [0.1, 0.2]), ([0, 1], [0.1, 1.2]), ([0], [0.1, 0.2])):
        with pytest.raises(ValueError):
            plot.plot_reliability(labels, wrong)


def test_scores_along_a_stream_are_the_evidence():
    model = BayesianLinearRegression(start="one_pass", standardise="never", prior_scale=1.0)
    scores = plot.prequential(model, X[:, :3], X[:, 3])
    first = BayesianLinearRegression(start="one_pass", standardise="never", prior_scale=1.0).fit(X[:1, :3], X[:1, 3])
    # The evidence is the product of the predictive densities.
    assert np.isnan(scores[0]) and abs(np.nansum(scores) + first.evidence_ - model.evidence_) < 1e-9
    labels = plot.prequential(BayesianLogisticRegression(), X, Y, block=10)
    assert np.isnan(labels[:10]).all() and -0.7 < labels[10:].mean() < 0
    ax = plot.plot_prequential(labels, label="iris")
    assert np.isclose(ax.lines[0].get_ydata()[-1], -labels[10:].mean())
    with pytest.raises(ValueError, match="no row"):
        plot.plot_prequential([np.nan])


def test_arviz():
    pytest.importorskip("arviz")
    data = BayesianLinearRegression().fit(X[:, :3], X[:, 3]).to_arviz(50)
    assert data.posterior["coef"].shape == (1, 50, 3) and list(data.posterior["coef_of"].values) == ["x0", "x1", "x2"]
    assert BayesianLogisticRegression().fit(X, Y).to_arviz(20).posterior["coef"].shape == (1, 20, 3, 4)
    found = boost.fit(lambda x: -0.5 * (x**2).sum(axis=-1), dim=2).to_arviz(100)
    assert found.posterior["x"].shape == (1, 100, 2)

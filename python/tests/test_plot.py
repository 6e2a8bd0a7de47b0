"""Pictures show what they say, and draws reach ArviZ."""

import matplotlib
import numpy as np
import pytest
from rvi import boost, plot
from rvi.sklearn import BayesianGLMRegressor, BayesianLinearRegression, BayesianLogisticRegression
from sklearn.datasets import load_iris

matplotlib.use("Agg")

X, Y = load_iris(return_X_y=True)
ORDER = np.random.default_rng(0).permutation(len(Y))
X, Y = X[ORDER], Y[ORDER]


def test_coefficients():
    classes = BayesianLogisticRegression().fit(X, Y)
    for unit, first in (("deviation", []), ("input", ["intercept"])):
        ax = plot.plot_coefficients(classes, unit=unit)
        assert [label.get_text() for label in ax.get_yticklabels()] == [*first, "x0", "x1", "x2", "x3"]
        assert len(ax.containers) == 2 and ax.get_legend() is not None
    model = BayesianLinearRegression().fit(X[:, :3], X[:, 3])
    drawn = plot.plot_coefficients(model).containers[0].lines[0].get_xdata()
    scales = drawn / model.coef_
    # Deviations of 50 or more of the 150 rows: six standard errors of each are half of it.
    assert np.all(np.abs(scales / X[:, :3].std(axis=0) - 1.0) < 0.5)
    assert np.allclose(plot.plot_coefficients(model, 0.5).containers[0].lines[0].get_xdata(), drawn)
    drawn = plot.plot_coefficients(model, unit="input").containers[0].lines[0].get_xdata()
    assert np.allclose(drawn[1:], model.coef_)
    plain = BayesianLinearRegression(standardise="never").fit(X[:, :3], X[:, 3])
    assert len(plot.plot_coefficients(plain).get_yticklabels()) == 4
    with pytest.raises(ValueError, match="unit must be"):
        plot.plot_coefficients(model, unit="inch")


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
    arviz = pytest.importorskip("arviz")
    rows, y = X[:, :3], X[:, 3]
    model = BayesianLinearRegression().fit(rows, y)
    data = model.to_arviz(500, X=rows, y=y)
    posterior = data["posterior"]
    assert posterior["coef"].shape == (4, 500, 3) and list(posterior["coef_of"].values) == ["x0", "x1", "x2"]
    # A draw has the weights of sample_weights and a noise of its own, and the label that belongs to it.
    weights = model.sample_weights(2000)[0]
    assert np.array_equal(np.asarray(posterior["coef"]).reshape(-1, 3), weights)
    noise = np.asarray(posterior["sigma"]).ravel()
    assert abs(noise.mean() / model.info_["noise"] - 1) < 0.05 and noise.std() > 0.01 * noise.mean()
    assert data["posterior_predictive"]["y"].shape == data["log_likelihood"]["y"].shape == (4, 500, len(y))
    own = np.asarray(data["log_likelihood"]["y"]).reshape(2000, -1)
    mean = weights @ rows.T + np.asarray(posterior["intercept"]).reshape(-1, 1)
    assert np.allclose(own, -0.5 * ((y - mean) / noise[:, None]) ** 2 - np.log(noise[:, None]) - 0.5 * np.log(2 * np.pi))
    drawn = np.asarray(data["posterior_predictive"]["y"]).reshape(2000, -1)
    # Standard normal but for 300,000 draws' worth of chance.
    assert abs(((drawn - mean) / noise[:, None]).std() - 1) < 0.01
    assert np.array_equal(data["observed_data"]["y"], y) and len(arviz.summary(data, var_names=["coef", "sigma"])) == 4
    data = BayesianLogisticRegression().fit(X, Y == 1).to_arviz(20, chains=2, X=X, y=Y == 1)
    assert set(np.unique(data["posterior_predictive"]["y"])) <= {0.0, 1.0} and "sigma" not in data["posterior"]
    several = BayesianLogisticRegression().fit(X, Y)
    assert several.to_arviz(20).posterior["coef"].shape == (4, 20, 3, 4)
    data = several.to_arviz(250, X=X, y=Y)
    own = np.exp(np.asarray(data["log_likelihood"]["y"]).reshape(1000, -1)).mean(axis=0)
    labels = np.asarray(data["observed_data"]["y"]).astype(int)
    # The mean of 1000 draws' probabilities, whose deviation is at most 1/2.
    assert np.array_equal(several.classes_[labels], Y) and np.abs(own - several.predict_proba(X)[np.arange(len(Y)), labels]).max() < 4 * 0.5 / 1000**0.5
    drawn = np.asarray(data["posterior_predictive"]["y"]).reshape(1000, -1)
    shares = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
    assert np.abs(shares - several.predict_proba(X)).max() < 5 * 0.5 / 1000**0.5
    counts = BayesianGLMRegressor("negative_binomial").fit(X, np.arange(len(X)) % 5)
    with pytest.raises(ValueError, match="leave X out"):
        counts.to_arviz(20, X=X)
    found = boost.fit(lambda x: -0.5 * (x**2).sum(axis=-1), dim=2).to_arviz(100)
    assert found.posterior["x"].shape == (4, 100, 2)

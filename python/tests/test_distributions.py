"""Predictions as distributions, in the same words for estimators and for models of tables; summaries; hints."""

import pickle

import numpy as np
import pandas as pd
import pytest
import rvi
from rvi.bandit import Bandit
from rvi.grouped import GroupedClassifier, GroupedRegressor
from rvi.sklearn import (
    ARDClassifier,
    ARDRegression,
    BayesianGLMRegressor,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    RandomFeatureRegressor,
)
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 2))
MEAN = 1.0 + X @ [1.0, -0.5]
NUMBERS = MEAN + RNG.normal(size=300)
COUNTS = RNG.poisson(np.exp(0.5 * MEAN)).astype(float)
Q = [0.05, 0.3, 0.5, 0.95]

REGRESSORS = {
    "linear": (BayesianLinearRegression(), NUMBERS),
    "robust": (BayesianGLMRegressor("robust"), NUMBERS),
    "varying": (BayesianGLMRegressor("varying"), NUMBERS),
    "log_normal": (BayesianGLMRegressor("log_normal"), np.exp(0.3 * NUMBERS)),
    "logit_normal": (BayesianGLMRegressor("logit_normal"), 1 / (1 + np.exp(-NUMBERS))),
    "logit_varying": (BayesianGLMRegressor("logit_varying"), 1 / (1 + np.exp(-NUMBERS))),
    "count": (BayesianGLMRegressor("poisson"), COUNTS),
    "negative_binomial": (BayesianGLMRegressor("negative_binomial"), COUNTS),
    "zero_inflated": (BayesianGLMRegressor("zero_inflated"), np.where(X[:, 0] % 1 < 0.4, 0.0, COUNTS)),
    "random features": (RandomFeatureRegressor(n_frequencies=10), NUMBERS),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_one_distribution_in_every_word(name):
    model, y = REGRESSORS[name]
    model.fit(X, y)
    quantiles, discrete = model.predict_quantiles(X, Q), (y % 1 == 0).all()
    assert quantiles.shape == (300, 4) and (np.diff(quantiles, axis=1) >= 0).all()
    assert np.allclose(model.predict_interval(X, 0.9), quantiles[:, [0, 3]], rtol=1e-6)
    for k, q in enumerate(Q):
        reached = model.cdf(X, quantiles[:, k])
        if discrete:
            assert (reached >= q - 1e-9).all() and (model.cdf(X, quantiles[:, k] - 1) < q + 1e-9).all()
        else:
            assert np.allclose(reached, q, atol=1e-6)
    # Draws have the distribution: a score of theirs is E|Y - y| - ½E|Y - Y'|.
    rows, labels = X[:20], y[:20]
    draws = model.sample_y(rows, 20_000)
    half = len(draws[0]) // 2
    by_draws = np.abs(draws - labels[:, None]).mean(axis=1) - 0.5 * np.abs(draws[:, :half] - draws[:, half:]).mean(axis=1)
    # Six standard errors of 10,000 pairs with the deviation of a draw.
    assert (np.abs(model.crps(rows, labels) - by_draws) < 6 * draws.std(axis=1) / 100).all()
    share = (draws <= labels[:, None]).mean(axis=1)
    assert (np.abs(model.cdf(rows, labels) - share) < 6 * np.sqrt(0.25 / 20_000)).all()
    assert np.isfinite(model.log_density(rows, labels)).all()


def test_points_are_the_means_of_the_distribution():
    linear = BayesianLinearRegression().fit(X, NUMBERS)
    mean, std = linear.predict(X, return_std=True)
    assert np.array_equal(mean, linear.predict(X))
    # The median of a symmetric distribution; terms of the sixth digit are left out on the way to a variance.
    assert np.allclose(mean, linear.predict_quantiles(X, 0.5)[:, 0], atol=1e-4 * std.min())
    two = BayesianLogisticRegression().fit(X, NUMBERS > 1)
    assert np.array_equal(two.predict(X), two.predict_proba(X)[:, 1] > 0.5)
    assert np.array_equal(two.predict(X, offset=0.7), two.predict_proba(X, offset=0.7)[:, 1] > 0.5)
    exposed = BayesianGLMRegressor("poisson").fit(X, COUNTS, exposure=2.0)
    assert (exposed.predict_quantiles(X, 0.9, exposure=20.0) > exposed.predict_quantiles(X, 0.9, exposure=2.0)).all()
    with pytest.raises(ValueError, match="exposure has no meaning"):
        linear.predict_quantiles(X, 0.5, exposure=1.0)
    for q in (0.0, 1.0, 5, [0.1, np.nan]):
        with pytest.raises(ValueError, match="q = .* must be between 0 and 1"):
            linear.predict_quantiles(X, q)


def table(y):
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y)


@pytest.mark.parametrize("y", [NUMBERS, COUNTS, np.exp(NUMBERS)], ids=["number", "count", "skewed"])
def test_a_model_of_a_table_has_the_same_words(y):
    model, rows = rvi.fit(table(y), "y"), table(y)[:30]
    quantiles = model.predict_quantiles(rows, Q)
    assert np.allclose(model.predict_interval(rows, 0.9), quantiles[:, [0, 3]], rtol=1e-6)
    assert (model.cdf(rows, quantiles[:, 2]) >= 0.5 - 1e-6).all() and np.array_equal(model.cdf(rows), model.cdf(rows, y[:30]))
    draws = model.sample_y(rows, 4000, random_state=1)
    assert draws.shape == (30, 4000) and (np.abs((draws <= y[:30, None]).mean(axis=1) - model.cdf(rows)) < 6 * np.sqrt(0.25 / 4000)).all()
    assert (model.crps(rows) > 0).all() and np.array_equal(model.log_density(rows), model.log_density(rows, y[:30]))
    assert np.array_equal(model.predict(rows), model.predictions(rows)["mean"])
    with pytest.raises(ValueError, match="y has length 3"):
        model.cdf(rows, [1.0, 2.0, 3.0])
    gap = rows.assign(y=np.where(np.arange(30) == 4, np.nan, rows["y"]))
    assert np.flatnonzero(np.isnan(model.crps(gap))).tolist() == [4]


def test_classes_have_probabilities_instead():
    model = rvi.fit(table(np.where(NUMBERS > 1, "u", "v")), "y")
    rows = table("u")
    assert np.array_equal(model.predict(rows), model.predictions(rows)["class"])
    assert np.allclose(model.predict_quantiles(rows, Q)[:, [0, 3]], model.predict_interval(rows, 0.9))
    assert set(np.unique(model.sample_y(rows, 3))) == {"u", "v"}
    for ask in (model.cdf, model.crps):
        with pytest.raises(ValueError, match="predict_proba and log_density"):
            ask(rows, 1.0)


def test_the_options_of_the_command():
    rows = table(NUMBERS)
    plain = rvi.fit(rows, "y", shape="line")
    assert "×" in str(rvi.fit(rows, "y", features="poly:2").summary()) or rvi.fit(rows, "y", features="poly:2").info() != plain.info()
    assert rvi.fit(rows, "y", ard=True).info() != plain.info()
    assert rvi.fit(rows, "y", belief="diagonal").info() != plain.info()
    assert rvi.fit(rows, "y", mergeable=True, no_sample=True).info()["rows"] == 300
    record = rvi.fit(rows, "y", unscaled=True, prior=2.0, shape=None)
    assert record.info()["rows"] == 300
    classes = table(np.where(NUMBERS > 1, "u", "v"))
    passed, refined = rvi.fit(classes, "y", shape="line"), rvi.fit(classes, "y", shape="line", refine=20)
    assert not np.array_equal(passed.predict_proba(classes), refined.predict_proba(classes))
    assert np.allclose(passed.predict_proba(classes), refined.predict_proba(classes), atol=0.02)
    assert rvi.fit(rows, "y", family="log_normal" if (NUMBERS > 0).all() else "gaussian").target == "y"
    for options, told in [
        ({"shape": "line", "ard": True}, "shape and ard"),
        ({"unscaled": True}, "needs one number for prior"),
        ({"unscaled": True, "mergeable": True, "prior": 1.0}, "unscaled and mergeable"),
        ({"belief": "low_rank"}, "'low-rank'"),
        ({"refine": 3}, "one pass is already exact"),
        ({"refine": 0}, "refine = 0 must be between 1 and 1,000"),
        ({"levels": -1}, "levels = -1 must be between 2"),
    ]:
        with pytest.raises(ValueError, match=told):
            rvi.fit(rows, "y", **options)


def test_a_summary_is_a_table():
    linear = BayesianLinearRegression().fit(pd.DataFrame(X, columns=["a", "b"]), NUMBERS)
    text = linear.summary(0.8)
    assert isinstance(text, str) and text.columns == ["mean", "sd", "10 %", "90 %", "P(> 0)"] and list(text.tables[""]) == ["intercept", "a", "b"]
    assert text.facts["family"] == "gaussian" and text.facts["rows"] == 300
    assert 0.9 < float(text.facts["noise, standard deviation"]) < 1.1
    residual = NUMBERS - linear.predict(pd.DataFrame(X, columns=["a", "b"]))
    exact = 1 - residual.var(ddof=3) / NUMBERS.var(ddof=1)
    # A posterior scale beside the unbiased estimate.
    assert abs(float(text.facts["R² (adjusted)"]) - exact) < 0.01
    mean, std, _, _, positive = text.tables[""]["b"]
    assert abs(positive - stats.t(300).sf(-mean / std)) < 0.01 and text.tables[""]["a"][4] > 0.999
    parts = BayesianLinearRegression().partial_fit(X[:100], NUMBERS[:100]).partial_fit(X[100:], NUMBERS[100:])
    assert parts.summary().facts == linear.summary().facts
    assert "<th>P(&gt; 0)</th>" in text._repr_html_() and "10 %" in text._repr_html_()
    assert pickle.loads(pickle.dumps(text)).facts == text.facts
    rows = linear.summary(X=pd.DataFrame(X, columns=["a", "b"]), y=NUMBERS).facts
    assert rows["R² of the rows given"] == f"{linear.score(pd.DataFrame(X, columns=['a', 'b']), NUMBERS):.4g}"
    odds = BayesianLogisticRegression().fit(X, NUMBERS > 1).summary()
    assert odds.columns[5:] == ["odds ratio", "5 %", "95 %"] and np.isclose(odds.tables[""]["x0"][5], np.exp(odds.tables[""]["x0"][0]))
    rates = BayesianGLMRegressor("negative_binomial").fit(X, COUNTS).summary()
    assert rates.columns[5] == "rate ratio" and "dispersion, size" in rates.facts
    heavy = BayesianGLMRegressor("robust").fit(X, NUMBERS).summary()
    assert "noise, degrees of freedom" in heavy.facts and heavy.facts["family"] == "robust"


def test_every_estimator_has_a_summary():
    relevance = ARDRegression().fit(X, NUMBERS)
    text = relevance.summary(0.5)
    assert text.columns == ["mean", "sd", "25 %", "75 %", "P(> 0)", "relevance"] and list(text.tables[""]) == ["intercept", "x0", "x1"]
    mean, _, lower, upper, positive, determined = text.tables[""]["x0"]
    # Means of 4000 draws beside those of all draws that the fit keeps.
    assert abs(mean - relevance.coef_[0]) < 0.1 * relevance.coef_std_[0] and lower < mean < upper
    assert positive > 0.99 and determined == relevance.relevance_[0]
    assert np.isnan(text.tables[""]["intercept"][5]) and "nan" not in text and "nan" not in text._repr_html_()
    assert list(ARDRegression(fit_intercept=False).fit(X, NUMBERS).summary().tables[""]) == ["x0", "x1"]
    odds = ARDClassifier().fit(X, NUMBERS > 1).summary()
    assert odds.columns[6] == "odds ratio" and np.isclose(odds.tables[""]["x0"][6], np.exp(odds.tables[""]["x0"][0]))
    features = RandomFeatureRegressor(20, length_scale=2.0).fit(X, NUMBERS)
    assert features.summary().facts["kernel"].startswith("Rbf, length scale 2 ") and features.summary().facts["rows"] == 300
    assert "<th>kernel</th>" in features._repr_html_() and ARDRegression()._repr_html_() == "<pre>ARDRegression()</pre>"
    for model in (GroupedRegressor(), GroupedClassifier()):
        model.fit(X, NUMBERS > 1 if isinstance(model, GroupedClassifier) else NUMBERS, np.arange(len(X)) % 7)
        text, (names, means, deviations) = model.summary(0.8), model.coefficients()
        assert list(text.tables[""]) == names and text.facts["groups"] == 7 and "intraclass correlation" in text.facts
        for values, mean, deviation in zip(text.tables[""].values(), means, deviations, strict=True):
            assert (values[0], values[1]) == (mean, deviation) and values[2] < mean < values[3]
        assert "<th>sd(intercept)</th>" in model._repr_html_()


def test_the_spread_of_a_number_is_chosen_to_follow_its_inputs():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(600, 2))
    numbers = rows[:, 0] + 0.3 * np.exp(rows[:, 1]) * rng.normal(size=600)
    model = BayesianGLMRegressor("auto").fit(rows, numbers)
    assert model.family_ == "varying" and model.behind_["gaussian"] > 20
    low, high = model.predict([[0.0, -1.0], [0.0, 1.0]], return_std=True)[1]
    # The deviations are 0.3/e and 0.3e.
    assert high > 4 * low


def test_fractions_are_learned_by_their_log_odds():
    shares = 1 / (1 + np.exp(-NUMBERS))
    model = BayesianGLMRegressor("auto").fit(X, shares)
    assert model.family_ == "logit_normal" and model.behind_["gaussian"] > 3
    assert "noise, standard deviation of the log odds" in model.summary().facts
    mean = model.predict(X)
    assert ((mean > 0) & (mean < 1)).all()
    assert np.allclose(model.coef_, BayesianLinearRegression().fit(X, NUMBERS).coef_, atol=1e-6)
    with pytest.raises(ValueError, match="log odds of a fraction"):
        model.partial_fit(X[:1], [1.0])
    # One label that is no fraction makes all of them numbers.
    assert "logit_normal" not in BayesianGLMRegressor("auto").fit(X, np.append(shares[:-1], 1.0)).behind_
    assert rvi.fit(table(shares), "y", family="logit-normal").predict(table(shares)).max() < 1


def test_names_from_a_pipeline():
    model = make_pipeline(PolynomialFeatures(2, include_bias=False), BayesianLinearRegression()).fit(pd.DataFrame(X, columns=["a", "b"]), NUMBERS)
    assert list(model[-1].summary(names=model[:-1]).tables[""]) == ["intercept", "a", "b", "a^2", "a b", "b^2"]
    with pytest.raises(ValueError, match="2 names for 5 inputs"):
        model[-1].summary(names=["u", "v"])


def test_hints():
    with pytest.raises(TypeError, match="no argument 'standardize': did you mean 'standardise'"):
        BayesianLinearRegression(standardize="never")
    with pytest.raises(ValueError, match="not False: did you mean 'never'"):
        BayesianLinearRegression(standardise=False).fit(X, NUMBERS)
    with pytest.raises(ValueError, match="not 'rbf': did you mean 'Rbf'"):
        RandomFeatureRegressor(kernel="rbf").fit(X, NUMBERS)
    bandit = Bandit(["u", "v"], random_state=0)
    with pytest.raises(ValueError, match=r"rewards\[1\] = 0.5, but .* are 0 and 1: for numbers take Bandit\(arms, BayesianLinearRegression"):
        bandit.update(X[:2], ["u", "v"], [1.0, 0.5])
    with pytest.raises(ValueError, match=r"y\[2\] = 'x' is no number; for classes"):
        BayesianLinearRegression().fit(X[:3], ["1", "2", "x"])
    with pytest.raises(ValueError, match="row 1: label -1 is outside"):
        BayesianGLMRegressor("poisson").fit(X[:2], [1.0, -1.0])
    shards = [BayesianLinearRegression().fit(scale * X, NUMBERS) for scale in (1.0, 2.0)]
    with pytest.raises(ValueError, match="same standardise="):
        shards[0].merge(shards[1])
    with pytest.raises(TypeError, match="not one column"):
        rvi.fit(pd.Series(NUMBERS), "y")

"""Slopes and comparisons by marginaleffects, beside their closed forms."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from marginaleffects import avg_comparisons, avg_predictions, avg_slopes
from rvi.marginaleffects import DRAWS, Coefficients
from rvi.sklearn import ARDRegression, BayesianGLMRegressor, BayesianLinearRegression, BayesianLogisticRegression
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

RNG = np.random.default_rng(5)
ROWS = pd.DataFrame({"age": RNG.normal(40, 10, 500), "dose": RNG.integers(0, 4, 500).astype(float)})
PREDICTOR = (ROWS["age"] - 40) / 10 - ROWS["dose"] / 2
#: Four relative deviations of a standard error that is estimated from these draws.
CHANCE = 4 / np.sqrt(2 * DRAWS)


def test_slopes_of_a_line_are_its_weights():
    model = BayesianLinearRegression().fit(ROWS, PREDICTOR + RNG.normal(size=500))
    found = avg_slopes(Coefficients(model, ROWS))
    np.testing.assert_allclose(found["estimate"], model.coef_, rtol=1e-6)
    np.testing.assert_allclose(found["std_error"], model.coef_std_, rtol=CHANCE)


def test_slopes_of_probabilities_are_those_of_the_delta_method():
    model = BayesianLogisticRegression().fit(ROWS, RNG.random(500) < 1 / (1 + np.exp(-PREDICTOR)))
    own = Coefficients(model, pl.from_pandas(ROWS))
    z = np.column_stack([np.ones(500), ROWS])
    p = 1 / (1 + np.exp(-(z @ own.get_coef())))
    slope = model.coef_[0, 0] * np.mean(p * (1 - p))
    # The derivative of the mean slope by the three coefficients.
    gradient = model.coef_[0, 0] * (z.T @ (p * (1 - p) * (1 - 2 * p))) / 500 + np.array([0, np.mean(p * (1 - p)), 0])
    found = avg_slopes(own, variables="age")
    # Differences of finite length stand for derivatives.
    np.testing.assert_allclose(found["estimate"], [slope], rtol=1e-3)
    np.testing.assert_allclose(found["std_error"], [np.sqrt(gradient @ own.get_vcov() @ gradient)], rtol=1e-3)
    np.testing.assert_allclose(avg_predictions(own)["estimate"], [p.mean()], rtol=1e-9)


def test_counts_through_a_pipeline():
    town = RNG.choice(["a", "b", "c"], 500)
    rows = ROWS.assign(town=town)
    before = make_column_transformer((OneHotEncoder(drop="first"), ["town"]), remainder="passthrough")
    model = make_pipeline(before, BayesianGLMRegressor("poisson")).fit(rows, RNG.poisson(np.exp(ROWS["dose"] / 4 + 0.5 * (town == "b"))))
    own = Coefficients(model, rows)
    eta = model[:-1].transform(rows) @ model[-1].coef_ + model[-1].intercept_
    found = avg_comparisons(own, variables={"dose": 2})
    # A step of 2 is from one below to one above.
    dose = model[-1].coef_[3]
    np.testing.assert_allclose(found["estimate"], [np.mean(np.exp(eta + dose) - np.exp(eta - dose))], rtol=1e-9)
    if int(pl.__version__.split(".")[0]) < 2:
        assert len(avg_comparisons(own, variables="town")) == 2


def test_other_models_and_tables_are_refused_by_name():
    with pytest.raises(TypeError, match="ARDRegression"):
        Coefficients(ARDRegression().fit(ROWS, PREDICTOR), ROWS)
    with pytest.raises(TypeError, match="BayesianLogisticRegression"):
        Coefficients(BayesianLogisticRegression().fit(ROWS, ROWS["dose"]), ROWS)
    positive = BayesianGLMRegressor("log_normal").fit(ROWS, np.exp(PREDICTOR + RNG.normal(size=500)))
    with pytest.raises(ValueError, match="log_normal"):
        Coefficients(positive, ROWS)
    line = BayesianLinearRegression().fit(ROWS, PREDICTOR)
    with pytest.raises(ValueError, match="'dose'"):
        Coefficients(line, ROWS[["age"]])
    with pytest.raises(ValueError, match="robust_errors"):
        avg_slopes(Coefficients(line, ROWS), vcov="HC3")

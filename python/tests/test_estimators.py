"""What the estimators promise beyond scikit-learn's checks."""

import signal
import threading
import time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rvi.sklearn import (
    ARDClassifier,
    ARDRegression,
    BayesianGLMRegressor,
    BayesianLinearRegression,
    BayesianLogisticRegression,
    RandomFeatureClassifier,
    RandomFeatureRegressor,
)
from rvi.sklearn._rows import rows
from scipy import sparse
from sklearn import config_context
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics import d2_tweedie_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def two_classes(rng, n=400, d=3):
    X = rng.normal(size=(n, d))
    y = rng.random(n) < 1 / (1 + np.exp(-(0.5 + X @ np.linspace(-1, 1.5, d))))
    return X, np.where(y, "yes", "no")


def test_a_batch_is_the_same_as_a_loop_to_the_bit(rng):
    X, y = two_classes(rng)
    whole = BayesianLogisticRegression().fit(X, y)
    parts = BayesianLogisticRegression()
    for first in range(0, len(y), 37):
        parts.partial_fit(X[first : first + 37], y[first : first + 37], classes=["no", "yes"])
    assert np.array_equal(whole.predict_proba(X), parts.predict_proba(X))
    assert whole.evidence_ == parts.evidence_


def test_pieces_between_signals_are_one_batch(rng):
    # 20,000 rows of 3 inputs are more than one piece.
    X = rng.normal(size=(20_000, 3))
    y = X @ [1.0, -2.0, 0.5] + rng.normal(size=20_000)
    whole = BayesianLinearRegression().fit(X, y)
    parts = BayesianLinearRegression().partial_fit(X[:9_999], y[:9_999]).partial_fit(X[9_999:], y[9_999:])
    assert np.array_equal(whole.coef_, parts.coef_)
    column = BayesianLinearRegression().fit(np.asfortranarray(X), y)
    assert np.array_equal(whole.coef_, column.coef_)
    y[15_000] = np.inf
    before = whole._model.state()
    with pytest.raises(ValueError, match="infinity"):
        whole.partial_fit(X, y)
    X[17_000, 1] = np.nan
    with pytest.raises(ValueError, match=r"row 17000: .*x1"):
        whole._model.update(X, np.zeros(20_000))
    assert whole._model.state() == before


def test_numbers_at_any_byte_are_learned(rng):
    X, y = two_classes(rng)
    y = (y == "yes").astype(float)

    def beside(values):
        return np.frombuffer(b"." + values.tobytes(), np.float64, offset=1).reshape(values.shape)

    assert not beside(X).flags.aligned
    for kind in (BayesianLinearRegression, BayesianLogisticRegression, ARDRegression, RandomFeatureRegressor):
        assert np.array_equal(kind().fit(X, y).predict(X), kind().fit(beside(X), beside(y)).predict(beside(X)))
    weight = rng.random(len(y))
    plain, strange = (BayesianLinearRegression().fit(X, y, sample_weight=w, offset=w) for w in (weight, beside(weight)))
    assert np.array_equal(plain.coef_, strange.coef_)


def test_a_damaged_sparse_matrix_is_refused(rng):
    X, y = two_classes(rng)
    matrix = sparse.csr_array(X)
    fitted = BayesianLogisticRegression().fit(matrix, y)
    matrix.indices[7] = 10**6
    for call in (fitted.predict, lambda rows: BayesianLogisticRegression().fit(rows, y)):
        with pytest.raises(ValueError, match="indices"):
            call(matrix)


def test_tables_that_are_not_numbers_are_told_by_their_columns():
    frame = pd.DataFrame({"age": [31.0, 42.0, None], "city": ["Rome", "Oslo", "Rome"], "since": pd.to_datetime(["2020-01-01"] * 3)})
    y = [0, 1, 1]
    for table in (frame, pl.from_pandas(frame[["age", "city"]])):
        with pytest.raises(ValueError, match="'city'.* holds? no numbers: .*OneHotEncoder"):
            BayesianLogisticRegression().fit(table, y)
    with pytest.raises(ValueError, match="columns 'city', 'since' hold no numbers"):
        BayesianLogisticRegression().fit(frame, y)
    with pytest.raises(ValueError, match="column 'since' holds no numbers"):
        BayesianLogisticRegression().fit(frame[["age", "since"]], y)
    for table in (frame[["age"]], frame[["age"]].astype("Float64"), pl.from_pandas(frame[["age"]])):
        with pytest.raises(ValueError, match="(?s)NaN.*column 'age' lacks values: .*SimpleImputer"):
            BayesianLogisticRegression().fit(table, y)
    fitted = BayesianLogisticRegression().fit(frame[["age"]].fillna(35.0), y)
    with pytest.raises(ValueError, match="column 'age' lacks values"):
        fitted.predict(frame[["age"]])
    # What is wrong with the target is not told of the table.
    with pytest.raises(ValueError) as error:
        BayesianLinearRegression().fit(frame[["age"]].fillna(35.0), [1.0, np.nan, 2.0])
    assert "age" not in str(error.value)


def test_linear_regression_nears_least_squares_and_knows_how_near():
    X, y = load_diabetes(return_X_y=True)
    model = BayesianLinearRegression(prior_scale=100.0).fit(X, y)
    exact = LinearRegression().fit(X, y)
    # A flat prior: the posterior mean is that of least squares to a small part of a standard deviation.
    assert np.all(np.abs(model.coef_ - exact.coef_) < 0.02 * model.coef_std_)
    mean, std, interval = model.predict(X, return_std=True, return_interval=0.9)
    held = np.mean((interval[:, 0] <= y) & (y <= interval[:, 1]))
    assert 0.86 < held < 0.96 and np.allclose(std, np.std(y - mean), rtol=0.2)
    covariance = model.covariance_
    assert np.allclose(covariance, covariance.T) and np.allclose(np.sqrt(np.diag(covariance)), model.coef_std_)


def test_intervals_of_probabilities_hold_the_truth(rng):
    X = rng.normal(size=(500, 2))
    truth = 1 / (1 + np.exp(-(X @ [1.0, -0.5])))
    held = []
    for _ in range(20):
        y = rng.random(500) < truth
        _, interval = BayesianLogisticRegression().fit(X, y).predict_proba(X, return_interval=0.9)
        held.append(np.mean((interval[:, 1, 0] <= truth) & (truth <= interval[:, 1, 1])))
    # 20 data sets: the share has a standard error of some 4 points.
    assert 0.78 < np.mean(held) < 0.98


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    model = BayesianLogisticRegression(keep_rows=True).fit(X, y)
    assert model.score(X, y) > 0.95
    probability, interval = model.predict_proba(X, return_interval=0.9)
    assert np.all(interval[..., 0] <= interval[..., 1]) and np.allclose(probability.sum(axis=1), 1)
    # What the mean of the weights says is near the median; the mean of a probability near 0 is not.
    plug_in = np.exp(X @ model.coef_.T + model.intercept_)
    plug_in /= plug_in.sum(axis=1, keepdims=True)
    assert np.mean((interval[..., 0] <= plug_in) & (plug_in <= interval[..., 1])) > 0.95
    weights, intercepts = model.sample_weights(4000)
    assert weights.shape == (4000, 3, 4) and np.all(weights[:, 0] == 0)
    # 4000 draws: 6 standard errors.
    assert np.all(np.abs(weights.mean(axis=0) - model.coef_) <= 6 * model.coef_std_ / np.sqrt(4000))
    assert np.all(np.abs(intercepts.mean(axis=0) - model.intercept_) <= 6 * model.intercept_std_ / np.sqrt(4000))
    assert model.refine().diagnose()["k_hat"] is not None
    draws = model.sample_y(X, 50)
    assert draws.shape == (150, 50) and set(np.unique(draws)) <= {0, 1, 2}
    with pytest.raises(AttributeError, match="sample_weights"):
        _ = model.covariance_


def test_a_weight_is_as_many_rows_for_a_linear_model(rng):
    X, y = rng.normal(size=(300, 2)), rng.normal(size=300)
    weight = rng.integers(0, 4, 300).astype(float)
    settings = {"standardise": "never", "prior_scale": 1.0, "start": "one_pass"}
    weighted = BayesianLinearRegression(**settings).fit(X, y, sample_weight=weight)
    again = np.repeat(np.arange(300), weight.astype(int))
    repeated = BayesianLinearRegression(**settings).fit(X[again], y[again])
    # The exact posterior, but for the rounding of some 300 steps.
    assert np.allclose(weighted.coef_, repeated.coef_, rtol=1e-9)
    assert np.allclose(weighted.coef_std_, repeated.coef_std_, rtol=1e-9)


def test_an_offset_is_a_known_part(rng):
    X, y = rng.normal(size=(200, 2)), rng.normal(size=200)
    offset = rng.normal(size=200)
    plain = BayesianLinearRegression().fit(X, y)
    moved = BayesianLinearRegression().fit(X, y + offset, offset=offset)
    assert np.allclose(plain.coef_, moved.coef_, rtol=1e-8)
    assert np.allclose(moved.predict(X, offset=3.0), plain.predict(X) + 3.0)
    labels = y > 0
    model = BayesianLogisticRegression().fit(X, labels, offset=offset)
    assert model.predict_proba(X, offset=50.0)[:, 1].min() > 0.999
    with pytest.raises(ValueError, match=r"offset\[1\] is not finite"):
        model.predict_proba(X[:2], offset=[0.0, np.nan])


@pytest.mark.parametrize("family", ["poisson", "negative_binomial", "binomial", "probit", "logit"])
def test_families_find_the_weights(rng, family):
    X = rng.normal(size=(1500, 2))
    eta = 0.3 + X @ [0.7, -0.4]
    size = rng.integers(1, 5, 1500).astype(float)
    extra = {}
    if family in ("poisson", "negative_binomial"):
        mean = size * np.exp(eta)
        y = rng.poisson(mean if family == "poisson" else rng.gamma(3.0, mean / 3.0))
        extra = {"exposure": size}
    elif family == "binomial":
        y, extra = rng.binomial(size.astype(int), 1 / (1 + np.exp(-eta))), {"trials": size}
    elif family == "logit":
        y = rng.random(1500) < 1 / (1 + np.exp(-eta))
    else:
        y = eta + rng.normal(size=1500) > 0
    model = BayesianGLMRegressor(family=family).fit(X, y, **extra)
    assert np.all(np.abs(model.coef_ - [0.7, -0.4]) < 4 * model.coef_std_)
    assert abs(model.intercept_ - 0.3) < 4 * model.intercept_std_
    density = model.log_density(X, y, **extra)
    assert density.shape == (1500,) and density.mean() < 0
    draws = model.sample_y(X[:5], 4000)
    expected = model.predict(X[:5])
    # 6 standard errors of 4000 draws.
    assert np.all(np.abs(draws.mean(axis=1) - expected) < 6 * draws.std(axis=1) / np.sqrt(4000))
    if family in ("poisson", "binomial", "negative_binomial"):
        mean, interval = model.predict(X, return_interval=0.9, **extra)
        assert np.mean((interval[:, 0] <= y) & (y <= interval[:, 1])) > 0.87
        assert np.allclose(mean.mean(), y.mean(), rtol=0.1)
    wrong = "trials" if "exposure" in extra else "exposure"
    with pytest.raises(ValueError, match=wrong):
        model.predict(X, **{wrong: size})


@pytest.mark.parametrize("family", ["poisson", "negative_binomial"])
def test_scores_of_counts_are_those_of_rates_weighted_by_exposure(rng, family):
    X = rng.normal(size=(400, 2))
    hours, weight = rng.uniform(0.2, 8.0, 400), rng.integers(1, 4, 400).astype(float)
    y = rng.poisson(hours * np.exp(0.3 + X @ [0.7, -0.4]))
    model = BayesianGLMRegressor(family=family).fit(X, y, exposure=hours)
    expected = model.predict(X, exposure=hours)
    told = model.score(X, y, sample_weight=weight, exposure=hours)
    # The same sums in another order.
    assert told == pytest.approx(d2_tweedie_score(y / hours, expected / hours, sample_weight=weight * hours, power=1), rel=1e-9)
    assert told > model.score(X, y)
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, model.predict(X), power=1), rel=1e-9)
    with config_context(enable_metadata_routing=True):
        asking = model.set_fit_request(exposure=True).set_score_request(exposure=True)
        assert cross_val_score(asking, X, y, cv=3, params={"exposure": hours}).min() > 0.3


def test_what_is_not_finite_is_named_by_row_and_column(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    model = BayesianLinearRegression().fit(X, y)
    bad = X.copy()
    bad[7, 2] = np.nan
    places = {
        "row 7, column 2 of X": [bad, bad.tolist(), sparse.csr_matrix(bad)],
        "column 'c' lacks values(?s:.*)row 7": [pd.DataFrame(bad, columns=list("abc"))],
    }
    for place, tables_of in places.items():
        for table in tables_of:
            with pytest.raises(ValueError, match=place):
                BayesianLinearRegression().fit(table, y)
    with pytest.raises(ValueError, match="row 7, column 2 of X is not finite: nan"):
        model.predict(bad)
    y[4] = np.inf
    with pytest.raises(ValueError, match=r"y\[4\] is not finite: inf"):
        model.partial_fit(X, y)


def test_sparse_rows_are_dense_rows(rng):
    X = sparse.random(300, 12, density=0.3, format="csr", random_state=1)
    y = (np.asarray(X.sum(axis=1)).ravel() > 1.8).astype(int)
    settings = {"standardise": "never"}
    dense = BayesianLogisticRegression(**settings).fit(X.toarray(), y)
    thin = BayesianLogisticRegression(**settings).fit(X, y)
    # The same sums in another order.
    assert np.allclose(dense.predict_proba(X.toarray()), thin.predict_proba(X), rtol=1e-9)
    assert np.allclose(thin.predict_proba(X.tocsc()), thin.predict_proba(X.toarray()), rtol=1e-12)
    wide = sparse.random(200, 30_000, density=0.001, format="csr", random_state=1)
    model = BayesianLogisticRegression().fit(wide, rng.integers(0, 2, 200))
    assert model._model.settings().find('"Diagonal"') > 0 and model.predict(wide).shape == (200,)


def tables(frame):
    yield "pandas", frame
    yield "polars", pl.from_pandas(frame)
    yield "pyarrow", pa.Table.from_pandas(frame, preserve_index=False)


def test_tables_are_matched_by_name(rng):
    X, y = two_classes(rng)
    frame = pd.DataFrame(X, columns=["age", "size", "dose"])
    expected = BayesianLogisticRegression().fit(X, y).predict_proba(X)
    for name, table in tables(frame):
        strict = BayesianLogisticRegression().fit(table, y)
        assert list(strict.feature_names_in_) == ["age", "size", "dose"], name
        assert np.array_equal(strict.predict_proba(table), expected), name
        assert strict.coefficients()[0] == ["intercept", "age", "size", "dose"]
        by_name = BayesianLogisticRegression(column_order="by_name").fit(table, y)
        for other, moved in tables(frame[["dose", "age", "size"]]):
            with pytest.raises(ValueError, match="same order"):
                strict.predict(moved)
            assert np.array_equal(by_name.predict_proba(moved), expected), (name, other)
        for other, unknown in tables(frame.rename(columns={"size": "length"})):
            for model in (strict, by_name):
                with pytest.raises(ValueError, match="(?s)unseen at fit time.*length.*now missing.*size"):
                    model.predict(unknown)
        for other, text in tables(frame.assign(size="long")):
            with pytest.raises(ValueError):
                strict.predict(text)


def test_contiguous_arrays_are_not_copied(rng):
    for X in (rng.normal(size=(100, 3)), np.asfortranarray(rng.normal(size=(100, 3)))):
        model = BayesianLinearRegression().fit(X, X[:, 0])
        assert rows(model._checked(X, reset=False)) is X


def test_other_threads_run_while_a_model_learns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4_000, 50))
    model, y = BayesianLinearRegression().fit(X, X[:, 0]), np.ascontiguousarray(X[:, 0])
    learning, ticks = threading.Event(), []

    def learn():
        learning.set()
        # One call, in which nothing of the interpreter is needed.
        model._model.update(X, y)
        ticks.append("done")

    thread = threading.Thread(target=learn)
    thread.start()
    learning.wait()
    while "done" not in ticks:
        ticks.append(time.perf_counter())
    thread.join()
    # With the interpreter's lock held there would be a tick or two before the call and none in it.
    assert len(ticks) > 100


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of this kind on this system")
def test_a_signal_ends_a_long_fit_and_leaves_the_model_as_it_was():
    class Enough(Exception):
        pass

    def stop(*_):
        raise Enough

    rng = np.random.default_rng(0)
    # Some pieces of 16,384 rows; a second or more in all.
    X = rng.normal(size=(300_000, 30))
    model = BayesianLinearRegression().fit(X[:100], X[:100, 0])
    state, before = model._model.state(), signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Enough):
            model._model.update(X, np.ascontiguousarray(X[:, 0]))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert model._model.state() == state


def test_labels_unseen_before_leave_the_estimator_as_it_was(rng):
    X, y = two_classes(rng)
    model = BayesianLogisticRegression().fit(X, y)
    before, state = model.__dict__.copy(), model._model.state()
    for broken in (lambda: model.partial_fit(X, np.where(y == "yes", "perhaps", "no")),
                   lambda: model.partial_fit(X[:, :2], y),
                   lambda: model.fit(X, np.full(len(y), "no")),
                   lambda: model.fit(X[:, :2] * np.nan, y),
                   lambda: model.partial_fit(X, y, classes=["a", "b"]),
                   lambda: model.partial_fit(X, y, sample_weight=-np.ones(len(y)))):  # fmt: skip
        with pytest.raises(ValueError):
            broken()
        assert model.__dict__ == before and model._model.state() == state
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=rf"sample_weight\[2\] is not finite: {bad}"):
            model.partial_fit(X, y, sample_weight=np.where(np.arange(len(y)) == 2, bad, 1.0))
    with pytest.raises(ValueError, match=r"\['perhaps'\] are none of the classes"):
        model.partial_fit(X, np.where(y == "yes", "perhaps", "no"))


def test_models_of_parts_merge_into_that_of_the_whole(rng):
    X, y = rng.normal(size=(600, 2)), rng.normal(size=600)
    settings = {"standardise": ([0.0, 0.0], [1.0, 1.0]), "prior_scale": 1.0}
    parts = [BayesianLinearRegression(**settings).fit(X[k::3], y[k::3]) for k in range(3)]
    whole = BayesianLinearRegression(**settings).fit(X, y)
    merged = parts[0].merge(*parts[1:])
    assert np.allclose(merged.coef_, whole.coef_, rtol=1e-8)
    assert np.allclose(merged.coef_std_, whole.coef_std_, rtol=1e-8)
    with pytest.raises(TypeError, match="cannot be merged"):
        merged.merge(BayesianLogisticRegression(**settings).fit(X, y > 0))
    with pytest.raises(ValueError, match="prior scale|settings"):
        merged.merge(BayesianLinearRegression(standardise="never", prior_scale=2.0).fit(X, y))


def test_refinement_needs_rows_and_raises_the_bound(rng):
    X, y = two_classes(rng, 200)
    with pytest.raises(ValueError, match="keep_rows=True"):
        BayesianLogisticRegression().fit(X, y).refine()
    model = BayesianLogisticRegression(keep_rows=True).fit(X, y)
    found = model.refine().diagnose()
    assert found["effective_share"] > 0.8 and "posterior" in found["advice"]
    with pytest.raises(ValueError, match="exact"):
        BayesianLinearRegression().fit(X, X[:, 0]).refine()


def test_relevance_is_found(rng):
    X = rng.normal(size=(400, 15))
    eta = 2 * X[:, 4] - X[:, 9]
    number = ARDRegression().fit(X, eta + rng.normal(size=400))
    label = ARDClassifier().fit(X, rng.random(400) < 1 / (1 + np.exp(-eta)))
    for model in (number, label):
        assert set(np.argsort(-model.relevance_)[:2]) == {4, 9}
        assert np.all(np.abs(model.coef_.ravel()[[4, 9]] - [2, -1]) < 4 * model.coef_std_.ravel()[[4, 9]])
        weights, _ = model.sample_weights(3000)
        # 6 standard errors of 3000 draws.
        assert np.all(np.abs(weights.mean(axis=0) - model.coef_) <= 6 * weights.std(axis=0) / np.sqrt(3000))
        assert model.info_["effective_draws"] > 50
        again = type(model)(random_state=1).fit(X, model.predict(X))
        assert np.all(again.relevance_ <= 1) and again.n_iter_ == 2000
    variational = ARDRegression(ard="variational").fit(X, eta + rng.normal(size=400))
    assert variational.info_["stop"] == "Converged" and set(np.argsort(-variational.relevance_)[:2]) == {4, 9}


def test_intervals_of_relevance_hold_with_more_inputs_than_rows(rng):
    held = dict.fromkeys([True, "variational"], 0.0)
    for _ in range(4):
        X = rng.normal(size=(160, 100))
        weights = np.where(np.arange(100) < 5, rng.choice([-1.5, 1.5], 100), 0.0)
        y = X @ weights + rng.normal(size=160)
        for ard in held:
            model = ARDRegression(ard=ard).fit(X[:60], y[:60])
            _, ends = model.predict(X[60:], return_interval=0.9)
            held[ard] += np.mean((ends[:, 0] <= y[60:]) & (y[60:] <= ends[:, 1])) / 4
            if ard is True:
                assert np.mean(np.abs(model.coef_ - weights) <= 1.645 * model.coef_std_) > 0.85
    assert held[True] > 0.75 and held["variational"] < 0.2


def test_evidence_of_relevance_is_in_units_of_the_target(rng):
    X = rng.normal(size=(80, 4))
    y = X[:, 0] + rng.normal(size=80)
    for ard in (True, False, "variational"):
        small, large = (ARDRegression(ard=ard).fit(X, scale * y).evidence_ for scale in (1.0, 1024.0))
        assert abs(small - large - 80 * np.log(1024)) < 1e-6


def test_random_features_learn_what_is_not_linear(rng):
    X = rng.uniform(-2, 2, size=(600, 2))
    y = np.sin(2 * X[:, 0]) * X[:, 1]
    model = RandomFeatureRegressor().fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.95 > BayesianLinearRegression().fit(X, y).score(X, y)
    label = np.digitize(y, [-0.5, 0.5])
    assert RandomFeatureClassifier().fit(X[:400], label[:400]).score(X[400:], label[400:]) > 0.8
    more = RandomFeatureRegressor().partial_fit(X[:200], y[:200]).partial_fit(X[200:400], y[200:400])
    assert more.score(X[400:], y[400:]) > 0.9
    assert list(model.get_feature_names_out()[:2]) == ["randomfeatureregressor0", "randomfeatureregressor1"]


def test_memories_follow_a_drift(rng):
    X = rng.normal(size=(2000, 1))
    y = np.where(np.arange(2000) < 1000, 1.0, -1.0) * X[:, 0] + 0.1 * rng.normal(size=2000)
    errors = {memory: abs(BayesianLinearRegression(memory=memory).fit(X, y).coef_[0] + 1) for memory in ("learned", 0.98, "everything")}
    assert errors["learned"] < 0.05 and errors[0.98] < 0.05 and errors["everything"] > 0.5


def test_what_is_not_fitted_says_so():
    model = BayesianLogisticRegression()
    for call in (lambda: model.predict([[0.0]]), lambda: model.coef_, lambda: model.evidence_, lambda: model.refine(),
                 lambda: model.to_json(), lambda: model.sample_weights(), lambda: model.summary()):  # fmt: skip
        with pytest.raises(NotFittedError):
            call()
    assert not hasattr(model, "coef_")


def test_pipelines_search_and_routing(rng):
    X, y = two_classes(rng)
    assert cross_val_score(make_pipeline(StandardScaler(), BayesianLogisticRegression()), X, y, scoring="neg_log_loss").mean() > -0.65
    with config_context(enable_metadata_routing=True):
        model = BayesianLogisticRegression().set_fit_request(sample_weight=True, offset=True)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        pipeline.fit(X, y, sample_weight=np.ones(len(y)), offset=np.full(len(y), 4.0))
        plain = BayesianLogisticRegression().fit(StandardScaler().fit_transform(X), y, offset=4.0)
        assert np.array_equal(pipeline.predict_proba(X), plain.predict_proba(StandardScaler().fit_transform(X)))
        # Rows of no weight teach nothing, at a prior scale that their number does not move.
        given = BayesianLogisticRegression(prior_scale=1.0).fit(X, y)
        coefficients = given.coef_
        assert np.array_equal(given.partial_fit(X, y, sample_weight=np.zeros(len(y))).coef_, coefficients)


@pytest.mark.parametrize("wrong", [
    {"belief": "wide"}, {"belief": True}, {"belief": -1}, {"prior_scale": -1.0}, {"prior_scale": float("nan")},
    {"prior_scale": []}, {"prior_scale": "x"}, {"memory": 1.5}, {"memory": "short"}, {"standardise": 1}, {"standardise": None},
    {"standardise": ([0.0], [1.0])}, {"start": "late"}, {"intercept_scale": 0.0}, {"column_order": "any"},
])  # fmt: skip
def test_settings_that_cannot_be_are_named(rng, wrong):
    X, y = two_classes(rng)
    model = BayesianLogisticRegression(**wrong)
    with pytest.raises(ValueError):
        model.fit(X, y)
    assert not hasattr(model, "classes_") and not hasattr(model, "n_features_in_")


def test_levels_and_tables_for_people(rng):
    X, y = two_classes(rng)
    model = BayesianLogisticRegression().fit(pd.DataFrame(X, columns=["a<b", "c", "d"]), y)
    assert "400 rows" in model.summary() and "a<b" in model.summary()
    assert "<th>a&lt;b</th>" in model._repr_html_() and "<table>" in model._repr_mimebundle_()["text/html"]
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_proba(pd.DataFrame(X, columns=["a<b", "c", "d"]), return_interval=1.0)
    with pytest.raises(TypeError, match="level such as 0.9"):
        model.coefficients("0.9")


def test_refinement_of_heavy_tails_keeps_the_units_of_the_labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 3))
    y = 5 * (X @ [1.0, -1.0, 0.5] + rng.standard_t(3, size=400))
    for family in ("robust", "varying"):
        model = BayesianGLMRegressor(family, keep_rows=True).fit(X, y)
        before, density = model.coef_.copy(), model.log_density(X, y).mean()
        model.refine()
        # A part of a standard error, .35.
        assert np.abs(model.coef_ - before).max() < 0.2, (family, before, model.coef_)
        assert abs(model.log_density(X, y).mean() - density) < 0.02, family

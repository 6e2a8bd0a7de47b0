"""No panic, no fault of ours and no half-changed model: every public method, each argument in turn replaced by what it must refuse or bear."""

import copy
import importlib
import inspect
import pickle
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import rvi.sklearn
from rvi import boost
from rvi.bandit import Bandit, replay
from scipy import sparse

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=40) > 0).astype(float)
FRAME = pd.DataFrame(X, columns=["a", "b"])


class Own(Exception):
    """What belongs to the caller."""


class Raises:
    """Raises whatever it is asked."""

    def _raise(self, *_, **__):
        raise Own

    __array__ = __len__ = __iter__ = __float__ = __int__ = __index__ = __bool__ = __eq__ = __lt__ = __call__ = __getitem__ = _raise
    __hash__ = None


def damaged(place, value):
    matrix = sparse.csr_array(X)
    getattr(matrix, place)[1] = value
    return matrix


def unaligned(values):
    return np.frombuffer(b"." + values.tobytes(), values.dtype, offset=1).reshape(values.shape)


HOSTILE = [
    None, "", "x", b"x", True, 0, -1, 3, 2**40, 2**70, -(2**70), 0.5, 1e300, -1e300, float("nan"), float("inf"), 1j,
    [], {}, (), set(), [None], ["a", 1.0], [[1.0], [1.0, 2.0]], [[]], {"a": 1.0}, (0.0, 1.0), ([0.0], [1.0]), ([0.0, 0.0], [1.0, 0.0]),
    object(), Raises(), Raises, lambda *_: 0, (x for x in range(3)), types.SimpleNamespace(shape=(40, 2)),
    np.array(1.0), np.array([np.nan]), np.zeros((2, 2, 2)), np.empty((0, 2)), np.empty((40, 0)), np.empty((0, 0)), X[0], X[:1], X[:, :1],
    X * np.nan, X * np.inf, X * 1e300, X[::2], X[::-1], X.T, np.asfortranarray(X), unaligned(X), unaligned(Y), X.astype(">f8"),
    X.astype(np.float16), X.astype(object), X.astype(str), X.astype(complex), X.astype("M8[s]"), X > 0, np.ma.array(X, mask=X > 1),
    X.view([("a", "f8"), ("b", "f8")]), np.broadcast_to(X[0], (40, 2)), np.matrix(X), X.tolist(),
    Y * np.nan, -Y, Y + 0.5, Y * 0, Y[:5], Y[::-1], Y[:, None], Y.astype(str), np.array(["a", None] * 20, dtype=object), Y.astype(np.uint8),
    FRAME, FRAME.assign(a="text"), FRAME.assign(a=None), FRAME.rename(columns={"a": "z"}), FRAME[["b", "a"]], FRAME.iloc[:0], FRAME["a"],
    pd.DataFrame({"a": pd.Categorical(["u", "v"] * 20), "b": 1.0}), pd.DataFrame(X, columns=["a", "a"]), pd.DataFrame(X),
    sparse.csr_array(X), sparse.csc_array(X), sparse.coo_array(X), sparse.csr_array((40, 2)), sparse.csr_array(X * np.nan),
    damaged("indices", 99), damaged("indices", -1), damaged("indptr", 999), damaged("indptr", -5),
]  # fmt: skip

#: What the ecosystem expects, and what the caller's own objects raise.
EXPECTED = (ValueError, TypeError, OverflowError, AttributeError, KeyError, MemoryError, OSError, Own)

#: An argument that is good for each name.
GOOD = {
    "X": X, "y": Y, "sample_weight": np.ones(40), "offset": 0.1, "exposure": None, "trials": None, "classes": [0.0, 1.0], "level": 0.9,
    "n_samples": 2, "random_state": 0, "return_std": True, "return_interval": 0.9, "draws": 100, "max_sweeps": 2, "tolerance": 1e-3,
    "path": None, "document": "{}", "x": {"a": 0.1, "b": 1.0}, "w": 1.0, "with_dist": False, "certified": False, "arms": ["u", "v"] * 20, "rewards": Y,
    "keys": None, "key": "waits", "value": 1.0, "n": 3, "bins": 5, "probability": Y, "block": 20, "scores": Y, "label": "of ours",
    "q": [0.1, 0.9], "names": None, "clusters": None, "resampled": False, "chains": 2, "ax": None, "others": (), "deep": True, "params": {}, "memo": {}, "others_": None, "feature_names": ["a", "b"],
    "record": rvi.sklearn.BayesianLogisticRegression(prior_scale=1.0, standardise="never").fit(X, Y).to_record(),
}  # fmt: skip


def learners():
    for name in rvi.sklearn.__all__:
        kind = getattr(rvi.sklearn, name)
        own = inspect.signature(kind).parameters
        settings = {"keep_rows": True} if "keep_rows" in own else {"n_frequencies": 4} if "n_frequencies" in own else {}
        yield name, kind(**settings)
    for family in ("poisson", "binomial"):
        yield family, rvi.sklearn.BayesianGLMRegressor(family, keep_rows=True)


def streams():
    module = importlib.import_module("rvi.river")
    return [(f"river.{name}", getattr(module, name)()) for name in module.__all__]


def taught(model):
    """The model after 40 rows."""
    if hasattr(model, "learn_one"):
        for x, y in zip(FRAME.to_dict("records"), Y, strict=True):
            model.learn_one(x, bool(y))
        return model
    return model.fit(X, Y)


def bandit(learner=None):
    made = Bandit(["u", "v"], learner, random_state=0).update(X, ["u", "v"] * 20, Y)
    made.pull(X[:1], keys=["waits"])
    return made


def methods(item):
    """Names and parameters of what the package defines and people call."""
    for name, function in inspect.getmembers(type(item), callable):
        if not name.startswith("_") and inspect.unwrap(function).__module__.startswith("rvi.") and not name.endswith("_request"):
            yield name, list(inspect.signature(getattr(item, name)).parameters.values())


#: Methods that take their time, or take their arguments the way of `predict_quantiles` and `log_density`.
BRIEFLY = ("to_arviz", "summary", "predict_interval", "cdf", "crps", "sample_y")


def frozen(model):
    return pickle.dumps(model) if not isinstance(model, boost.Posterior) else b""


def called(call, arguments):
    """Whether a call is refused; anything but what is expected is raised."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            call(**arguments)
        except EXPECTED:
            return True
    return False


def provoked(model, rounds=1):
    """Every method with every argument replaced in turn: how many calls were refused, all of them without a trace."""
    refused = 0
    for name, parameters in methods(model):
        names = [p.name for p in parameters if p.kind is not p.VAR_POSITIONAL and p.kind is not p.VAR_KEYWORD]
        many = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None)
        good = {name: GOOD[name] for name in names}
        if name == "learn_one":
            good["y"] = 1.0
        if name in ("learn_many", "predict_many", "predict_proba_many"):
            good["X"] = FRAME
        for own in names:
            for value in HOSTILE[:: 8 if name in BRIEFLY else 1]:
                other = copy.deepcopy(model)
                before = frozen(other)
                if called(getattr(other, name), {**good, own: value}):
                    refused += 1
                    assert frozen(other) == before, (name, own, value)
        for value in HOSTILE if many else []:
            other = copy.deepcopy(model)
            before = frozen(other)
            if called(lambda other=other, name=name, value=value: getattr(other, name)(value), {}):
                refused += 1
                assert frozen(other) == before, (name, many, value)
    return refused


@pytest.mark.parametrize(("name", "model"), [*learners(), *streams()], ids=lambda own: own if isinstance(own, str) else "")
def test_every_method_of(name, model):
    assert provoked(model) > 20
    assert provoked(taught(model)) > 60


@pytest.mark.parametrize("model", [model for _, model in [*learners(), *streams()]], ids=lambda model: type(model).__name__)
def test_settings_that_cannot_be(model):
    refused = 0
    for own in inspect.signature(type(model)).parameters:
        for value in HOSTILE:
            # As scikit-learn has it, a setting may be wrong until it is used.
            def use(own=own, value=value):
                made = type(model)(**{**getattr(model, "get_params", dict)(), own: value})
                taught(made)

            refused += called(use, {})
    assert refused > 100


@pytest.mark.parametrize("learner", [None, rvi.sklearn.BayesianLinearRegression(), rvi.sklearn.BayesianGLMRegressor("poisson")], ids=str)
def test_bandits(learner):
    assert provoked(bandit(learner)) > 100
    for value in HOSTILE:
        called(Bandit, {"arms": value})
        called(Bandit, {"arms": {"u": value, "v": [1.0]}})
        for own in ("policy", "level", "random_state"):
            called(Bandit, {"arms": "uv", own: value})
        called(lambda value=value: Bandit("uv", learner=value).update(X, ["u", "v"] * 20, Y), {})
        for own in ("X", "arms", "rewards"):
            called(replay, {"bandit": bandit(learner), "X": X, "arms": ["u", "v"] * 20, "rewards": Y, own: value})


def test_densities():
    def square(x):
        return -0.5 * np.sum(np.square(x), axis=-1)

    good = {"logp": square, "dim": 2, "components": 2, "starts": 1, "draws": 100, "rounds": 0, "random_state": 0}
    posterior = boost.fit(**good)
    names = list(inspect.signature(boost.fit).parameters)
    refused = sum(called(boost.fit, {**good, own: value}) for own in names for value in HOSTILE)
    # What a callable returns.
    refused += sum(called(boost.fit, {**good, "logp": lambda x, value=value: value}) for value in HOSTILE)
    refused += sum(called(boost.fit, {**good, "grad": lambda x, value=value: value}) for value in HOSTILE)
    assert refused > 300 and provoked(posterior) > 20


def test_pictures():
    from matplotlib import pyplot

    plot = importlib.import_module("rvi.plot")
    fitted = rvi.sklearn.BayesianLogisticRegression().fit(X, Y)
    for name in plot.__all__:
        function = getattr(plot, name)
        good = {own: GOOD.get(own) for own in inspect.signature(function).parameters}
        good |= {"estimator": fitted} if "estimator" in good else {}
        for own in good:
            assert sum(called(function, {**good, own: value}) for value in HOSTILE) >= (0 if own in ("label", "classes", "ax") else 20), own
        pyplot.close("all")

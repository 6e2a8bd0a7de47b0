"""No panic reaches Python: every method of every class beneath with input that it must refuse or bear."""

import itertools

import numpy as np
import pytest
from rvi import _rvi
from rvi._rvi import Fourier, HorseshoeClass, HorseshoeNumber, Mixture, Online, VbClass, VbNumber

SETTINGS = (
    '{"belief":"Full","prior_scale":"Learned","intercept":true,"intercept_scale":5.0,"standardise":{"FirstRows":'
    '{"rows":50,"centre":true}},"memory":"Everything","keep_rows":true,"start":"Fitted","names":[]}'
)
KINDS = [("Number", {}), ("Count", {}), ("Two", {}), ("Classes", {"classes": 3}), ("Probit", {}), ("Trials", {}), ("Spread", {"size": 2.0}),
         ("LearnedSpread", {}), ("ZeroInflated", {})]  # fmt: skip
X = np.random.default_rng(0).normal(size=(60, 2))
ONES = np.ones(60)


def unaligned(values):
    """The same numbers, one byte beside where a processor reads them."""
    return np.frombuffer(b"." + values.tobytes(), values.dtype, offset=1).reshape(values.shape)


STRANGE = [unaligned(X), X.astype(">f8"), X[::-1], np.asfortranarray(X), np.asfortranarray(X)[:, ::-1], X[None], np.array(1.0),
           X.astype(object), X.astype(str), X.astype(complex), X.astype("M8[s]"), X.view([("a", "f8"), ("b", "f8")]), np.ma.array(X),
           np.empty((0, 0)).T, np.broadcast_to(X[0], (60, 2)), object(), {}, b"x", 2**70, float("nan")]  # fmt: skip
STRANGE[2].flags.writeable = False
MATRICES = [X, *STRANGE, X[:0], X[:, :1], X[::2], X * np.nan, X * np.inf, X * 1e300, np.zeros((60, 2)), X.astype(np.float32), X.T, X[0],
            np.empty((0, 0)), np.empty((60, 0)), None, "x", [[1.0]],
            (np.array([0, 2], np.uintp), np.array([0, 1], np.uintp), np.array([1.0, 2.0])),
            (np.array([0, 9], np.uintp), np.array([0, 1], np.uintp), np.array([1.0, 2.0])),
            (np.array([2, 0], np.uintp), np.array([0, 1], np.uintp), np.array([1.0, 2.0])),
            (np.array([0, 2], np.uintp), np.array([1, 0], np.uintp), np.array([1.0, np.nan])),
            (np.array([], np.uintp), np.array([], np.uintp), np.array([])),
            (np.array([0, 2], np.uintp), np.array([0, 2**63], np.uintp), np.array([1.0, 2.0])),
            (np.full(20_001, 2**63, np.uintp), np.array([0], np.uintp), np.array([1.0]))]  # fmt: skip
VECTORS = [ONES, ONES[:0], ONES[:5], ONES * np.nan, -ONES, ONES * 0.5, ONES * 1e300, ONES * 5e15, ONES[::2], ONES.astype(int), None,
           3.0, np.ones((60, 1)), unaligned(ONES), np.array(1.0), ONES.astype(">f8"), ONES.astype(object), "x", [1.0] * 60,
           np.packbits(np.ones(60, bool))]  # fmt: skip
NUMBERS = [0, 1, 3, -1, 2**40, 2**70, 0.5, 0.0, 1.0, float("nan"), float("inf"), None, "x"]

#: What the ecosystem expects; a panic is none of them, nor is a fault of ours.
EXPECTED = (ValueError, TypeError, OverflowError, MemoryError)


def tries(call, *choices):
    """Calls with every first argument and each of the others in turn, and returns how many calls were refused."""
    refused = 0
    plain = [choice[0] for choice in choices]
    arguments = [tuple(plain)]
    for place, choice in enumerate(choices):
        arguments += [(*plain[:place], value, *plain[place + 1 :]) for value in choice]
    for chosen in arguments:
        try:
            call(*chosen)
        except EXPECTED:
            refused += 1
    return refused


@pytest.mark.parametrize(("kind", "numbers"), KINDS)
@pytest.mark.parametrize("seen", [0, 30, 60])
def test_online(kind, numbers, seen):
    model = Online(kind, 2, SETTINGS, **numbers)
    if seen:
        model.update(X[:seen], ONES[:seen])
    matrices = MATRICES
    assert tries(model.copy().update, matrices, VECTORS, VECTORS, VECTORS, VECTORS) > 30
    assert tries(model.predict, matrices, VECTORS, VECTORS) > 20
    assert tries(model.predictor, matrices, VECTORS) > 20
    assert tries(model.interval, matrices, [0.9, *NUMBERS], VECTORS, VECTORS) > 20
    assert tries(model.predictor_interval, matrices, [0.9, *NUMBERS], VECTORS) > 20
    assert tries(model.log_density, matrices, VECTORS, VECTORS, VECTORS) > 20
    assert tries(model.quantiles, matrices, [[0.5], [], [0.0], [np.nan], None, 0.5], VECTORS, VECTORS) > 20
    assert tries(model.below, matrices, VECTORS, [False, True], VECTORS, VECTORS) > 20
    assert tries(model.points, matrices, [False, True], VECTORS, VECTORS) > 20
    assert tries(model.under_draws, matrices, [2, *NUMBERS, 2**62], NUMBERS, VECTORS, VECTORS, VECTORS) > 20
    assert tries(model.draw_labels, matrices, [2, *NUMBERS, 2**62], NUMBERS, VECTORS, VECTORS) > 20
    assert tries(model.probabilities, matrices) > 5
    assert tries(model.sample, [1, *NUMBERS, 2**62], NUMBERS) > 5
    assert tries(model.coefficients, [0.9, *NUMBERS]) > 5
    assert tries(model.diagnose, [100, 0, -1, "x", None, 2**40, 2**62], NUMBERS) > 2
    assert tries(model.copy().refine, [1e-8, *NUMBERS], [3, 0, -1, None, 1.5]) > 2
    rows = [[1.0, 2.0], [1.0], (), (1, 2), [np.nan, 1.0], ["a", "b"], None, np.ones(2), np.ones(4)[::2], np.ones((1, 2)), [1e308, 1e308]]
    assert tries(model.copy().update_row, rows, [1.0, *NUMBERS], NUMBERS, NUMBERS, NUMBERS) > 10
    places = [[0, 1], [1, 0], [0, 0], [5], [-1], None, []]
    entries = lambda at, values, *more: model.copy().update_row((at, values), *more)  # noqa: E731
    assert tries(entries, places, [[1.0, 2.0], [np.nan, 1.0], [1.0], None], [1.0, *NUMBERS], NUMBERS) > 10
    assert tries(model.predict_row, [*rows, ([0, 0], [1.0, 2.0]), ([0], [1.0])], NUMBERS, NUMBERS) > 10
    assert tries(model.interval_row, [*rows, ([0, 0], [1.0, 2.0]), ([0], [1.0])], [0.9, *NUMBERS], NUMBERS, NUMBERS) > 10
    assert tries(model.probabilities_row, [*rows, ([9], [1.0])]) > 5
    others = [[], [model], [Online("Two", 3, SETTINGS)], [Online("Probit", 2, SETTINGS)], None, [1]]
    assert tries(model.copy().merge, others) > 1
    tries(model.covariance)
    for look in (model.info, model.evidence, model.settings, model.kind, model.state, model.weights):
        look()
    assert tries(Online.from_state, [model.state(), b"", b"{}", b"null", b"[" * 100_000, "x", None]) > 4


def test_settings_of_every_kind():
    damaged = ["", "{}", "null", SETTINGS.replace("5.0", "0.0"), SETTINGS.replace('"Full"', '{"LowRank":{"rank":99}}'),
               SETTINGS.replace('"Learned"', '{"Given":1e999}'), SETTINGS.replace("50", "0"), SETTINGS.replace("[]", '["a","a"]')]  # fmt: skip
    refused = [("Classes", {"classes": 0, "joint": True}), ("Classes", {"classes": 1, "joint": False}), ("Classes", {}), ("Spread", {"size": -1.0}),
               ("Spread", {}), ("Two", {"size": 2.0}), ("Number", {"noise": (0.0, 1.0)}), ("Number", {"noise": 1.0}),
               ("Other", {}), ("", {})]  # fmt: skip
    for (kind, numbers), inputs, settings in itertools.product([*KINDS, *refused], (0, 1, 2**50, -1), [SETTINGS, *damaged]):
        tries(lambda inputs, settings, kind=kind, numbers=numbers: Online(kind, inputs, settings, **numbers), [inputs], [settings])
    for kind, numbers in refused:
        with pytest.raises(EXPECTED):
            Online(kind, 1, SETTINGS, **numbers)


@pytest.mark.parametrize("kind", [VbNumber, VbClass, HorseshoeNumber, HorseshoeClass])
def test_variational(kind):
    labels = (X[:, 0] > 0).astype(float)
    if kind in (VbNumber, VbClass):
        assert tries(kind, MATRICES, [labels, *VECTORS], [True], [True], [1e-8, *NUMBERS], [50, 0, 1, -1, None]) > 25
        model = kind(X, labels, True, True, 1e-8, 100)
    else:
        assert tries(kind, MATRICES, [labels, *VECTORS], [True], [50, 0, 1, -1, 2**62, None], [0, -1, None]) > 25
        model = kind(X, labels, True, 50, 0)
    assert tries(model.predict, MATRICES) > 10
    assert tries(model.interval, MATRICES, [0.9, *NUMBERS]) > 10
    assert tries(model.sample, [1, *NUMBERS, 2**62], NUMBERS) > 5


def test_features_and_mixtures():
    assert tries(Fourier, ["Rbf", "LaplaceProduct", "x", None], [2, 0, 2**33, 2**60], [5, 0, 2**33, 2**60], [[1.0], [1.0, 2.0], [0.0], [], [np.nan]],
                 [True, False], NUMBERS) > 10  # fmt: skip
    features = Fourier("Rbf", 2, 5, [1.0], True, 0)
    assert tries(features.features, MATRICES) > 10
    mixture, _ = _rvi.fit(lambda points: -0.5 * (points**2).sum(axis=1), None, 2, 2, 200, 2, 0, None, 1)
    assert tries(mixture.log_density, MATRICES) > 10
    assert tries(mixture.sample, [3, *NUMBERS, 2**62], NUMBERS) > 5
    assert tries(mixture.marginal, [[0], [], [0, 0], [5], [-1], None]) > 3


#: Calls that `tries` makes of eight arguments with one value each.
CALLS = 9


def test_densities():
    def raising(points):
        raise KeyError("of the caller")

    values = [lambda p: p * np.nan, lambda p: np.full(len(p), np.nan), lambda p: np.full(len(p), np.inf),
              lambda p: np.full(len(p), -np.inf), lambda p: np.zeros(len(p)), lambda p: None, lambda p: np.zeros(3), lambda: 0]  # fmt: skip
    for value in values:
        assert tries(_rvi.fit, [value], [None], [2], [2], [200], [2], [0], [1]) == CALLS
    both = [lambda p: (np.zeros(len(p)), np.zeros((1, 1))), lambda p: 1.0, lambda p: (np.zeros(len(p)), np.full(p.shape, np.nan))]
    for pair in both:
        assert tries(_rvi.fit, [lambda p: -0.5 * (p**2).sum(axis=1)], [pair], [2], [2], [200], [2], [0], [1]) == CALLS
    square = lambda p: -0.5 * (p**2).sum(axis=1)  # noqa: E731
    for dim in (0, -1, "x", None, 2**30, 2**62):
        assert tries(_rvi.fit, [square], [None], [dim], [2], [200], [2], [0], [1]) == CALLS
    for place in (3, 4, 5):
        plain = [[square], [None], [2], [2], [200], [2], [0], [1]]
        plain[place] = [0, -1, None, 2**40, 2**62, 2**70]
        assert tries(_rvi.fit, *plain) > 6
    # Numbers between two places, and numbers that are not next to each other.
    for strange in (unaligned, lambda values: np.repeat(values, 2)[::2]):
        with pytest.raises(ValueError, match="aligned|contiguous"):
            _rvi.fit(lambda p, strange=strange: strange(square(p)), None, 2, 2, 200, 2, 0, None, 1)
    for strange in (unaligned, lambda values: np.repeat(values, 2, axis=1)[:, ::2]):
        with pytest.raises(ValueError, match="aligned|contiguous"):
            _rvi.fit(square, lambda p, strange=strange: (square(p), strange(-p)), 2, 2, 200, 2, 0, None, 1)
    other = [_rvi.fit(square, lambda p, of=of: (square(p), of(-p)), 2, 2, 200, 2, 0, None, 1)[0] for of in (np.asarray, np.asfortranarray)]
    assert np.array_equal(other[0].mean(), other[1].mean())
    with pytest.raises(KeyError, match="of the caller"):
        _rvi.fit(raising, None, 2, 2, 200, 2, 0, None, 1)

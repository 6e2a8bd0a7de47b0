"""Posteriors of Python callables."""

import pickle

import numpy as np
import pytest
from rvi import boost
from scipy.stats import multivariate_normal

COVARIANCE = np.array([[1.0, 0.6], [0.6, 2.0]])
PRECISION = np.linalg.inv(COVARIANCE)


def one(x):
    return -0.5 * x @ PRECISION @ x


def many(x):
    return -0.5 * np.einsum("...i,ij,...j->...", x, PRECISION, x)


def test_a_gaussian_is_found_from_one_point_and_from_many_alike():
    exact = 0.5 * np.log(np.linalg.det(2 * np.pi * COVARIANCE))
    found = [
        boost.fit(one, dim=2),
        boost.fit(many, dim=2),
        boost.fit(one, lambda x: -PRECISION @ x, dim=2),
        boost.fit(many, lambda x: -x @ PRECISION, dim=2),
        boost.fit(one, dim=2, value_and_grad=lambda x: (one(x), -PRECISION @ x)),
    ]
    for posterior in found:
        assert posterior.verdict == "good" and posterior.kl < 1e-3
        assert np.allclose(posterior.mean, 0, atol=1e-3) and np.allclose(posterior.covariance, COVARIANCE, atol=1e-2)
        assert abs(posterior.log_evidence - exact) < 0.01
    # The same density, whichever way it was asked for, and the same seed.
    assert np.array_equal(found[2].mean, found[4].mean) and np.allclose(found[2].covariance, found[3].covariance, rtol=1e-6)


def test_evaluations_are_told_by_phase_and_limited():
    info = boost.fit(many, lambda x: -x @ PRECISION, dim=2).info
    counts = [count for phase in info["phases"].values() for count in phase.values()]
    assert sum(counts) == info["evaluations"] and info["phases"]["modes"]["gradients"] > 0
    assert info["unseen"] == 0 and "what was searched" in info["says"]
    skewed = lambda x: 2 * x[:, 0] - np.exp(x[:, 0])  # noqa: E731
    assert boost.fit(skewed, dim=1, evaluations=1).info["evaluations"] < boost.fit(skewed, dim=1).info["evaluations"]


def test_density_draws_and_components_belong_together():
    posterior = boost.fit(lambda x: np.logaddexp(many(x - 4), many(x + 4)), dim=2)
    again = pickle.loads(pickle.dumps(posterior))
    draws = posterior.sample(4000, random_state=1)
    assert np.array_equal(draws, again.sample(4000, random_state=1))
    density = sum(
        weight * multivariate_normal(mean, covariance).pdf(draws)
        for weight, mean, covariance in zip(posterior.weights, posterior.means, posterior.covariances, strict=True)
    )
    assert np.allclose(posterior.logpdf(draws), np.log(density), rtol=1e-9, atol=1e-9)
    assert abs(np.mean(draws[:, 0] > 0) - 0.5) < 0.05 and "kl=" in repr(posterior)
    # 6 standard errors.
    assert np.all(np.abs(draws.mean(axis=0) - posterior.mean) < 6 * draws.std(axis=0) / np.sqrt(4000))


def test_jax_functions_are_taken_as_they_are():
    jax = pytest.importorskip("jax")
    log_density = lambda x: -0.5 * jax.numpy.sum((x - 1.0) ** 2)  # noqa: E731
    posterior = boost.fit(log_density, dim=2, value_and_grad=jax.value_and_grad(log_density))
    assert np.allclose(posterior.mean, 1.0, atol=1e-2)


def test_mistakes_of_the_callable_are_its_own():
    class Mine(Exception):
        pass

    calls = []

    def breaks(x):
        calls.append(x)
        if len(calls) > 40:
            raise Mine("after forty")
        return one(np.ravel(x)[:2])

    with pytest.raises(Mine, match="after forty"):
        boost.fit(breaks, dim=2, batch=False)
    # No call comes after the exception.
    assert len(calls) == 41
    for wrong in (lambda x: "x", lambda x: np.zeros((2, 2)), lambda x: None, lambda: 0.0, lambda x: np.nan, lambda x: 0.0):
        with pytest.raises((ValueError, TypeError)):
            boost.fit(wrong, dim=2)
    with pytest.raises(ValueError, match="dim"):
        boost.fit(one, dim=0)
    with pytest.raises(TypeError, match="dim"):
        boost.fit(one)
    with pytest.raises(TypeError, match="not both"):
        boost.fit(one, one, 2, value_and_grad=one)
    with pytest.raises(ValueError):
        boost.fit(one, lambda x: np.zeros(3), dim=2)
    with pytest.raises(ValueError, match="length|shape|columns|features"):
        boost.fit(many, dim=2).logpdf([[1.0, 2.0, 3.0]])


def test_parameters_have_names_and_obey_their_constraints():
    # Beta(3, 2), a gamma of shape 3 and rate 2, and a Dirichlet of (1, 2, 3).
    def logp(x):
        p, g, s = x[..., 0], x[..., 1], x[..., 2:]
        return 2 * np.log(p) + np.log1p(-p) + 2 * np.log(g) - 2 * g + np.log(s[..., 1]) + 2 * np.log(s[..., 2])

    posterior = boost.fit(logp, parameters={"p": "unit", "g": "positive", "s": ("simplex", 3)})
    assert posterior.verdict == "good" and posterior.names == ["p", "g", "s[1]", "s[2]", "s[3]"] and posterior.dim == 4
    draws = posterior.draws(8000)
    assert draws["p"].shape == (8000,) and draws["s"].shape == (8000, 3) and np.allclose(draws["s"].sum(axis=1), 1)
    # Within .03 nats means are off by a quarter of a deviation at most, in fact far less; six standard errors of 8000 draws.
    assert abs(draws["p"].mean() - 0.6) < 0.03 and abs(draws["g"].mean() - 1.5) < 0.1
    assert np.allclose(draws["s"].mean(axis=0), [1 / 6, 1 / 3, 1 / 2], atol=0.03)
    # The integrals of the three: B(3, 2), 2/2³ and 2/5!.
    assert abs(posterior.log_evidence - np.log(1 / 12 * 2 / 8 * 2 / 120)) < 0.05
    again = pickle.loads(pickle.dumps(posterior))
    assert np.array_equal(again.sample(3), posterior.sample(3))
    with pytest.raises(ValueError, match="parameters have 5 numbers"):
        boost.fit(logp, dim=4, parameters={"p": "unit", "g": "positive", "s": ("simplex", 3)})
    with pytest.raises(ValueError, match="must be one of"):
        boost.fit(logp, parameters={"p": "round"})

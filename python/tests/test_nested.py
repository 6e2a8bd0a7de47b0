"""Latent Gaussian models of Python callables."""

import numpy as np
import pytest
import rvi
from rvi.nested import independent, squared_exponential
from scipy import sparse
from scipy.special import gammaln

X = np.linspace(-2, 2, 9)
COUNTS = np.array([9, 6, 3, 1, 0, 2, 4, 7, 12])
PARAMETERS = {"amplitude": "positive", "length": "positive"}


def prior(hyper):
    return -0.5 * (hyper["amplitude"] ** 2 / 4 + np.log(hyper["length"]) ** 2) - np.log(hyper["length"])


def process(**changed):
    settings = {"covariance": squared_exponential(X, jitter=1e-6), "mean": np.ones(9), "nodes": 256, "draws": 2000} | changed
    return rvi.latent(COUNTS, "poisson", PARAMETERS, prior, **settings)


def test_one_value_is_its_sum_over_a_grid():
    found = rvi.latent([3], "poisson", {"tau": "positive"}, lambda h: -h["tau"], covariance=independent((1, "tau")), mean=[0.5])
    tau, f = np.exp(np.linspace(-6, 3, 600))[:, None], np.linspace(-8, 8, 2001)
    # On the scale of log tau, whose Jacobian is tau.
    joint = np.exp(3 * f - np.exp(f) - gammaln(4.0) - 0.5 * ((f - 0.5) / tau) ** 2 - tau)
    joint /= joint.sum()
    mean = np.sum(joint * f)
    sd = np.sqrt(np.sum(joint * (f - mean) ** 2))
    # Expectation propagation has the moments of one label; the rest is the nodes'.
    assert found.verdict == "good" and abs(found.mean[0] - mean) < 0.02 * sd and abs(found.sd[0] / sd - 1) < 0.02
    assert abs(found.draws()["f"][:, 0].mean() - mean) < 6 * sd / np.sqrt(4000) and found.names == ["tau", "f[1]"]


def test_a_precision_a_sparse_design_and_a_seed_change_nothing():
    covariance = squared_exponential(X, jitter=0.01)
    found = process(covariance=covariance)
    other = process(covariance=None, precision=lambda h: np.linalg.inv(covariance(h)), design=sparse.eye_array(9, format="csr"))
    assert np.allclose(found.mean, other.mean, atol=1e-3) and np.allclose(found.sd, other.sd, atol=1e-3)
    assert abs(found.log_evidence - other.log_evidence) < 1e-2
    assert np.array_equal(found.draws()["f"], process(covariance=covariance).draws()["f"])


def test_a_noise_that_is_learned_is_a_hyper_parameter():
    y = np.random.default_rng(1).normal(3.0, 0.5, 40)
    found = rvi.latent(
        y, "gaussian", {"sigma": "positive"}, lambda h: -h["sigma"], noise="sigma", covariance=independent((1, 10.0)), design=np.ones((40, 1))
    )
    assert abs(found.mean[0] - y.mean()) < 0.02 and abs(np.median(found.draws()["sigma"]) - y.std()) < 0.05
    assert found.info["sweeps"] == found.info["evaluations"] and found.info["refused"] == 0


def test_draws_are_those_of_arviz():
    arviz = pytest.importorskip("arviz")
    posterior = process().to_arviz(chains=2).posterior
    assert posterior["f"].shape == (2, 1000, 9) and posterior["amplitude"].shape == (2, 1000)
    assert arviz.summary(posterior).shape[0] == 11


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"observation 3|row 3"):
        rvi.latent([1, 2, 3, -1], "poisson", PARAMETERS, prior, covariance=squared_exponential(X[:4], jitter=0.1))
    with pytest.raises(ValueError, match="not positive definite"):
        process(covariance=lambda h: -np.eye(9))
    with pytest.raises(ZeroDivisionError):
        process(covariance=lambda h: 1 / 0)
    with pytest.raises(ValueError, match="one of"):
        rvi.latent(COUNTS, "gamma", PARAMETERS, prior, covariance=squared_exponential(X))
    with pytest.raises(TypeError, match="either covariance or precision"):
        rvi.latent(COUNTS, "poisson", PARAMETERS, prior)
    with pytest.raises(TypeError, match="needs noise"):
        rvi.latent(COUNTS, "gaussian", PARAMETERS, prior, covariance=squared_exponential(X))
    with pytest.raises(TypeError, match="takes no noise"):
        process(noise=1.0)
    with pytest.raises(ValueError, match="names no hyper-parameter"):
        rvi.latent(COUNTS, "gaussian", PARAMETERS, prior, covariance=squared_exponential(X), noise="sigma")
    with pytest.raises(ValueError, match="must be one of"):
        rvi.latent(COUNTS, "poisson", {"a": "round"}, prior, covariance=squared_exponential(X))
    with pytest.raises(ValueError, match="length 5, expected 9"):
        process(covariance=lambda h: np.ones(5), mean=None)
    with pytest.raises(ValueError, match="nodes"):
        process(nodes=3)

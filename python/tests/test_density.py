"""Log-densities of models in other languages."""

import os
import pickle

import numpy as np
import pytest
from rvi import boost
from rvi.density import Density, of_jax, of_numpyro, of_pymc, of_stan

# A count of 3 whose rate is Exponential(1): the rate is Gamma(4, 2); two normals of mean 1 seen at 2 with the same noise; shares.
SHARES = np.array([1.0, 2.0, 3.0])


def is_the_posterior(density, resampled=False):
    posterior = boost.fit(density)
    assert posterior.verdict == "good"
    assert sorted(posterior.names) == ["rate", "share[1]", "share[2]", "share[3]", "twice", "w[1]", "w[2]"]
    drawn = posterior.draws(8000, resampled=resampled)
    assert drawn["rate"].shape == (8000,) and drawn["share"].shape == (8000, 3)
    # Six standard errors of 8000 draws, and the few hundredths of a deviation of a good verdict.
    near = lambda draws, mean, sd: np.all(np.abs(draws.mean(axis=0) - mean) < (6 / np.sqrt(8000) + 0.05) * sd)  # noqa: E731
    assert near(drawn["rate"], 2.0, 1.0) and near(drawn["w"], 1.5, np.sqrt(0.5))
    assert near(drawn["share"], SHARES / 6, np.sqrt(SHARES * (6 - SHARES) / 36 / 7))
    assert np.allclose(drawn["twice"], 2 * drawn["rate"])
    return posterior


def numpyro_model(count, w):
    import numpyro
    from numpyro import distributions as law

    rate = numpyro.sample("rate", law.Exponential(1.0))
    numpyro.deterministic("twice", 2 * rate)
    numpyro.sample("share", law.Dirichlet(SHARES))
    with numpyro.plate("places", 2):
        centre = numpyro.sample("w", law.Normal(1.0, 1.0))
        numpyro.sample("y", law.Normal(centre, 1.0), obs=w)
    numpyro.sample("count", law.Poisson(rate), obs=count)


def pymc_model():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        rate = pm.Exponential("rate", 1.0)
        pm.Deterministic("twice", 2 * rate)
        pm.Dirichlet("share", SHARES)
        centre = pm.Normal("w", 1.0, 1.0, shape=2)
        pm.Normal("y", centre, 1.0, observed=[2.0, 2.0])
        pm.Poisson("count", rate, observed=3)
    return model


class Stan:
    """The same model with the methods of a BridgeStan model; its shares are a vector of free logarithms, normalised."""

    def param_unc_num(self):
        return 6

    def param_names(self, *, include_tp):
        assert include_tp
        return ["rate", "w.1", "w.2", "share.1", "share.2", "share.3", "twice"]

    def log_density_gradient(self, point):
        if np.max(point) > 20:
            raise RuntimeError("the rate is too large")
        rate, w, logs = np.exp(point[0]), point[1:3], point[3:]
        value = 4 * point[0] - 2 * rate - 0.5 * np.sum((w - 1) ** 2 + (w - 2) ** 2) + SHARES @ logs - np.sum(np.exp(logs))
        return value, np.concatenate([[4 - 2 * rate], 3 - 2 * w, SHARES - np.exp(logs)])

    def param_constrain(self, point, *, include_tp):
        assert include_tp
        rate, own = np.exp(point[0]), np.exp(point[3:])
        return np.concatenate([[rate], point[1:3], own / own.sum(), [2 * rate]])


def test_a_model_of_stan():
    is_the_posterior(of_stan(Stan()), resampled=True)
    assert of_stan(Stan()).value(np.full((1, 6), 30.0)) == -np.inf
    with pytest.raises(TypeError, match="bridgestan"):
        of_stan("schools.stan")


def test_arrays_of_stan_have_their_shapes():
    class Arrays(Stan):
        def param_names(self, *, include_tp):
            return ["a", "m.1.1", "m.2.1", "m.1.2", "m.2.2", "m.1.3", "m.2.3"]

        def param_constrain(self, point, *, include_tp):
            return np.arange(7.0)

    found = of_stan(Arrays()).parameters(np.zeros((5, 6)))
    assert found["a"].shape == (5,) and found["m"].shape == (5, 2, 3)
    assert np.array_equal(found["m"][0], [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]])


def test_a_compiled_model_of_stan(tmp_path):
    bridgestan = pytest.importorskip("bridgestan")
    if "BRIDGESTAN" not in os.environ:
        pytest.skip("the sources of BridgeStan are not in the folder BRIDGESTAN")
    program = tmp_path / "counts.stan"
    program.write_text(
        "parameters { real<lower=0> rate; vector[2] w; simplex[3] share; } transformed parameters { real twice = 2 * rate; }"
        "model { rate ~ exponential(1); share ~ dirichlet([1, 2, 3]'); w ~ normal(1, 1); 2 ~ normal(w, 1); 3 ~ poisson(rate); }"
    )
    is_the_posterior(of_stan(bridgestan.StanModel(str(program))))


def test_a_model_of_numpyro():
    pytest.importorskip("numpyro")
    posterior = is_the_posterior(of_numpyro(numpyro_model, 3, w=np.array([2.0, 2.0])))
    draws, weights, k_hat = posterior.weighted(4000)
    assert abs(weights.sum() - 1) < 1e-9 and k_hat < 0.7 and abs(weights @ draws["rate"] - 2) < 0.15


def test_a_model_of_pymc():
    model = pymc_model()
    density = of_pymc(model)
    is_the_posterior(density)
    # The value and gradient that the model itself compiles, in the order of its own variables.
    start = model.initial_point()
    points = np.random.default_rng(1).normal(size=(2, density.dim))
    values, gradients = density.value_and_grad(points)
    ends = np.cumsum([np.size(value) for value in start.values()])
    for point, value, gradient in zip(points, values, gradients, strict=True):
        parts = np.split(point, ends[:-1])
        own = {name: part.reshape(np.shape(start[name])) for name, part in zip(start, parts, strict=True)}
        assert np.isclose(model.compile_logp()(own), value) and np.allclose(model.compile_dlogp()(own), gradient)


def test_discrete_values_of_pymc_are_refused():
    pm = pytest.importorskip("pymc")
    with pm.Model() as model:
        pm.Poisson("count", pm.Exponential("rate", 1.0))
    with pytest.raises(ValueError, match="count is discrete"):
        of_pymc(model)


def test_a_function_of_jax():
    jax = pytest.importorskip("jax")
    density = of_jax(lambda p: -0.5 * (p["a"] - 1) ** 2 - 0.5 * jax.numpy.sum((p["m"] - 2) ** 2), {"a": 0.0, "m": np.zeros((2, 1))})
    posterior = boost.fit(density)
    assert posterior.names == ["a", "m[1,1]", "m[2,1]"] and posterior.verdict == "good"
    assert np.allclose(posterior.mean, [1.0, 2.0, 2.0], atol=1e-6)
    # Doubles, whatever the setting, which stays as it was.
    before = jax.config.jax_enable_x64
    values, gradients = of_jax(lambda x: 1.0 + 1e-12 * x[0], 1).value_and_grad(np.ones((3, 1)))
    assert np.all(values == 1.0 + 1e-12) and np.all(gradients == 1e-12) and jax.config.jax_enable_x64 == before


def normal(x):
    return -0.5 * np.sum((x - 1) ** 2, axis=1), 1 - x


def one_name(x):
    return {"x": x}


def test_a_density_of_ones_own():
    posterior = boost.fit(Density(2, normal, one_name))
    assert posterior.names == ["x[1]", "x[2]"] and np.allclose(posterior.mean, 1, atol=1e-6)
    again = pickle.loads(pickle.dumps(posterior))
    assert np.array_equal(again.sample(3), posterior.sample(3))
    with pytest.raises(ValueError, match="pickled"):
        again.weighted()
    with pytest.raises(TypeError, match="its own"):
        boost.fit(Density(2, normal, one_name), dim=2)
    overflows = Density(1, lambda x: (np.where(x[:, 0] > 5, np.nan, -0.5 * x[:, 0] ** 2), -x), one_name)
    assert overflows.value(np.array([[6.0], [0.0]])).tolist() == [-np.inf, 0.0] and boost.fit(overflows).kl < 1e-3


def test_draws_are_resampled_by_their_weights():
    # One Gaussian is too narrow for exp(-x^8), whose variance is G(3/8) / G(1/8): weights mend it.
    posterior = boost.fit(lambda x: -(x[..., 0] ** 8), dim=1, components=2, rounds=0, evaluations=1)
    with np.errstate(all="ignore"):
        gamma = boost.fit(lambda x: np.log(x[..., 0]) - x[..., 0], parameters={"g": "positive"})
    sd = lambda resampled: posterior.sample(8000, resampled=resampled).std()  # noqa: E731
    assert abs(sd(True) - 0.561) < 0.02 and sd(False) < 0.48
    draws, weights, k_hat = posterior.weighted()
    assert draws["x"].shape == (4000, 1) and abs(weights @ draws["x"][:, 0] ** 2 - 0.561**2) < 0.02 and k_hat < 0.7
    # With constraints the weights are those of the free coordinates, the Jacobian included.
    assert abs(gamma.draws(8000, resampled=True)["g"].mean() - 2) < 0.15
    assert posterior.sample(3, resampled=True).shape == (3, 1)


def test_draws_go_to_arviz():
    pytest.importorskip("arviz")
    found = boost.fit(Density(2, normal, one_name)).to_arviz(500, chains=2, resampled=True)["posterior"]
    assert found["x"].shape == (2, 500, 2) and abs(float(found["x"].mean()) - 1) < 0.2

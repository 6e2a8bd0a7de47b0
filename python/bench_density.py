"""Posteriors of four PyMC models by `rvi.boost` beside NUTS (nutpie): evaluations, seconds, and distances in standard deviations.

`python -P python/bench_density.py`, where rvi, pymc, nutpie and numpyro are installed.
"""

import time

import numpy as np
import numpyro
import nutpie
import pymc as pm
from numpyro import distributions as law
from rvi import boost
from rvi.density import of_numpyro, of_pymc

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def schools(centred):
    with pm.Model() as model:
        mu, tau = pm.Normal("mu", 0, 5), pm.HalfCauchy("tau", 5)
        theta = pm.Normal("theta", mu, tau, shape=8) if centred else pm.Deterministic("theta", mu + tau * pm.Normal("z", shape=8))
        pm.Normal("y", theta, ERRORS, observed=EFFECTS)
    return model


def schools_of_numpyro():
    mu, tau = numpyro.sample("mu", law.Normal(0, 5)), numpyro.sample("tau", law.HalfCauchy(5))
    z = numpyro.sample("z", law.Normal().expand([8]))
    theta = numpyro.deterministic("theta", mu + tau * z)
    numpyro.sample("y", law.Normal(theta, ERRORS), obs=EFFECTS)


def radon(counties=30, n=400):
    rng = np.random.default_rng(1)
    county, floor = rng.integers(counties, size=n), rng.integers(2, size=n)
    y = 1.5 - 0.7 * floor + 0.3 * rng.normal(size=counties)[county] + 0.8 * rng.normal(size=n)
    with pm.Model() as model:
        mu, slope = pm.Normal("mu", 0, 10), pm.Normal("slope", 0, 10)
        tau, sigma = pm.HalfNormal("tau", 1), pm.HalfNormal("sigma", 1)
        effects = pm.Deterministic("effects", tau * pm.Normal("z", shape=counties))
        pm.Normal("y", mu + effects[county] + slope * floor, sigma, observed=y)
    return model


def logistic(n=200, d=8):
    rng = np.random.default_rng(2)
    inputs = rng.normal(size=(n, d))
    labels = rng.random(n) < 1 / (1 + np.exp(-inputs @ np.linspace(-1, 1, d) - 0.5))
    with pm.Model() as model:
        weights, intercept = pm.Normal("weights", 0, 2, shape=d), pm.Normal("intercept", 0, 2)
        pm.Bernoulli("y", logit_p=inputs @ weights + intercept, observed=labels)
    return model


def flat(draws):
    """The draws of all names but `z`, side by side, in random order."""
    columns = [draws[name].reshape(len(draws[name]), -1) for name in sorted(draws) if name != "z"]
    return np.random.default_rng(0).permutation(np.concatenate(columns, axis=1))


def by_nuts(compiled, draws, seed):
    start = time.perf_counter()
    found = nutpie.sample(compiled, draws=draws, tune=1000, chains=4, seed=seed, progress_bar=False)
    seconds = time.perf_counter() - start
    # The steps of the warm-up are counted too.
    steps = sum(int(np.asarray(part["n_steps"]).sum()) for part in (found["sample_stats"], found["warmup_sample_stats"]))
    names = {name: np.asarray(values) for name, values in found["posterior"].items() if not name.endswith("__")}
    return flat({name: values.reshape(-1, *values.shape[2:]) for name, values in names.items()}), steps, seconds


def distance(ours, exact):
    """The worst column's 1-Wasserstein distance and error of the mean, in standard deviations."""
    levels = (np.arange(2000) + 0.5) / 2000
    own, theirs = np.quantile(ours, levels, axis=0), np.quantile(exact, levels, axis=0)
    sd = exact.std(axis=0)
    return np.max(np.mean(np.abs(own - theirs), axis=0) / sd), np.max(np.abs(ours.mean(axis=0) - exact.mean(axis=0)) / sd)


def told(name, how, draws, exact, evaluations, seconds, more=""):
    worst, mean = distance(draws, exact)
    print(f"{name:24} {how:22} W1 {worst:.3f} mean {mean:.3f} evaluations {evaluations:8} seconds {seconds:6.1f} {more}", flush=True)


def compare(name, model, numpyro_model=None):
    start = time.perf_counter()
    compiled = nutpie.compile_pymc_model(model)
    compilation = time.perf_counter() - start
    exact, _, _ = by_nuts(compiled, 20_000, 1)
    other = by_nuts(compiled, 20_000, 2)[0]
    told(name, "the same long run again", other, exact, 0, 0.0)
    told(name, "4000 draws of a long run", other[:4000], exact, 0, 0.0)
    drawn, steps, seconds = by_nuts(compiled, 1000, 3)
    told(name, "nutpie 4 × 1000", drawn, exact, steps, seconds, f"compiled in {compilation:.1f}")
    for how, make in (("pymc", lambda: of_pymc(model)), ("numpyro", numpyro_model and (lambda: of_numpyro(numpyro_model)))):
        if make is None:
            continue
        start = time.perf_counter()
        density = make()
        made = time.perf_counter() - start
        start = time.perf_counter()
        posterior = boost.fit(density)
        seconds, info = time.perf_counter() - start, posterior.info
        more = f"{posterior.verdict} kl {posterior.kl:.3f} k {info['k_hat']:.2f}, made in {made:.1f}"
        for resampled in (False, True):
            label = f"boost of {how}" + " resampled" * resampled
            told(name, label, flat(posterior.draws(4000, resampled=resampled)), exact, info["evaluations"], seconds, more)


if __name__ == "__main__":
    compare("schools, non-centred", schools(False), schools_of_numpyro)
    compare("schools, centred", schools(True))
    compare("radon", radon())
    compare("logistic", logistic())

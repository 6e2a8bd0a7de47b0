"""Exact posteriors of the data sets of `bench calibration` that have none yet.

    cargo xtask bench calibration            # writes what is missing into target/bench/calibration
    python benches/python/exact.py           # samples it, adds lines to benches/data/calibration/exact.csv

The prior is that of the defaults (documentation of `vi_models::online`): weights of standardised columns `N(0, s^2)`, the intercept
`N(0, 5^2)`, `log s ~ N(log 0.7, 1.5^2)` between 0.01 and 50; of linear models in units of the noise, with `N(0, 1000^2)` for the
intercept, `log s ~ N(log 2, 2^2)` between 0.01 and 1e5, `1/sigma^2 ~ Gamma(0.1, 0.00001)` of the standardised label, whose mean takes
half of the shape. Classes have such weights each; relative to class 0 they are correlated.

Linear models: the sum over a grid of scales of the conjugate posterior, no sampling. Others: at every scale of a grid that has
weight, Hamiltonian Monte Carlo in coordinates in which the Laplace approximation is a unit Gaussian (given the scale, the posterior is
log-concave and so has one mode), and the evidence by bridge sampling between these draws and the Gaussian (Meng and Wong 1996). The
last column is the largest split R-hat of the scale with most weight. Needs NumPy alone.
"""

import json
import sys
from math import lgamma, log, pi
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
TABLE = ROOT / "benches" / "data" / "calibration" / "exact.csv"
MISSING = ROOT / "target" / "bench" / "calibration"

CHAINS, BURN, DRAWS = 16, 20, 160
LEVEL = 0.9


def columns(data, rows):
    """The model's columns, the intercept last."""
    x = np.asarray(rows).reshape(-1, data["inputs"])
    design = data["design"]
    x = (x - np.asarray(design["centres"])) / np.asarray(design["scales"])
    return np.hstack([x, np.ones((len(x), 1))])


class Model:
    """Log likelihood of weights `w`, one column for each chain, with slope and curvature at a point."""

    def __init__(self, data):
        self.kind = data["model"].replace("_by_class", "")
        self.x = columns(data, data["rows"])
        self.y = np.asarray(data["labels"])
        self.p = self.x.shape[1]
        self.m = data["classes"] - 1 if self.kind == "softmax" else 1
        self.d = self.p * self.m
        if self.kind == "softmax":
            self.onehot = self.y[:, None] == np.arange(1, self.m + 1)
        self.constant = -sum(lgamma(y + 1.0) for y in self.y) if self.kind == "poisson" else 0.0

    def logits(self, x, w):
        """`n x m x chains`."""
        w = w.reshape(self.m, self.p, -1)
        return np.stack([x @ w[c] for c in range(self.m)], axis=1)

    def log_labels(self, eta, y):
        """Log probability of each label, `n x chains`."""
        if self.kind == "softmax":
            top = np.maximum(eta.max(axis=1), 0.0)
            total = top + np.log(np.exp(-top) + np.exp(eta - top[:, None]).sum(axis=1))
            own = np.zeros_like(total)
            for c in range(self.m):
                own[y == c + 1] = eta[y == c + 1, c]
            return own - total
        t = eta[:, 0]
        y = y[:, None]
        if self.kind == "logit":
            return -np.logaddexp(0.0, np.where(y == 1, -t, t))
        if self.kind == "probit":
            return log_normal_cdf(np.where(y == 1, t, -t))
        return y * t - np.exp(np.minimum(t, 700.0)) - np.array([lgamma(v + 1.0) for v in y[:, 0]])[:, None]

    def value_and_slope(self, w):
        eta = self.logits(self.x, w)
        if self.kind == "softmax":
            top = np.maximum(eta.max(axis=1), 0.0)
            e = np.exp(eta - top[:, None])
            total = np.exp(-top) + e.sum(axis=1)
            value = (eta * self.onehot[:, :, None]).sum(axis=(0, 1)) - (top + np.log(total)).sum(axis=0)
            g = self.onehot[:, :, None] - e / total[:, None]
            return value, np.concatenate([self.x.T @ g[:, c] for c in range(self.m)])
        t, y = eta[:, 0], self.y[:, None]
        if self.kind == "logit":
            e = np.exp(-np.abs(t))
            p = np.where(t > 0, 1.0, e) / (1.0 + e)
            return (y * t - np.maximum(t, 0.0) - np.log1p(e)).sum(axis=0), self.x.T @ (y - p)
        if self.kind == "probit":
            sign = np.where(y == 1, 1.0, -1.0)
            value = log_normal_cdf(sign * t)
            ratio = np.exp(-0.5 * t * t - 0.5 * log(2 * pi) - value)
            return value.sum(axis=0), self.x.T @ (sign * ratio)
        mu = np.exp(np.minimum(t, 700.0))
        return (y * t - mu).sum(axis=0) + self.constant, self.x.T @ (y - mu)

    def curvature(self, w):
        """Minus the Hessian at one point."""
        eta = self.logits(self.x, w[:, None])[:, :, 0]
        if self.kind == "softmax":
            top = np.maximum(eta.max(axis=1), 0.0)
            e = np.exp(eta - top[:, None])
            p = e / (np.exp(-top) + e.sum(axis=1))[:, None]
            h = np.empty((self.d, self.d))
            for a in range(self.m):
                for b in range(self.m):
                    k = p[:, a] * ((a == b) - p[:, b])
                    h[a * self.p:(a + 1) * self.p, b * self.p:(b + 1) * self.p] = (self.x.T * k) @ self.x
            return h
        t = eta[:, 0]
        if self.kind == "logit":
            k = 1.0 / (2.0 + 2.0 * np.cosh(np.minimum(np.abs(t), 700.0)))
        elif self.kind == "probit":
            t = np.where(self.y == 1, t, -t)
            ratio = np.exp(-0.5 * t * t - 0.5 * log(2 * pi) - log_normal_cdf(t))
            k = ratio * (ratio + t)
        else:
            k = np.exp(np.minimum(t, 700.0))
        return (self.x.T * k) @ self.x

    def prior_precision(self, s):
        variances = np.full(self.p, s * s)
        variances[-1] = 25.0
        one = np.diag(1.0 / variances)
        if self.kind != "softmax":
            return one
        classes = np.eye(self.m) - 1.0 / (self.m + 1)
        return np.kron(classes, one)


def log_normal_cdf(t):
    """To 1e-12: by the error function's series of Chebyshev (Numerical Recipes, erfc), in logarithms for the lower tail."""
    z = np.abs(t) / np.sqrt(2.0)
    u = 2.0 / (2.0 + z)
    ty = 4.0 * u - 2.0
    d, dd = np.zeros_like(z), np.zeros_like(z)
    for c in ERFC[:0:-1]:
        d, dd = ty * d - dd + c, d
    log_erfc = np.log(u) - z * z + 0.5 * (ERFC[0] + ty * d) - dd
    lower = log_erfc - log(2.0)
    return np.where(t < 0, lower, np.log1p(-np.exp(np.minimum(lower, -log(2.0)))))


ERFC = [
    -1.3026537197817094, 6.4196979235649026e-1, 1.9476473204185836e-2, -9.561514786808631e-3, -9.46595344482036e-4,
    3.66839497852761e-4, 4.2523324806907e-5, -2.0278578112534e-5, -1.624290004647e-6, 1.303655835580e-6, 1.5626441722e-8,
    -8.5238095915e-8, 6.529054439e-9, 5.059343495e-9, -9.91364156e-10, -2.27365122e-10, 9.6467911e-11, 2.394038e-12,
    -6.886027e-12, 8.94487e-13, 3.13092e-13, -1.12708e-13, 3.81e-16, 7.106e-15, -1.523e-15, -9.4e-17, 1.21e-16, -2.8e-17,
]


def mode(model, precision, w):
    """Newton's method with halved steps."""
    def target(w):
        value, slope = model.value_and_slope(w[:, None])
        return value[0] - 0.5 * w @ precision @ w, slope[:, 0] - precision @ w

    value, slope = target(w)
    for _ in range(200):
        h = model.curvature(w) + precision
        step = np.linalg.solve(h, slope)
        if slope @ step < 1e-10:
            break
        size = 1.0
        while True:
            new, at = target(w + size * step)
            if new >= value - 1e-9 or size < 1e-8:
                break
            size *= 0.5
        w, value, slope = w + size * step, new, at
    return w, model.curvature(w) + precision, value


def sample(model, precision, centre, h, rng, draws):
    """Draws of all chains, `draws x d x chains`, in coordinates `w = centre + L^-T z`, `h = L L^T`, and their log densities."""
    root = np.linalg.inv(np.linalg.cholesky(h)).T
    d = len(centre)

    def target(z):
        w = centre[:, None] + root @ z
        value, slope = model.value_and_slope(w)
        pw = precision @ w
        return value - 0.5 * (w * pw).sum(axis=0), root.T @ (slope - pw)

    z = rng.standard_normal((d, CHAINS))
    value, slope = target(z)
    step, kept, values = 1.1 * d**-0.25, [], []
    for i in range(BURN + draws):
        leaps = 1 + int(np.ceil(1.4 / step * rng.uniform(0.6, 1.2)))
        momentum = rng.standard_normal((d, CHAINS))
        before = value - 0.5 * (momentum**2).sum(axis=0)
        new, at, g = z, value, slope
        momentum = momentum + 0.5 * step * g
        for leap in range(leaps):
            new = new + step * momentum
            at, g = target(new)
            momentum = momentum + (step if leap + 1 < leaps else 0.5 * step) * g
        with np.errstate(over="ignore", invalid="ignore"):
            after = np.nan_to_num(at - 0.5 * (momentum**2).sum(axis=0), nan=-np.inf)
            took = np.log(rng.uniform(size=CHAINS)) < after - before
        z, value, slope = np.where(took, new, z), np.where(took, at, value), np.where(took, g, slope)
        if i < BURN:
            step *= np.exp(0.25 * (took.mean() - 0.85))
        else:
            kept.append(z)
            values.append(value)
    return np.stack(kept), np.stack(values), root, target


def bridge(z, values, target, rng):
    """The log integral of `exp(values)` over `z` by Meng and Wong's optimal bridge to a Gaussian with independent coordinates, which
    has the moments of the first half of the draws; the second half is what is bridged."""
    half = len(z) // 2
    d, chains = z.shape[1:]
    mean = z[:half].mean(axis=(0, 2))[:, None]
    spread = z[:half].std(axis=(0, 2))[:, None]
    constant = -0.5 * d * log(2 * pi) - np.log(spread).sum()
    gaussian = lambda z: constant - 0.5 * (((z - mean) / spread) ** 2).sum(axis=-2)
    drawn = mean + spread * rng.standard_normal((len(z) - half, d, chains))
    at = np.stack([target(one)[0] for one in drawn])
    base = values.max()
    own = (values[half:] - base - gaussian(z[half:])).ravel()
    other = (at - base - gaussian(drawn)).ravel()
    r = 0.0
    for _ in range(500):
        new = log(np.mean(np.exp(other - np.logaddexp(other, r)))) - log(np.mean(np.exp(-np.logaddexp(own, r))))
        if abs(new - r) < 1e-9:
            break
        r = new
    return base + r


def split_rhat(z):
    halves = np.concatenate(np.split(z[: len(z) // 2 * 2], 2), axis=2)
    within = halves.var(axis=0, ddof=1).mean(axis=1)
    between = halves.mean(axis=0).var(axis=1, ddof=1)
    return float(np.sqrt(1.0 + (between / within).max() - 1.0 / len(halves)))


def held(places):
    return float(np.mean(np.abs(places - 0.5) <= 0.5 * LEVEL))


def truths(data, p):
    """True weights in the units of the columns, class after class."""
    theta = np.asarray(data["theta"]).reshape(-1, p - 1)
    return theta * np.asarray(data["design"]["scales"])


def sampled(data, rng):
    model = Model(data)
    grid = np.linspace(log(0.01), log(50.0), 43)
    prior = -0.5 * ((grid - log(0.7)) / 1.5) ** 2
    prior -= np.log(np.exp(prior).sum())
    w, fits = np.zeros(model.d), []
    for u in grid:
        precision = model.prior_precision(np.exp(u))
        w, h, value = mode(model, precision, w)
        own = 0.5 * np.linalg.slogdet(precision)[1]
        laplace = value + own - 0.5 * np.linalg.slogdet(h)[1]
        fits.append((precision, w, h, own, laplace))
    evidence = np.array([fit[4] for fit in fits])
    rough = prior + evidence
    chosen = np.flatnonzero(rough > rough.max() - 7.0)
    draws, rhats = {}, {}
    for k in chosen:
        precision, centre, h, own, _ = fits[k]
        z, values, root, target = sample(model, precision, centre, h, rng, DRAWS)
        # The Gaussian's constant and the determinant of the change of coordinates.
        evidence[k] = (
            bridge(z, values, target, rng) + own - 0.5 * model.d * log(2 * pi) - 0.5 * np.linalg.slogdet(h)[1]
        )
        rhats[k] = split_rhat(z)
        draws[k] = centre[None, :, None] + np.einsum("ij,tjc->tic", root, z)
    logs = prior + evidence
    share = np.exp(logs - logs.max())
    total = logs.max() + log(share.sum())
    share = share[chosen] / share[chosen].sum()
    theta = truths(data, model.p)
    new, test = columns(data, data["new"]), columns(data, data["test"])
    predictors = np.asarray(data["predictors"]).reshape(model.m, -1)
    at_weights, at_predictors = np.zeros_like(theta), np.zeros_like(predictors)
    labels, mass = np.asarray(data["test_labels"]), np.zeros(len(test))
    for k, part in zip(chosen, share):
        w = draws[k].transpose(1, 0, 2).reshape(model.d, -1)
        own = w.reshape(model.m, model.p, -1)
        at_weights += part * (own[:, :-1] <= theta[:, :, None]).mean(axis=2)
        at_predictors += part * (model.logits(new, w) <= predictors.T[:, :, None]).mean(axis=2).T
        thin = w[:, :: max(1, w.shape[1] // 1000)]
        mass += part * np.exp(model.log_labels(model.logits(test, thin), labels)).mean(axis=1)
    loss = -np.mean(np.log(np.maximum(mass, 1e-300)))
    return held(at_weights), held(at_predictors), loss, total, rhats[chosen[int(np.argmax(share))]]


def conjugate(data, rng):
    """A linear model: Student mixtures by draws of the noise and the weights, everything else in closed form."""
    x, target = columns(data, data["rows"]), data["design"]["target"]
    y = (np.asarray(data["labels"]) - target["centre"]) / target["scale"]
    n, p = x.shape
    grid = np.linspace(log(0.01), log(1e5), 121)
    prior = -0.5 * ((grid - log(2.0)) / 2.0) ** 2
    prior -= np.log(np.exp(prior).sum())
    gram, moment, square = x.T @ x, x.T @ y, y @ y
    shape, rate, intercept = 0.1, 0.00001, 1e6
    # The label's mean takes half of the shape, so that n labels add n - 1 halves.
    a = shape + 0.5 * (n - 1)
    fits, logs = [], []
    for u in grid:
        d = np.full(p, np.exp(-2.0 * u))
        d[-1] = 1.0 / intercept
        precision = gram + np.diag(d)
        root = np.linalg.cholesky(precision)
        mean = np.linalg.solve(precision, moment)
        after = rate + 0.5 * (square - moment @ mean)
        logs.append(
            0.5 * np.log(d).sum() - np.log(np.diag(root)).sum() + shape * log(rate) - a * log(after)
            + lgamma(a) - lgamma(shape) - 0.5 * n * log(2 * pi)
        )
        fits.append((mean, root, after))
    logs = prior + np.array(logs)
    share = np.exp(logs - logs.max())
    # The default's evidence is a sum of predictive densities, that of the first label with its own half of the shape.
    first = rate + 0.5 * y[0] ** 2 / intercept
    total = logs.max() + log(share.sum()) - n * log(target["scale"])
    total += lgamma(shape + 0.5) - lgamma(shape) - 0.5 * log(first)
    share /= share.sum()
    theta = truths(data, p)[0] / target["scale"]
    new, test = columns(data, data["new"]), columns(data, data["test"])
    truth = (np.asarray(data["predictors"]) - target["centre"]) / target["scale"]
    labels = (np.asarray(data["test_labels"]) - target["centre"]) / target["scale"]
    at_weights, at_predictors, mass = np.zeros(p - 1), np.zeros(len(new)), np.zeros(len(test))
    for part, (mean, root, after) in zip(share, fits):
        if part < 1e-6:
            continue
        count = 4000
        sigma = np.sqrt(after / rng.gamma(a, size=count))
        w = mean[:, None] + np.linalg.solve(root.T, rng.standard_normal((p, count))) * sigma
        at_weights += part * (w[:-1] <= theta[:, None]).mean(axis=1)
        at_predictors += part * (new @ w <= truth[:, None]).mean(axis=1)
        spread = (np.linalg.solve(root, test.T) ** 2).sum(axis=0) + 1.0
        scale = after / a * spread
        squared = (labels - test @ mean) ** 2 / scale
        mass += part * np.exp(
            lgamma(a + 0.5) - lgamma(a) - 0.5 * np.log(2 * pi * a * scale) - (a + 0.5) * np.log1p(squared / (2 * a))
        )
    loss = -np.mean(np.log(mass)) + log(target["scale"])
    return held(at_weights), held(at_predictors), loss, total, 1.0


def main():
    lines = dict(((line.split(",")[0], line.split(",")[1]), line) for line in TABLE.read_text().splitlines()[1:])
    files = sorted(MISSING.glob("*.json"), key=lambda path: (path.stem.split("~")[-2], path.stat().st_size))
    for path in files:
        *setting, replication, mark = path.stem.split("~")
        key = ("/".join(setting), replication)
        if lines.get(key, "").split(",")[2:3] == [mark]:
            continue
        if len(sys.argv) > 1 and not any(word in key[0] for word in sys.argv[1:]):
            continue
        data = json.loads(path.read_text())
        rng = np.random.default_rng(int(mark, 16))
        result = (conjugate if data["model"] == "linear" else sampled)(data, rng)
        weights, predictors, loss, evidence, rhat = result
        lines[key] = f"{key[0]},{replication},{mark},{weights:.4f},{predictors:.4f},{loss:.5f},{evidence:.3f},{rhat:.3f}"
        print(lines[key], flush=True)
        text = "setting,set,mark,weights,predictors,loss,evidence,rhat\n"
        TABLE.write_text(text + "".join(lines[key] + "\n" for key in sorted(lines)))


if __name__ == "__main__":
    main()

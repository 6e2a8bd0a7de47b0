"""The engine with the extension, rows, and the closed form of a linear posterior."""

import math
import os
import struct

import duckdb
import numpy as np
import pytest

# The aggregate for each of the two columns of features that a `table` has.
LINEAR = {"x": "vi_linear", "l": "vi_linear_list"}


def connect(threads=2):
    db = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": threads})
    db.execute(f"LOAD '{os.environ['VI_DUCKDB']}'")
    return db


@pytest.fixture
def db():
    with connect() as connection:
        yield connection


def rows(n, d, seed=1):
    """Correlated inputs with means and scales of their own, and labels with noise."""
    rng = np.random.default_rng(seed)
    x = 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) * np.linspace(0.5, 2.0, d) + np.arange(d)
    y = 0.7 + x @ (1.0 - 0.4 * np.arange(d)) + 0.3 * rng.normal(size=n)
    return x, y


def table(db, name, x, y, **columns):
    """A table of the label `y`, the array `x`, the list `l` and further columns."""
    n, d = x.shape
    columns = {"y": y, **{f"x{j}": np.ascontiguousarray(x[:, j]) for j in range(d)}, **columns}
    # A dictionary of arrays is a table to the engine.
    source = {key: np.asarray(value) for key, value in columns.items()}
    db.register("source", source)
    features = ", ".join(f"x{j}" for j in range(d))
    others = "".join(f", {key}" for key in columns if key not in ("y", *(f"x{j}" for j in range(d))))
    db.execute(
        f"CREATE OR REPLACE TABLE {name} AS SELECT y, [{features}]::DOUBLE[{d}] AS x, [{features}]::DOUBLE[] AS l{others} FROM source"
    )
    db.unregister("source")


class Linear:
    """A linear posterior, read from its record as the documentation of `vi-sums` has it."""

    def __init__(self, record):
        assert record[12:36].rstrip(b"\0") == b"vi-sums/linear"
        self.prior = struct.unpack_from("<4d", record, 44)
        self.inputs, length = struct.unpack_from("<2Q", record, 76)
        sums = np.array(struct.unpack_from(f"<{length}d", record, 92))
        k = self.inputs + 1
        self.rows, self.skipped = sums[:2]
        self.mean, self.scatter = sums[2 : 2 + k], np.zeros((k, k))
        self.scatter[np.tril_indices(k)] = sums[2 + k :]
        self.scatter += np.tril(self.scatter, -1).T

    def close(self, x, y, tolerance=1e-12):
        """Whether the sums are those of these rows, in the scale of the columns."""
        z = np.column_stack([x, y])
        away = z - z.mean(axis=0)
        scatter = away.T @ away
        scale = np.sqrt(np.diag(scatter))
        return (
            self.rows == len(y)
            and np.allclose((self.mean - z.mean(axis=0)) / (1 + abs(self.mean)), 0, atol=tolerance)
            and np.allclose((self.scatter - scatter) / np.outer(scale, scale), 0, atol=tolerance)
        )


class Fit:
    """The conjugate posterior in closed form: weights (the intercept first), noise, evidence."""

    def __init__(self, x, y, scale=100.0, intercept=1000.0, shape=1e-2, rate=1e-4):
        n, d = x.shape
        z = np.column_stack([np.ones(n), x])
        prior = np.array([intercept**-2] + [scale**-2] * d)
        precision = z.T @ z + np.diag(prior)
        self.weights = np.linalg.solve(precision, z.T @ y)
        self.covariance = np.linalg.inv(precision)
        self.shape = shape + n / 2
        residual = y - z @ self.weights
        self.rate = rate + (residual @ residual + self.weights**2 @ prior) / 2
        self.evidence = (
            math.lgamma(self.shape) - math.lgamma(shape) + shape * math.log(rate) - self.shape * math.log(self.rate)
            - (n * math.log(2 * math.pi) + np.linalg.slogdet(precision)[1] - np.log(prior).sum()) / 2
        )  # fmt: skip

    @property
    def noise(self):
        """The mean of the variance of the noise."""
        return self.rate / (self.shape - 1)

    def deviations(self):
        return np.sqrt(self.noise * np.diag(self.covariance))

    def predict(self, x):
        z = np.concatenate([[1.0], x])
        return z @ self.weights, self.noise * (1 + z @ self.covariance @ z)

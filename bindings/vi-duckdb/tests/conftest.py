"""The engine with the extension, rows, and the closed form of a linear posterior."""

import math
import os
import sys
from pathlib import Path

import duckdb
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "crates" / "vi-sums" / "tests"))

from linear_record import LinearRecord  # noqa: E402

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


def refused(db, query, *words):
    """Whether a query is an error that says so, and none of the extension's own."""
    with pytest.raises(duckdb.Error) as error:
        db.execute(query).fetchall()
    for word in words:
        assert word in str(error.value), str(error.value)
    assert "internal error" not in str(error.value)


class Linear(LinearRecord):
    """A linear posterior, held against its rows."""

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

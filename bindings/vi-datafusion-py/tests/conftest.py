"""Engines with tables, and what a record holds."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import rvi_datafusion
from datafusion import SessionConfig, SessionContext

ROOT = Path(os.environ.get("VI_ROOT") or Path(__file__).parents[3])
CRATES, BINDINGS = ROOT / "crates", ROOT / "bindings"
sys.path.insert(0, str(CRATES / "vi-sums" / "tests"))

from linear_record import LinearRecord  # noqa: E402


def engine(partitions=1):
    """An engine of so many partitions, with the functions."""
    return rvi_datafusion.register(SessionContext(SessionConfig().with_target_partitions(partitions)))


def rows(n, d, groups=1, seed=1):
    """A table of correlated features with means of their own, a label with noise, a class and a group."""
    rng = np.random.default_rng(seed)
    x = 0.5 * rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) * np.linspace(0.5, 2.0, d) + np.arange(d)
    y = 0.7 + x @ (1.0 - 0.4 * np.arange(d)) + 0.3 * rng.normal(size=n)
    columns = {"t": np.arange(n), "g": np.arange(n) % groups, "y": y, "c": (y > y.mean()).astype(float)}
    return pa.table(columns | {f"x{j}": np.ascontiguousarray(x[:, j]) for j in range(d)})


def fill(ctx, name, table, parts=1):
    """Makes `table` known in `parts` parts of the rows."""
    cuts = np.linspace(0, table.num_rows, parts + 1).astype(int)
    slices = [table.slice(a, b - a) for a, b in zip(cuts, cuts[1:], strict=False)]
    ctx.register_record_batches(name, [part.combine_chunks().to_batches() or [] for part in slices])


def answers(ctx, sql):
    """The rows of an answer, as dictionaries."""
    return [row for batch in ctx.sql(sql).collect() for row in batch.to_pylist()]


def answer(ctx, sql):
    """The one value of an answer."""
    (row,) = answers(ctx, sql)
    (value,) = row.values()
    return value


class Sums(LinearRecord):
    """The sums of a linear posterior, held against others."""


    def difference(self, other):
        """The largest difference of means and scatter, in units of the columns' own deviations."""
        assert (self.rows, self.skipped, self.inputs) == (other.rows, other.skipped, other.inputs)
        root = np.sqrt(np.diag(other.scatter))
        means = np.abs(self.mean - other.mean) / (root / np.sqrt(other.rows))
        return max(means.max(), (np.abs(self.scatter - other.scatter) / np.outer(root, root)).max())


def direct(table, d):
    """The sums of the rows of `table`, by NumPy: a record's twin."""
    own = Sums.__new__(Sums)
    columns = np.column_stack([table[f"x{j}"] for j in range(d)] + [table["y"]])
    own.rows, own.skipped, own.inputs = len(columns), 0, d
    own.mean = columns.mean(axis=0)
    own.scatter = (columns - own.mean).T @ (columns - own.mean)
    return own


@pytest.fixture
def ctx():
    return engine()

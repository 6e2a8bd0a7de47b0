"""Forms of query: what the engine does with states."""

import os
import re
from pathlib import Path

import duckdb
import numpy as np
import pytest
from conftest import LINEAR, Fit, Linear, rows, table


@pytest.fixture
def small(db):
    x, y = rows(60, 2)
    table(db, "t", x, y, i=np.arange(60), g=np.arange(60) % 3)
    return db, x, y


@pytest.mark.parametrize("column", ["x", "l"])
def test_filter_order_and_distinct(small, column):
    db, x, y = small
    (record,) = db.execute(f"SELECT {LINEAR[column]}(y, {column}) FILTER (i < 20) FROM t").fetchone()
    assert Linear(record).close(x[:20], y[:20])
    (record,) = db.execute(f"SELECT {LINEAR[column]}(y, {column} ORDER BY i DESC) FROM t").fetchone()
    assert Linear(record).close(x, y)
    # Here DISTINCT is what it is for every aggregate of the engine: equal rows count once.
    (record,) = db.execute(f"SELECT {LINEAR[column]}(DISTINCT y, {column}) FROM (FROM t UNION ALL FROM t)").fetchone()
    assert Linear(record).close(x, y)


@pytest.mark.parametrize("column", ["x", "l"])
@pytest.mark.parametrize(
    ("frame", "first", "last"),
    [
        ("", lambda i: 0, lambda i: 60),
        ("ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", lambda i: 0, lambda i: i + 1),
        ("ORDER BY i ROWS BETWEEN 9 PRECEDING AND CURRENT ROW", lambda i: max(0, i - 9), lambda i: i + 1),
        ("ORDER BY i ROWS BETWEEN 3 PRECEDING AND 30 FOLLOWING", lambda i: max(0, i - 3), lambda i: min(60, i + 31)),
    ],
)
def test_windows(small, column, frame, first, last):
    db, x, y = small
    for i, record in db.execute(f"SELECT i, {LINEAR[column]}(y, {column}) OVER ({frame}) FROM t").fetchall():
        own = slice(first(i), last(i))
        record = Linear(record)
        assert record.rows == len(y[own])
        assert len(y[own]) < 2 or record.close(x[own], y[own])


@pytest.mark.parametrize("column", ["x", "l"])
def test_windows_of_many_whole_partitions(db, column):
    # Answers of several partitions share a vector of the engine: each has its place in it.
    x, y = rows(6000, 2)
    table(db, "t", x, y, g=np.arange(6000) % 1500, i=np.arange(6000))
    frame = "PARTITION BY g ORDER BY i ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    found = db.execute(f"SELECT g, {LINEAR[column]}(y, {column}) OVER ({frame}) FROM t").fetchall()
    assert len(found) == 6000 and all(Linear(record).close(x[g::1500], y[g::1500], 1e-10) for g, record in found)


@pytest.mark.parametrize("column", ["x", "l"])
def test_rollup(small, column):
    db, x, y = small
    found = dict(db.execute(f"SELECT g, {LINEAR[column]}(y, {column}) FROM t GROUP BY ROLLUP (g)").fetchall())
    assert Linear(found[None]).close(x, y)
    assert all(Linear(found[g]).close(x[g::3], y[g::3]) for g in range(3))


def test_no_rows(db):
    db.execute("CREATE TABLE t (y DOUBLE, x DOUBLE[2], l DOUBLE[], m BLOB)")
    prior, unknown, none, said = db.execute(
        "SELECT vi_linear(y, x), vi_linear_list(y, l), vi_merge(m), vi_linear('scale=1', y, x) FROM t"
    ).fetchone()
    assert Linear(prior).rows == 0 and Linear(prior).inputs == 2
    # The length of lists is not known, nor the settings of rows that are not there.
    assert unknown is None and none is None and said is None
    assert db.execute("SELECT vi_linear(y, x) FROM t GROUP BY y").fetchall() == []
    db.execute("INSERT INTO t VALUES (1.0, NULL, NULL, NULL)")
    (skipped, unknown) = db.execute("SELECT vi_describe(vi_linear(y, x)), vi_linear_list(y, l) FROM t").fetchone()
    assert (skipped["rows"], skipped["skipped"], unknown) == (0, 1, None)


def test_a_list_written_out_needs_a_cast(small):
    db, x, y = small
    for call in ["vi_linear(y, [x[1], x[2]]::DOUBLE[2])", "vi_linear_list(y, [x[1], x[2]])"]:
        (record,) = db.execute(f"SELECT {call} FROM t").fetchone()
        assert Linear(record).close(x, y)
    with pytest.raises(duckdb.BinderException, match="explicit type casts"):
        db.execute("SELECT vi_linear(y, [x[1], x[2]]) FROM t")


def test_numbers_of_other_types_are_taken(db):
    query = "SELECT vi_linear(y, x::INTEGER[2]) = vi_linear(y, x::DOUBLE[2]) FROM (VALUES (1, [1, 2]), (3, [4, 1])) t(y, x)"
    assert db.execute(query).fetchone()[0]


def test_a_result_that_is_fetched_in_part(db):
    x, y = rows(20_000, 2)
    table(db, "t", x, y, g=np.arange(20_000))
    for column in ["x", "l"]:
        assert len(db.execute(f"SELECT g, {LINEAR[column]}(y, {column}) FROM t GROUP BY g LIMIT 5").fetchall()) == 5
        relation = db.execute(f"SELECT g, {LINEAR[column]}(y, {column}) FROM t GROUP BY g")
        assert relation.fetchone() is not None
        assert db.execute("SELECT 1").fetchone() == (1,)


def test_the_recipe_of_every_night(db, tmp_path, monkeypatch):
    page = Path(os.environ["VI_ROOT"], "docs", "src", "duckdb.md").read_text(encoding="utf-8")
    (recipe,) = re.findall(r"## Every night.*?```sql\n(.*?)```", page, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("rows").mkdir()
    x, y = rows(900, 2)
    table(db, "t", x, y, i=np.arange(900))
    everything = "SELECT DATE '2026-10-01' + (i % 60)::INTEGER AS day, 'c' || i % 2 AS carrier, y, x[1] AS a, x[2] AS b FROM t"
    last = f"SELECT * REPLACE (DATE '2026-11-29' AS day) FROM ({everything}) WHERE day = DATE '2026-11-29'"
    db.execute(f"CREATE TABLE days AS SELECT day, carrier, vi_linear(y, a, b) AS model FROM ({everything}) WHERE day < '2026-11-29' GROUP BY day, carrier")
    db.execute(f"COPY ({last}) TO 'rows/2026-11-29.parquet'")
    # Twice: the second time replaces the first.
    for _ in range(2):
        *learned, all_days, thirty = [part for part in recipe.split(";") if part.strip()]
        for statement in learned:
            db.execute(statement)
        for query, since in ((all_days, "2026-10-01"), (thirty, "2026-10-31")):
            for carrier, weights in db.execute(query).fetchall():
                own = db.execute(f"FROM ({everything}) WHERE day >= DATE '{since}' AND carrier = '{carrier}'").fetchnumpy()
                fit = Fit(np.column_stack([own["a"], own["b"]]), own["y"])
                np.testing.assert_allclose([weight["mean"] for weight in weights], fit.weights, rtol=1e-9)

"""`vi_linear` and `vi_linear_list`: the closed form, however the rows are spread."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
from conftest import LINEAR, Fit, Linear, connect, rows, table

SIZES = [*range(1, 17), 24, 32]
# Sums of some thousand numbers near one: a few units in the last place of each, with room for the order of additions.
ROUNDING = 1e-12


@pytest.mark.parametrize("column", ["x", "l"])
@pytest.mark.parametrize("d", SIZES)
def test_sums_are_those_of_the_rows(db, d, column):
    x, y = rows(3000, d)
    table(db, "t", x, y)
    (record,) = db.execute(f"SELECT {LINEAR[column]}(y, {column}) FROM t").fetchone()
    assert Linear(record).close(x, y, ROUNDING)


@pytest.mark.parametrize("d", [17, 40])
def test_lists_are_of_any_length(db, d):
    x, y = rows(500, d)
    table(db, "t", x, y)
    (record,) = db.execute("SELECT vi_linear_list(y, l) FROM t").fetchone()
    assert Linear(record).close(x, y, ROUNDING)


def test_the_record_is_the_one_that_rust_writes(db):
    stored = Path(os.environ["VI_ROOT"], "crates/vi-sums/tests/fixtures/linear.bin").read_bytes()
    for call in ["vi_linear(y, x::DOUBLE[1])", "vi_linear_list(y, x)"]:
        query = f"SELECT {call} FROM (VALUES (2.0, [1.0]), (6.0, [3.0]), (NULL, [5.0])) t(y, x)"
        assert db.execute(query).fetchone()[0] == stored
    (told,) = db.execute("SELECT vi_describe(?::BLOB)", [stored]).fetchone()
    assert told == {"kind": "linear", "inputs": 1, "rows": 2, "skipped": 1}


def test_the_posterior_is_the_closed_form(db):
    x, y = rows(400, 4)
    table(db, "t", x, y)
    fit = Fit(x, y)
    query = "SELECT vi_coefficients(m), vi_evidence(m), vi_predict(m, [0.5, 1.0, -1.0, 2.0]) FROM (SELECT vi_linear(y, x) AS m FROM t)"
    weights, evidence, seen = db.execute(query).fetchone()
    # What the factorisation of some ten-fold conditioned matrix leaves.
    np.testing.assert_allclose([weight["mean"] for weight in weights], fit.weights, rtol=1e-10)
    np.testing.assert_allclose([weight["deviation"] for weight in weights], fit.deviations(), rtol=1e-10)
    np.testing.assert_allclose(evidence, fit.evidence, rtol=1e-10)
    np.testing.assert_allclose([seen["mean"], seen["variance"]], fit.predict([0.5, 1.0, -1.0, 2.0]), rtol=1e-10)
    assert seen["lower"] < seen["mean"] < seen["upper"]


def test_settings_are_the_prior(db):
    x, y = rows(30, 2)
    table(db, "t", x, y)
    fit = Fit(x, y, scale=0.5, intercept=2.0, shape=3.0, rate=2.0)
    for column in ["x", "l"]:
        query = f"SELECT vi_evidence({LINEAR[column]}('scale=0.5 intercept=2 shape=3 rate=2', y, {column})) FROM t"
        np.testing.assert_allclose(db.execute(query).fetchone()[0], fit.evidence, rtol=1e-10)
        (default,) = db.execute(f"SELECT {LINEAR[column]}('', y, {column}) = {LINEAR[column]}(y, {column}) FROM t").fetchone()
        assert default


@pytest.mark.parametrize("column", ["x", "l"])
def test_threads_share_the_rows(column):
    x, y = rows(600_000, 3)
    for threads in [1, 2, 8]:
        with connect(threads) as db:
            table(db, "t", x, y)
            (record,) = db.execute(f"SELECT {LINEAR[column]}(y, {column}) FROM t").fetchone()
            # Rounding grows as the root of the number of rows that are added together.
            assert Linear(record).close(x, y, 10 * ROUNDING)


@pytest.mark.parametrize("column", ["x", "l"])
def test_groups_are_separate(db, column):
    x, y = rows(200_000, 3)
    group = np.random.default_rng(2).integers(0, 5000, len(y))
    table(db, "t", x, y, g=group)
    found = db.execute(f"SELECT g, {LINEAR[column]}(y, {column}) FROM t GROUP BY g").fetchall()
    assert len(found) == len(np.unique(group))
    order = np.argsort(group, kind="stable")
    starts = dict(zip(*np.unique(group[order], return_index=True), strict=True))
    for g, record in found:
        own = order[starts[g] :][: (group == g).sum()] if g % 500 == 0 else None
        if own is not None:
            assert Linear(record).close(x[own], y[own], ROUNDING)
    assert sum(Linear(record).rows for _, record in found) == len(y)


def test_columns_far_from_zero_keep_their_digits(db):
    x, y = rows(5000, 2)
    # What is left of the columns themselves, some 1e-16 · 1e6, is all that may be lost.
    x, y = x + 1e6, y - 1e6
    table(db, "t", x, y, g=np.arange(len(y)) % 7)
    for query in ["SELECT vi_linear(y, x) FROM t", "SELECT vi_merge(m) FROM (SELECT vi_linear(y, x) AS m FROM t GROUP BY g)"]:
        assert Linear(db.execute(query).fetchone()[0]).close(x, y, 1e-9)


@pytest.mark.parametrize("column", ["x", "l"])
def test_incomplete_rows_are_left_out_and_counted(db, column):
    x, y = rows(2000, 3)
    table(db, "t", x, y, i=np.arange(len(y)))
    kind = "DOUBLE[3]" if column == "x" else "DOUBLE[]"
    db.execute(
        f"""CREATE TABLE s AS SELECT CASE i % 100 WHEN 1 THEN NULL WHEN 2 THEN 'nan'::DOUBLE ELSE y END AS y,
            CASE i % 100 WHEN 3 THEN NULL WHEN 4 THEN [1, NULL, 2]::{kind} WHEN 5 THEN [1, 'inf'::DOUBLE, 2]::{kind} ELSE {column} END AS v
            FROM t"""
    )
    record = Linear(db.execute(f"SELECT {LINEAR[column]}(y, v) FROM s").fetchone()[0])
    kept = ~np.isin(np.arange(len(y)) % 100, [1, 2, 3, 4, 5])
    assert record.close(x[kept], y[kept], ROUNDING) and record.skipped == 100
    query = f"SELECT sum(vi_describe(m).skipped) FROM (SELECT {LINEAR[column]}(y, v) AS m FROM s GROUP BY hash(v))"
    (told,) = db.execute(query).fetchone()
    # Groups of nulls alone know no length where rows are lists.
    assert told == (100 if column == "x" else 60)


def test_a_column_of_zeros_changes_nothing_but_its_own_weight(db):
    x, y = rows(200, 3)
    table(db, "t", x, y)
    query = "SELECT vi_evidence(m), vi_coefficients(m) FROM (SELECT vi_linear(y, {}) AS m FROM t)"
    evidence, weights = db.execute(query.format("x")).fetchone()
    padded, others = db.execute(query.format("[x[1], x[2], x[3], 0]::DOUBLE[4]")).fetchone()
    np.testing.assert_allclose(padded, evidence, rtol=1e-12)
    np.testing.assert_allclose([w["mean"] for w in others[:4]], [w["mean"] for w in weights], rtol=1e-12)
    assert others[4]["mean"] == 0


@pytest.mark.parametrize("d", range(1, 9))
def test_columns_are_the_array(d):
    x, y = rows(3000, d)
    columns = ", ".join(f"x{j}" for j in range(d))
    forms = [
        ("vi_linear(y, {})", "x"),
        ("vi_linear('scale=0.5 intercept=2', y, {})", "x"),
        ("vi_glm('logistic', y > 0, {})", "l"),
        ("vi_glm('logistic', (y > 0)::DOUBLE, {})", "l"),
        ("vi_pass(place, y > 0, {})", "l"),
    ]
    answers = [
        "vi_predict(m, {})",
        "vi_predict('level=0.5', m, {})",
        "vi_predict_group(p, k, {})",
        "vi_predict_group('level=0.5', p, 'new', {})",
    ]
    # One thread: the parts of several may end elsewhere.
    with connect(1) as db:
        table(db, "t", x, y, i=np.arange(3000))
        apart = ", ".join(f"x[{j + 1}] AS x{j}" for j in range(d))
        db.execute(f"CREATE TABLE c AS SELECT y, x, l, i, 'g' || i % 7 AS k, {apart} FROM t")
        db.execute("UPDATE c SET y = NULL WHERE i < 2")
        db.execute("UPDATE c SET x = NULL, l = NULL, x0 = NULL WHERE i BETWEEN 5 AND 7")
        db.execute("CREATE TABLE g AS SELECT vi_glm('logistic', y > 0, l) AS place FROM c")
        for form, column in forms:
            (same,) = db.execute(f"SELECT {form.format(columns)} = {form.format(column)} FROM c, g").fetchone()
            assert same, form
        (seen,) = db.execute(f"SELECT vi_describe(vi_linear(y, {columns})) FROM c").fetchone()
        assert (seen["rows"], seen["skipped"]) == (2995, 5)
        db.execute("CREATE TABLE p AS SELECT vi_merge(m) AS m, vi_pool(k, m) AS p FROM (SELECT k, vi_linear(y, x) AS m FROM c GROUP BY k)")
        for answer in answers:
            query = f"SELECT {answer.format(columns)} IS NOT DISTINCT FROM {answer.format('l')} FROM c, p WHERE i < 20"
            assert db.execute(query).fetchall() == [(True,)] * 20, answer


def test_the_query_of_the_readme_runs_as_printed(db):
    x, y = rows(400, 2)
    table(db, "t", x, y, carrier=np.where(np.arange(400) % 2, "UA", "AA"))
    db.execute("CREATE TABLE flights AS SELECT carrier, y AS arr_delay, x[1] AS dep_delay, round(100 * x[2])::INTEGER AS distance FROM t")
    readme = Path(os.environ["VI_ROOT"], "README.md").read_text(encoding="utf-8")
    (query,) = re.findall(r"```sql\n(.*?)```", readme, re.DOTALL)
    seen = dict(db.execute(query).fetchall())
    assert set(seen) == {"AA", "UA"}
    for carrier in seen:
        own = db.execute("SELECT arr_delay, dep_delay, distance FROM flights WHERE carrier = ?", [carrier]).fetchnumpy()
        fit = Fit(np.column_stack([own["dep_delay"], own["distance"]]), own["arr_delay"])
        np.testing.assert_allclose(seen[carrier]["mean"], fit.predict([15.0, 800.0])[0], rtol=1e-9)

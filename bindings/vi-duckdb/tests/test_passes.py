"""`vi_pass`, `vi_factors` and `vi_newton`: passes to the best Gaussian, which is that of one machine."""

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from conftest import connect, refused, table

ROOT = Path(os.environ["VI_ROOT"])
FAMILIES = ["logistic", "probit", "poisson", "negative_binomial"]
PRIOR = "scale=2 intercept=4"


class Glm:
    """The Gaussian of a generalised linear model's record, read as the documentation of `vi-sums` has it."""

    def __init__(self, record):
        assert record[12:36].rstrip(b"\0") == b"vi-sums/glm"
        self.scale, self.intercept, inputs, length = struct.unpack_from("<2d2Q", record, 56)
        flat = np.array(struct.unpack_from(f"<{length}d", record, 88))
        m = inputs + (self.intercept > 0)
        self.rows, self.skipped, self.runs = flat[:3]
        precision = np.zeros((m, m))
        precision[np.tril_indices(m)] = flat[4 + m :]
        precision += np.tril(precision, -1).T
        precision += np.diag([self.intercept**-2] * (m - inputs) + [self.scale**-2] * inputs)
        self.covariance = np.linalg.inv(precision)
        self.mean = self.covariance @ flat[4 : 4 + m]

    def distance(self, other):
        """The largest difference, in units of the own standard deviations."""
        deviations = np.sqrt(np.diag(self.covariance))
        means = abs(self.mean - other.mean) / deviations
        return max(means.max(), (abs(self.covariance - other.covariance) / np.outer(deviations, deviations)).max())


def guide():
    """The blocks of Python of the guide's chapter."""
    text = (ROOT / "docs" / "src" / "duckdb.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [block.replace("target/duckdb/vi_duckdb.duckdb_extension", os.environ["VI_DUCKDB"]) for block in blocks]


@pytest.fixture(scope="module")
def best_gaussian():
    """The search, as the guide writes it."""
    (block,) = [block for block in guide() if "def best_gaussian" in block]
    names = {}
    exec(block.split("\n\n\n")[0], names)
    return names["best_gaussian"]


def given(family):
    """The rows of exact arithmetic whose optimum the tests of `vi-sums` have stored."""
    i = np.arange(400)
    thousandth = lambda prime: (i * prime % 1000).astype(float)  # noqa: E731
    x = np.column_stack([thousandth(prime) / 500 - 1 for prime in [7919, 104729, 1299709]])
    u = thousandth(15485863) / 1000
    if family in ("logistic", "probit"):
        return x, (u < 0.5 + 0.3 * x[:, 0]).astype(float)
    return x, np.floor(3 * u * (1.5 + x[:, 0]))


def said(family):
    return f"{family} size=2 {PRIOR}" if family == "negative_binomial" else f"{family} {PRIOR}"


def optimum(family):
    return Glm((ROOT / "crates/vi-sums/tests/fixtures" / f"optimum-{family}.bin").read_bytes())


@pytest.mark.parametrize("threads", [1, 8])
@pytest.mark.parametrize("family", FAMILIES)
def test_passes_reach_the_optimum_of_one_machine(best_gaussian, family, threads):
    x, y = given(family)
    with connect(threads) as db:
        table(db, "t", x, y)
        (once,) = db.execute(f"SELECT vi_glm('{said(family)}', y, l) FROM t").fetchone()
        record = best_gaussian(db, "SELECT y, l AS x FROM t", once)
        best = optimum(family)
        assert best.distance(Glm(record)) < 1e-8
        assert best.distance(Glm(once)) > 1e-4
        assert Glm(record).rows == 400
        # The evidence is the bound, which no other Gaussian passes.
        evidence, before = db.execute("SELECT vi_evidence($1), vi_newton($2, vi_pass($2, y, l)).bound FROM t", [record, once]).fetchone()
        assert evidence > before


def test_a_search_from_anywhere_ends_in_the_same_place(best_gaussian):
    x, y = given("poisson")
    with connect() as db:
        table(db, "t", x, y)
        # From labels that are not these: far away, so that steps have to be halved.
        (start,) = db.execute(f"SELECT vi_glm('{said('poisson')}', 0, l) FROM t").fetchone()
        assert optimum("poisson").distance(Glm(best_gaussian(db, "SELECT y, l AS x FROM t", start))) < 1e-8


def test_the_guide_is_a_program(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows").mkdir()
    with connect() as db:
        db.execute(
            """COPY (SELECT i % 12 AS month, sin(i) AS a, cos(i * i) AS b, i % 7 - 3.0 AS c, a - 0.5 * b + 0.1 * sin(7 * i) AS y,
                a + 0.2 * c > sin(3 * i) AS clicked FROM range(3000) s(i)) TO 'rows/one.parquet'"""
        )
    names = {}
    for block in guide():
        exec(block, names)
    assert Glm(names["best"]).rows == 3000
    names["db"].close()


@pytest.fixture
def small(db):
    x, y = given("logistic")
    table(db, "t", x, y, g=np.arange(400) % 7, i=np.arange(400))
    db.execute(f"CREATE TABLE model AS SELECT vi_glm('{said('logistic')}', y, l) AS m FROM t")
    return db


def test_parts_add_up_however_they_are_made(small):
    seen = "vi_newton(m, vi_pass(m, y, l))"
    whole = small.execute(f"SELECT {seen} FROM t, model GROUP BY m").fetchone()[0]
    for query in [
        f"SELECT {seen.replace(' y,', ' y = 1,')} FROM t, model GROUP BY m",
        f"SELECT {seen.replace('l)', 'l ORDER BY i DESC)')} FROM t, model GROUP BY m",
        f"SELECT {seen.replace('l)', 'x)')} FROM t, model GROUP BY m",
        "SELECT vi_newton(m, vi_pass(m, y, l) FILTER (i >= 0)) FROM t, model GROUP BY m",
        "SELECT vi_newton(m, vi_pass(DISTINCT m, y, l)) FROM (FROM t UNION ALL FROM t), model GROUP BY m",
    ]:
        found = small.execute(query).fetchone()[0]
        assert abs(found["bound"] - whole["bound"]) < 1e-11 * abs(whole["bound"])
        assert Glm(whole["posterior"]).distance(Glm(found["posterior"])) < 1e-10
    # The factors of groups, merged, are those of all rows: a full step.
    query = "SELECT vi_merge(f) FROM (SELECT vi_factors(m, vi_pass(m, y, l)) AS f FROM t, model GROUP BY g, m)"
    (merged,) = small.execute(query).fetchone()
    assert Glm(whole["posterior"]).distance(Glm(merged)) < 1e-10
    # A place of each group's own.
    query = """SELECT g, vi_newton(m, vi_pass(m, y, l)).posterior, vi_newton(m, vi_pass(m, y, l)).bound FROM t
        JOIN (SELECT g, vi_glm('logistic scale=2', y, l) AS m FROM t GROUP BY g) USING (g) GROUP BY g, m ORDER BY g"""
    found = small.execute(query).fetchall()
    assert [Glm(record).rows for _, record, _ in found] == [58, 57, 57, 57, 57, 57, 57]


def test_rows_are_forgotten(small, best_gaussian):
    (start,) = small.execute("SELECT m FROM model").fetchone()
    whole = best_gaussian(small, "SELECT y, l AS x FROM t", start)
    truth = best_gaussian(small, "SELECT y, l AS x FROM t WHERE g <> 3", start)
    query = "SELECT vi_subtract($m, vi_factors($m, vi_pass($m, y, l))) FROM t WHERE g = 3"
    left = Glm(small.execute(query, {"m": whole}).fetchone()[0])
    assert left.rows == 343
    # Of what keeping them would be off by, the smaller part is left.
    assert Glm(truth).distance(left) < 0.5 * Glm(truth).distance(Glm(whole))


def test_incomplete_rows_are_left_out_and_counted(small):
    small.execute(
        """CREATE TABLE s AS SELECT CASE i % 100 WHEN 1 THEN NULL WHEN 2 THEN 'nan'::DOUBLE ELSE y END AS y,
            CASE i % 100 WHEN 3 THEN NULL WHEN 4 THEN [1, NULL, 2] WHEN 5 THEN [1, 'inf'::DOUBLE, 2] ELSE l END AS l FROM t"""
    )
    (record,) = small.execute("SELECT vi_factors(m, vi_pass(m, y, l)) FROM s, model GROUP BY m").fetchone()
    assert (Glm(record).rows, Glm(record).skipped) == (380, 20)


def test_nulls_and_no_rows(small):
    for query in [
        "SELECT vi_pass(m, y, l) FROM t, model WHERE i < 0",
        "SELECT vi_pass(NULL::BLOB, y, l) FROM t",
        "SELECT vi_factors(NULL::BLOB, vi_pass(m, y, l)) FROM t, model GROUP BY m",
        "SELECT vi_factors(m, NULL::BLOB) FROM model",
        "SELECT vi_newton(m, NULL::BLOB) FROM model",
        "SELECT vi_newton(m, vi_pass(m, y, l), NULL::DOUBLE) FROM t, model GROUP BY m",
    ]:
        assert small.execute(query).fetchone() == (None,), query
    (record,) = small.execute("SELECT vi_factors(m, vi_pass(m, NULL::DOUBLE, l)) FROM t, model GROUP BY m").fetchone()
    assert (Glm(record).rows, Glm(record).skipped) == (0, 400)


def test_statistics_that_left_the_floats_are_no_step(db):
    # A row that tells nothing of the weight, whose variance stays 10⁴: in the next row the mean of a count is beyond the floats.
    (far,) = db.execute("SELECT vi_glm('poisson scale=100', 1.0, [0.0])").fetchone()
    query = "SELECT vi_newton($m, vi_pass($m, 1.0, [1e3]))"
    assert db.execute(query, {"m": far}).fetchone() == (None,)


def test_what_is_wrong_is_named(small):
    def refuse(query, *words):
        refused(small, query, *words)

    refuse("SELECT vi_pass('\\x00'::BLOB, y, l) FROM t", "vi_pass: ", "vi-sums/at")
    refuse("SELECT vi_pass(k, y, l) FROM t, (SELECT vi_linear(y, x) AS k FROM t)", "vi_pass: ", "vi-sums/linear")
    refuse("SELECT vi_pass(m, y, [1.0, 2.0]) FROM t, model", "vi_pass: ", "3", "2")
    refuse("SELECT vi_pass(m, y, []::DOUBLE[]) FROM t, model", "vi_pass: ", "3", "0")
    refuse("SELECT vi_pass(m, y + 2, l) FROM t, model", "vi_pass: ", "label")
    refuse("SELECT vi_pass(CASE WHEN i < 200 THEN m END, y, l) FROM t, model", "the same for all rows", "null")
    others = "(SELECT m, i FROM t, model), (SELECT vi_glm('logistic', y, l) AS n FROM t)"
    refuse(f"SELECT vi_pass(CASE WHEN i < 200 THEN m ELSE n END, 1.0, [1, 2, 3]::DOUBLE[]) FROM {others}", "the same for all rows")
    refuse("SELECT vi_factors(m, m) FROM model", "vi_factors: ", "vi-sums/pass")
    refuse("SELECT vi_newton(m, m) FROM model", "vi_newton: ", "vi-sums/pass")
    refuse("SELECT vi_newton(m, vi_pass(m, y, l), 0.0) FROM t, model GROUP BY m", "vi_newton: ", "share")
    refuse("SELECT vi_newton(m, vi_pass(m, y, l), 'nan'::DOUBLE) FROM t, model GROUP BY m", "vi_newton: ", "share")
    other = "(SELECT vi_glm('logistic', y, [1.0]) AS n FROM t)"
    refuse(f"SELECT vi_factors(n, p) FROM (SELECT vi_pass(m, y, l) AS p FROM t, model), {other}", "vi_factors: ", "parameters")
    other = "(SELECT vi_glm('logistic', y, l) AS n FROM t)"
    for function in ["vi_factors", "vi_newton"]:
        query = f"SELECT {function}(n, p) FROM (SELECT vi_pass(m, y, l) AS p FROM t, model), {other}"
        refuse(query, f"{function}: ", "statistics of another place")
    for call in ["vi_evidence(p)", "vi_merge(p)", "vi_describe(p)"]:
        refuse(f"SELECT {call} FROM (SELECT vi_pass(m, y, l) AS p FROM t, model)", "vi-sums/pass")

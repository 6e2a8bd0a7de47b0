"""Functions of a posterior: merged, subtracted, asked."""

import os
from pathlib import Path

import numpy as np
import pytest
from conftest import Fit, Linear, refused, rows, table


@pytest.fixture
def year(db):
    """A year of twelve months, each with its model."""
    x, y = rows(3600, 3)
    month = np.arange(len(y)) * 12 // len(y)
    table(db, "t", x, y, month=month, i=np.arange(len(y)))
    db.execute("CREATE TABLE months AS SELECT month, vi_linear(y, x) AS m FROM t GROUP BY month")
    return db, x, y, month


def test_months_are_the_year(year):
    db, x, y, _ = year
    assert Linear(db.execute("SELECT vi_merge(m) FROM months").fetchone()[0]).close(x, y)


def test_the_year_without_march(year):
    db, x, y, month = year
    query = "SELECT vi_subtract((SELECT vi_merge(m) FROM months), m) FROM months WHERE month = 2"
    left = month != 2
    assert Linear(db.execute(query).fetchone()[0]).close(x[left], y[left])


def test_nulls_give_nulls(year):
    db = year[0]
    for call in [
        "vi_subtract(m, NULL::BLOB)", "vi_subtract(NULL::BLOB, m)", "vi_predict(NULL::BLOB, [1, 2, 3]::DOUBLE[])",
        "vi_predict(m, NULL::DOUBLE[])", "vi_predict(m, [1, NULL, 3]::DOUBLE[])", "vi_predict(m, [1, 'nan'::DOUBLE, 3])",
        "vi_predict(nullif('a', 'a'), m, [1, 2, 3]::DOUBLE[])", "vi_coefficients(NULL::BLOB)", "vi_evidence(NULL::BLOB)",
        "vi_sample(m, NULL::BIGINT)", "vi_sample(NULL::BLOB, 1)", "vi_describe(NULL::BLOB)",
    ]:  # fmt: skip
        assert db.execute(f"SELECT {call} FROM months WHERE month = 1").fetchone() == (None,), call
    # Also from columns, where nulls and others alternate.
    query = "SELECT vi_coefficients(CASE WHEN month % 2 = 0 THEN m END) FROM months ORDER BY month"
    assert [row[0] is None for row in db.execute(query).fetchall()] == [False, True] * 6


def test_predictions_of_a_table(year):
    db, x, y, _ = year
    db.execute("CREATE TABLE model AS SELECT vi_merge(m) AS m FROM months")
    found = db.execute("SELECT unnest(vi_predict('level=0.5', m, x)) FROM t, model ORDER BY i").fetchall()
    fit = Fit(x, y)
    for row in range(0, len(y), 300):
        np.testing.assert_allclose(found[row][:2], fit.predict(x[row]), rtol=1e-10)
    # Half of the labels, to three standard errors: 3·√(0.25/3600).
    found = np.array(found)
    inside = np.mean((found[:, 2] < y) & (y < found[:, 3]))
    assert abs(inside - 0.5) < 3 * np.sqrt(0.25 / len(y))
    wide = db.execute("SELECT vi_predict(m, x) = vi_predict('level=0.9', m, x) FROM t, model LIMIT 1").fetchone()
    assert wide == (True,)


def test_draws_follow_the_posterior(year):
    db, x, y, _ = year
    query = "SELECT vi_sample(m, i) FROM range(2000) s(i), (SELECT vi_merge(m) AS m FROM months)"
    draws = np.array([row[0] for row in db.execute(query).fetchall()])
    fit = Fit(x, y)
    # Means of 2000 draws: five standard errors for each of four weights.
    assert (abs(draws.mean(axis=0) - fit.weights) < 5 * fit.deviations() / np.sqrt(2000)).all()
    (same,) = db.execute("SELECT vi_sample(m, 7) = vi_sample(m, 7) FROM months LIMIT 1").fetchone()
    assert same


def test_a_record_from_elsewhere_is_taken(db):
    stored = Path(os.environ["VI_ROOT"], "crates/vi-sums/tests/fixtures/glm.bin").read_bytes()
    (told,) = db.execute("SELECT vi_describe(?::BLOB)", [stored]).fetchone()
    assert told == {"kind": "negative_binomial", "inputs": 1, "rows": 3, "skipped": 1}
    (merged,) = db.execute("SELECT vi_describe(vi_merge(m)) FROM (SELECT ?::BLOB AS m FROM range(4))", [stored]).fetchone()
    assert (merged["rows"], merged["skipped"]) == (12, 4)


def test_one_pass_over_classes_and_counts(db):
    x, _ = rows(4000, 2)
    rng = np.random.default_rng(3)
    weights = np.array([0.8, -0.5])
    linear = 0.4 + (x - x.mean(axis=0)) @ weights
    labels = {
        "logistic": rng.random(4000) < 1 / (1 + np.exp(-linear)),
        "probit": linear + rng.normal(size=4000) > 0,
        "poisson": rng.poisson(np.exp(linear)),
        "negative_binomial size=3": rng.negative_binomial(3, 3 / (3 + np.exp(linear))),
    }
    for family, y in labels.items():
        table(db, "t", x, y.astype(float), g=np.arange(4000) % 4)
        query = f"SELECT vi_coefficients(m), vi_describe(m) FROM (SELECT vi_glm('{family}', y, l) AS m FROM t)"
        found, told = db.execute(query).fetchall()[0]
        assert (told["kind"], told["rows"], told["inputs"]) == (family.split()[0], 4000, 2)
        for weight, own in zip(found[1:], weights, strict=True):
            assert abs(weight["mean"] - own) < 5 * weight["deviation"], family
        # Four passes merged agree with one to about a deviation: each has chosen its factors without the others.
        query = "SELECT vi_coefficients(vi_merge(m)) FROM (SELECT vi_glm('" + family + "', y, l) AS m FROM t GROUP BY g)"
        for weight, one in zip(db.execute(query).fetchall()[0][0], found, strict=True):
            assert abs(weight["mean"] - one["mean"]) < one["deviation"], family


def test_weights_have_the_names_of_their_inputs(db):
    of = "SELECT [w.name for w in {}] FROM (SELECT vi_linear(y, a, b) AS m FROM (VALUES (1.0, 2.0, 3.0), (2.0, 1.0, 0.5), (4.0, 0.0, 1.0)) AS t(y, a, b))"

    def names(call):
        return db.execute(of.format(call)).fetchone()[0]

    assert names("vi_coefficients(m)") == ["intercept", "x1", "x2"]
    assert names("vi_coefficients(m, 'dep_delay, distance')") == ["intercept", "dep_delay", "distance"]
    assert names("vi_coefficients(m, NULL::VARCHAR)") is None
    refused(db, of.format("vi_coefficients(m, 'dep_delay')"), "names")
    plain = "SELECT [w.name for w in vi_coefficients(vi_linear('intercept=0', y, a), 'a')] FROM (VALUES (1.0, 2.0)) AS t(y, a)"
    assert db.execute(plain).fetchone()[0] == ["a"]

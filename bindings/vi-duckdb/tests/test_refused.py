"""What is wrong is an error of the query, and the engine goes on."""

import duckdb
import numpy as np
import pytest
from conftest import LINEAR, Linear, refused, rows, table


@pytest.fixture
def model(db):
    x, y = rows(300, 3)
    table(db, "t", x, y, g=np.arange(300) % 2)
    db.execute("CREATE TABLE model AS SELECT vi_linear(y, x) AS m FROM t")
    yield db
    assert Linear(db.execute("SELECT vi_linear(y, x) FROM t").fetchone()[0]).close(x, y)


@pytest.mark.parametrize("function", ["vi_linear_list(y, l)", "vi_glm('logistic', y > 0, l)"])
def test_lists_of_different_lengths(model, function):
    model.execute("CREATE TABLE mixed AS SELECT y, l FROM t UNION ALL SELECT 1.0, [1.0, 2.0]")
    refused(model, f"SELECT {function} FROM mixed", "features, the rows before it")
    # Groups of their own may differ.
    query = f"SELECT vi_describe({function}).inputs FROM mixed GROUP BY len(l) ORDER BY 1"
    assert model.execute(query).fetchall() == [(2,), (3,)]


@pytest.mark.parametrize("threads", [1, 4])
def test_lists_of_different_lengths_on_several_threads(model, threads):
    model.execute(f"SET threads = {threads}")
    query = "SELECT vi_linear_list(i, CASE WHEN i < 200000 THEN [i] ELSE [i, 1] END::DOUBLE[]) FROM range(400000) s(i)"
    refused(model, query, "vi_linear_list: a row has")


def test_lists_without_features_and_with_too_many(model):
    refused(model, "SELECT vi_linear_list(1.0, []::DOUBLE[])", "vi_linear_list: ", "empty")
    refused(model, "SELECT vi_linear_list(1.0, range(2000)::DOUBLE[])", "2000 inputs", "above the limit")
    refused(model, "SELECT vi_glm('logistic', 1.0, range(2000)::DOUBLE[])", "2000 inputs", "above the limit")


def test_numbers_that_are_too_large_or_not_finite(model):
    refused(model, "SELECT vi_linear(1e200, [1, 2, 3]::DOUBLE[3])", "1e140")
    refused(model, "SELECT vi_linear(y, [1, 1e200, 3]::DOUBLE[3]) FROM t", "1e140")
    refused(model, "SELECT vi_linear_list(y, [1, 1e200, 3]) FROM t", "1e140")
    for name, kind in [("vi_linear", "DOUBLE[3]"), ("vi_linear_list", "DOUBLE[]")]:
        refused(model, f"SELECT {name}('strict', 'nan'::DOUBLE, [1, 2, 3]::{kind})", f"{name}: ", "y")
        refused(model, f"SELECT {name}('strict', y, [1, 'inf'::DOUBLE, 3]::{kind}) FROM t", f"{name}: ", "x")


def test_settings(model):
    for column in ["x", "l"]:
        refused(model, f"SELECT {LINEAR[column]}('width=1', y, {column}) FROM t", "width=1", "scale=")
        refused(model, f"SELECT {LINEAR[column]}('scale=-1', y, {column}) FROM t", "scale")
        query = f"SELECT {LINEAR[column]}('scale=' || (1 + g), y, {column}) FROM t"
        refused(model, query, "the same for all rows of a group")
        assert len(model.execute(query + " GROUP BY g").fetchall()) == 2
    refused(model, "SELECT vi_glm('gamma', y, l) FROM t", "gamma", "logistic")
    refused(model, "SELECT vi_glm(CASE g WHEN 0 THEN 'poisson' ELSE 'logistic' END, g, l) FROM t", "the same for all rows")
    refused(model, "SELECT vi_predict('level=2', m, x) FROM t, model", "level")
    refused(model, "SELECT vi_predict('0.9', m, x) FROM t, model", "level=")


def test_labels_outside_the_family(model):
    refused(model, "SELECT vi_glm('logistic', 2.0, l) FROM t", "vi_glm: ", "2")
    refused(model, "SELECT vi_glm('poisson', -1.0, l) FROM t", "vi_glm: ", "-1")


CALLS = [
    "vi_merge({})", "vi_evidence({})", "vi_coefficients({})", "vi_describe({})", "vi_sample({}, 1)",
    "vi_predict({}, [1, 2, 3]::DOUBLE[])", "vi_subtract({}, (SELECT m FROM model))", "vi_subtract((SELECT m FROM model), {})",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_bytes_that_are_no_posterior(model, call):
    (record,) = model.execute("SELECT m FROM model").fetchone()
    rng = np.random.default_rng(4)
    damaged = bytearray(record)
    damaged[len(record) // 2] ^= 1
    bad = [b"", b"\0", rng.bytes(500), record[:-1], record + b"\0", bytes(damaged), record[:36]]
    for bytes_ in bad:
        with pytest.raises(duckdb.Error, match="vi_"):
            model.execute(f"SELECT {call.format('?::BLOB')}", [bytes_]).fetchall()


def test_posteriors_that_do_not_go_together(model):
    model.execute("CREATE TABLE other AS SELECT vi_linear('scale=1', y, x) AS p, vi_glm('probit', g, l) AS g, vi_linear(y, [1]::DOUBLE[1]) AS d FROM t")
    for other, word in [("p", "prior"), ("g", "kind"), ("d", "number of inputs")]:
        refused(model, f"SELECT vi_subtract(m, {other}) FROM model, other", "vi_subtract: ", word)
        refused(model, f"SELECT vi_merge(b) FROM (SELECT m AS b FROM model UNION ALL SELECT {other} FROM other)", "vi_merge: ", word)
    refused(model, "SELECT vi_predict(m, [1, 2]::DOUBLE[]) FROM model", "vi_predict: ", "2", "3")


def test_what_was_never_added(model):
    refused(model, "SELECT vi_subtract(vi_linear(y, x) FILTER (g = 0), vi_linear(y, x)) FROM t", "never added")
    query = "SELECT vi_subtract(vi_linear(y, x) FILTER (g = 0), vi_linear(3 * y, x) FILTER (g = 1)) FROM t"
    refused(model, query, "never added")


def test_arguments_of_other_types(model):
    for call in ["vi_linear(y)", "vi_linear(y, y, y, y, y, y, y, y, y, y)", "vi_linear_list(y, y)", "vi_merge(y)", "vi_glm(y, l)", "vi_evidence(y)"]:
        refused(model, f"SELECT {call} FROM t", "No function matches")

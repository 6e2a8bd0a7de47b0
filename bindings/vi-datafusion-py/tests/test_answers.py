"""Queries through the package answer what they answer in Rust."""

import numpy as np
import pyarrow as pa
import pytest
from conftest import BINDINGS, Sums, answer, answers, direct, engine, fill, rows
from datafusion import col, lit
from rvi_datafusion import functions


def numbers(value):
    """The numbers of a value, whatever its form; a null is none."""
    if isinstance(value, dict):
        return [number for own in value.values() for number in numbers(own)]
    if isinstance(value, list):
        return [number for own in value for number in numbers(own)]
    return [value] if isinstance(value, (int, float)) else []


def test_answers_are_those_of_rust(ctx):
    file = BINDINGS / "vi-datafusion" / "tests" / "fixtures" / "answers.tsv"
    compared = 0
    for line in file.read_text(encoding="utf-8").splitlines():
        sql, _, kept = line.partition("\t")
        found = numbers(answers(ctx, sql)) if kept else ctx.sql(sql).collect()
        kept = [float(number) for number in kept.split()]
        if kept:
            # As the test in Rust that keeps the file.
            np.testing.assert_allclose(found, kept, rtol=1e-12, atol=1e-12, err_msg=sql)
        compared += len(kept)
    assert compared > 100


@pytest.mark.parametrize("parts", [1, 2, 8])
def test_any_partitions_are_the_sums_of_all_rows(parts):
    ctx, table = engine(parts), rows(3000, 4)
    fill(ctx, "t", table, parts)
    found = Sums(answer(ctx, "SELECT vi_linear(y, x0, x1, x2, x3) FROM t"))
    assert found.difference(direct(table, 4)) < 1e-12


# With 5000 groups of four rows each the engine stops to group before it parts.
@pytest.mark.parametrize(("n", "groups", "parts"), [(2000, 3, 1), (2000, 3, 8), (20_000, 5000, 8)])
def test_groups_are_sums_of_their_own(n, groups, parts):
    ctx, table = engine(parts), rows(n, 2, groups)
    fill(ctx, "t", table, parts)
    found = answers(ctx, "SELECT g, vi_linear(y, x0, x1) AS model FROM t GROUP BY g")
    assert sorted(row["g"] for row in found) == list(range(groups))
    of = table["g"].to_numpy()
    order = np.argsort(of, kind="stable")
    ends = np.searchsorted(of[order], np.arange(groups + 1))
    for row in found:
        own = table.take(order[ends[row["g"]] : ends[row["g"] + 1]])
        assert Sums(row["model"]).difference(direct(own, 2)) < 1e-12


def test_months_make_a_year_from_which_one_is_taken():
    ctx, table = engine(4), rows(1200, 2, 12)
    fill(ctx, "t", table, 4)
    ctx.sql("CREATE TABLE months AS SELECT g, vi_linear(y, x0, x1) AS model FROM t GROUP BY g").collect()
    year = answer(ctx, "SELECT vi_merge(model) FROM months")
    assert Sums(year).difference(direct(table, 2)) < 1e-12
    rest = answer(
        ctx,
        "SELECT vi_subtract(year, model) FROM months, (SELECT vi_merge(model) AS year FROM months) WHERE g = 2",
    )
    assert Sums(rest).difference(direct(table.filter(pa.compute.not_equal(table["g"], 2)), 2)) < 1e-12


def test_predictions_are_those_of_the_closed_form(ctx):
    table = rows(200, 2)
    fill(ctx, "t", table)
    found = answers(
        ctx,
        "SELECT t, vi_predict(model, x0, x1) AS p FROM t, (SELECT vi_linear('scale=2 intercept=5', y, x0, x1) AS model FROM t) ORDER BY t",
    )
    x = np.column_stack([np.ones(200), table["x0"], table["x1"]])
    precision = x.T @ x + np.diag([1 / 25, 1 / 4, 1 / 4])
    weights = np.linalg.solve(precision, x.T @ table["y"].to_numpy())
    # The condition of this system is below 1e3.
    np.testing.assert_allclose([row["p"]["mean"] for row in found], x @ weights, rtol=1e-11, atol=1e-11)
    assert all(row["p"]["lower"] < row["p"]["mean"] < row["p"]["upper"] for row in found)


def test_a_window_slides(ctx):
    table = rows(60, 2)
    fill(ctx, "t", table)
    found = answers(
        ctx,
        "SELECT t, vi_linear(y, x0, x1) OVER (ORDER BY t ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS model FROM t ORDER BY t",
    )
    for t, row in enumerate(found[1:], 1):
        # Each row taken off leaves the rounding of the sums as they were.
        assert Sums(row["model"]).difference(direct(table.slice(max(0, t - 9), min(t, 9) + 1), 2)) < 1e-11


def test_features_in_a_list_are_the_same_features(ctx):
    table = rows(100, 2)
    fill(ctx, "t", table)
    columns = answer(ctx, "SELECT vi_linear(y, x0, x1) FROM t")
    for features in ("[x0, x1]", "arrow_cast([x0, x1], 'FixedSizeList(2, Float64)')"):
        found = Sums(answer(ctx, f"SELECT vi_linear(y, {features}) FROM t"))
        assert found.difference(Sums(columns)) < 1e-12


def test_incomplete_rows_are_counted(ctx):
    table = rows(20, 1)
    fill(ctx, "t", table)
    sql = "SELECT vi_linear(y, CASE WHEN t = 3 THEN NULL WHEN t = 5 THEN 'NaN'::DOUBLE ELSE x0 END) FROM t"
    found = Sums(answer(ctx, sql))
    assert (found.rows, found.skipped) == (18, 2)
    assert answer(ctx, "SELECT vi_describe(vi_linear(y, x0)) FROM t WHERE t < 0")["rows"] == 0


def test_a_pass_and_its_factors(ctx):
    table = rows(400, 2)
    fill(ctx, "t", table)
    model = answer(ctx, "SELECT vi_glm('logistic scale=2', c, x0, x1) FROM t")
    steps = []
    for parts in (1, 4):
        fill(own := engine(parts), "t", table, parts)
        passed = answer(own, f"SELECT vi_pass(X'{model.hex()}', c, x0, x1) FROM t")
        step = answer(own, f"SELECT vi_factors(X'{model.hex()}', X'{passed.hex()}')")
        assert answer(own, f"SELECT vi_describe(X'{step.hex()}')") == {"kind": "logistic", "inputs": 2, "rows": 400, "skipped": 0}
        steps.append(answer(own, f"SELECT vi_coefficients(X'{step.hex()}')"))
    # A pass is a sum over rows; the condition of its curvature is below 1e3.
    np.testing.assert_allclose(numbers(steps[0]), numbers(steps[1]), rtol=1e-11)
    # Newton's step from one pass is near it: less than a posterior deviation.
    before = answer(ctx, f"SELECT vi_coefficients(X'{model.hex()}')")
    assert all(abs(a["mean"] - b["mean"]) < b["deviation"] for a, b in zip(steps[0], before, strict=True))


def test_functions_on_expressions(ctx):
    table = rows(50, 2)
    fill(ctx, "t", table)
    own = functions()
    frame = ctx.table("t").aggregate([], [own["vi_linear"](lit("scale=3"), col("y"), col("x0"), col("x1")).alias("m")])
    asked = frame.select(own["vi_evidence"](col("m")).alias("evidence")).collect()[0].column(0)[0].as_py()
    assert asked == answer(ctx, "SELECT vi_evidence(vi_linear('scale=3', y, x0, x1)) FROM t")

"""`fit_glm`: the optimum of one machine, for any partitions."""

import numpy as np
import pytest
from conftest import answer, answers, engine, fill, rows
from rvi_datafusion import fit_glm


@pytest.mark.parametrize("features", ["x0, x1, x2", "[x0, x1, x2] AS x"])
@pytest.mark.parametrize("parts", [1, 4])
def test_the_gradient_vanishes_at_the_optimum(parts, features):
    table = rows(500, 3)
    fill(ctx := engine(parts), "t", table, parts)
    fitted = fit_glm(ctx.sql(f"SELECT c, {features} FROM t"), "logistic scale=2 intercept=4")
    assert fitted.stop == "converged" and 3 < fitted.passes < 60
    (told,) = answers(ctx, f"SELECT vi_coefficients(X'{fitted.record.hex()}') AS w, vi_evidence(X'{fitted.record.hex()}') AS e")
    assert abs(told["e"] - fitted.bound) < 1e-8 * abs(fitted.bound)

    # The mean of the Gaussian, and the variance of each predictor by the engine's own answers.
    mean = np.array([weight["mean"] for weight in told["w"]])
    x = np.column_stack([np.ones(500), *(table[f"x{j}"] for j in range(3))])
    draws = np.array([row["s"] for row in answers(ctx, f"SELECT vi_sample(X'{fitted.record.hex()}', t) AS s FROM t")])
    assert np.allclose(draws.mean(axis=0), mean, atol=5 * draws.std(axis=0) / np.sqrt(500))
    curvature = np.linalg.inv(newton(x, mean, told["w"]))
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    predictor = (x @ mean)[:, None] + np.sqrt(np.einsum("ij,jk,ik->i", x, curvature, x))[:, None] * nodes
    probability = (1 / (1 + np.exp(-predictor))) @ weights / weights.sum()
    gradient = x.T @ (table["c"].to_numpy() - probability) - mean / np.array([16.0, 4.0, 4.0, 4.0])
    # In units of what a posterior deviation changes; the averages are those of eight terms.
    assert np.abs(gradient * np.sqrt(np.diag(curvature))).max() < 1e-4


def newton(x, mean, told):
    """The precision of the best Gaussian about `mean`: the averaged curvature, by its own fixed point."""
    precision = np.diag([1 / 16, 1 / 4, 1 / 4, 1 / 4])
    prior, (nodes, weights) = precision.copy(), np.polynomial.hermite_e.hermegauss(40)
    for _ in range(200):
        spread = np.sqrt(np.einsum("ij,jk,ik->i", x, np.linalg.inv(precision), x))
        p = 1 / (1 + np.exp(-((x @ mean)[:, None] + spread[:, None] * nodes)))
        precision = prior + x.T @ (x * ((p * (1 - p)) @ weights / weights.sum())[:, None])
    deviations = np.sqrt(np.diag(np.linalg.inv(precision)))
    np.testing.assert_allclose([weight["deviation"] for weight in told], deviations, rtol=1e-4)
    return precision


def test_partitions_do_not_matter():
    fits = []
    for parts in (1, 8):
        fill(ctx := engine(parts), "t", rows(800, 4), parts)
        fitted = fit_glm(ctx.sql("SELECT c, x0, x1, x2, x3 FROM t"), "probit scale=1")
        fits.append(answer(ctx, f"SELECT vi_coefficients(X'{fitted.record.hex()}')"))
    for a, b in zip(*fits, strict=True):
        # Both stop within 1e-9 deviations of the optimum.
        assert abs(a["mean"] - b["mean"]) < 1e-8 * b["deviation"]


def test_newton_s_steps_lead_where_the_search_does(ctx):
    fill(ctx, "t", rows(300, 2), 1)
    fitted = fit_glm(ctx.sql("SELECT c, x0, x1 FROM t"), "logistic scale=2 intercept=4")
    place, size = answer(ctx, "SELECT vi_glm('logistic scale=2 intercept=4', c, x0, x1) FROM t"), 1.0
    for _ in range(100):
        at = f"X'{place.hex()}'"
        told = answer(ctx, f"SELECT vi_newton({at}, vi_pass({at}, c, x0, x1)) FROM t")
        place, size = told["posterior"], told["size"]
        if size < 1e-9:
            break
    assert size < 1e-9
    for a, b in zip(*(answer(ctx, f"SELECT vi_coefficients(X'{model.hex()}')") for model in (place, fitted.record)), strict=True):
        assert abs(a["mean"] - b["mean"]) < 1e-8 * b["deviation"]
    with pytest.raises(Exception, match="statistics of another place"):
        ctx.sql(f"SELECT vi_newton(X'{place.hex()}', vi_pass({at}, c, x0, x1)) FROM t").collect()


def test_what_cannot_be_fitted_is_told(ctx):
    fill(ctx, "t", rows(30, 1))
    for sql, model, words in [
        ("SELECT y, x0 FROM t", "logistic", "column y"),
        ("SELECT c, x0 FROM t", "gamma", "gamma"),
        ("SELECT c, 'a' AS word FROM t", "logistic", "column word"),
        ("SELECT c FROM t", "logistic", "needs features"),
        ("SELECT c, [x0] AS x FROM t WHERE t < 0", "logistic", "empty"),
    ]:
        with pytest.raises(Exception, match=words):
            fit_glm(ctx.sql(sql), model)
    with pytest.raises(ValueError, match="tolerance"):
        fit_glm(ctx.sql("SELECT c, x0 FROM t"), "logistic", tolerance=-1.0)
    assert fit_glm(ctx.sql("SELECT c, x0 FROM t"), "logistic", max_passes=2).stop == "iterations"


def test_columns_of_any_name(ctx):
    fill(ctx, "t", rows(60, 1))
    plain = fit_glm(ctx.sql("SELECT c, x0 FROM t"), "logistic")
    named = fit_glm(ctx.sql('SELECT c AS "The label", x0 AS "a.b ""c""" FROM t'), "logistic")
    assert named.record == plain.record

"""Groups pooled by a query, against the dense mixed model of their rows."""

import numpy as np
import pytest
from conftest import refused, table

CLINICS = "(SELECT g, 'c' || g AS clinic, vi_linear(y, x) AS m FROM t GROUP BY g)"
PARTS = "(SELECT g, 'c' || g AS clinic, vi_linear(y, x) AS m FROM t GROUP BY g, i % 3)"


def grouped(n=400, m=13, seed=3):
    """Rows of two inputs in random order, with a level and a slope of the second input for each group."""
    rng = np.random.default_rng(seed)
    g = rng.integers(m, size=n)
    x = rng.normal(size=(n, 2)) + [0.0, 3.0]
    level, slope = rng.normal(size=m), 0.4 * rng.normal(size=m)
    y = 0.5 + x @ [1.0, -0.7] + level[g] + slope[g] * x[:, 1] + 0.5 * rng.normal(size=n)
    return g, x, y


class Mixed:
    """Generalised least squares with effects of a given covariance: weights, the intercept first, effects and the restricted likelihood."""

    def __init__(self, g, x, y, covariance, noise):
        n, m = len(y), g.max() + 1
        z = np.column_stack([np.ones(n), x])
        own = z[:, [0, 2]]
        spread = np.zeros((n, 2 * m))
        for t in range(n):
            spread[t, 2 * g[t] : 2 * g[t] + 2] = own[t]
        between = np.kron(np.eye(m), covariance)
        whole = noise**2 * np.eye(n) + spread @ between @ spread.T
        inverse = np.linalg.inv(whole)
        precision = z.T @ inverse @ z
        self.weights = np.linalg.solve(precision, z.T @ inverse @ y)
        self.errors = np.sqrt(np.diag(np.linalg.inv(precision)))
        left = y - z @ self.weights
        self.effects = (between @ spread.T @ inverse @ left).reshape(m, 2)
        self.reml = -(np.linalg.slogdet(whole)[1] + np.linalg.slogdet(precision)[1] + left @ inverse @ left) / 2


@pytest.fixture
def clinics(db):
    g, x, y = grouped()
    table(db, "t", x, y, g=g, i=np.arange(len(y)))
    return db, g, x, y


def test_the_pool_is_the_mixed_model_of_the_rows(clinics):
    db, g, x, y = clinics
    query = f"SELECT vi_pool('effects=intercept,2 optimum', g, m) AS p FROM {PARTS}"
    db.execute(f"CREATE TABLE pool AS {query}")
    parts = {own["name"]: own["value"] for own in db.execute("SELECT vi_components(p) FROM pool").fetchone()[0]}
    assert list(parts) == ["sd(intercept)", "sd(x2)", "cor(intercept, x2)", "sd(noise)"]
    level, slope, correlation, noise = parts.values()
    covariance = np.array([[level**2, correlation * level * slope], [correlation * level * slope, slope**2]])
    mixed = Mixed(g, x, y, covariance, noise)
    # It is the peak of the restricted likelihood.
    for factor in [0.9, 1.1]:
        assert mixed.reml > Mixed(g, x, y, covariance * factor, noise).reml
        assert mixed.reml > Mixed(g, x, y, covariance * [[factor, 1], [1, 1]], noise).reml
        assert mixed.reml > Mixed(g, x, y, covariance, noise * factor).reml
    weights = db.execute("SELECT vi_coefficients(p) FROM pool").fetchone()[0]
    # A prior scale of 1000 deviations of the noise, and Student's t in place of a Gaussian.
    wider = np.sqrt((len(y) - 3) / (len(y) - 5))
    np.testing.assert_allclose([own["mean"] for own in weights], mixed.weights, rtol=1e-6)
    np.testing.assert_allclose([own["deviation"] for own in weights], mixed.errors * wider, rtol=1e-6)
    effects = db.execute("SELECT unnest(vi_effects(p), recursive := true) FROM pool").fetchall()
    assert [(own[0], own[1]) for own in effects[-2:]] == [("12", "intercept"), ("12", "x2")]
    found = np.array([own[2] for own in effects]).reshape(-1, 2)
    np.testing.assert_allclose(found, mixed.effects, atol=1e-6)
    one = db.execute("SELECT vi_effects(p, 5) FROM pool").fetchone()[0]
    assert [own["mean"] for own in one] == list(found[5])
    of_row = "SELECT vi_predict_group(p, g, [x[1], x[2]]) FROM t, pool ORDER BY i"
    seen = [row[0]["mean"] for row in db.execute(of_row).fetchall()]
    own = np.column_stack([np.ones(len(y)), x[:, 1]])
    fitted = np.column_stack([np.ones(len(y)), x]) @ mixed.weights + (own * mixed.effects[g]).sum(axis=1)
    np.testing.assert_allclose(seen, fitted, rtol=1e-6, atol=1e-6)
    # A new group, told by a null, a key that is not there, or no key at all.
    new = "vi_predict_group('level=0.5', p, {}, [0.3, 1.0])"
    query = f"SELECT {new.format('NULL::BIGINT')}, {new.format('77')}, vi_predict('level=0.5', p, [0.3, 1.0]) FROM pool"
    first, second, third = db.execute(query).fetchone()
    assert first == second == third
    told = db.execute("SELECT vi_describe(p) FROM pool").fetchone()[0]
    assert told == {"kind": "pool", "inputs": 2, "rows": len(y), "skipped": 0}


@pytest.mark.parametrize("threads", [1, 4])
def test_a_clinic_goes_and_pools_add(clinics, threads):
    db = clinics[0]
    db.execute(f"SET threads = {threads}")
    weights = "[w.mean for w in vi_coefficients({})] || [w.deviation for w in vi_coefficients({})]"

    def found(pool, source):
        return db.execute(f"SELECT {weights.format(pool, pool)} FROM {source}").fetchone()[0]

    expected = found("vi_pool(clinic, m)", f"{CLINICS} WHERE g <> 3")
    for pool, source in [
        ("vi_pool(clinic, m) FILTER (g <> 3)", PARTS),
        ("vi_subtract(p, c)", f"(SELECT vi_pool(clinic, m) AS p FROM {PARTS}), (SELECT vi_pool(clinic, m) AS c FROM {CLINICS} WHERE g = 3)"),
        ("vi_merge(p)", f"(SELECT vi_pool(clinic, m) AS p FROM {PARTS} WHERE g <> 3 GROUP BY g % 4)"),
    ]:  # fmt: skip
        np.testing.assert_allclose(found(pool, source), expected, rtol=1e-10)


def test_cluster_robust_errors(clinics):
    db, g, x, y = clinics
    z = np.column_stack([np.ones(len(y)), x])
    bread = np.linalg.inv(z.T @ z)
    weights = bread @ z.T @ y
    scores = np.array([z[g == own].T @ (y - z @ weights)[g == own] for own in range(13)])
    errors = np.sqrt(np.diag(bread @ scores.T @ scores @ bread))
    plain, corrected = db.execute(f"SELECT vi_robust('CR0', p), vi_robust(p) FROM (SELECT vi_pool(g, m) AS p FROM {PARTS})").fetchone()
    np.testing.assert_allclose([own["mean"] for own in plain], weights, rtol=1e-10)
    np.testing.assert_allclose([own["deviation"] for own in plain], errors, rtol=1e-10)
    wider = np.sqrt(13 / 12 * (len(y) - 1) / (len(y) - 3))
    np.testing.assert_allclose([own["deviation"] for own in corrected], errors * wider, rtol=1e-10)
    named = db.execute(f"SELECT vi_robust('CR0', p, 'age, dose'), vi_robust(p, 'age, dose') FROM (SELECT vi_pool(g, m) AS p FROM {PARTS})").fetchone()
    assert [[own["name"] for own in each] for each in named] == [["intercept", "age", "dose"]] * 2
    assert [own["deviation"] for own in named[0]] == [own["deviation"] for own in plain]


def test_what_cannot_be_pooled_is_named(clinics):
    db = clinics[0]
    refused(db, f"SELECT vi_pool(clinic, CASE WHEN g = 3 THEN NULL ELSE m END) FROM {CLINICS}", 'group "c3": posterior is empty')
    refused(db, f"SELECT vi_pool(CASE WHEN g < 9 THEN g END, m) FROM {CLINICS}", "key of a group is empty")
    refused(db, f"SELECT vi_pool('effects=days', g, m) FROM {CLINICS}", "vi_pool: ", "days")
    refused(db, f"SELECT vi_pool('effects=3', g, m) FROM {CLINICS}", "vi_pool: ")
    refused(db, f"SELECT vi_pool('scale=' || (1 + g), g, m) FROM {CLINICS}", "the same for all rows of a group")
    other = "SELECT g, vi_linear(y, [1]::DOUBLE[1]) AS m FROM t WHERE g = 1 GROUP BY g"
    refused(db, f"SELECT vi_pool(g, m) FROM (SELECT g, m FROM {CLINICS} WHERE g > 1 UNION ALL {other})", "group", "number of inputs")
    refused(db, "SELECT vi_pool(g, m) FROM (SELECT g, vi_glm('poisson', g, l) AS m FROM t GROUP BY g)", "vi-sums/glm")
    for call in ["vi_components(m)", "vi_effects(m)", "vi_robust(m)", "vi_predict_group(m, g, [1, 2]::DOUBLE[])"]:
        refused(db, f"SELECT {call} FROM {CLINICS}", "vi-sums/pool")
    refused(db, f"SELECT vi_robust('CR2', vi_pool(g, m)) FROM {CLINICS}", "CR2")
    refused(db, f"SELECT vi_sample(vi_pool(g, m), 1) FROM {CLINICS}", "draw of the weights of a pool")
    assert db.execute(f"SELECT vi_pool(g, m) FROM {CLINICS} WHERE false").fetchone() == (None,)
    nothing = "SELECT vi_components(NULL::BLOB), vi_effects(NULL::BLOB), vi_robust(NULL::BLOB), vi_effects(NULL::BLOB, 'a')"
    assert db.execute(nothing).fetchone() == (None,) * 4

"""Rows per second of `vi_linear`, beside the same sums written out in the engine's own SQL: `cargo xtask bench duckdb`."""

import json
import os
import platform
import time
from pathlib import Path

import duckdb

ROWS = int(os.environ.get("VI_ROWS", "5000000"))
D = 10
GROUPS = 10_000
THREADS = 2
REPEATS = 5
# Of the pool: groups, and features of each row.
POOLED, POOLED_D = 100_000, 6


def measure(db, query):
    """The best of some runs, in seconds: others share the machine."""
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        db.execute(query).fetchall()
        best = min(best, time.perf_counter() - begun)
    return best


def pools(db):
    """Seconds for each of many groups to be fitted, for their pool, and for what reads it."""
    names = ", ".join(f"random() - 0.5 AS x{j}" for j in range(POOLED_D))
    row = ", ".join(f"x{j}" for j in range(POOLED_D))
    source = f"SELECT i * 7919 % {POOLED} AS g, random() AS y, {names} FROM range({ROWS // 5}) s(i)"
    db.execute(f"CREATE TABLE rows AS SELECT g, y + 0.3 * sin(g) AS y, [{row}] AS l, [{row}]::DOUBLE[{POOLED_D}] AS x FROM ({source})")
    clinics = "SELECT g, vi_linear(y, x) AS m FROM rows GROUP BY g"
    db.execute(f"CREATE TABLE clinics AS {clinics}")
    db.execute("CREATE TABLE pool AS SELECT vi_pool(g, m) AS p FROM clinics")
    found = {}
    for name, query in {
        "vi_linear of each": f"SELECT count(COLUMNS(*)) FROM ({clinics})",
        "vi_pool, an effect": "SELECT octet_length(vi_pool(g, m)) FROM clinics",
        "vi_pool, three effects": "SELECT octet_length(vi_pool('effects=intercept,1,2', g, m)) FROM clinics",
        "vi_robust": "SELECT vi_robust(p) FROM pool",
        "vi_effects of all": "SELECT len(vi_effects(p)) FROM pool",
        "vi_predict_group, 10,000 rows": "SELECT sum(vi_predict_group(p, g, l).mean) FROM (SELECT * FROM rows LIMIT 10000), pool",
    }.items():
        found[name] = measure(db, query)
        print(f"{POOLED:6} groups   {name:35} {found[name]:7.3f} s, {found[name] / found['vi_linear of each']:.1f} of the first", flush=True)
    return found


def main():
    db = duckdb.connect(config={"allow_unsigned_extensions": "true", "threads": THREADS})
    db.execute(f"LOAD '{os.environ['VI_DUCKDB']}'")
    names = [f"x{j}" for j in range(D)]
    columns = ", ".join(f"random() - 0.5 AS {name}" for name in names)
    db.execute(f"CREATE TABLE plain AS SELECT i * 7919 % {GROUPS} AS g, random() AS y, {columns} FROM range({ROWS}) s(i)")
    row = f"[{', '.join(names)}]"
    db.execute(f"CREATE TABLE t AS SELECT *, {row}::DOUBLE[{D}] AS x, {row} AS l FROM plain")
    db.execute("DROP TABLE plain")
    every = [*names, "y"]
    products = ", ".join(f"sum({a} * {b})" for i, a in enumerate(every) for b in every[: i + 1])
    models = {
        "vi_linear, array column": "vi_describe(vi_linear(y, x)).rows",
        "vi_linear, array of ten columns": f"vi_describe(vi_linear(y, {row}::DOUBLE[{D}])).rows",
        "vi_linear_list, list column": "vi_describe(vi_linear_list(y, l)).rows",
        "66 sums of products in SQL": products,
    }
    found = {}
    for groups, clause in [(1, ""), (GROUPS, " GROUP BY g")]:
        for name, model in models.items():
            # The groups' answers stay in the engine, which is what both do with them in a longer query.
            query = f"SELECT {model} FROM t" if groups == 1 else f"SELECT count(COLUMNS(*)) FROM (SELECT {model} FROM t{clause})"
            rate = ROWS / measure(db, query) / 1e6
            found[f"{name}, {groups} groups"] = rate
            print(f"{groups:6} groups   {name:35} {rate:7.1f} million rows a second", flush=True)
    for name, query in {
        "vi_glm, logistic, list column": "SELECT vi_describe(vi_glm('logistic', y > 0.5, l)) FROM t",
        "vi_predict, list column": "SELECT sum(vi_predict(m, l).mean) FROM t, (SELECT vi_linear(y, x) AS m FROM t LIMIT 1)",
    }.items():
        rate = ROWS / measure(db, query) / 1e6
        found[name] = rate
        print(f"{1:6} groups   {name:35} {rate:7.1f} million rows a second", flush=True)
    seconds = pools(db)
    out = Path(os.environ["VI_ROOT"], "target", "bench", "duckdb.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"machine": platform.machine(), "rows": ROWS, "threads": THREADS, "million rows a second": found, "seconds of pools": seconds}, indent=1))


main()

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


def measure(db, query):
    """The best of some runs, in seconds: others share the machine."""
    best = float("inf")
    for _ in range(REPEATS):
        begun = time.perf_counter()
        db.execute(query).fetchall()
        best = min(best, time.perf_counter() - begun)
    return best


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
    out = Path(os.environ["VI_ROOT"], "target", "bench", "duckdb.json")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps({"machine": platform.machine(), "rows": ROWS, "threads": THREADS, "million rows a second": found}, indent=1))


main()

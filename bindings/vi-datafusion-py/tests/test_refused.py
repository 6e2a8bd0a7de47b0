"""What is refused is an exception that names it; nothing ends the interpreter."""

import random

import pyarrow as pa
import pytest
from conftest import CRATES, answer, engine, fill, rows

RECORDS = [(CRATES / "vi-sums" / "tests" / "fixtures" / f"{name}.bin").read_bytes() for name in ("linear", "glm", "at", "pass")]


@pytest.fixture(params=[1, 4])
def ctx(request):
    ctx, table = engine(request.param), rows(40, 2, 2)
    table = table.append_column("label", pa.array([0.5 if t == 7 else t % 2 for t in range(40)]))
    table = table.append_column("wild", pa.array([float("inf") if t == 3 else 1.0 * t for t in range(40)]))
    fill(ctx, "t", table.append_column("word", pa.array(["a"] * 40)), request.param)
    return ctx


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("SELECT vi_linear(y, x0, word) FROM t", ["vi_linear", "feature 2", "column word", "expected a number"]),
        ("SELECT vi_linear('strict', word, x0) FROM t", ["the label", "column word"]),
        ("SELECT vi_glm('logistic', word, x0) FROM t", ["vi_glm", "the label", "column word"]),
        ("SELECT vi_linear(y, [word]) FROM t", ["feature 1", "expected a number"]),
        ("SELECT vi_predict(vi_linear(y, x0), word) FROM t GROUP BY word", ["vi_predict", "column word"]),
        ("SELECT vi_linear('strict', y, wild) FROM t", ["vi_linear", "column wild", "not finite"]),
        ("SELECT vi_linear('strict', y, x0, wild) FROM t GROUP BY g", ["column wild", "not finite"]),
        ("SELECT vi_linear('strict', wild, x0) FROM t", ["column wild", "not finite"]),
        ("SELECT vi_glm('logistic', label, x0) FROM t", ["vi_glm", "column label", "label 0.5"]),
        ("SELECT vi_glm('logistic', label, x0) FROM t GROUP BY g", ["column label", "label 0.5"]),
        ("SELECT vi_linear(y) FROM t", ["needs features"]),
        ("SELECT vi_linear() FROM t", ["vi_linear"]),
        ("SELECT vi_linear('scale=-1', y, x0) FROM t", ["scale"]),
        ("SELECT vi_linear('wide', y, x0) FROM t", ["wide"]),
        ("SELECT vi_linear(DISTINCT y, x0) FROM t", ["DISTINCT"]),
        ("SELECT vi_linear(DISTINCT y, x0) FROM t GROUP BY g", ["DISTINCT"]),
        ("SELECT vi_glm('gamma', c, x0) FROM t", ["gamma"]),
        ("SELECT vi_glm(CASE WHEN g = 0 THEN 'logistic' ELSE 'probit' END, c, x0) FROM t", ["constant"]),
        ("SELECT vi_pass(X'00', c, x0) FROM t", ["vi-sums/at"]),
        ("SELECT vi_pass(word, c, x0) FROM t", ["posterior"]),
        ("SELECT vi_evidence(X'00')", ["vi-sums/linear"]),
        ("SELECT vi_evidence(1)", ["vi_evidence", "posterior"]),
        ("SELECT vi_predict(vi_linear(y, x0), 1.0, 2.0) FROM t", ["length"]),
        ("SELECT vi_predict('level=2', vi_linear(y, x0), 1.0) FROM t", ["level"]),
        ("SELECT vi_subtract(vi_linear(y, x0), vi_linear(y, x0, x1)) FROM t", ["inputs"]),
        ("SELECT vi_subtract(vi_linear(y, x0), vi_linear(y, 10 * x1)) FROM t", ["never added"]),
        ("SELECT vi_sample(X'00', 0.5)", ["whole number"]),
        ("SELECT vi_linear(y, CASE WHEN t < 9 THEN [x0] ELSE [x0, x1] END) FROM t", ["features"]),
    ],
)
def test_errors_name_what_is_wrong(ctx, sql, words):
    with pytest.raises(Exception) as caught:  # noqa: PT011, B017: the engine has one class for all
        ctx.sql(sql).collect()
    assert all(word in str(caught.value) for word in words), caught.value
    # Nothing is left behind.
    assert answer(ctx, "SELECT vi_describe(vi_linear(y, x0)) FROM t")["rows"] == 40


def damaged(rng):
    """Records cut short, lengthened, with bits turned, put together, or no records at all."""
    for record in RECORDS:
        yield from (record[:n] for n in range(0, len(record), 7))
        for _ in range(40):
            own = bytearray(record)
            for _ in range(rng.randint(1, 4)):
                own[rng.randrange(len(own))] ^= 1 << rng.randrange(8)
            yield bytes(own)
        yield record + record
        yield record[:44] + bytes(rng.randrange(256) for _ in range(len(record) - 44))
    yield from (bytes(rng.randrange(256) for _ in range(n)) for n in (0, 1, 44, 200, 5000))


def test_damaged_records_are_refused_by_every_function(ctx):
    bad = [own for own in damaged(random.Random(1)) if own not in RECORDS]
    fill(ctx, "own", pa.table({"i": list(range(len(bad))), "bytes": bad}))
    good = f"X'{RECORDS[0].hex()}'"
    calls = [
        "vi_describe(bytes)",
        "vi_evidence(bytes)",
        "vi_coefficients(bytes)",
        "vi_sample(bytes, 1)",
        "vi_predict(bytes, 1.0)",
        f"vi_subtract(bytes, {good})",
        f"vi_subtract({good}, bytes)",
        "vi_factors(bytes, bytes)",
        "vi_merge(bytes)",
    ]
    assert len(bad) > 200
    for call in calls:
        # Each alone for one of them, the others in one query that fails at its first.
        for where in ["true", *(f"i = {i}" for i in range(0, len(bad), 1 if call == "vi_merge(bytes)" else 23))]:
            with pytest.raises(Exception):  # noqa: PT011, B017: the engine has one class for all
                ctx.sql(f"SELECT {call} FROM own WHERE {where}").collect()


def test_a_posterior_too_large_for_a_query_is_refused(ctx):
    columns = ", ".join(["x0"] * 1800)
    with pytest.raises(Exception, match="above the"):
        ctx.sql(f"SELECT vi_linear(y, {columns}) FROM t").collect()

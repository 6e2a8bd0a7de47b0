"""A posterior is the same bytes here and in Rust."""

import pyarrow as pa
import pytest
from conftest import CRATES, answer, engine, fill

FIXTURES = CRATES / "vi-sums" / "tests" / "fixtures"


def kept(name):
    return (FIXTURES / f"{name}.bin").read_bytes()


def test_a_linear_posterior_is_the_documented_bytes(ctx):
    fill(ctx, "t", pa.table({"x": [1.0, 3.0, None], "y": [2.0, 6.0, 1.0]}))
    assert answer(ctx, "SELECT vi_linear(y, x) FROM t") == kept("linear")


@pytest.mark.parametrize(("name", "kind"), [("linear", "linear"), ("glm", "negative_binomial")])
def test_the_documented_bytes_are_read(ctx, name, kind):
    told = answer(ctx, f"SELECT vi_describe(X'{kept(name).hex()}')")
    assert (told["kind"], told["inputs"]) == (kind, 1)


def test_a_posterior_travels_through_a_file(ctx, tmp_path):
    record = kept("linear")
    for kind in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(len(record))):
        fill(other := engine(2), "own", pa.table({"model": pa.array([record, record], type=kind)}), 2)
        assert answer(other, "SELECT vi_describe(vi_merge(model)) FROM own")["rows"] == 4
    ctx.sql(f"COPY (SELECT X'{record.hex()}' AS model) TO '{tmp_path}/models.parquet'").collect()
    ctx.register_parquet("models", str(tmp_path / "models.parquet"))
    assert answer(ctx, "SELECT vi_merge(model) FROM models") == record

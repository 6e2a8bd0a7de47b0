"""The files for DuckDB's registry of community extensions."""

import os
import re
from pathlib import Path

import duckdb
import pytest
from conftest import connect

OWN = Path(os.environ["VI_ROOT"]) / "bindings" / "vi-duckdb"


def read(*place):
    return OWN.joinpath("registry", *place).read_text()


def blocks(text):
    """The statements of a file of sqllogictest: their head, their text, and the lines that are expected."""
    for block in re.split(r"\n\s*\n", "\n".join(line for line in text.splitlines() if not line.startswith("#"))):
        head, *rest = block.strip().splitlines()
        query, _, expected = "\n".join(rest).partition("\n----\n")
        yield head, query, expected.splitlines()


def shown(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_the_statements_of_the_registry_say_what_they_promise():
    db, told = duckdb.connect(), 0
    for head, query, expected in blocks(read("test", "sql", "vi_duckdb.test")):
        if head.startswith("require"):
            db = connect()
        elif head == "statement error":
            with pytest.raises(duckdb.Error, match=re.escape(expected[0])):
                db.execute(query)
        else:
            found = db.execute(query).fetchall()
            assert head == "statement ok" or ["\t".join(map(shown, row)) for row in found] == expected, query
        told += 1
    assert told == 9


def test_the_description_is_of_this_version_and_its_query_runs(db):
    description = read("description.yml")
    version = re.search(r"^version = (.*)$", (OWN.parent / "Cargo.toml").read_text(), re.M)[1].strip('"')
    assert f"\n  version: {version}\n" in description
    query = re.search(r"hello_world: \|\n((?:    .*\n)+)", description)[1]
    (((intercept, slope),),) = db.execute(query).fetchall()
    assert (intercept["name"], slope["name"]) == ("intercept", "x") and abs(slope["mean"] - 2.0) < 1e-6


def test_the_build_file_names_this_crate():
    build = read("Makefile")
    assert "EXTENSION_NAME=vi_duckdb\n" in build and "--manifest-path bindings/vi-duckdb/Cargo.toml" in build
    assert (OWN / "Cargo.toml").is_file()

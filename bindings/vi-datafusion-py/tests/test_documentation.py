"""The examples of the package and of its page run; the stubs say what is there."""

import ast
import doctest
import importlib
import inspect
import re
from pathlib import Path

import datafusion
import pytest
import rvi_datafusion
from conftest import BINDINGS
from rvi_datafusion import _functions

FOLDER = Path(rvi_datafusion.__file__).parent


@pytest.mark.parametrize("name", ["rvi_datafusion", "rvi_datafusion._engine", "rvi_datafusion._fit"])
def test_the_examples_of_docstrings(name):
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert failed == 0 and tried > 2


def test_the_code_of_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (BINDINGS / "vi-datafusion-py" / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"\n```python\n(.*?)\n```", text, flags=re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)  # noqa: S102


def test_the_table_of_the_docstring_has_every_function():
    named = re.findall(r"^`(\w+)\(", rvi_datafusion.__doc__, flags=re.MULTILINE)
    assert sorted(named) == sorted(rvi_datafusion.functions())


def test_the_stubs():
    assert (FOLDER / "py.typed").exists()
    body = ast.parse((FOLDER / "_functions.pyi").read_text(encoding="utf-8")).body
    stubs = {item.name for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef)}
    stubs |= {item.target.id for item in body if isinstance(item, ast.AnnAssign)}
    public = {name for name in vars(_functions) if not name.startswith("__")} | {"__version__"}
    assert stubs == public
    own = ast.parse((FOLDER / "_functions.pyi").read_text(encoding="utf-8"))
    methods = {f"{c.name}.{f.name}" for c in own.body if isinstance(c, ast.ClassDef) for f in c.body}
    classes = (_functions.Aggregate, _functions.Scalar, _functions.Search)
    found = {f"{c.__name__}.{name}" for c in classes for name in vars(c) if name.startswith("__datafusion") or name[0] != "_"}
    assert methods - {"Search.__new__"} == found


def test_every_public_item_is_documented():
    assert all(inspect.getdoc(getattr(rvi_datafusion, name)) for name in rvi_datafusion.__all__)


def test_another_major_version_of_the_engine_is_refused(monkeypatch):
    monkeypatch.setattr(datafusion, "__version__", "54.1.0")
    with pytest.raises(ImportError, match="for datafusion 55, and there is 54.1.0"):
        importlib.reload(rvi_datafusion)
    monkeypatch.undo()
    importlib.reload(rvi_datafusion)

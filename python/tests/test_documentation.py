"""The examples of docstrings and pages run; every public item has a docstring and a line of the stubs."""

import doctest
import importlib
import inspect
import os
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest
import rvi

# Packages without which an example is left out.
OPTIONAL = ("jax", "numpyro", "pymc")
MODULES = ["rvi", *(found.name for found in pkgutil.walk_packages(rvi.__path__, "rvi.") if found.name != "rvi._rvi")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for found in doctest.DocTestFinder().find(importlib.import_module(name)):
        if not any(f">>> import {package}" in found.docstring and not find_spec(package) for package in OPTIONAL):
            runner.run(found)
    assert runner.failures == 0


def test_there_are_examples():
    finder = doctest.DocTestFinder(exclude_empty=True)
    for name in ("rvi.sklearn", "rvi.river", "rvi.boost", "rvi.density", "rvi.nested", "rvi.bandit"):
        module = importlib.import_module(name)
        for public in module.__all__:
            if public in ("LatentPosterior", "Posterior", "replay"):
                continue
            assert any(found.examples for found in finder.find(getattr(module, public), public)), public


def public_items():
    for name in ("rvi.sklearn", "rvi.river", "rvi.boost", "rvi.density", "rvi.nested", "rvi.bandit", "rvi.plot", "rvi.skpro", "rvi.marginaleffects", "rvi.table"):
        module = importlib.import_module(name)
        for public in module.__all__:
            yield public, getattr(module, public)


def test_every_public_item_is_documented():
    for name, item in public_items():
        assert inspect.getdoc(item), name
        if inspect.isclass(item):
            for member, value in vars(item).items():
                if not member.startswith("_"):
                    assert inspect.getdoc(value), f"{name}.{member}"


@pytest.mark.parametrize("habit", ["is believed", "is told", "so many", "that of what", "what came", "What "])
def test_docstrings_are_in_plain_words(habit):
    for name, item in public_items():
        members = vars(item).values() if inspect.isclass(item) else ()
        for text in filter(None, map(inspect.getdoc, (item, *members))):
            lines = text.splitlines() if habit[0].isupper() else [text]
            found = [line for line in lines if (line.strip().startswith(habit) if habit[0].isupper() else habit in line)]
            assert not found, f"{name}: {found[0][:100]}"


def page(*path):
    root = os.environ.get("VI_ROOT") or Path(__file__).parents[2]
    return Path(root, *path).read_text(encoding="utf-8")


def blocks(text):
    return [part.split("\n```")[0] for part in text.split("\n```python\n")[1:]]


@pytest.mark.parametrize("path", [("python", "README.md"), ("README.md",), ("docs", "src", "index.md"), ("docs", "src", "python.md")], ids=str)
def test_the_code_of_pages(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = blocks(page(*path))
    assert found
    names = {}
    for block in found:
        exec(compile(block, "/".join(path), "exec"), names)  # noqa: S102

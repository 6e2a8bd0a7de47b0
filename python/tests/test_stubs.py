"""The stubs say what is there, all of it and no more."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest
import rvi
from rvi import _rvi

FOLDER = Path(rvi.__file__).parent


def definitions(body):
    return {item.name: item for item in body if isinstance(item, ast.FunctionDef | ast.ClassDef)}


def arguments(function):
    own = function.args
    packed = [[found] if found else [] for found in (own.vararg, own.kwarg)]
    return [argument.arg for argument in (*own.posonlyargs, *own.args, *packed[0], *own.kwonlyargs, *packed[1])]


def tree(name):
    path = FOLDER.joinpath(*name.split(".")[1:])
    path = path / "__init__.pyi" if path.is_dir() else path.with_suffix(".pyi")
    return definitions(ast.parse(path.read_text(encoding="utf-8")).body)


@pytest.mark.parametrize("name", ["rvi.sklearn", "rvi.river", "rvi.bandit", "rvi.boost", "rvi.density", "rvi.nested", "rvi.grouped", "rvi.experiment", "rvi.plot", "rvi.table"])
def test_every_public_name_and_argument(name):
    module, stubs = importlib.import_module(name), tree(name)
    assert set(stubs) == set(module.__all__)
    for public, stub in stubs.items():
        item = getattr(module, public)
        if isinstance(stub, ast.FunctionDef):
            assert arguments(stub) == list(inspect.signature(item).parameters), public
            continue
        methods = definitions(stub.body)
        own = {n for c in item.__mro__ if c.__module__.startswith("rvi.") for n in vars(c) if not n.startswith("_")}
        # Metadata routing makes these of the signatures.
        own = {n for n in own if not (n.startswith("set_") and n.endswith("_request"))}
        assert own == set(methods) - {"__init__"}, public
        for method, found in methods.items():
            value = inspect.getattr_static(item, method)
            function = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
            assert arguments(found) == list(inspect.signature(function).parameters), f"{public}.{method}"


def test_the_extension():
    stubs = tree("rvi._rvi")
    variational = definitions(stubs.pop("_Variational").body)
    for name, stub in stubs.items():
        item = getattr(_rvi, name)
        if isinstance(stub, ast.FunctionDef):
            assert arguments(stub) == list(inspect.signature(item).parameters)
            continue
        methods = definitions(stub.body) | (variational if name.startswith(("Vb", "Horseshoe")) else {})
        attributes = {"inputs"} if name == "Online" or name.startswith(("Vb", "Horseshoe")) else {"dim"}
        attributes = {"Fourier": {"width"}, "Grouped": {"evidence", "observations"}, "Record": set(), "Sums": set(), "Table": set()}.get(name, attributes)
        own = {n for n in dir(item) if not n.startswith("_")}
        # Metadata routing makes these of the signatures.
        own = {n for n in own if not (n.startswith("set_") and n.endswith("_request"))}
        assert own == set(methods) - {"__init__"} | attributes, name
        for method in own - attributes:
            found = [argument for argument in arguments(methods[method]) if argument != "self"]
            assert found == [p for p in inspect.signature(getattr(item, method)).parameters if p != "self"], f"{name}.{method}"


def test_the_types_travel_with_the_package():
    assert (FOLDER / "py.typed").exists()

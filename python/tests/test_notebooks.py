"""The notebooks of the guide run, assert their numbers and take less than 20 seconds each; the gallery, with its twelve pictures, less than 40."""

import os
import time
from pathlib import Path

import matplotlib
import pytest
from matplotlib import pyplot

matplotlib.use("Agg")

GUIDE = Path(os.environ.get("VI_ROOT") or Path(__file__).parents[2], "docs", "src")


@pytest.mark.timed
@pytest.mark.parametrize("name", ["gallery", *(f"notebooks/{name}" for name in ("intervals", "drift", "bandit", "pooling", "merging"))])
def test_a_notebook(name, monkeypatch):
    path = GUIDE / f"{name}.py"
    monkeypatch.chdir(path.parent)
    pyplot.close("all")
    begun = time.process_time()
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), {})  # noqa: S102
    assert time.process_time() - begun < (40 if name == "gallery" else 20)
    assert len(pyplot.get_fignums()) == 12 if name == "gallery" else pyplot.get_fignums()
    pyplot.close("all")

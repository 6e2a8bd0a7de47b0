"""The guide's Python has the types that the stubs say, as a strict checker sees them."""

import os
import re
from pathlib import Path

from mypy import api

ROOT = Path(os.environ.get("VI_ROOT") or Path(__file__).parents[2])
PAGES = ["README.md", "docs/src/index.md", "docs/src/python.md"]
# Libraries that the guide calls have no types of their own; nor have its functions.
STRICT = ["--strict", "--allow-redefinition-new", "--local-partial-types", "--ignore-missing-imports", "--allow-untyped-defs", "--allow-untyped-calls", "--allow-subclassing-any", "--no-incremental"]


def checked(tmp_path, name, code):
    page = tmp_path / f"{name}.py"
    page.write_text(code, encoding="utf-8")
    said, failed, _ = api.run([*STRICT, str(page)])
    assert not failed, failed
    return said


def test_the_code_of_the_guide(tmp_path):
    for page in PAGES:
        blocks = re.findall(r"```python[^\n]*\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
        assert blocks, page
        # A name may mean something else in a later block.
        said = checked(tmp_path, "page", "\n".join(blocks))
        assert "Success" in said, f"{page}: {said}"


def test_a_wrong_call_is_told(tmp_path):
    wrong = "from rvi.sklearn import BayesianGLMRegressor\nBayesianGLMRegressor(famly='poisson')\n"
    assert 'Unexpected keyword argument "famly"' in checked(tmp_path, "wrong", wrong)

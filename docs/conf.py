"""How Sphinx makes a site of `docs/src`; `cargo xtask docs` calls it."""

import importlib.util
import os
import re
import shutil
from pathlib import Path

import jupytext

HERE = Path(__file__).parent
# Parts and pages of the summary.
LINE = re.compile(r"^(?:# (?P<part>.*)|(?P<indent> *)- \[.*\]\((?P<page>.*)\.(?:md|py)\))$", re.MULTILINE)

project = html_title = "rvi"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
root_doc = "index"
exclude_patterns = ["SUMMARY.md"]
html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = html_show_copyright = False
pygments_style, pygments_dark_style = "friendly", "monokai"
myst_heading_anchors = 4

# Without the package notebooks are shown as they are.
INSTALLED = importlib.util.find_spec("rvi") is not None
nb_custom_formats = {".py": ["jupytext.reads", {"fmt": "py:percent"}]}
nb_execution_mode = "force" if INSTALLED else "off"
suppress_warnings = [] if INSTALLED else ["myst-nb.lexer"]
nb_execution_raise_on_error = nb_merge_streams = True
nb_execution_timeout = 60
profile = Path(os.environ["IPYTHONDIR"], "profile_default")
profile.mkdir(parents=True, exist_ok=True)
(profile / "ipython_kernel_config.py").write_text('c.InlineBackend.figure_formats = {"svg"}\nc.IPKernelApp.log_level = 40\n')
os.environ["MATPLOTLIBRC"] = str(HERE / "matplotlibrc")

# What `cargo doc` has left, if it has run.
RUST = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"), "doc")
RUST_IS_THERE = (RUST / "vi_models" / "index.html").is_file()

default_role = "code"
autodoc_default_options = {"members": True, "inherited-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_google_docstring = False
napoleon_use_ivar = True


def contents(page):
    """The pages that the summary has beneath a page, those beneath none for the first, as tables of contents."""
    found, above, part = {}, "", ""
    for line in LINE.finditer((HERE / "src" / "SUMMARY.md").read_text(encoding="utf-8")):
        if line["part"]:
            part = line["part"]
        elif line["indent"]:
            found.setdefault((above, above), []).append(line["page"])
        else:
            above = line["page"]
            found.setdefault((root_doc, part), []).append(above)
    tables = [(part, pages) for (above, part), pages in found.items() if above == page]
    return "".join(f"\n\n```{{toctree}}\n:hidden:\n:caption: {part}\n\n" + "\n".join(pages) + "\n```" for part, pages in tables)


def read(app, name, source):
    """Takes the lines out of Rust that only its tests need; adds links and the tables of contents."""
    text = re.sub(r"^```rust.*?^```", lambda code: re.sub(r"^# .*\n", "", code[0], flags=re.MULTILINE), source[0], flags=re.MULTILINE | re.DOTALL)
    if name == "reference" and not INSTALLED:
        text = text.partition("```{eval-rst}")[0] + "The package was not there when these pages were made: `cargo xtask python` builds it."
    if name == "reference" and RUST_IS_THERE:
        text = text.replace("The reference of the Rust crates", '<a href="rust/vi_models/index.html">The reference of the Rust crates</a>')
    if (HERE / "src" / f"{name}.py").is_file():
        notebook = f"{Path(name).name}.ipynb"
        text += f'\n# %% [markdown]\n# <a href="{notebook}" download>{notebook}</a> for Jupyter; the data files are those of a clone.\n'
    source[0] = text + contents(name)


def skip(app, kind, name, item, skipped, options):
    """Leaves out the members that come from other packages."""
    return True if not (getattr(item, "__module__", None) or "rvi").startswith("rvi") else None


def finish(app, failed):
    """Adds the notebooks as Jupyter reads them, and the reference of the Rust crates."""
    for path in () if failed else (HERE / "src").rglob("*.py"):
        jupytext.write(jupytext.read(path, fmt="py:percent"), Path(app.outdir, path.relative_to(HERE / "src")).with_suffix(".ipynb"))
    if RUST_IS_THERE and not failed:
        shutil.copytree(RUST, Path(app.outdir, "rust"), dirs_exist_ok=True)


def setup(app):
    app.connect("source-read", read)
    app.connect("autodoc-skip-member", skip)
    app.connect("build-finished", finish)

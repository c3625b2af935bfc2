"""MathJax for a page without a network: the script and its fonts, and none of the 20 MB beside."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util.fileutil import copy_asset

PARTS = {"tex-chtml-full.js": "", "output/chtml/fonts/woff-v2": "output/chtml/fonts/woff-v2"}


def copy_mathjax(app: Sphinx, failure: Exception | None) -> None:
    """Copy it from the installed package ``sphinx-mathjax-offline`` into the built book."""
    if failure or app.builder.format != "html":
        return
    spec = find_spec("sphinx-mathjax-offline")
    if spec is None or spec.origin is None:
        raise RuntimeError("install sphinx-mathjax-offline: the book's formulas need it")
    source = Path(spec.origin).parent / "static" / "mathjax"
    for part, folder in PARTS.items():
        copy_asset(str(source / part), str(Path(app.outdir) / "_static" / "mathjax" / folder))


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("build-finished", copy_mathjax)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

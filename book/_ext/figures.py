"""Figures that a notebook stored as SVG are set into the page, so that they follow its theme.

A stored figure has the colours of ``attention_lab.teaching.figures``: text and axes in one, the
grid in another, on white. In the page they become the colours of the text around it, of the
theme's rules and of the page.
"""

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

COLOURS = {
    "#24292f": "currentColor",
    "#d0d7de": "var(--al-grid)",
    "#ffffff": "var(--pst-color-background)",
}
SVG = "{http://www.w3.org/2000/svg}"
XLINK = "http://www.w3.org/1999/xlink"
LINK = re.compile(r"(?<=url\(#)|(?<=^#)")  # where an attribute names an id
logger = logging.getLogger(__name__)


def inline_svg(text: str, alt: str, prefix: str) -> str:
    """An SVG file as an HTML element: named, sized by the page, ids unique through ``prefix``."""
    ElementTree.register_namespace("", SVG[1:-1])
    ElementTree.register_namespace("xlink", XLINK)
    root = ElementTree.fromstring(text)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):  # a style here would style the page
                parent.remove(child)
        for name, value in parent.attrib.items():
            value = prefix + value if name == "id" else LINK.sub(prefix, value)
            for stored, themed in COLOURS.items():
                value = value.replace(stored, themed)
            parent.set(name, value)
    root.attrib.pop("height", None)
    root.attrib |= {"role": "img", "aria-label": alt, "class": "al-figure"}
    return ElementTree.tostring(root, encoding="unicode")


class InlineFigures(SphinxPostTransform):
    """Runs after myst-nb has chosen one format of each output (priority 4)."""

    default_priority = 5
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for number, image in enumerate(list(self.document.findall(nodes.image))):
            alt, path = image.get("alt", "").strip(), Path(self.env.srcdir, image["uri"])
            if not alt:
                logger.warning(
                    "figure %d has no alternative text (in a notebook: cell metadata "
                    "mystnb.image.alt)",
                    number + 1,
                    location=self.env.docname,
                )
            if path.suffix == ".svg" and is_output(image):
                svg = inline_svg(path.read_text(encoding="utf-8"), alt, f"figure{number + 1}-")
                image.replace_self(nodes.raw("", svg, format="html"))


def is_output(node: nodes.Node) -> bool:
    """Whether a node stands in the output of a code cell."""
    while (node := node.parent) is not None:
        if node.get("nb_element") == "cell_code_output":
            return True
    return False


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(InlineFigures)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

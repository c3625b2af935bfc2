"""Links in the HTML output of a cell: a notebook's address becomes that of its page.

A stored output that names ``05-softmax.ipynb`` leads on in Jupyter, where the notebooks lie side
by side. In the book it has to name ``05-softmax.html``.
"""

import posixpath
import re
from typing import Any

from docutils import nodes
from figures import is_output
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

NOTEBOOK = re.compile(r'(?<=\shref=")([^":#?]+)\.ipynb(?=["#])')
logger = logging.getLogger(__name__)


class OutputLinks(SphinxPostTransform):
    """Runs after myst-nb has chosen one format of each output (priority 4)."""

    default_priority = 6
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        for raw in self.document.findall(nodes.raw):
            if raw.get("format") == "html" and is_output(raw):
                html = NOTEBOOK.sub(self.page, raw.astext())
                raw.children = [nodes.Text(html)]

    def page(self, link: re.Match[str]) -> str:
        """The address of the page of a notebook, as seen from this one."""
        here = self.env.docname
        docname = posixpath.normpath(posixpath.join(posixpath.dirname(here), link[1]))
        if docname not in self.env.found_docs:
            logger.warning("an output links to %s, which is no page", link[0], location=here)
            return link[0]
        return self.app.builder.get_relative_uri(here, docname)


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(OutputLinks)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

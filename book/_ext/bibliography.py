"""The bibliography as a plain list: citations name author and year, so numbers would say nothing.

Docutils writes citations with roles that screen readers no longer know.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform


class CitationsAsList(SphinxPostTransform):
    """Runs after links to citations are resolved (priority 10)."""

    default_priority = 20
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        parents = {id(node.parent): node.parent for node in self.document.findall(nodes.citation)}
        for parent in parents.values():
            items = [nodes.list_item("", *node[1:], ids=node["ids"]) for node in parent]
            parent.replace_self(nodes.bullet_list("", *items, classes=["al-bibliography"]))


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_post_transform(CitationsAsList)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

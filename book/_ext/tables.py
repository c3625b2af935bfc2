"""Tables and paragraphs as docutils nodes: what the pages made by directives share."""

from collections.abc import Iterable
from typing import Any, TypeAlias

from docutils import nodes

Cell: TypeAlias = str | nodes.Node | list[nodes.Node]


def table(
    heads: list[str], body: list[nodes.row], widths: list[int], classes: list[str]
) -> nodes.table:
    group = nodes.tgroup(cols=len(heads))
    group += [nodes.colspec(colwidth=width) for width in widths]
    group += nodes.thead("", row(heads))
    group += nodes.tbody("", *body)
    for line in body:  # the last cell takes the columns that are left
        line[-1]["morecols"] = len(heads) - len(line)
    return nodes.table("", group, classes=["colwidths-given", *classes])


def row(cells: Iterable[Cell], **attributes: Any) -> nodes.row:
    made = nodes.row(**attributes)
    for cell in cells:
        if isinstance(cell, list):
            made += nodes.entry("", *cell)
        else:
            content = nodes.Text(cell) if isinstance(cell, str) else cell
            made += nodes.entry("", nodes.paragraph("", "", content))
    return made


def verbatim(text: str, **attributes: Any) -> nodes.paragraph:
    """A paragraph whose quotes stay as they are: some stand around code."""
    return nodes.paragraph("", text, support_smartquotes=False, **attributes)

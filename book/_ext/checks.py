"""Links between the cells that check claims and the ledger page."""

import json
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any
from zlib import crc32

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain
from sphinx.environment import BuildEnvironment

from attention_lab.teaching import claims
from attention_lab.teaching.claims import Checked


def stored_checks(notebook: Path) -> Iterator[tuple[int, Checked]]:
    """What the stored outputs of a notebook say about claims, each with the index of its cell."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    for index, cell in enumerate(cells):
        for output in cell.get("outputs", []):
            if output.get("name") == "stdout":
                for line in "".join(output["text"]).splitlines():
                    if checked := claims.parse(line):
                        yield index, checked


def slug(role: str, id: str) -> str:
    """The anchor of a claim: ``check-…`` at its cell, ``claim-…`` in the ledger."""
    return f"{role}-{id.replace('.', '-')}"


def anchor(env: BuildEnvironment, role: str, id: str) -> str:
    """Make the anchor of a claim on the page being read known to all pages."""
    domain, name = env.get_domain("std"), slug(role, id)
    assert isinstance(domain, StandardDomain)
    domain.note_hyperlink_target(name, env.docname, name)
    return name


def link(role: str, id: str, text: str, docname: str) -> nodes.Node:
    """A link from the page ``docname`` to the anchor of a claim."""
    content = nodes.inline("", text)
    return pending_xref(
        "",
        content,
        refdomain="std",
        reftype="ref",
        reftarget=slug(role, id),
        refexplicit=True,
        refwarn=True,
        refdoc=docname,
    )


def mark_cells(app: Sphinx, doctree: nodes.document) -> None:
    """Give the cells of a notebook their anchors, and set their lines of checks apart."""
    docname = app.env.docname
    path = Path(app.env.doc2path(docname))
    if path.suffix != ".ipynb":
        return
    checks = list(stored_checks(path))
    cells = [n for n in doctree.findall(nodes.container) if n.get("nb_element") == "cell_code"]
    title_first(cells)
    for cell in cells:
        for index, checked in checks:
            if index == cell["cell_index"]:
                cell["ids"].append(anchor(app.env, "check", checked.id))
        for block in list(cell.findall(nodes.literal_block)):
            if "stream" in block["classes"]:
                block.replace_self(set_apart(block, docname))


def title_first(cells: list[nodes.container]) -> None:
    """Cells above the title, such as the one that installs the package, join the first below."""
    above = [cell for cell in cells if isinstance(cell.parent, nodes.document)]
    below = [cell for cell in cells if cell not in above]
    if above and below:
        for cell in above:
            cell.parent.remove(cell)
        section = below[0].parent
        place = section.index(below[0])
        section[place:place] = above


def set_apart(block: nodes.literal_block, docname: str) -> list[nodes.Node]:
    """A printed block as several: runs of checks, each line a link to the ledger, and the rest."""
    parts: list[nodes.Node] = []
    for is_check, run in groupby(
        block.astext().splitlines(), lambda line: bool(claims.parse(line))
    ):
        lines = list(run)
        text = "\n".join(lines).strip("\n")
        if not text:
            continue
        part = block.copy()
        part.rawsource = "" if is_check else text  # with a source, only its text would be shown
        if is_check:
            part["classes"].append("al-check")
            for number, line in enumerate(lines):
                mark, id, rest = line.split(" ", 2)
                before = "\n" * bool(number) + mark + " "
                part += [nodes.Text(before), link("claim", id, id, docname), nodes.Text(f" {rest}")]
        else:
            part += nodes.Text(text)
        parts.append(part)
    return parts


def setup(app: Sphinx) -> dict[str, Any]:
    app.connect("doctree-read", mark_cells)
    # Pages are kept between builds: any change in this folder has them all read again.
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return {"env_version": crc32(code), "parallel_read_safe": True, "parallel_write_safe": True}

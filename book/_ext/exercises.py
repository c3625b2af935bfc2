"""``{exercises}``: a table of exercises, found in the notebooks by the names of their checks."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import row, table

TITLE = re.compile(r"^\*\*\d+\. (.+?)\*\*", re.MULTILINE)
CHECK = re.compile(r"^# exercises\.(check_\w+)", re.MULTILINE)


class Exercise(NamedTuple):
    check: str
    title: str
    chapter: str  # the notebook's name, without its ending


def exercises(folder: Path) -> Iterator[Exercise]:
    """Each cell that calls a check, with the last title before it."""
    for path in sorted(folder.glob("*.ipynb")):
        title = ""
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "markdown":
                title = next(reversed(TITLE.findall(source)), title)
            elif found := CHECK.search(source):
                yield Exercise(found[1], title.rstrip("."), path.stem)


class Exercises(SphinxDirective):
    """The body names checks; the table has a row each, in the order of the book."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        folder = Path(self.env.srcdir, "notebooks")
        for path in folder.glob("*.ipynb"):
            self.env.note_dependency(str(path))
        found = {exercise.check: exercise for exercise in exercises(folder)}
        asked = " ".join(self.content).split()
        if unknown := [name for name in asked if name not in found]:
            raise self.error(f"no chapter has {', '.join(unknown)}")
        rows = []
        for check, title, chapter in found.values():
            if check in asked:
                link = f"[{int(chapter[:2])}](../notebooks/{chapter}.ipynb#exercises)"
                cells = [self.parse_inline(text)[0] for text in (title, link, f"`{check}`")]
                rows.append(row([nodes.inline("", "", *cell) for cell in cells]))
        return [table(["Exercise", "Chapter", "Its check"], rows, [56, 10, 34], ["al-exercises"])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("exercises", Exercises)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

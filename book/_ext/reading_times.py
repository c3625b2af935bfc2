"""``{reading-times}``: how long it takes to read each chapter, counted from its notebook."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import row, table

WORDS = 150  # of prose, read in a minute
LINE = 5 / 60  # minutes for a line of code
ROUND = 5  # minutes: the table promises no more than that


def minutes(cells: list[dict[str, Any]]) -> float:
    """Reading time of a notebook's cells: prose without folded solutions, code without boot."""
    words = lines = 0
    for cell in cells:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and cell.get("id") != "boot":
            lines += sum(bool(line.strip()) for line in source.splitlines())
        elif cell["cell_type"] == "markdown" and not source.startswith("<details"):
            words += len(source.split())
    return words / WORDS + lines * LINE


def rounded(time: float) -> int:
    """To the nearest five minutes, and at least five."""
    return max(ROUND, ROUND * round(time / ROUND))


class ReadingTimes(SphinxDirective):
    """A row for each notebook: its title as a link, and its minutes; below, the sum."""

    def run(self) -> list[nodes.Node]:
        rows, total = [], 0
        for path in sorted(Path(self.env.srcdir, "notebooks").glob("*.ipynb")):
            self.env.note_dependency(str(path))
            cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
            heading = next("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            title = heading.splitlines()[0].removeprefix("# ")
            link = f"[{int(path.stem[:2])}. {title}](../notebooks/{path.name})"
            time = rounded(minutes(cells))
            total += time
            chapter = nodes.inline("", "", *self.parse_inline(link)[0])
            rows.append(row([chapter, f"{time} min"]))
        rows.append(row(["All of them", f"{total / 60:.0f} hours"]))
        return [table(["Chapter", "To read"], rows, [80, 20], ["al-times"])]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("reading-times", ReadingTimes)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

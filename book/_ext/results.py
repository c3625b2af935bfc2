"""``{results} NAME``: the table that a command in benchmarks/ stored, and what made it."""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from tables import row, table, verbatim

FOLDER = "benchmarks/results"


class Results(SphinxDirective):
    """The table of benchmarks/results/NAME.json, with its command, date and machine below."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        path = Path(self.env.srcdir, FOLDER, f"{self.arguments[0]}.json")
        self.env.note_dependency(str(path))
        if not path.exists():
            raise self.error(f"{path.name} is not in {FOLDER}: run its command")
        found = json.loads(path.read_text(encoding="utf-8"))
        body = [row(cells) for cells in found["rows"]]
        widths = [100 // len(found["columns"])] * len(found["columns"])
        made = [
            nodes.Text("Made by "),
            nodes.literal("", found["command"]),
            nodes.Text(f" on {found['date']}: {found['machine']}."),
        ]
        note = verbatim("", classes=["al-note"])
        note += made
        return [table(found["columns"], body, widths, ["al-results"]), note]


def setup(app: Sphinx) -> dict[str, Any]:
    app.add_directive("results", Results)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

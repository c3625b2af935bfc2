"""A chapter written as text becomes a notebook; a cell that was there before keeps its id."""

from pathlib import Path
from typing import Any

import chapter_files
import jupytext
import nbformat
from repository import boot_source


def convert(text: Path, notebook: Path) -> None:
    """Write ``notebook`` from ``text``, any format that jupytext reads; percent scripts are best.

    Cells that the notebook already has keep their ids, and with the same code their outputs.
    """
    nb = jupytext.read(text)
    old = chapter_files.read(notebook) if notebook.exists() else nbformat.v4.new_notebook()
    nb.metadata = old.metadata
    for cell in nb.cells:
        cell.pop("id", None)  # a random one
    keep_cells(nb.cells, old.cells)
    chapter_files.put_boot(nb, boot_source())
    chapter_files.name_cells(nb.cells)
    chapter_files.write(notebook, chapter_files.normalised(nb))


def keep_cells(new: list[Any], old: list[Any]) -> None:
    """Carry ids over: by equal source, else to the cell that follows the same cell as before."""
    rest = list(range(len(old)))
    match: dict[int, int] = {}
    for i, cell in enumerate(new):
        same = (j for j in rest if _key(old[j]) == _key(cell))
        if (j := next(same, None)) is not None:
            match[i] = j
            rest.remove(j)
    for i, cell in enumerate(new):
        j = match.get(i - 1, -1) + 1
        if i not in match and j in rest and old[j].cell_type == cell.cell_type:
            match[i] = j
            rest.remove(j)
    for i, j in match.items():
        new[i]["id"] = old[j]["id"]
        if new[i].cell_type == "code" and new[i].source == old[j].source:
            new[i].outputs, new[i].execution_count = old[j].outputs, old[j].execution_count


def _key(cell: Any) -> tuple[str, str]:
    boot = chapter_files.is_boot(cell)  # its text changes with the address
    return cell.cell_type, "boot" if boot else cell.source

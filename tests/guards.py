"""What the guards on the chapters share: a test for each chapter, a report that names the cell."""

from collections.abc import Iterator
from pathlib import Path

import chapter_files
import pytest

CHAPTERS = chapter_files.chapters()
each = pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)


def report(path: Path, faults: Iterator[tuple[str, str]]) -> None:
    """Fail with one line a fault, which names the notebook and the cell."""
    found = [f"{path.name}, cell {cell}: {what}" for cell, what in faults]
    assert not found, "\n" + "\n".join(found)

"""How long each chapter takes, run alone in a fresh kernel: the whole, and its slowest cell.

python benchmarks/run_times.py [NOTEBOOK ...]
"""

import sys
import tempfile
import time
from pathlib import Path

import nbformat
from _results import store
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def seconds(path: Path) -> tuple[float, float]:
    """(all, slowest cell): of all, the kernel's start is a part."""
    nb = nbformat.read(path, as_version=4)
    begun: list[float] = []
    ended: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            nb,
            timeout=600,
            resources={"metadata": {"path": folder}},
            on_cell_execute=lambda **_: begun.append(time.perf_counter()),
            on_cell_complete=lambda **_: ended.append(time.perf_counter()),
        )
        start = time.perf_counter()
        client.execute()
    whole = time.perf_counter() - start
    return whole, max(e - b for b, e in zip(begun, ended, strict=False))


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb"))
    rows, total = [], 0.0
    for path in paths:
        whole, slowest = seconds(path)
        title = nbformat.read(path, as_version=4).cells[1].source.splitlines()[0].lstrip("# ")
        rows.append([f"{int(path.stem[:2])}. {title}", f"{whole:.0f} s", f"{slowest:.0f} s"])
        total += whole
    rows.append(["All chapters, one after the other", f"{total / 60:.1f} min", ""])
    store("run-times", ["Chapter", "Run time", "Slowest cell"], rows)


if __name__ == "__main__":
    main()

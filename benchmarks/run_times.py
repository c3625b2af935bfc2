"""How long each chapter takes, run alone from the start of a fresh kernel to its last cell.

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


def seconds(path: Path) -> float:
    nb = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        NotebookClient(nb, timeout=600, resources={"metadata": {"path": folder}}).execute()
        return time.perf_counter() - start


def main() -> None:
    paths = [Path(name) for name in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb"))
    rows, total = [], 0.0
    for path in paths:
        whole = seconds(path)
        title = nbformat.read(path, as_version=4).cells[1].source.splitlines()[0].lstrip("# ")
        rows.append([f"{int(path.stem[:2])}. {title}", f"{whole:.0f} s"])
        total += whole
    rows.append(["All chapters, one after the other", f"{total / 60:.1f} min"])
    store("run-times", ["Chapter", "Run time"], rows)


if __name__ == "__main__":
    main()

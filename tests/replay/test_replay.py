"""Each chapter as an impatient reader runs it: every cell twice in a row, in an empty folder.

Run by `make replay`: some minutes. What a cell prints may differ the second time (a generator has
moved on), but no cell may fail, warn or write to stderr, no file may be left, and the memory must
fit a small machine. matplotlib starts without its font cache, and a warning of a missing glyph is
an error.
"""

import json
import subprocess
import sys
from pathlib import Path

import chapter_files
import nbformat
import pytest

CHAPTERS = chapter_files.chapters()
MEMORY = 1_200_000_000  # bytes
CLIENT = """
import resource, sys, nbformat
from nbclient import NotebookClient
from notebooks import ThisPython
nb = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(
    nb,
    kernel_name="python3",
    kernel_manager_class=ThisPython,
    extra_arguments=["--IPKernelApp.log_level=ERROR"],
    timeout=300,
    allow_errors=True,
    resources={"metadata": {"path": sys.argv[2]}},
).execute()
nbformat.write(nb, sys.argv[1])
unit = 1 if sys.platform == "darwin" else 1024
print(unit * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_every_cell_runs_twice_in_a_row(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nb = chapter_files.read(path)
    cells = []
    for cell in nb.cells:
        again = nbformat.from_dict(json.loads(json.dumps(cell)))
        again.id = f"again-{cell.id}"[:64]
        cells += [cell, again] if cell.cell_type == "code" else []
    nb.cells = cells
    file, here = tmp_path / path.name, tmp_path / "empty"
    here.mkdir()
    nbformat.write(nb, file)
    tools = str(chapter_files.ROOT / "tools")
    monkeypatch.setenv("MPLCONFIGDIR", str(tmp_path / "matplotlib"))
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning")
    client = f"import sys; sys.path.insert(0, {tools!r})\n{CLIENT}"
    command = [sys.executable, "-c", client, file, here]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr[-3000:]

    faults = []
    for cell in nbformat.read(file, as_version=4).cells:
        meant = "raises-exception" in chapter_files.tags(cell)
        for output in cell.outputs:
            if output.output_type == "error" and not meant:
                faults.append(f"{cell.id}: {output.ename}: {output.evalue}")
            if output.get("name") == "stderr":
                faults.append(f"{cell.id}: writes to stderr: {output.text}")
    assert not faults, f"{path.name}\n" + "\n".join(faults)
    assert not list(here.iterdir()), "a chapter leaves no files"
    assert int(done.stdout.split()[-1]) < MEMORY

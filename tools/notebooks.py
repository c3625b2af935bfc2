"""The notebooks' one command: refresh, fresh, convert, repository. `--help` says what each does."""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import chapter_files
import nbformat
from convert import convert
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellControlSignal
from repository import boot_source, set_address
from traitlets import default

CELL_TIMEOUT = 120  # seconds, as in `make test`
WIDTH = "--line-length=79"  # of a chapter's code, as in `make lint`
FORMAT = ("-m", "ruff", "format", WIDTH, "--config")


class ThisPython(AsyncKernelManager):
    """A kernel of this very Python, whatever kernels the user's settings may name."""

    @default("kernel_spec_manager")
    def _only_this_python(self) -> KernelSpecManager:
        return KernelSpecManager(kernel_dirs=[])


class NotebookFault(Exception):
    """A notebook that must not be stored; the message names notebook and cell."""


def formatted(path: Path, nb: Any) -> Any:
    """The notebook with its code as `ruff format` writes it."""
    settings = str(chapter_files.ROOT / "pyproject.toml")
    command = [sys.executable, *FORMAT, settings, "--stdin-filename", str(path), "-"]
    run = subprocess.run(
        command, input=chapter_files.dumps(nb), capture_output=True, encoding="utf-8"
    )
    if run.returncode:
        raise NotebookFault(f"{path.name}: {run.stderr.strip()}")
    return nbformat.v4.reads(run.stdout)


def execute(path: Path, nb: Any) -> None:
    """Run all cells in a fresh kernel of this Python, in an empty folder, and keep the outputs."""
    current = ""

    def started(cell: Any, cell_index: int) -> None:
        nonlocal current
        current = cell.id

    with tempfile.TemporaryDirectory() as folder:
        client = NotebookClient(
            nb,
            kernel_name="python3",
            kernel_manager_class=ThisPython,
            extra_arguments=["--IPKernelApp.log_level=ERROR"],
            timeout=CELL_TIMEOUT,
            record_timing=False,
            resources={"metadata": {"path": folder}},
            on_cell_start=started,
        )
        try:
            client.execute()
        except (CellControlSignal, RuntimeError) as error:  # the latter: no kernel, or a dead one
            raise NotebookFault(f"{path.name}, cell {current or 'boot'}: {error}") from None
    for cell in chapter_files.code_cells(nb):
        where = f"{path.name}, cell {cell.id}"
        for output in cell.outputs:
            if output.get("name") == "stderr":
                raise NotebookFault(f"{where}: it writes to stderr: {output.text.strip()}")
        kinds = [output.output_type for output in cell.outputs]
        if "raises-exception" in chapter_files.tags(cell) and "error" not in kinds:
            raise NotebookFault(f"{where}: tagged raises-exception, and it raises nothing")


def refresh(path: Path, stale_only: bool = False) -> str:
    """Run the notebook and store it; nothing is stored when a cell fails. Returns what was done."""
    nb = chapter_files.read(path)
    counts = [cell.execution_count for cell in chapter_files.code_cells(nb)]
    complete = counts == list(range(1, len(counts) + 1))
    if stale_only and complete and chapter_files.is_fresh(nb):
        return "fresh already"
    chapter_files.put_boot(nb, boot_source())
    nb = formatted(path, nb)
    execute(path, nb)
    nb.metadata["attention_lab"] = {"sources": chapter_files.digest(nb)}
    return "stored" if chapter_files.write(path, chapter_files.normalised(nb)) else "unchanged"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    sub = commands.add_parser("refresh", help="run notebooks and store their outputs")
    sub.add_argument("notebooks", nargs="*", type=Path, help="default: all")
    sub.add_argument("--stale-only", action="store_true", help="pass over those that are fresh")
    commands.add_parser("fresh", help="fail when stored outputs are older than their code")
    sub = commands.add_parser("convert", help="make a notebook from a text that jupytext reads")
    sub.add_argument("text", type=Path)
    sub.add_argument("notebook", type=Path)
    sub = commands.add_parser("repository", help="set the one address of the repository")
    sub.add_argument("url")
    given = parser.parse_args()
    try:
        if given.command == "refresh":
            for path in given.notebooks or chapter_files.chapters():
                print(f"{path.name}: {refresh(path, given.stale_only)}", flush=True)
        elif given.command == "convert":
            convert(given.text, given.notebook)
        elif given.command == "repository":
            for path in set_address(given.url):
                print(path.relative_to(chapter_files.ROOT))
        else:
            stale = [
                path.name
                for path in chapter_files.chapters()
                if not chapter_files.is_fresh(chapter_files.read(path))
            ]
            if stale:
                what = "Stored outputs are older than the package or their own cells"
                raise NotebookFault(f"{what}: {', '.join(stale)}. Run: make refresh")
    except (NotebookFault, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

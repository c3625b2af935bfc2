"""Chapters as files: one notebook always has the same bytes, and a cell keeps its id."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import nbformat

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "attention_lab"
SOURCES = (".py", ".toml", ".js", ".json")
KEPT = ("mystnb", "tags")  # cell metadata that authors write
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}
BOOT = """\
# In Colab this installs the course's package; elsewhere it does nothing.
import importlib.util
import os

if importlib.util.find_spec("attention_lab") is None:
    source = "git+{url}@{branch}"
    if "COLAB_RELEASE_TAG" not in os.environ:
        raise ModuleNotFoundError(f"run: make book, or pip install {{source}}")
    print(f"Installing attention_lab from {{source}}")
    %pip install -q --no-deps {{source}}"""


def chapters(root: Path = ROOT) -> list[Path]:
    """The notebooks, in the book's order."""
    return sorted((root / "notebooks").glob("*.ipynb"))


def read(path: Path) -> Any:
    """The notebook as it is stored, with an id for each cell that has none and Unix line ends.

    Raises ``ValueError``, by the file's name, for what is no notebook (a merge left undone, say).
    """
    try:
        nb = nbformat.v4.reads(path.read_text(encoding="utf-8"))
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path.name}: no notebook: {error}") from None
    for cell in nb.cells:
        cell.source = cell.source.replace("\r\n", "\n")
    name_cells(nb.cells)
    return nb


def dumps(nb: Any) -> str:
    """A notebook's text. An invalid notebook raises ``nbformat.ValidationError``."""
    nbformat.validate(nb)
    return str(nbformat.v4.writes(nb)) + "\n"


def write(path: Path, nb: Any) -> bool:
    """Store the notebook; False when the file is the same already."""
    text = dumps(nb).encode()
    if path.exists() and path.read_bytes() == text:
        return False
    path.write_bytes(text)
    return True


def code_cells(nb: Any) -> list[Any]:
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def name_cells(cells: list[Any]) -> None:
    """Give an id, made of its first words, to each cell that has none or another cell's."""
    taken = {cell["id"] for cell in cells if "id" in cell}
    seen: set[str] = set()
    for cell in cells:
        if cell.get("id", "") in seen or "id" not in cell:
            heading = re.search(r"^#+ .+|\S.*", re.sub(r"<[^>]*>", " ", cell.source), re.MULTILINE)
            words = re.findall(r"[a-z0-9]+", heading.group().lower() if heading else "")
            stem = name = "-".join(words)[:40].strip("-") or "cell"
            count = 1
            while name in taken:
                count += 1
                name = f"{stem}-{count}"
            cell["id"] = name
            taken.add(name)
        seen.add(cell["id"])


def is_boot(cell: Any) -> bool:
    return cell.cell_type == "code" and 'find_spec("attention_lab")' in cell.source


def put_boot(nb: Any, source: str) -> None:
    """Make the first code cell the boot cell; a new one comes before all others."""
    boot = next((cell for cell in nb.cells if is_boot(cell)), None)
    if boot is None:
        boot = nbformat.v4.new_code_cell()
        nb.cells.insert(0, boot)
    boot.update(source=source, id="boot")
    boot.metadata["tags"] = ["hide-input"]


def normalised(nb: Any) -> Any:
    """A copy without whatever another machine, run or editor would store differently."""
    new = nbformat.from_dict(json.loads(json.dumps(nb)))
    ours = nb.metadata.get("attention_lab")
    new.metadata = nbformat.from_dict(METADATA | ({"attention_lab": ours} if ours else {}))
    new.nbformat, new.nbformat_minor = 4, 5
    for cell in new.cells:
        cell.metadata = {key: cell.metadata[key] for key in KEPT if key in cell.metadata}
        if cell.cell_type == "code":
            cell.outputs = _merged(cell.outputs)
    return new


def _merged(outputs: list[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one; of a traceback (it names paths) the last line."""
    merged: list[Any] = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "error":
            output.traceback = [f"{output.ename}: {output.evalue}"]
        if output.output_type == "stream" and last.get("name") == output.name:
            last["text"] += output.text
        else:
            merged.append(output)
    return merged


def digest(nb: Any, package: Path = PACKAGE) -> str:
    """sha256 of what the outputs depend on: the package's files, the code cells but the boot."""
    paths = sorted(p.relative_to(package).as_posix() for p in package.rglob("*"))
    files = [p for p in paths if Path(p).suffix in SOURCES and "/." not in f"/{p}"]
    texts = [(package / p).read_text(encoding="utf-8") for p in files]
    cells = [cell.source for cell in code_cells(nb) if not is_boot(cell)]
    return hashlib.sha256(json.dumps([files, texts, cells]).encode()).hexdigest()


def is_fresh(nb: Any, package: Path = PACKAGE) -> bool:
    """Whether the stored outputs are those of this code."""
    return bool(nb.metadata.get("attention_lab", {}).get("sources") == digest(nb, package))

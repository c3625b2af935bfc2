"""Guards on every text file of the repository: UTF-8, Unix line ends, nothing unseen."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from chapter_files import ROOT

BINARY = {".png", ".woff2"}  # as in .gitattributes
UNSEEN = {b"\r": "CR: save it with LF alone", "\ufeff".encode(): "a byte order mark"}


def files() -> list[Path]:
    """What git has, but for pictures and fonts."""
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout
    paths = [ROOT / name for name in listed.split("\0") if name]
    return [path for path in paths if path.is_file() and path.suffix not in BINARY]


def line(data: bytes, index: int) -> int:
    return data.count(b"\n", 0, index) + 1


def faults(data: bytes) -> Iterator[str]:
    try:
        data.decode()
    except UnicodeDecodeError as error:
        yield f"line {line(data, error.start)} is not UTF-8"
        return
    for unseen, what in UNSEEN.items():
        if unseen in data:
            yield f"line {line(data, data.index(unseen))} has {what}"
    if not data.endswith(b"\n") and data:
        yield "the last line is not ended"


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no git checkout")
def test_text_is_utf8_in_lines_that_end_in_lf() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {what}"
        for path in files()
        for what in faults(path.read_bytes())
    ]
    assert not found, "\n" + "\n".join(found)

"""The cached file of the corpus: where it lies, and how it is read, set aside and stored."""

import os
import secrets
from pathlib import Path

from platformdirs import user_cache_dir


def path_of_text() -> Path:
    """Where the text is cached: in the folder ATTENTION_LAB_CACHE, else the user's cache folder."""
    folder = os.environ.get("ATTENTION_LAB_CACHE") or user_cache_dir("attention-lab")
    return Path(folder).expanduser() / "tinyshakespeare.txt"


def read_file(path: Path) -> bytes:
    if path.exists() and not path.is_file():
        raise ValueError("not a file but a folder or the like")
    return path.read_bytes()


def set_aside(path: Path) -> str:
    """Move what is at `path` out of the way, and say where to (or why not)."""
    why = ""
    for ending in (".bad", ".bad2", ".bad3"):  # a folder can't be overwritten
        aside = path.with_name(path.name + ending)
        try:
            os.replace(path, aside)
            return f"set aside as {aside.name}"
        except OSError as error:
            why = reason(error)
    return f"could not be set aside ({why})"


def store(path: Path, data: bytes) -> None:
    """Write `data` whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")
    try:
        temporary.write_bytes(data)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def reason(error: Exception) -> str:
    """The reason alone, without the path that the message names already."""
    return getattr(error, "strerror", None) or str(error)

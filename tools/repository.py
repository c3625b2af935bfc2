"""The one address of the repository: `_config.yml` holds it, all other places repeat it."""

import re
from pathlib import Path

import chapter_files
import yaml

FILES = ("_config.yml", "README.md", "CONTRIBUTING.md", "CITATION.cff")
COLAB = "colab.research.google.com/github/"


def address(root: Path = chapter_files.ROOT) -> tuple[str, str]:
    """Address and branch, from `_config.yml`."""
    config = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return config["repository"]["url"], config["repository"]["branch"]


def boot_source(root: Path = chapter_files.ROOT) -> str:
    """The boot cell's text for this address."""
    url, branch = address(root)
    return chapter_files.BOOT.format(url=url, branch=branch)


def set_address(new: str, root: Path = chapter_files.ROOT) -> list[Path]:
    """Write the address wherever it stands, and return the files changed.

    Raises ``ValueError`` for anything but https://HOST/OWNER/NAME.
    """
    new = new.strip().removesuffix("/").removesuffix(".git")
    if not re.fullmatch(r"https://[\w.-]+(:\d+)?(/[\w.-]*\w[\w.-]*){2,}", new, re.ASCII):
        raise ValueError(f"not an address like https://github.com/OWNER/NAME: {new!r}")
    old, _branch = address(root)
    changed = []
    for path in [root / name for name in FILES] + sorted((root / "book").rglob("*.md")):
        before = path.read_text(encoding="utf-8")
        text = _replaced(before, old, new)
        text = _replaced(text, COLAB + _owner_name(old), COLAB + _owner_name(new))
        if text != before:
            path.write_text(text, encoding="utf-8", newline="\n")
            changed.append(path)
    for path in chapter_files.chapters(root):
        nb = chapter_files.read(path)
        chapter_files.put_boot(nb, boot_source(root))
        if chapter_files.write(path, nb):
            changed.append(path)
    return changed


def _replaced(text: str, old: str, new: str) -> str:
    """``old`` becomes ``new``, unless it is but the beginning of a longer name."""
    return re.sub(re.escape(old) + r"(?![\w-])", lambda _match: new, text)


def _owner_name(url: str) -> str:
    return url.split("/", 3)[3]

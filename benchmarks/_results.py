"""Where a benchmark puts its table: results/NAME.json, with what made it, when and where."""

import json
import os
import platform
import sys
import time
from pathlib import Path

import torch

RESULTS = Path(__file__).parent / "results"


def store(name: str, columns: list[str], rows: list[list[str]], **more: object) -> None:
    """Print the table, and write it down with what made it. The book shows what is written."""
    threads = torch.get_num_threads()
    result = {
        "command": " ".join(["python", *map(_relative, sys.argv)]),
        "date": time.strftime("%Y-%m-%d"),
        "machine": f"{_cpu()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"torch {torch.__version__}, {threads} thread{'s' * (threads != 1)}",
        **more,
        "columns": columns,
        "rows": rows,
    }
    for row in [columns, *rows]:
        print("  ".join(row))
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    (RESULTS / f"{name}.json").write_text(text, encoding="utf-8")


def _cpu() -> str:
    """What the processor calls itself, where Linux says."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _relative(argument: str) -> str:
    """A path inside the repository as seen from its root."""
    root = Path(__file__).parent.parent
    path = Path(argument)
    inside = path.is_absolute() and path.is_relative_to(root)
    return path.relative_to(root).as_posix() if inside else argument

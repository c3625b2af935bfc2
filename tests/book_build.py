"""What the tests of the built book share: its entries, and a build with warnings as errors."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
ENTRIES = [TOC["root"], *(c["file"] for part in TOC["parts"] for c in part["chapters"])]
CHAPTERS = [entry for entry in ENTRIES if entry.startswith("notebooks/")]


def copy_sources(target: Path) -> Path:
    """The book's sources, with two stray files in their root that are not to be published."""
    for name in ("book", "notebooks"):
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    results = Path("benchmarks", "results")
    shutil.copytree(ROOT / results, target / results)
    for name in ("_config.yml", "_toc.yml"):
        shutil.copy(ROOT / name, target)
    (target / "zzstray.md").write_text("# Zzstray\n\n#### A jump\n", encoding="utf-8")
    cell = {"cell_type": "code", "source": "1/0", "outputs": [], "execution_count": None}
    notebook = {"cells": [cell | {"metadata": {}}], "metadata": {}, "nbformat": 4}
    text = json.dumps(notebook | {"nbformat_minor": 4})
    (target / "zzstray.ipynb").write_text(text, encoding="utf-8")
    return target


def build(source: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("jupyter-book"), "build", source, "-W", "-n"]
    return subprocess.run([*command, "--keep-going"], capture_output=True, encoding="utf-8")

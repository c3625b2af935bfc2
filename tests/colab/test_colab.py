"""Each notebook as Colab would run it: alone, in an empty folder, with Colab's versions.

Run by `make colab`, which needs a network: a fresh virtual environment gets torch, numpy,
matplotlib, IPython and ipykernel as Colab has them, and the notebook's first cell installs the
package from a clone of this tree in place of its address.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import chapter_files
import pytest

# Colab's in August 2026, but for torch, where any release that the package allows will do.
VERSIONS = ["numpy==2.1.3", "matplotlib==3.10.0", "ipython==7.34.0", "ipykernel==6.17.1"]
TORCH = next(
    line
    for line in (chapter_files.ROOT / "requirements.txt").read_text("utf-8").splitlines()
    if line.startswith("torch==")
)
OTHERS = ["tqdm", "platformdirs", "safetensors", "setuptools<81"]  # Colab has them too
CHAPTERS = chapter_files.chapters()
CLIENT = """
import sys, nbformat
from nbclient import NotebookClient
nb = nbformat.read(sys.argv[1], as_version=4)
here = {"metadata": {"path": "."}}
NotebookClient(nb, kernel_name="colab", timeout=180, resources=here).execute()
nbformat.write(nb, sys.argv[1])
"""


def sh(*command: object, **options: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a repository that holds this tree as its branch main."""
    folder = tmp_path_factory.mktemp("clone") / "attention-lab"
    listed = sh(
        "git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=chapter_files.ROOT
    )
    for name in listed.splitlines():
        source, target = chapter_files.ROOT / name, folder / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    who = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    sh("git", "init", "-q", "-b", "main", cwd=folder)
    sh("git", "add", "--all", cwd=folder)
    sh("git", *who, "commit", "-q", "-m", "as it stands", cwd=folder)
    return folder.as_uri()


@pytest.fixture(scope="session")
def colab(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str], str]:
    """Python of Colab's versions, the environment of its kernels, and what pip had installed."""
    folder = tmp_path_factory.mktemp("colab")
    sh(sys.executable, "-m", "venv", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    sh(python, "-m", "pip", "install", "-q", TORCH, *VERSIONS, *OTHERS)
    kernel = folder / "kernels" / "colab"
    kernel.mkdir(parents=True)
    argv = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    spec = {"argv": argv, "display_name": "Colab", "language": "python"}
    (kernel / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment |= {"COLAB_RELEASE_TAG": "simulated", "JUPYTER_PATH": str(folder)}
    return python, environment, sh(python, "-m", "pip", "freeze")


@pytest.fixture(autouse=True)
def not_installed(colab: tuple[Path, dict[str, str], str]) -> None:
    """Each notebook finds a runtime that has never seen the package."""
    sh(colab[0], "-m", "pip", "uninstall", "-q", "-y", "attention-lab")


@pytest.mark.slow
@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_runs_alone_as_in_colab(
    path: Path, colab: tuple[Path, dict[str, str], str], clone: str, tmp_path: Path
) -> None:
    python, environment, before = colab
    nb = chapter_files.read(path)
    boot = chapter_files.code_cells(nb)[0]
    address = boot.source.split('"git+')[1].split("@")[0]
    boot.source = boot.source.replace(address, clone)
    (tmp_path / path.name).write_text(chapter_files.dumps(nb), encoding="utf-8")
    sh(sys.executable, "-c", CLIENT, path.name, cwd=tmp_path, env=environment)

    ran = chapter_files.code_cells(chapter_files.read(tmp_path / path.name))
    stored = chapter_files.code_cells(chapter_files.read(path))
    said = "".join(o.get("text", "") for o in ran[0].outputs)
    assert f"Installing attention_lab from git+{clone}" in said
    checked = [lines(cell) for cell in ran[1:]]
    assert checked == [lines(cell) for cell in stored[1:]], "the checks say something else"
    after = sh(python, "-m", "pip", "freeze")
    changed = set(after.splitlines()) ^ set(before.splitlines())
    assert all(line.startswith("attention-lab") for line in changed), changed
    assert [p.name for p in tmp_path.iterdir()] == [path.name], "a chapter leaves no files"


def lines(cell: object) -> list[str]:
    """The checks' names that a cell printed."""
    text = "".join(o.get("text", "") for o in cell.outputs if o.get("name") == "stdout")  # type: ignore[attr-defined]
    return [line.split(" · ")[0] for line in text.splitlines() if line.startswith("✓")]

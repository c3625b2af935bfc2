"""The guards are guarded: a copy of the course is spoilt, and what `make` runs names the place."""

import ast
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import chapter_files
import mutants
import pytest
from chapter_files import ROOT

import notebooks

CHAPTER, BEFORE = "04-a-product-is-a-weighted-sum", "03-the-average"  # the one links to the other
FOLDERS = ("book", "notebooks", "src", "tests", "tools")
FILES = (".gitignore", "_config.yml", "_toc.yml", "pyproject.toml")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8").replace("\\\n", "")
NBVAL = shlex.split(re.findall(r"^NBVAL := (.*)", MAKEFILE, re.MULTILINE)[0])

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="no git")
Notebook = dict[str, Any]


class Case(NamedTuple):
    spoil: Callable[[Path], str]  # the tree -> the place, as the guard has to name it
    guard: str  # what finds it
    says: str  # and its words


def run(guard: str, tree: Path) -> subprocess.CompletedProcess[str]:
    """The guard on a tree: a test, strict nbval of a notebook, or what `make book` runs first."""
    kind, _, rest = guard.partition(" ")
    options = ["-q", "-p", "no:cacheprovider", "--color=no"]
    command = {
        "fresh": ["tools/notebooks.py", "fresh"],
        "nbval": ["-m", "pytest", *options, *NBVAL, rest],
        "pytest": ["-m", "pytest", *options, *rest.split()],
    }[kind]
    quick = {} if kind == "nbval" else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=tree,
        env={**os.environ, **quick, "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
    )


# --- ways to spoil ---------------------------------------------------------------------------


def notebook(name: str, change: Callable[[Notebook], str]) -> Callable[[Path], str]:
    """The change, made in the stored file; it returns the cell."""

    def spoil(tree: Path) -> str:
        path = tree / "notebooks" / f"{name}.ipynb"
        nb = json.loads(path.read_text(encoding="utf-8"))
        cell = change(nb)
        text = json.dumps(nb, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, encoding="utf-8", newline="\n")
        return f"{name}.ipynb{cell}"

    return spoil


def in_cell(name: str, kind: str, pattern: str, text: str) -> Callable[[Path], str]:
    """A text in the first source, or the first output, that has the pattern."""

    def change(nb: Notebook) -> str:
        for cell in nb["cells"]:
            outputs = [output["text"] for output in cell.get("outputs", []) if "text" in output]
            lines = [cell["source"]] if kind == cell["cell_type"] else outputs
            for found in lines if kind in (cell["cell_type"], "output") else []:
                if re.search(pattern, "".join(found)):
                    found[:] = [re.sub(pattern, text, "".join(found), count=1)]
                    return f", cell {cell['id']}:"
        raise AssertionError(f"{name} has no {pattern}")

    return notebook(name, change)


def cleared(nb: Notebook) -> str:
    for cell in nb["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    return ""


def one_cleared(nb: Notebook) -> str:
    cell = next(cell for cell in nb["cells"] if cell.get("outputs"))
    cell["outputs"] = []
    return f", cell {cell['id']}:"


def no_alt(nb: Notebook) -> str:
    cell = next(cell for cell in nb["cells"] if "mystnb" in cell["metadata"])
    del cell["metadata"]["mystnb"]
    return f", cell {cell['id']}:"


def skipped(nb: Notebook) -> str:
    cell = next(cell for cell in nb["cells"] if cell["cell_type"] == "code" and cell["outputs"])
    cell["metadata"]["tags"] = ["nbval-skip"]
    return f", cell {cell['id']}:"


def added(kind: str, source: str) -> Callable[[Path], str]:
    """A cell more, at the end."""
    rest = {"execution_count": 1, "outputs": []} if kind == "code" else {}

    def change(nb: Notebook) -> str:
        cell = {"cell_type": kind, "id": "added", "metadata": {}, "source": [source]}
        nb["cells"].append(cell | rest)
        return ", cell added:"

    return notebook(CHAPTER, change)


def failing(tree: Path) -> str:
    in_cell(BEFORE, "code", r"\Afrom ", "1 / 0\nfrom ")(tree)
    return f"notebooks/{BEFORE}.ipynb::Cell 1"


def another_kernel(nb: Notebook) -> str:
    nb["metadata"]["kernelspec"]["name"] = "conda-env-mine-py"
    return ""


def nbval_cell(tree: Path) -> str:
    """A stored number of one line that nbval compares; nbval counts the code cells."""
    named = in_cell(BEFORE, "output", r"(\d+\.\d*)[0-8]", r"\g<1>9")(tree)
    nb = json.loads((tree / "notebooks" / f"{BEFORE}.ipynb").read_text(encoding="utf-8"))
    ids = [cell["id"] for cell in nb["cells"] if cell["cell_type"] == "code"]
    return f"notebooks/{BEFORE}.ipynb::Cell {ids.index(named.split()[-1].strip(':'))}"


def reworded(tree: Path) -> str:
    return in_cell(CHAPTER, "code", r"\bcheck\(", "check (")(tree).partition(",")[0]


def unchecked(tree: Path) -> str:
    path = tree / "notebooks" / f"{CHAPTER}.ipynb"
    (claim, *_) = re.findall(r'check\(\\"([\w.-]+)', path.read_text(encoding="utf-8"))
    in_cell(CHAPTER, "code", rf'check\("{claim}"', "print(1")(tree)
    return f"no chapter checks {claim}"


def renamed(tree: Path) -> str:
    (tree / "notebooks" / f"{BEFORE}.ipynb").rename(tree / "notebooks" / "03-averages.ipynb")
    return "03-averages"


def renamed_for_its_neighbour(tree: Path) -> str:
    renamed(tree)
    return f"{CHAPTER}.ipynb, cell "


def crlf_notebook(tree: Path) -> str:
    path = tree / "notebooks" / f"{CHAPTER}.ipynb"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    return path.name


def edited(name: str, change: Callable[[bytes], bytes], place: str) -> Callable[[Path], str]:
    def spoil(tree: Path) -> str:
        path = tree / name
        before = path.read_bytes()
        path.write_bytes(change(before))
        assert path.read_bytes() != before, f"{name} is as it was"
        return place

    return spoil


def crlf(name: str) -> Callable[[Path], str]:
    return edited(name, lambda data: data.replace(b"\n", b"\r\n"), f"{name}: line 1 ")


def guard(file: str, test: str, chapter: str = CHAPTER) -> str:
    return f"pytest tests/test_{file}.py::test_{test}" + (f"[{chapter}]" if chapter else "")


HELPER = "src/attention_lab/averaging.py"
STORED = guard("notebooks", "it_is_stored_as_refresh_stores_it")
CODE = guard("notebooks", "code_avoids_what_misleads")
FILLS = guard("notebooks", "code_fills_with_minus_infinity_and_follows_no_order_of_a_set")
PLAIN = guard("prose", "the_markdown_is_plain")
LINKS = guard("prose", "links_lead_somewhere")
TEXT = guard("text", "text_is_utf8_in_lines_that_end_in_lf", "")
CASES = {
    "a stored number edited": Case(nbval_cell, f"nbval notebooks/{BEFORE}.ipynb", "mismatch"),
    "a stored number that may differ edited": Case(
        in_cell(CHAPTER, "output", r"here ≈ \S+", "here ≈ 99"),
        guard("ledger", "stored_values_agree_with_their_claims"),
        "shows 99",
    ),
    "a figure of the ledger edited": Case(
        edited(
            "src/attention_lab/teaching/claims.toml",
            lambda data: re.sub(rb"(?m)^value = \d+$", b"value = 123456", data),
            "01-hou-you-thou.ipynb, cell ",
        ),
        guard("ledger", "stored_values_agree_with_their_claims", "01-hou-you-thou"),
        "the ledger 123456",
    ),
    "a number in the text edited": Case(
        in_cell(CHAPTER, "markdown", r"\b\d+\.\d\d\b", "77.77"),
        guard("prose", "numbers_in_the_text_are_numbers_of_a_cell"),
        "77.77 stands in no output",
    ),
    "a notebook cleared": Case(
        notebook(CHAPTER, cleared), guard("notebooks", "cells_ran_once_in_order"), "executed as"
    ),
    "one output cleared": Case(
        notebook(CHAPTER, one_cleared),
        guard("notebooks", "what_shows_something_has_its_output"),
        "no stored output",
    ),
    "a cell hidden from nbval": Case(
        notebook(CHAPTER, skipped),
        guard("notebooks", "tags_are_known_and_nothing_escapes_comparison"),
        "the tag nbval-skip is not allowed",
    ),
    "a check taken out": Case(
        unchecked,
        guard("ledger", "each_claim_is_checked_once", ""),
        "no chapter checks ",
    ),
    "a chapter renamed": Case(
        renamed,
        guard("notebooks", "the_table_of_contents_lists_each_chapter_in_order", ""),
        "_toc.yml and notebooks/ differ",
    ),
    "a chapter renamed that another links to": Case(
        renamed_for_its_neighbour, LINKS, f"a link to {BEFORE}.ipynb, which does not exist"
    ),
    "a link broken": Case(
        in_cell(CHAPTER, "markdown", r"/book/ledger\.md", "/book/ledgers.md"),
        LINKS,
        "a link to ../book/ledgers.md, which does not exist",
    ),
    "an anchor broken": Case(
        in_cell(CHAPTER, "markdown", r"/book/ledger\.md", "/book/ledger.md#gone"),
        LINKS,
        "a link to ../book/ledger.md#gone: no such heading",
    ),
    "a chapter called by another's number": Case(
        in_cell(CHAPTER, "markdown", r"\[chapter \d+\]", "[chapter 17]"),
        guard("prose", "a_link_called_chapter_n_leads_to_chapter_n"),
        "chapter 17 leads to ",
    ),
    "an alt text dropped": Case(
        notebook(CHAPTER, no_alt),
        guard("notebooks", "figures_have_a_text_that_says_what_they_show"),
        "must say what the figure shows",
    ),
    "a helper changed, seen by make book": Case(
        edited(HELPER, lambda data: data + b"# changed\n", f"{CHAPTER}.ipynb"), "fresh", "older"
    ),
    "a helper changed, seen by make test": Case(
        edited(HELPER, lambda data: data + b"# changed\n", f"{CHAPTER}.ipynb"),
        guard("notebooks", "outputs_are_those_of_this_code"),
        "outputs older than the package or the cells",
    ),
    "a code cell changed": Case(reworded, "fresh", "older"),
    "a cell that fails": Case(failing, f"nbval notebooks/{BEFORE}.ipynb", "ZeroDivisionError"),
    "a solution broken": Case(
        in_cell(CHAPTER, "markdown", r"\nexercises\.check_", "\n1 / 0\nexercises.check_"),
        guard("prose", "solutions_pass_their_check"),
        "the solution fails: ZeroDivisionError",
    ),
    "a kernel of the author's own": Case(
        notebook(CHAPTER, another_kernel), STORED, "Run: make refresh"
    ),
    "a cell that installs": Case(added("code", "%pip install numpy==1.26"), CODE, "a magic"),
    "a cell that asks an address": Case(
        added("code", "urlopen('https://example.org')"), CODE, "asks no address"
    ),
    "a tiny number for minus infinity": Case(
        added("code", "scores.masked_fill(hidden, -1e-10)"), FILLS, "can be outbid"
    ),
    "a vocabulary in the order of a set": Case(
        added("code", "ids = {c: i for i, c in enumerate(set(text))}"), FILLS, "sort it"
    ),
    "a footnote": Case(added("markdown", "Said.[^1]\n\n[^1]: By whom."), PLAIN, "a footnote"),
    "a notebook saved with CRLF": Case(crlf_notebook, STORED, "Run: make refresh"),
    "CRLF in a cell's text": Case(
        in_cell(CHAPTER, "markdown", r"\n", "\r\n"), STORED, "CR in its text"
    ),
    "a module saved with CRLF": Case(crlf(HELPER), TEXT, "has CR"),
    "a page saved with CRLF": Case(crlf("book/glossary.md"), TEXT, "has CR"),
    "settings saved with CRLF": Case(crlf("pyproject.toml"), TEXT, "has CR"),
    "a byte order mark": Case(
        edited("book/preface.md", lambda data: b"\xef\xbb\xbf" + data, "book/preface.md: line 1 "),
        TEXT,
        "has a byte order mark",
    ),
    "another encoding": Case(
        edited("book/preface.md", lambda data: b"\n\xe9\n" + data, "book/preface.md: line 2 "),
        TEXT,
        "is not UTF-8",
    ),
}


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy in which each guard passes. Its outputs are declared fresh, which they may not be."""
    tree = tmp_path_factory.mktemp("clean")
    for name in FOLDERS:
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("*.pyc"))
    for name in FILES:
        shutil.copy(ROOT / name, tree)
    for command in (["init", "-q"], ["add", "."]):
        subprocess.run(["git", "-C", tree, *command], check=True)
    for path in chapter_files.chapters(tree):
        nb = chapter_files.read(path)
        nb.metadata["attention_lab"] = {"sources": chapter_files.digest(nb)}
        chapter_files.write(path, nb)
    guards = {case.guard for case in CASES.values()}
    tests = {guard for guard in guards if guard.startswith("pytest ")}
    together = " ".join(["pytest", *(guard.removeprefix("pytest ") for guard in sorted(tests))])
    for guard in (together, *sorted(guards - tests)):
        done = run(guard, tree)
        assert done.returncode == 0, f"not clean: {guard}\n{done.stdout}{done.stderr}"
    return tree


@pytest.mark.parametrize("name", CASES)
def test_what_is_spoilt_turns_a_guard_red_that_names_the_place(
    name: str, clean: Path, tmp_path: Path
) -> None:
    spoil, guard, says = CASES[name]
    tree = tmp_path / "tree"
    shutil.copytree(clean, tree)
    place = spoil(tree)
    done = run(guard, tree)
    told = done.stdout + done.stderr
    assert done.returncode == 1, told
    assert place in told, told
    assert says in told, told


def test_make_runs_these_guards() -> None:
    recipes = {
        name: recipe.replace("$(BIN)/python", "python")
        for name, recipe in re.findall(r"^(\S+): .*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    }
    assert "python -m pytest $(PAIRS) tests ||" in recipes["test"]
    assert "python -m pytest $(PAIRS) $(NBVAL) notebooks ||" in recipes["test"]
    assert "python tools/notebooks.py fresh" in recipes["$(BUILT)"]
    assert "jupyter-book build . -W -n --keep-going" in recipes["$(BUILT)"]
    assert "--nbval" in NBVAL
    assert f"--nbval-cell-timeout={notebooks.CELL_TIMEOUT}" in NBVAL
    assert "PAIRS := -n 2 --dist loadfile\n" in MAKEFILE, "the cells of a notebook stay together"


@pytest.mark.parametrize("module", mutants.NAMED)
def test_each_named_mutant_breaks_a_line_that_is_there_and_names_a_test_that_is(
    module: str,
) -> None:
    for mutant in mutants.named(module):
        file, _, test = mutant.test.partition("::")
        assert f"\ndef {test}(" in (ROOT / file).read_text(encoding="utf-8"), mutant.test
        ast.parse(mutant.source)

"""Guards on the chapters' text: plain Markdown for the book, Colab and GitHub; solutions run."""

import ast
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import chapter_files
import nbformat
import pytest
from chapter_files import ROOT, code_cells
from guards import CHAPTERS, each, report
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin)
CHECK = re.compile(r"exercises\.(check_\w+)\(")
SITE_ONLY = {
    r":::": "a ::: fence",
    r"`{3,}\{": "a directive",
    r"\{[a-z]+(:[a-z]+)?\}`": "a role",
    r"^\([\w-]+\)=$": "a label",
    r"^\+\+\+": "a block break",
    r"^% ": "a comment of MyST",
    r"^: +\S": "a list of definitions",
    r"\[\^[^\]\s]+\]": "a footnote",
    r"[\])`]\{[.#]": "an attribute in braces",
    r"<(?!/?(details|summary)\b)[a-z][^<>]*>": "HTML other than <details>",
}


def prose(path: Path) -> list[Any]:
    return [cell for cell in chapter_files.read(path).cells if cell.cell_type == "markdown"]


def inline(tokens: list[Token]) -> Iterator[Token]:
    """All tokens, those inside paragraphs too."""
    for token in tokens:
        yield token
        yield from inline(token.children or [])


def headings(text: str) -> list[tuple[int, str]]:
    """Level and text of each heading."""
    tokens = MARKDOWN.parse(text)
    return [(int(a.tag[1]), b.content) for a, b in pairwise(tokens) if a.type == "heading_open"]


def anchors(path: Path) -> set[str]:
    """What a link may name behind #: headings as the book and GitHub spell them, and labels."""
    if path.suffix == ".ipynb":
        text = "\n\n".join(cell.source for cell in prose(path))
    else:
        text = path.read_text(encoding="utf-8")
    titles = [re.sub(r"[*`$\\]", "", title) for _, title in headings(text)]
    slugs = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return slugs | set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))


@each
def test_one_title_comes_first_and_levels_never_jump(path: Path) -> None:
    levels = [(cell.id, *found) for cell in prose(path) for found in headings(cell.source)]
    assert levels, f"{path.name}: no title"
    assert levels[0][1] == 1, f"{path.name}, cell {levels[0][0]}: the title (# …) comes first"
    assert prose(path)[0].id == levels[0][0], f"{path.name}: text stands before the title"

    def faults() -> Iterator[tuple[str, str]]:
        for (_, before, _), (cell, level, title) in pairwise(levels):
            if level == 1:
                yield cell, f"a second title: {title!r}"
            if level > before + 1:
                yield cell, f"{title!r} jumps from level {before} to {level}"

    report(path, faults())


@each
def test_the_markdown_is_plain(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in prose(path):
            for pattern, what in SITE_ONLY.items():
                if re.search(pattern, cell.source, re.MULTILINE):
                    yield cell.id, f"{what}, which only the book understands"
            dollars = [line for line in cell.source.split("\n") if "$$" in line]
            if any(line.strip() != "$$" for line in dollars) or len(dollars) % 2:
                yield cell.id, "$$ stands on a line of its own, before and after a formula"
            for token in inline(MARKDOWN.parse(cell.source)):
                if token.type == "text" and re.search(r"\\begin\{|\$\$", token.content):
                    yield cell.id, f"a formula outside $$: {token.content!r}"

    report(path, faults())


@each
def test_links_lead_somewhere(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in prose(path):
            for token in inline(MARKDOWN.parse(cell.source)):
                target = unquote(str(token.attrs.get("href", "")))
                raw = token.content if token.type.startswith("html") else ""
                if token.type == "image" or "<img" in raw:
                    yield cell.id, "an image: draw it in a cell, Colab shows no picture file"
                if "href=" in raw:
                    yield cell.id, "a link in HTML: write [text](address)"
                if target and not re.match(r"https?://|mailto:", target):
                    name, _, anchor = target.partition("#")
                    file = (path.parent / name).resolve() if name else path
                    if not file.is_file() or ROOT not in file.parents:
                        yield cell.id, f"a link to {target}, which does not exist"
                    elif anchor and anchor not in anchors(file):
                        yield cell.id, f"a link to {target}: no such heading"

    report(path, faults())


PAGES = [*CHAPTERS, *sorted((ROOT / "book").glob("*.md"))]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_link_called_chapter_n_leads_to_chapter_n(path: Path) -> None:
    """A chapter moved takes its file's number along, and leaves the words behind."""
    cells = prose(path) if path.suffix == ".ipynb" else [page(path)]

    def faults() -> Iterator[tuple[str, str]]:
        for cell in cells:
            for said, target in re.findall(r"\[chapter (\d+)\]\(([^)]*)\)", cell.source, re.I):
                if not re.search(rf"(^|/){int(said):02}-[\w-]+\.ipynb(#|$)", target):
                    yield cell.id, f"chapter {said} leads to {target}"

    report(path, faults())


def page(path: Path) -> Any:
    """A page of the book as one cell."""
    return nbformat.v4.new_markdown_cell(path.read_text(encoding="utf-8"), id="text")


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "tests/README.md"])
def test_what_a_readme_links_to_or_names_is_there(name: str) -> None:
    path, tests = ROOT / name, sorted((ROOT / "tests").rglob("test_*.py"))
    found = [*inline(MARKDOWN.parse(path.read_text(encoding="utf-8")))]
    targets = [str(t.attrs.get("href") or t.attrs.get("src") or "https:") for t in found]
    near = [unquote(t.partition("#")[0]) for t in targets if not re.match(r"https?:", t)]
    gone = [target for target in near if not (path.parent / target).exists()]
    known = {test.stem for test in tests}
    for test in tests:
        known |= set(re.findall(r"^def (test_\w+)", test.read_text(encoding="utf-8"), re.MULTILINE))
    named = [t.content for t in found if re.fullmatch(r"test_\w+", t.content)]
    gone += [test for test in named if test not in known]
    assert not gone, f"{name}: not there: {gone}"


def solutions(path: Path) -> list[tuple[Any, str]]:
    """Each folded solution: its cell and its Python."""
    return [
        (cell, "\n".join(t.content for t in MARKDOWN.parse(cell.source) if t.info == "python"))
        for cell in prose(path)
        if re.search(r"<summary>\s*Solution", cell.source)
    ]


@each
def test_solutions_are_folded_apart_from_their_question(path: Path) -> None:
    cells = chapter_files.read(path).cells
    found = solutions(path)
    assert 1 <= len(found) <= 3, f"{path.name}: {len(found)} solutions, not one to three"

    def faults() -> Iterator[tuple[str, str]]:
        for cell, _ in found:
            before = next(a for a, b in pairwise(cells) if b.id == cell.id)
            whole = cell.source.startswith("<details") and cell.source.endswith("</details>")
            if not whole or cell.source.count("<details") != 1:
                yield cell.id, "a solution is one <details>, alone in its cell"
            asked, checked = ({*CHECK.findall(c.source)} for c in (before, cell))
            if before.cell_type != "code":
                yield cell.id, "a code cell, to try in, stands between question and solution"
            elif asked != checked or len(asked) != 1:
                yield cell.id, f"the question is checked by {asked}, its solution by {checked}"

    report(path, faults())


@each
def test_solutions_pass_their_check(path: Path) -> None:
    """A solution runs by itself after the chapter's imports, and calls the exercise's check."""
    trees = [
        ast.parse(cell.source)
        for cell in code_cells(chapter_files.read(path))
        if not chapter_files.is_boot(cell)
    ]
    imports = [n for tree in trees for n in tree.body if isinstance(n, ast.Import | ast.ImportFrom)]
    for cell, source in solutions(path):
        names: dict[str, Any] = {}
        exec(compile(ast.Module(imports, []), path.name, "exec"), names)
        assert re.search(r"^exercises\.check_\w+\(", source, re.MULTILINE), (
            f"{path.name}, cell {cell.id}: the solution has no exercises.check_… of its own"
        )
        try:
            exec(compile(source, f"{path.name}, cell {cell.id}", "exec"), names)
        except Exception as error:
            pytest.fail(f"{path.name}, cell {cell.id}: the solution fails: {error!r}")


# Numbers that a chapter works out on paper: no cell shows them.
ON_PAPER = {
    "04-a-product-is-a-weighted-sum": {"1.25"},  # 0.25 · 5
    "05-softmax": {"0.15"},  # 0.04 + 0.11
    "08-values-by-hand": {"0.98"},  # in a solution
}
NUMBER = re.compile(r"(?<![\w.,])-?\d+\.\d{2,}(?![\w%])")


def shown(path: Path) -> list[Decimal]:
    """Every number in the code and the text outputs of a chapter."""
    texts = []
    for cell in code_cells(chapter_files.read(path)):
        texts.append(cell.source)
        for output in cell.outputs:
            texts += [output.get("text", ""), output.get("data", {}).get("text/plain", "")]
    return [Decimal(n) for text in texts for n in re.findall(r"\d+\.?\d*", text.replace(",", ""))]


@each
def test_numbers_in_the_text_are_numbers_of_a_cell(path: Path) -> None:
    """A number of two decimals or more stands in the code or an output too, rounded or not."""
    numbers = shown(path)

    def faults() -> Iterator[tuple[str, str]]:
        for cell in prose(path):
            for found in NUMBER.findall(cell.source):
                half = Decimal(5).scaleb(-len(found.partition(".")[2]) - 1)
                if found in ON_PAPER.get(path.stem, set()):
                    continue
                if not any(abs(abs(Decimal(found)) - n) <= half for n in numbers):
                    yield cell.id, f"{found} stands in no output of this chapter"

    report(path, faults())

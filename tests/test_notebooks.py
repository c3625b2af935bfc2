"""Guards on the chapters: what nbval can't see. Each failure names the notebook and the cell."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import chapter_files
import nbformat
from chapter_files import PACKAGE, ROOT, code_cells, tags
from guards import CHAPTERS, each, report
from repository import boot_source

# What a guard must let pass: (notebook, cell id) -> the reason.
SILENT: dict[tuple[str, str], str] = {}  # ends in an expression or prints, and shows nothing
LARGE_CONSTANT: dict[tuple[str, str], str] = {  # a finite stand-in for minus infinity
    ("05-softmax.ipynb", "low-torch-tensor-20-000-0-20-001-0-5-0-s"): "shows how it is outbid"
}
LONG_NUMBER: dict[tuple[str, str], str] = {}  # a number of seven decimals or more
THREE = "three plain blocks hardly train: their loss differs between kinds of CPU"
UNCOMPARED: dict[tuple[str, str], str] = {  # a tag that keeps nbval from comparing
    ("17-the-loss-comes-down.ipynb", "ladder-name-for-name-in-loss-if-name-one"): THREE,
    ("17-the-loss-comes-down.ipynb", "fig-ax-plt-subplots"): THREE,
    ("17-the-loss-comes-down.ipynb", "shown-positions-only-one-head-three-bloc"): THREE,
}

TAGS = {"hide-input", "hide-output", "raises-exception"}
LONGEST, MEDIAN, ALT, SIZE = 25, 6, 20, 5_000_000  # lines, lines, characters, bytes
SHOW = {"check", "print", "display"}
RETURN_NOTHING = {"svg", "manual_seed", "append", "backward", "step", "zero_grad"}
SOFTMAX = {"softmax", "log_softmax", "Softmax", "LogSoftmax"}
LARGE = r"-\s?\d[\d_.]*e\+?\d+|-\s?10\s?\*\*\s?\d+|-\s?\d[\d_]{4,}\.?\d*"
FILLS = {"masked_fill", "masked_fill_"}
SETS = {"set", "frozenset"}
KEEP_ORDER = {"list", "tuple", "enumerate", "join", "zip", "map", "tensor"}
FORBIDDEN = {
    r"\bsys\.path\b": "sys.path: the package is installed",
    r"(?m)^\s*(%%?[a-z]|!\s*[a-z])": "a magic: the boot cell installs, svg() sets the format",
    r"\bpip\b.*\binstall\b": "pip: the boot cell installs",
    r"https?://|\burl(open|retrieve)\b|\brequests\.|\b(wget|curl)\b": "a chapter asks no address",
    r"NBVAL_|PYTEST_VALIDATE": "a marker that keeps nbval from comparing",
}
NOISE = {
    r"\b0x[0-9a-f]{6,}": "an address in memory",
    r"\bnp\.(\w+\(|True_|False_)": "the repr of a numpy scalar",
    r"\bgrad_fn=": "the repr of a step of autograd: detach it, or format the number",
    r"\bText\(\d|<Axes\b|<(matplotlib|torch|module)\b": "what a call returned: end in plt.show()",
    r"/(home|Users|tmp|root)/|\bsite-packages\b": "a path of this machine",
    r"<img\b(?![^>]*\bsrc=.data:)": "a picture by its address, which Colab does not find",
    r"%\|": "a progress bar",
    r"data:image/(png|jpe?g)": "an embedded PNG or JPEG",
}


@cache
def notebook(path: Path) -> Any:
    return chapter_files.read(path)


def lessons(path: Path) -> list[Any]:
    """The code cells but the boot cell."""
    return [cell for cell in code_cells(notebook(path)) if not chapter_files.is_boot(cell)]


def texts(output: Any, *also: str) -> Iterator[str]:
    """The text of an output: streams, errors, text/plain and the kinds named."""
    yield from (output[key] for key in ("text", "evalue") if key in output)
    for kind in ("text/plain", *also):
        if kind in output.get("data", {}):
            yield output.data[kind]


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """What runs when the cell runs: not what stands in functions and classes."""
    for node in ast.iter_child_nodes(tree):
        if not isinstance(node, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            yield node
            yield from running(node)


def called(node: ast.AST) -> str:
    """The name of what a call calls: softmax for F.softmax(…)."""
    if isinstance(node, ast.Call):
        return getattr(node.func, "attr", getattr(node.func, "id", ""))
    return ""


def test_the_folder_holds_chapters_and_nothing_else() -> None:
    found = [p.name for p in (ROOT / "notebooks").iterdir() if p.name != ".ipynb_checkpoints"]
    others = [name for name in found if not re.fullmatch(r"\d\d-[a-z0-9-]+\.ipynb", name)]
    assert CHAPTERS, "no chapter in notebooks/"
    assert not others, f"notebooks/ holds chapters only, NN-name.ipynb, not {others}"
    assert sum(path.stat().st_size for path in CHAPTERS) < SIZE, "the notebooks are too large"


def test_the_table_of_contents_lists_each_chapter_in_order() -> None:
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    listed = re.findall(r"^[^#\n]*file: notebooks/(\S+)", toc, re.MULTILINE)
    assert listed == [path.stem for path in CHAPTERS], "_toc.yml and notebooks/ differ"


@each
def test_it_is_stored_as_refresh_stores_it(path: Path) -> None:
    raw = path.read_bytes()
    nb = nbformat.v4.reads(raw.decode())
    assert (nb.nbformat, nb.nbformat_minor) >= (4, 5), f"{path.name}: no cell ids before 4.5"
    ids = [cell.get("id") for cell in nb.cells]
    assert len(set(ids)) == len(ids), f"{path.name}: a cell id is missing or occurs twice: {ids}"
    odd = [cell.id for cell in nb.cells if "\r" in cell.source]
    report(path, ((cell, "CR in its text. Run: make refresh") for cell in odd))
    canonical = chapter_files.dumps(chapter_files.normalised(nb)).encode()
    assert raw == canonical, f"{path.name}: saved by another program. Run: make refresh"


@each
def test_outputs_are_those_of_this_code(path: Path) -> None:
    fresh = chapter_files.is_fresh(notebook(path))
    assert fresh, f"{path.name}: outputs older than the package or the cells. Run: make refresh"


@each
def test_the_first_code_cell_boots(path: Path) -> None:
    boot = code_cells(notebook(path))[0]
    assert boot.source == boot_source(), f"{path.name}, cell {boot.id}: no boot cell as refresh's"
    assert boot.id == "boot", f"{path.name}: the boot cell has the id {boot.id}"
    assert tags(boot) == ["hide-input"], f"{path.name}: the boot cell needs the tag hide-input"
    assert not boot.outputs, f"{path.name}: the boot cell shows something"


@each
def test_cells_ran_once_in_order(path: Path) -> None:
    counts = [cell.execution_count for cell in code_cells(notebook(path))]
    assert counts == list(range(1, len(counts) + 1)), f"{path.name}: executed as {counts}"


@each
def test_what_shows_something_has_its_output(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in lessons(path):
            tree = ast.parse(cell.source)
            body = tree.body
            shows = any(called(node) in SHOW for node in running(tree))
            value = body and isinstance(body[-1], ast.Expr) and not quiet(body[-1].value)
            if (shows or value) and not cell.outputs and (path.name, cell.id) not in SILENT:
                yield cell.id, "no stored output, though it prints or ends in an expression"

    report(path, faults())


def quiet(value: ast.expr) -> bool:
    """A text or ``...`` standing alone, or a call that sets something up and returns None."""
    return isinstance(value, ast.Constant) or called(value) in RETURN_NOTHING


@each
def test_outputs_hold_nothing_that_another_machine_shows_differently(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in code_cells(notebook(path)):
            raises = any(output.output_type == "error" for output in cell.outputs)
            if raises != ("raises-exception" in tags(cell)):
                yield cell.id, "an error and the tag raises-exception: one without the other"
            for output in cell.outputs:
                yield from ((cell.id, what) for what in output_faults(path, cell, output))

    report(path, faults())


def output_faults(path: Path, cell: Any, output: Any) -> Iterator[str]:
    if output.get("name") == "stderr":
        yield "writes to stderr"
    if {"image/png", "image/jpeg"} & set(output.get("data", {})):
        yield "a PNG or JPEG, which nbval doesn't compare: figures.svg() is missing"
    for text in texts(output, "text/html"):
        yield from (what for pattern, what in NOISE.items() if re.search(pattern, text))
    for text in texts(output):
        if re.search(r"\d\.\d{7,}", text) and (path.name, cell.id) not in LONG_NUMBER:
            yield "a number of seven decimals or more: round it to what is meant"


@each
def test_figures_have_a_text_that_says_what_they_show(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in lessons(path):
            alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt", "")
            images = sum("image/svg+xml" in output.get("data", {}) for output in cell.outputs)
            if images > 1:
                yield cell.id, "two figures, but a cell has one alt text: split the cell"
            if images and (len(alt) < ALT or len(alt.split()) < 4 or re.search(r"\.\w{3}$", alt)):
                yield cell.id, f"mystnb.image.alt must say what the figure shows, not {alt!r}"

    report(path, faults())


@each
def test_tags_are_known_and_nothing_escapes_comparison(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in notebook(path).cells:
            for tag in set(tags(cell)) - TAGS:
                if (path.name, cell.id) not in UNCOMPARED:
                    yield cell.id, f"the tag {tag} is not allowed"

    report(path, faults())


@each
def test_code_avoids_what_misleads(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in lessons(path):
            for pattern, what in FORBIDDEN.items():
                if re.search(pattern, cell.source):
                    yield cell.id, what

    report(path, faults())


@each
def test_code_fills_with_minus_infinity_and_follows_no_order_of_a_set(path: Path) -> None:
    def faults() -> Iterator[tuple[str, str]]:
        for cell in lessons(path):
            large = re.findall(LARGE, cell.source, re.IGNORECASE)
            nodes = [*ast.walk(ast.parse(cell.source))]
            large += [ast.unparse(node) for node in nodes if fills_with_a_finite_number(node)]
            if large and (path.name, cell.id) not in LARGE_CONSTANT:
                yield cell.id, f"{large[0]}: a finite minus infinity can be outbid, use -inf"
            for node in filter(follows_the_order_of_a_set, nodes):
                yield cell.id, f"{ast.unparse(node)}: a set's order is each process's own: sort it"

    report(path, faults())


def fills_with_a_finite_number(node: ast.AST) -> bool:
    """masked_fill(…, -1e-10), say: a negative number written out, however small."""
    match node:
        case ast.Call(args=args, keywords=keywords) if called(node) in FILLS:
            given = [*args, *(keyword.value for keyword in keywords)]
            negative = [value.operand for value in given if isinstance(value, ast.UnaryOp)]
            return any(isinstance(number, ast.Constant) for number in negative)
    return False


def follows_the_order_of_a_set(node: ast.AST) -> bool:
    """A loop over a set, or a list, a dict or a text made of one: sorted(set(…)) is none of it."""
    match node:
        case ast.For(iter=iterated):
            found = [iterated]
        case ast.ListComp(generators=parts) | ast.DictComp(generators=parts):
            found = [part.iter for part in parts]
        case ast.Call(args=found) if called(node) in KEEP_ORDER:
            pass
        case _:
            found = []
    return any(isinstance(x, ast.Set | ast.SetComp) or called(x) in SETS for x in found)


@each
def test_each_softmax_names_its_direction(path: Path) -> None:
    trees = [(cell.id, ast.parse(cell.source)) for cell in lessons(path)]
    own = {n.name for _, tree in trees for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}

    def faults() -> Iterator[tuple[str, str]]:
        for cell, tree in trees:
            for node in ast.walk(tree):
                if called(node) in SOFTMAX and getattr(node.func, "id", None) not in own:
                    dims = [k.value for k in node.keywords if k.arg == "dim"]
                    if not dims or not re.fullmatch(r"-\d", ast.unparse(dims[0])):
                        yield cell, f"{ast.unparse(node)}: say dim=-1 (or -2), from the end"

    report(path, faults())


@each
def test_it_defines_nothing_that_the_package_has(path: Path) -> None:
    package = {
        node.name
        for file in PACKAGE.rglob("*.py")
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }

    def faults() -> Iterator[tuple[str, str]]:
        for cell in lessons(path):
            for node in ast.walk(ast.parse(cell.source)):
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in package:
                    yield cell.id, f"the package has {node.name}: import it"

    report(path, faults())


@each
def test_cells_are_short(path: Path) -> None:
    lines = {cell.id: cell.source.count("\n") + 1 for cell in lessons(path)}
    report(path, ((i, f"{n} lines, more than {LONGEST}") for i, n in lines.items() if n > LONGEST))
    assert median(lines.values()) <= MEDIAN, f"{path.name}: half the cells exceed {MEDIAN} lines"

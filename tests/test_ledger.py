"""Guards on the ledger: each claim is checked once, by something computed, and the page agrees."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chapter_files
from chapter_files import ROOT, code_cells
from guards import CHAPTERS, each, report

from attention_lab.teaching.claims import agrees, parse
from attention_lab.teaching.ledger import ledger

# Calls that only pass a literal on: bool(1), torch.tensor([0.5]).
PASSING_ON = {"bool", "int", "float", "str", "list", "tuple", "round", "abs", "tensor", "array"}


def is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and (
        getattr(node.func, "id", "") == "check"
        or (isinstance(node.func, ast.Attribute) and ast.unparse(node.func) == "claims.check")
    )


def checks(path: Path) -> list[tuple[Any, ast.Call]]:
    """Each call of check, with its cell."""
    return [
        (cell, node)
        for cell in code_cells(chapter_files.read(path))
        if not chapter_files.is_boot(cell)
        for node in ast.walk(ast.parse(cell.source))
        if isinstance(node, ast.Call) and is_check(node)
    ]


def claim_id(call: ast.Call) -> str | None:
    """The id, when it is written out as the first of two plain arguments."""
    plain = len(call.args) == 2 and not call.keywords and isinstance(call.args[0], ast.Constant)
    return call.args[0].value if plain else None


def printed(cell: Any) -> list[str]:
    return [line for output in cell.outputs for line in output.get("text", "").splitlines()]


def test_each_claim_is_checked_once() -> None:
    where: dict[str, list[str]] = {}
    for path in CHAPTERS:
        for _, call in checks(path):
            where.setdefault(claim_id(call) or ast.unparse(call), []).append(path.name)
    faults = [f"{id} is not in the ledger" for id in set(where) - set(ledger())]
    for id in ledger():
        found = where.get(id, [])
        if len(found) > 1:
            faults.append(f"{id} is checked more than once: {', '.join(found)}")
        if not found:
            faults.append(f"no chapter checks {id} ({ledger()[id].where})")
    assert not faults, "\n" + "\n".join(faults)


@each
def test_what_is_checked_is_computed(path: Path) -> None:
    bound = bindings(path)

    def faults() -> Iterator[tuple[str, str]]:
        for cell, call in checks(path):
            id = claim_id(call)
            if id not in ledger():
                yield cell.id, f"{ast.unparse(call)}: give an id of the ledger, then a value"
            elif ledger()[id].kind == "holds" and constant(call.args[1], bound, operators=True):
                yield cell.id, f"{ast.unparse(call)} can't fail: nothing is computed"
            elif ledger()[id].kind != "fact" and constant(call.args[1], bound, operators=False):
                yield cell.id, f"{ast.unparse(call)} compares a literal: nothing is computed"
        if "check" in bound:
            yield "?", "the name check is taken by something else"

    report(path, faults())


def bindings(path: Path) -> dict[str, list[ast.expr | None]]:
    """What each name is bound to anywhere in the notebook; None where that is no plain value."""
    bound: dict[str, list[ast.expr | None]] = {}

    def bind(target: ast.AST, value: ast.expr | None) -> None:
        if isinstance(target, ast.Name):
            bound.setdefault(target.id, []).append(value)
        elif isinstance(target, ast.Tuple | ast.List):
            same = isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts)
            for i, part in enumerate(target.elts):
                bind(part, value.elts[i] if same else None)
        elif isinstance(target, ast.Subscript | ast.Attribute | ast.Starred):
            bind(target.value, None)  # changed in place

    for cell in code_cells(chapter_files.read(path)):
        if chapter_files.is_boot(cell):
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    bind(target, node.value)
            elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
                bind(node.target, node.value)
            elif isinstance(node, ast.AugAssign | ast.For | ast.comprehension):
                bind(node.target, None)
            elif isinstance(node, ast.arg):
                bound.setdefault(node.arg, []).append(None)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                bound.setdefault(node.name, []).append(None)
            elif isinstance(node, ast.withitem) and node.optional_vars:
                bind(node.optional_vars, None)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                bind(node.func.value, None)  # a method may change what it is called on
            elif isinstance(node, ast.ImportFrom):
                bound |= {alias.asname: [None] for alias in node.names if alias.asname}
    return bound


def constant(node: ast.AST | None, bound: dict[str, list[Any]], operators: bool) -> bool:
    """Whether an expression is but a literal, or a name only ever bound to literals.

    operators: whether arithmetic and comparisons of such names count as constant too (1 + 1 does).
    """
    if node is None:
        return False
    if isinstance(node, ast.Constant | ast.operator | ast.unaryop | ast.cmpop | ast.boolop):
        return True
    if isinstance(node, ast.expr_context | ast.keyword):
        return True
    if isinstance(node, ast.Name):
        values = bound.get(node.id, [])
        rest = {name: v for name, v in bound.items() if name != node.id}
        return bool(values) and all(constant(value, rest, operators) for value in values)
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        return name in PASSING_ON and all(constant(a, bound, operators) for a in node.args)
    if isinstance(node, ast.BoolOp):  # (x or True): one constant decides or is idle
        return any(constant(value, bound, operators) for value in node.values)
    inside = isinstance(node, ast.BinOp | ast.Compare)
    whole = isinstance(node, ast.UnaryOp | ast.List | ast.Tuple | ast.Subscript | ast.IfExp)
    if not inside and not whole:
        return False
    known = {} if inside and not operators else bound
    return all(constant(child, known, operators) for child in ast.iter_child_nodes(node))


@each
def test_stored_values_agree_with_their_claims(path: Path) -> None:
    """What the page shows is read back and held against the ledger, without running anything."""

    def faults() -> Iterator[tuple[str, str]]:
        called: dict[str, list[str | None]] = {}
        for cell, call in checks(path):
            called.setdefault(cell.id, []).append(claim_id(call))
        for cell in code_cells(chapter_files.read(path)):
            shown = [found for found in map(parse, printed(cell)) if found]
            ids = called.get(cell.id, [])
            if sorted(found.id for found in shown) != sorted(map(str, ids)):
                yield cell.id, f"it checks {ids} and shows {[found.id for found in shown]}"
            for found in shown:
                claim = ledger().get(found.id)
                if claim and not agrees(claim, found.value):
                    yield cell.id, f"{found.id} shows {found.value}, the ledger {claim.value}"

    report(path, faults())


@each
def test_only_checks_are_marked_as_approximate(path: Path) -> None:
    """What a check line marks by ≈, nbval_sanitize.cfg blanks and the guard above compares."""

    def faults() -> Iterator[tuple[str, str]]:
        for cell in code_cells(chapter_files.read(path)):
            for output in cell.outputs:
                texts = [output.get("text", ""), *map(str, output.get("data", {}).values())]
                for line in "\n".join(texts).splitlines():
                    if "≈" in line and parse(line) is None:
                        yield cell.id, f"≈ outside a check: {line[:80]!r}"

    report(path, faults())


def test_the_sources_of_facts_are_in_the_bibliography() -> None:
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    keys = set(re.findall(r"^@\w+\{\s*([^,\s]+)\s*,", text, re.MULTILINE))
    needed = {source for claim in ledger().values() for source in claim.sources}
    assert not needed - keys, f"book/references.bib lacks {sorted(needed - keys)}"


def test_each_entry_of_the_bibliography_is_closed() -> None:
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    entries = re.split(r"^(?=@)", text, flags=re.MULTILINE)
    torn = [e.split("\n")[0] for e in entries if e.count("{") != e.count("}")]
    assert not torn, f"book/references.bib: a brace is missing or too many in {torn}"

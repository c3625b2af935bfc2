"""From averaging to attention one line changes, and with values one word more: as the page says."""

import ast

import chapter_files
from chapter_files import ROOT, code_cells

QUERIES, VALUES = "07-queries-and-keys", "08-values-by-hand"
ZEROS, PRODUCT = "wei = torch.zeros(T, T)", "wei = q @ k.transpose(-2, -1)"


def function(chapter: str, name: str) -> list[str]:
    """The lines of the one function of this name that the chapter defines."""
    found = []
    for cell in code_cells(chapter_files.read(ROOT / "notebooks" / f"{chapter}.ipynb")):
        if chapter_files.is_boot(cell):
            continue
        for node in ast.parse(cell.source).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                found.append(cell.source.splitlines()[node.lineno - 1 : node.end_lineno])
    assert len(found) == 1, f"{chapter} defines {name} {len(found)} times"
    return found[0]


def code(line: str) -> str:
    """A line without its shape comment and indentation."""
    return line.split("#")[0].strip()


def changes(before: list[str], after: list[str]) -> list[tuple[str, str]]:
    """The lines of the body that differ, as pairs; both bodies must be equally long."""
    pairs = zip(before[1:], after[1:], strict=True)
    return [(code(old), code(new)) for old, new in pairs if old != new]


def test_from_averaging_to_attention_exactly_one_line_changes():
    averaging, attention = function(QUERIES, "averaging"), function(QUERIES, "attention")
    assert changes(averaging, attention) == [(ZEROS, PRODUCT)]
    assert averaging[0].replace("averaging", "attention") == attention[0]


def test_with_values_the_weighted_sum_takes_v_in_place_of_x_and_nothing_else_changes():
    averaging, attention = function(QUERIES, "averaging"), function(VALUES, "attention")
    last = ("return wei @ x", "return wei @ v")
    assert changes(averaging, attention) == [(ZEROS, PRODUCT), last]
    assert changes(function(QUERIES, "attention"), attention) == [last]
    assert averaging[0].replace("averaging(q, k, x)", "attention(q, k, v)") == attention[0]

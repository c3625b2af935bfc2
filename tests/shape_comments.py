"""Hold the shape comments of a file against the tensors: what `x = ...  # (B, T, C)` promises.

`watch` follows the calls made in a block. After each statement that ends in such a comment it
compares the tensors just assigned, or returned, with the comment: the number of axes must be the
same, and a letter must stand for one number throughout one call.
"""

import ast
import re
import sys
import tokenize
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from torch import Tensor, nn

COMMENT = re.compile(r"# (?:each )?((?:\([^()]*\)(?:, )?)+)")


class Promise(NamedTuple):
    names: list[str]  # what is assigned, as "q" or "self.x"; none for a return
    shapes: list[str]  # one each; those at the end can share the last
    last_line: int  # of the statement


def promises(path: Path) -> dict[int, Promise]:
    """The statements whose last line ends in a shape, by their first line."""
    with tokenize.open(path) as lines:
        found = [
            (t.start[0], COMMENT.match(t.string)) for t in tokenize.generate_tokens(lines.readline)
        ]
    shapes = {line: re.findall(r"\((.*?)\)", match[1]) for line, match in found if match}
    kept = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        last = getattr(node, "end_lineno", None)
        match node:
            case ast.Return() if last in shapes:
                kept[node.lineno] = Promise([], shapes.pop(last), last)
            case ast.Assign(targets=[to]) | ast.AnnAssign(target=to) if last in shapes:
                parts = to.elts if isinstance(to, ast.Tuple) else [to]
                names = [ast.unparse(part) for part in parts]
                if len(shapes[last]) == 1:  # of what is kept
                    names = [name for name in names if not name.startswith("_")]
                kept[node.lineno] = Promise(names, shapes.pop(last), last)
    if shapes:
        raise ValueError(f"{path.name}: no assignment or return for the shape in lines {[*shapes]}")
    return kept


def misfit(shape: tuple[int, ...], promised: str, known: dict[str, int]) -> str | None:
    """What is wrong with the promise. Notes in ``known`` the number that each letter stands for."""
    axes, sizes = [axis.strip() for axis in promised.split(",") if axis.strip()], shape
    if axes[:1] == ["..."]:
        axes = axes[1:]
        sizes = shape[max(0, len(shape) - len(axes)) :]
    elif axes[-1:] == ["..."]:
        axes = axes[:-1]
        sizes = shape[: len(axes)]
    if len(axes) != len(sizes):
        return f"not ({promised}) but {shape}"
    for axis, size in zip(axes, sizes, strict=True):
        product = re.sub(r"(\d)([A-Za-z])", r"\1*\2", axis)  # 4C
        if re.fullmatch(r"[A-Za-z_ ]+", axis):
            wanted = known.setdefault(axis, size)
        elif {*re.findall(r"[A-Za-z]\w*", product)} <= known.keys():
            wanted = eval(product, dict(known))
        else:
            continue  # T + 1 with a T that no line before has named
        if wanted != size:
            return f"not ({promised}) but {shape}: {axis} is {wanted:g}"
    return None


@contextmanager
def watch(path: Path) -> Iterator[tuple[set[int], list[str]]]:
    """Yields the lines whose comment was tried, and what was found wrong; the block fills them."""
    wanted = promises(path)
    tried: set[int] = set()
    wrong: list[str] = []

    def compare(line: int, values: list[Any], known: dict[str, int]) -> None:
        shapes = wanted[line].shapes
        for i, value in enumerate(values):
            if isinstance(value, Tensor):
                why = misfit(tuple(value.shape), shapes[min(i, len(shapes) - 1)], known)
                wrong.extend([f"{path.name}:{line}: {why}"] if why else [])
            if isinstance(value, Tensor | nn.Module | tuple):  # of the others, only that they came
                tried.add(line)

    def enter(frame: FrameType, _event: str, _argument: object) -> Any:
        if frame.f_code.co_filename != str(path) or frame.f_code.co_name.startswith("<"):
            return None
        known = {name: n for name, n in frame.f_locals.items() if type(n) is int}
        line = 0  # the first one of the statement that runs

        def follow(frame: FrameType, event: str, argument: object) -> Any:
            nonlocal line
            names, _shapes, last_line = wanted.get(line, Promise([], [], line))
            if event == "return" and line in wanted and not names:
                compare(line, [argument], known)
            elif event == "line" and not line <= frame.f_lineno <= last_line:
                if names:
                    found = [eval(name, frame.f_globals, frame.f_locals) for name in names]
                    compare(line, found, known)
                line = frame.f_lineno
            return follow

        return follow

    outer = sys.gettrace()
    sys.settrace(enter)
    try:
        yield tried, wrong
    finally:
        sys.settrace(outer)

"""Mutation run: break the package on purpose, one line at a time, and see a named test fail.

    python tools/mutants.py [MODULE ...] [--all]

Each named mutant is made in a copy of the package. The test it names must pass on the clean copy
and fail on the broken one: exit status 1 when one survives. With --all there follow generic
mutants (comparisons, signs, constants off by one, negations dropped), each against the whole test
file of its module; their score is printed and leaves the exit status alone.
"""

import argparse
import ast
import contextlib
import io
import multiprocessing
import os
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from named_mutants import NAMED

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "attention_lab"
TIMEOUT_S = 120
TESTS = {  # where a module's test file has another name
    "_cache": "corpus",
    "_plays": "plays",
    "_scale": "cost",
    "teaching/tables": "figures",
    "teaching/live/figure": "live",
    "teaching/ledger": "claims",
    "teaching/live/numbers": "numbers",
}


class Mutant(NamedTuple):
    name: str
    module: str
    source: str  # the whole module, broken
    test: str  # the test that must fail, as pytest names it


def modules() -> list[str]:
    """All of the package, but for figures that only a browser can judge and files of imports."""
    found = (path.relative_to(PACKAGE).with_suffix("") for path in sorted(PACKAGE.rglob("*.py")))
    names = [path.as_posix() for path in found if path.name != "__init__"]
    return [n for n in names if not n.startswith("teaching/live/") or n in TESTS]


def path_of(module: str) -> Path:
    return PACKAGE / f"{module}.py"


def test_file(module: str) -> str:
    default = "exercises" if "/exercises/" in module else Path(module).name
    return f"tests/test_{TESTS.get(module, default)}.py"


def named(module: str) -> Iterator[Mutant]:
    source = path_of(module).read_text(encoding="utf-8")
    for name, old, new, test in NAMED.get(module, []):
        if source.count(old) != 1:
            sys.exit(f"{module}, {name}: found {source.count(old)} times, not once: {old!r}")
        yield Mutant(name, module, source.replace(old, new), f"{test_file(module)}::{test}")


def generic(module: str) -> Iterator[Mutant]:
    tree = ast.parse(path_of(module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        for field, broken in variants(node):
            before, kept = ast.unparse(node), getattr(node, field)
            setattr(node, field, broken)
            name = f"line {getattr(node, 'lineno', 0)}: {before} -> {ast.unparse(node)}"
            yield Mutant(name, module, ast.unparse(tree), test_file(module))
            setattr(node, field, kept)


OTHER: dict[type[ast.AST], Callable[[], ast.AST]] = {
    ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Lt: ast.LtE, ast.LtE: ast.Lt,
    ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
}  # fmt: skip


def variants(node: ast.AST) -> Iterator[tuple[str, object]]:
    """The generic ways to break one node: (field, its new value)."""
    match node:
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield "ops", [*ops[:i], OTHER[type(op)](), *ops[i + 1 :]]
        case ast.BinOp(op=op) | ast.BoolOp(op=op) if type(op) in OTHER:
            yield "op", OTHER[type(op)]()
        case ast.UnaryOp(op=ast.Not() | ast.Invert() as op, operand=operand):
            yield "operand", ast.UnaryOp(op, operand)  # not not x: the negation is gone
        case ast.Constant(value=bool() as value):
            yield "value", not value
        case ast.Constant(value=int() | float() as value):
            yield "value", value + 1  # and so -1 becomes -2


class Failed:
    """A pytest plugin that notes which tests failed."""

    def __init__(self) -> None:
        self.tests: list[str] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.tests.append(report.nodeid)

    pytest_collectreport = pytest_runtest_logreport


def run_tests(answer: Any, folder: str, tests: list[str]) -> None:
    """In a process of its own: run the tests on the package in the folder; send what failed."""
    import hypothesis
    import pytest

    limit = 8 * 2**30  # bytes: a loop that never ends should not take the machine with it
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    os.chdir(ROOT)
    sys.path.insert(0, folder)
    os.environ["PYTHONPATH"] = folder  # for programs that the tests start
    import attention_lab

    if not str(attention_lab.__file__).startswith(folder):
        sys.exit(f"the wrong copy was imported: {attention_lab.__file__}")
    # Hypothesis need not shrink: that a test fails is all that is asked.
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutants", phases=phases)
    hypothesis.settings.load_profile("mutants")
    failed, output = Failed(), io.StringIO()
    options = ["-x", "-q", "-p", "no:cacheprovider", "--tb=no"]
    with contextlib.redirect_stdout(output):
        status = pytest.main([*options, *tests], plugins=[failed])
    if bool(failed.tests) != bool(status):
        sys.exit(f"pytest ended with {status} on {tests}\n{output.getvalue()}")
    answer.send(failed.tests)


def failures(tests: list[str], mutant: Mutant | None = None) -> list[str]:
    """Run the tests on a copy of the package, broken or not, and return those that failed."""
    # The server has imported torch and pytest, once, and each process is forked from it.
    context = multiprocessing.get_context("forkserver")
    with tempfile.TemporaryDirectory() as name:
        folder = str(Path(name).resolve())
        copy = shutil.copytree(PACKAGE, Path(folder, "attention_lab"))
        if mutant is not None:
            (copy / f"{mutant.module}.py").write_text(mutant.source, encoding="utf-8")
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(target=run_tests, args=(sender, folder, tests))
        process.start()
        sender.close()
        try:
            if not receiver.poll(TIMEOUT_S):
                return [*tests, f"a time limit of {TIMEOUT_S} s"]
            failed: list[str] = receiver.recv()
        except EOFError:
            return [*tests, "the process died"]
        finally:
            process.join(5)  # seconds; with its answer given it ends by itself, and tidies up
            process.kill()
            process.join()
    return failed


def survivors(mutants: list[Mutant]) -> int:
    """Try each mutant, print its fate, and return how many survived."""

    def killer(mutant: Mutant) -> str | None:
        failed = failures([mutant.test], mutant)
        return failed[-1] if any(test.startswith(mutant.test) for test in failed) else None

    alive = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for mutant, test in zip(mutants, pool.map(killer, mutants), strict=True):
            fate = "SURVIVED" if test is None else f"killed by {test.partition('::')[2] or test}"
            alive += test is None
            print(f"{mutant.module}: {mutant.name}: {fate}", flush=True)
    return alive


def main() -> int:
    parser = argparse.ArgumentParser(description="Break the package; see a named test fail.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help=", ".join(modules()))
    parser.add_argument("--all", action="store_true", help="generic mutants too")
    options = parser.parse_args()
    if unknown := set(options.modules) - set(modules()):
        parser.error(f"no {', '.join(sorted(unknown))}; there are {', '.join(modules())}")
    chosen, start = options.modules or modules(), time.monotonic()
    os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ["OMP_NUM_THREADS"] = "1"
    multiprocessing.set_forkserver_preload(["torch", "pytest", "hypothesis", "playwright.sync_api"])

    mutants = [mutant for module in chosen for mutant in named(module)]
    if mutants and (broken := failures(sorted({mutant.test for mutant in mutants}))):
        sys.exit(f"the clean copy must pass, but failed {', '.join(broken)}")
    alive = survivors(mutants)
    print(f"named: {len(mutants) - alive} of {len(mutants)} killed", flush=True)
    if options.all:
        mutants = [mutant for module in chosen for mutant in generic(module)]
        print(f"generic: {len(mutants) - survivors(mutants)} of {len(mutants)} killed")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())

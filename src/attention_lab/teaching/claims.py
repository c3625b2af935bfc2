"""The ledger of claims, and the check that a computed value agrees with its claim.

A notebook calls ``check("softmax.total", total)``. A value that is off raises, so the cell fails.
A value that agrees prints one line, which the ledger page and the guards read back.
"""

import ast
import math
import re
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from difflib import get_close_matches
from typing import Any

from attention_lab.teaching.ledger import Claim, ledger


class ClaimError(AssertionError):
    """A computed value does not agree with its claim."""


@dataclass(frozen=True)
class Checked:
    """What one printed line says: the claim's id and the value computed (True for "holds")."""

    id: str
    value: Any


def check(id: str, value: Any) -> None:
    """Compare ``value`` with the claim ``id`` by the claim's own rule, and print one line.

    value: a number, string, truth value, nested list, array or tensor; for a claim of kind
    "holds" a truth value that the cell computed; for a "fact" the list of its sources' keys.
    Raises ``ClaimError`` with both values when they differ, ``KeyError`` for an unknown id and
    ``TypeError`` for a value of the wrong type.
    """
    if id not in ledger():
        near = get_close_matches(str(id), ledger(), n=1)
        hint = f": did you mean {near[0]!r}?" if near else ""
        raise KeyError(f"no claim {id!r} in the ledger{hint}")
    claim, here = ledger()[id], plain(value)
    if not agrees(claim, here):
        expected = {"holds": "True", "fact": f"the sources {list(claim.sources)}"}.get(
            claim.kind, show(claim, claim.value)
        )
        raise ClaimError(
            f"{id} is off: computed {here!r}, expected {expected} ({claim.kind}). "
            f"The claim ({claim.where}): {claim.text}"
        )
    print(line(claim, here))


def agrees(claim: Claim, here: Any) -> bool:
    """Whether a plain value meets its claim."""
    if claim.kind == "holds":
        if not isinstance(here, bool):
            raise TypeError(f"{claim.id} holds or not: give True or False, not {here!r}")
        return here
    if claim.kind == "fact":
        return bool(here == list(claim.sources))
    if claim.kind == "approx":
        return _all(lambda a, b: abs(a - float(b)) <= _tolerance(claim, b), here, claim.value)
    if claim.kind == "round":
        digits = _decimals(claim.value)
        return _all(lambda a, b: _rounded(a, digits) == b, here, claim.value)
    return _all(lambda a, b: a == b, here, claim.value)


def line(claim: Claim, here: Any) -> str:
    """The one line that ``check`` prints."""
    if claim.kind == "holds":
        return f"✓ {claim.id} · holds"
    if claim.kind == "fact":
        return f"✓ {claim.id} · source {', '.join(here)}"
    about = "≈ " if claim.kind == "approx" else ""
    says = show(claim, claim.value)
    if claim.kind == "approx":
        says += f" ± {claim.abs if claim.abs is not None else f'{100 * float(claim.rel or 0):g}%'}"
    said_by = "ledger" if claim.doc == "C" else f"document {claim.doc}"
    return f"✓ {claim.id} · here {about}{show(claim, here)} · {said_by} {says}"


_LINE = re.compile(
    r"^✓ (?P<id>\S+) · (?:(?P<holds>holds)|source (?P<sources>.+)"
    r"|here (?:≈ )?(?P<here>.+) · (?:document [AB]|ledger) .+)$"
)


def parse(printed: str) -> Checked | None:
    """Read a line of ``check`` back, or None when it is not one."""
    match = _LINE.match(printed)
    if match is None:
        return None
    if match["holds"]:
        return Checked(match["id"], True)
    if match["sources"]:
        return Checked(match["id"], match["sources"].split(", "))
    return Checked(match["id"], ast.literal_eval(match["here"]))


def plain(value: Any) -> Any:
    """Tensors, arrays, tuples and scalars of numpy and torch as Python lists and numbers."""
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, bool | int | float | str | Decimal):
        return value
    raise TypeError(f"cannot compare a {type(value).__name__} with a claim: {value!r}")


def show(claim: Claim, value: Any) -> str:
    """``value`` as text, with the decimals that its claim calls for."""
    if isinstance(value, list):
        return "[" + ", ".join(show(claim, item) for item in value) + "]"
    if isinstance(value, bool | str) or claim.kind == "exact":
        return repr(float(value) if isinstance(value, Decimal) else value)
    if claim.kind == "round":
        return str(_rounded(value, _decimals(claim.value)))
    if value is claim.value or isinstance(value, Decimal | int):
        return str(value)
    tolerance = _tolerance(claim, value)
    if tolerance < 1e-4:
        return f"{value:.1e}"
    return f"{value:.{max(0, math.ceil(-math.log10(tolerance)) + 1)}f}"


def _all(same: Any, here: Any, there: Any) -> bool:
    if isinstance(here, list) and isinstance(there, list):
        return len(here) == len(there) and all(map(_all, [same] * len(here), here, there))
    if isinstance(here, str | bool) or isinstance(there, str | bool):
        return type(here) is type(there) and here == there
    return not isinstance(here, list) and not isinstance(there, list) and bool(same(here, there))


def _rounded(value: Any, digits: int) -> Any:
    if not math.isfinite(value) or abs(value) > 1e15:  # too large to be a claim's figure
        return value
    unit = Decimal(1).scaleb(-digits)
    return Decimal(repr(value) if isinstance(value, float) else value).quantize(unit, ROUND_HALF_UP)


def _decimals(value: Any) -> int:
    if isinstance(value, list):
        return max(map(_decimals, value))
    return -int(value.as_tuple().exponent) if isinstance(value, Decimal) else 0


def _tolerance(claim: Claim, value: Any) -> float:
    return float(claim.abs if claim.abs is not None else abs(float(value)) * float(claim.rel or 0))

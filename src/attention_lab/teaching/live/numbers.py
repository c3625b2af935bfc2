"""Numbers as the live figures take and show them: the same rules as in `_base.js`."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

import torch
from torch import Tensor

LIMIT = 1e9  # a field takes numbers up to this size


def rounded(name: str, values: Tensor | Sequence[float] | Sequence[Sequence[float]]) -> Tensor:
    """The values in float64, to 3 decimals, as the fields of a figure show them.

    Raises ValueError, naming the argument, for a value that is not a number from -1e9 to 1e9.
    """
    given = torch.as_tensor(values).detach().to("cpu", torch.float64)
    if not (given.abs() <= LIMIT).all():
        odd = given[~(given.abs() <= LIMIT)][0].item()
        raise ValueError(f"{name} must hold numbers from -1e9 to 1e9, got {odd}")
    return torch.tensor(
        [round(x, 3) + 0.0 for x in given.flatten().tolist()], dtype=torch.float64
    ).reshape(given.shape)


def may_look(mask: Tensor | Sequence[object], shape: Sequence[int]) -> Tensor:
    """The mask as a boolean tensor of this shape, True = may look.

    Raises TypeError for a mask that is not boolean, ValueError for one of another shape.
    """
    given = torch.as_tensor(mask).cpu()
    if given.dtype != torch.bool:
        raise TypeError(f"mask must be boolean, True = may look, got {given.dtype}")
    if given.shape != shape:
        raise ValueError(f"mask must have shape {tuple(shape)}, got {tuple(given.shape)}")
    return given


def check_names(names: Sequence[str], count: int, what: str) -> None:
    """Raise ValueError unless there are as many different, visible names as things named."""
    if len(names) != count:
        raise ValueError(f"names must name the {count} {what}, got {len(names)}")
    if len(set(names)) != count or not all(name.strip() for name in names):
        raise ValueError(f"names must be different and not blank, got {list(names)}")


def shown(x: float) -> str:
    """To two decimals; the very large and the very small as 1.2e7 and 3.4e−5."""
    size = abs(Decimal(x))
    if size == Decimal("inf"):
        text = "∞"
    elif 0 < size < Decimal("0.005") or size >= 10**7:
        text = _power(size)
    else:
        step = Decimal("0.01") if size < 10**4 else Decimal(1)
        text = str(size.quantize(step, ROUND_HALF_UP))
    return ("−" if x < 0 else "") + text


def _power(size: Decimal) -> str:
    exponent = size.adjusted()
    step = Decimal("0.1") if float(size) >= 1e-99 else Decimal(1)
    digits = size.scaleb(-exponent).quantize(step, ROUND_HALF_UP)
    if digits == 10:
        digits, exponent = Decimal(1).quantize(step), exponent + 1
    return f"{digits}e{exponent}".replace("-", "−")


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Rows of texts as one text: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = (
        "  ".join(text.rjust(width) if i else text.ljust(width) for i, (text, width) in cells)
        for cells in (enumerate(zip(row, widths, strict=True)) for row in table)
    )
    return "\n".join(line.rstrip() for line in lines)

"""What all exercise checks share: calling an answer, and naming a mistake."""

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

import torch
from torch import Tensor


class AnswerError(AssertionError):
    """The answer is not right yet; the message names the likely mistake."""


def call(answer: Callable[..., Any], *arguments: Any) -> Any:
    """What the answer returns; an unfinished one is told so."""
    check_call(answer, *arguments)
    found = answer(*arguments)
    must(found is not None and found is not ..., "the function returns nothing yet")
    return found


def check_call(answer: Callable[..., Any], *arguments: Any) -> None:
    """Whether the answer is a function that takes these."""
    must(callable(answer), f"give the function itself, not {answer!r}")
    if isfunction(answer):
        try:
            signature(answer).bind(*arguments)
        except TypeError as error:
            given = f"the function is called with {len(arguments)} values"
            raise AnswerError(f"{given}: {error}") from None


def tensor(found: Any, shape: tuple[int, ...] | None = None) -> Tensor:
    """The answer's result, if it is a tensor (of this shape)."""
    if not isinstance(found, Tensor):
        raise AnswerError(f"expected a tensor, not {type(found).__name__}")
    wrong = shape is not None and found.shape != shape
    must(not wrong, f"expected the shape {shape}, not {tuple(found.shape)}")
    return found


def number(found: Any) -> float:
    """The answer's result, if it is one number."""
    try:
        return float(found)
    except (TypeError, ValueError, RuntimeError):
        raise AnswerError(f"expected a number, not {type(found).__name__}") from None
    except OverflowError:
        raise AnswerError("expected a number that is not too large for a float") from None


def must(condition: bool, otherwise: str) -> None:
    """Raise ``AnswerError`` with the likely mistake, unless the condition is met."""
    if not condition:
        raise AnswerError(otherwise)


def randn(*shapes: tuple[int, ...]) -> list[Tensor]:
    """Random tensors of these shapes, the same each time, of the default dtype."""
    generator = torch.Generator().manual_seed(0)
    draws = [torch.randn(shape, generator=generator, dtype=torch.float64) for shape in shapes]
    return [draw.to(torch.get_default_dtype()) for draw in draws]


def close(found: Tensor, wrong: Tensor) -> bool:
    """Whether two tensors of one shape are the same but for rounding."""
    return torch.allclose(found.to(wrong), wrong, atol=1e-4)


def show(row: Tensor) -> str:
    """A row of numbers as a message names them."""
    return "[" + ", ".join(f"{number:.2f}" for number in row.tolist()) + "]"


def praise() -> None:
    """Say that the answer is right."""
    print("Right.")

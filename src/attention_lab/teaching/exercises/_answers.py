"""What all exercise checks share: calling an answer, and naming a mistake."""

from collections.abc import Callable
from typing import Any

from torch import Tensor


class AnswerError(AssertionError):
    """The answer is not right yet; the message names the likely mistake."""


def call(answer: Callable[..., Any], *arguments: Any) -> Any:
    """What the answer returns; an unfinished one is told so."""
    must(callable(answer), f"give the function itself, not {answer!r}")
    found = answer(*arguments)
    must(found is not None and found is not ..., "the function returns nothing yet")
    return found


def tensor(found: Any, shape: tuple[int, ...]) -> Tensor:
    """The answer's result, if it is a tensor of this shape."""
    must(isinstance(found, Tensor), f"expected a tensor, not {type(found).__name__}")
    must(found.shape == shape, f"expected the shape {shape}, not {tuple(found.shape)}")
    return found  # type: ignore[no-any-return]


def must(condition: bool, otherwise: str) -> None:
    """Raise ``AnswerError`` with the likely mistake, unless the condition is met."""
    if not condition:
        raise AnswerError(otherwise)


def praise() -> None:
    """Say that the answer is right."""
    print("Right.")

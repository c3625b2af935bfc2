"""Checks for the exercises. A wrong answer is told which mistake it looks like.

Each ``check_NAME(answer)`` prints one line when the answer is right, and raises ``AnswerError``
otherwise. An answer is a function unless said otherwise.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor


class AnswerError(AssertionError):
    """The answer is not right yet; the message names the likely mistake."""


def check_count_triples(answer: Callable[[Tensor, int], Tensor]) -> None:
    """Chapter 01: ``count_triples(ids (N,), vocab_size) -> (V, V, V)``, whole numbers."""
    ids = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    right = torch.zeros(3, 3, 3, dtype=torch.long)  # (V, V, V)
    for a, b, c in zip(ids, ids[1:], ids[2:], strict=False):
        right[a, b, c] += 1
    found = _tensor(_call(answer, ids, 3), (3, 3, 3))
    _must(
        not torch.equal(found, right.permute(2, 1, 0)),
        "the order is turned round: counts[a, b, c] asks what follows a, b",
    )
    _must(
        not torch.equal(found, (right > 0).to(found.dtype)),
        "a triple that occurs twice counts once: with repeated indices, counts[a, b, c] += 1 adds "
        "only one; torch.bincount or index_put_(..., accumulate=True) adds each",
    )
    _must(
        bool((found == found.long()).all()),
        "these are frequencies: give the counts themselves, before any division",
    )
    _must(
        int(found.sum()) == len(ids) - 2,
        f"{int(found.sum())} triples counted, but {len(ids)} characters have {len(ids) - 2}: "
        "do the last characters run on into the first?",
    )
    _must(bool((found == right).all()), f"for ids {ids.tolist()} expected {right.tolist()}")
    _right()


def check_problems(answer: Callable[[str], list[tuple[str, str]]]) -> None:
    """Chapter 01: ``problems(text) -> [(context, next), ...]``, shortest context first."""
    text = "thou"
    found = [tuple(pair) for pair in _call(answer, text)]
    right = [("t", "h"), ("th", "o"), ("tho", "u")]
    _must(
        not any(len(pair) == 2 and pair[0].endswith(pair[1]) for pair in found),
        "a context ends in its own answer: this problem gives itself away",
    )
    _must(
        ("", "t") not in found, "the first problem has no context: start after the first character"
    )
    _must(
        ("thou", "") not in found, "the last problem has no answer: stop before the last character"
    )
    _must(
        [b for _a, b in found] != ["h", "o", "u"] or found == right,
        f"the answers are right, the contexts are not: {found}. A context is all that came before",
    )
    _must(found == right, f"for {text!r} expected {right}, found {found}")
    _right()


def check_split_parameters(answer: Callable[[int, int], int]) -> None:
    """Chapter 02: ``parameters(vocab_size, n_embd) -> int`` of the split model, biases too."""
    for V, C in ((65, 32), (100, 7)):
        found, case = _call(answer, V, C), f"for vocab_size {V} and n_embd {C}"
        _must(found != V * C * 2, f"{case} the bias of lm_head is missing: one number a character")
        _must(
            found != V * C * 2 + C, f"{case} the bias is as long as the output (V), not the input"
        )
        _must(found != V * V, f"{case} this is the bigram's table")
        _must(found != V * C, f"{case} one of the two layers is missing")
        _must(found == V * C + C * V + V, f"{case} expected {2 * V * C + V}, found {found}")
    _right()


def check_starting_loss(answer: Callable[[int, float], float]) -> None:
    """Chapter 02: ``starting_loss(vocab_size, variance)`` in nats, before any training."""
    for V, variance in ((65, 1.0), (65, 1 / 3), (1000, 2.0)):
        found, case = (
            float(_call(answer, V, variance)),
            f"for {V} characters, variance {variance:.3g}",
        )
        guess = math.log(V)
        for wrong, why in (
            (guess, "this is the loss of guessing: random scores cost more"),
            (math.log2(V) + variance / 2, "this mixes bits and nats: use the natural logarithm"),
            (guess + variance, "the variance counts half"),
            (
                guess - variance / 2,
                "the sign is wrong: confident nonsense costs more than guessing",
            ),
            (guess + variance**0.5 / 2, "this takes the standard deviation for the variance"),
        ):
            near = math.isclose(found, wrong, abs_tol=1e-6) and variance != 1.0
            _must(not near, f"{case}: {why}")
        right = guess + variance / 2
        _must(
            math.isclose(found, right, abs_tol=1e-3),
            f"{case}: expected {right:.3f}, got {found:.3f}",
        )
    _right()


def _call(answer: Callable[..., Any], *arguments: Any) -> Any:
    _must(callable(answer), f"give the function itself, not {answer!r}")
    found = answer(*arguments)
    _must(found is not None and found is not ..., "the function returns nothing yet")
    return found


def _tensor(found: Any, shape: tuple[int, ...]) -> Tensor:
    _must(isinstance(found, Tensor), f"expected a tensor, not {type(found).__name__}")
    _must(found.shape == shape, f"expected the shape {shape}, not {tuple(found.shape)}")
    return found  # type: ignore[no-any-return]


def _must(condition: bool, otherwise: str) -> None:
    if not condition:
        raise AnswerError(otherwise)


def _right() -> None:
    print("Right.")

"""Checks for the exercises of chapter 18: online softmax, linear attention, windows."""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from attention_lab.teaching.exercises._answers import (
    AnswerError,
    call,
    must,
    number,
    praise,
    tensor,
)

State = tuple[float, float, float]
Sums = tuple[Tensor, Tensor]


def check_merge(answer: Callable[[State, State], State]) -> None:
    """Chapter 18: ``merge(left, right)``, each (top, total, mixed), into one such triple."""
    rows = ([2.0, -1.0], [3.0, 0.5, 2.5]), ([1.0, 4.0], [0.0, 3.5]), ([900.0, 899.0], [-900.0])
    for left_scores, right_scores in rows:
        left, right = _read(left_scores), _read(right_scores)
        try:
            found = call(answer, left, right)
        except OverflowError:
            must(
                False, "e to the power of the difference overflows: shrink the smaller, never grow"
            )
        must(
            isinstance(found, tuple | list) and len(found) == 3,
            f"three numbers are expected, top, total and mixed, not {found!r}",
        )
        top, total, mixed = (number(part) for part in found)
        case = f"for scores {left_scores} and {right_scores}"
        expected = _read(left_scores + right_scores)
        must(top == expected[0], f"{case}: the largest score is {expected[0]}, not {top}")
        must(
            not _close(total, left[1] + right[1]) or _close(total, expected[1]),
            f"{case}: the totals were added as they are, but they were taken with two different "
            "largest scores",
        )
        a, b = math.exp(left[0] - top), math.exp(right[0] - top)
        must(
            not _close(total, b * left[1] + a * right[1]) or _close(total, expected[1]),
            f"{case}: the factor went to the wrong half: the one with the smaller top shrinks",
        )
        must(_close(total, expected[1]), f"{case}: the total is {expected[1]:.4f}, not {total:.4f}")
        must(
            not _close(mixed, left[2] + right[2]) or _close(mixed, expected[2]),
            f"{case}: mixed needs the same factors as the total",
        )
        must(_close(mixed, expected[2]), f"{case}: mixed is {expected[2]:.4f}, not {mixed:.4f}")
    praise()


def _read(scores: list[float]) -> State:
    """The state after these scores, each of which has its cosine for a value."""
    top = max(scores)
    powers = [math.exp(score - top) for score in scores]
    values = (math.cos(score) for score in scores)
    return top, sum(powers), sum(p * v for p, v in zip(powers, values, strict=True))


def check_linear_step(
    answer: Callable[[Sums, Tensor, Tensor, Tensor], tuple[Sums, Tensor]],
) -> None:
    """Chapter 18: ``step((sums (hs, hv), norm (hs,)), q, k (hs,), v (hv,)) -> (state, out)``."""
    generator = torch.Generator().manual_seed(0)
    sums, norm, q, k = (torch.rand(n, generator=generator) + 0.1 for n in ((3, 2), 3, 3, 3))
    v = torch.randn(2, generator=generator)  # (hv,)
    before = sums.clone(), norm.clone()
    try:
        found = call(answer, (sums, norm), q, k, v)
    except RuntimeError as error:
        must(False, f"the shapes do not fit ({error}): outer(k, v) is (hs, hv), as the sums are")
    same = torch.equal(sums, before[0]) and torch.equal(norm, before[1])
    must(same, "the old state was changed: += writes into it, state + ... makes a new one")
    new_sums, new_norm, out = _parts(found)
    right_sums, right_norm = sums + torch.outer(k, v), norm + k  # (hs, hv), (hs,)
    must(not _near(new_sums, sums), "the new sums are the old ones: add outer(k, v)")
    must(_near(new_sums, right_sums), "the new sums are not sums + outer(k, v)")
    must(not _near(new_norm, norm), "the new norm is the old one: add k")
    must(_near(new_norm, right_norm), "the new norm is not norm + k")
    for wrong, why in (
        (q @ sums / (q @ norm), "asked before adding: a position sees itself too"),
        (q @ right_sums, "not divided: the weights must sum to 1, so divide by q @ norm"),
        (q @ right_sums / (q @ norm), "divided by the old norm, which lacks the new key"),
        (q @ right_sums / right_norm.sum(), "divided by the sum of norm: the weights are q @ norm"),
    ):
        must(not _near(out, wrong), why)
    must(_near(out, q @ right_sums / (q @ right_norm)), "the output is q @ sums / (q @ norm)")
    praise()


def _parts(found: object) -> Iterator[Tensor]:
    """Sums, norm and output of an answer ((sums, norm), out)."""
    match found:
        case ((sums, norm), out):
            shapes = (3, 2), (3,), (2,)
            return iter([tensor(x, n) for x, n in zip((sums, norm, out), shapes, strict=True)])
    raise AnswerError("return two things: the new state, a pair (sums, norm), and the output")


def check_layers_needed(answer: Callable[[int, int], int]) -> None:
    """Chapter 18: ``layers_needed(T, window)``: layers for the last to depend on the first."""
    for T, window in ((9, 2), (4, 4), (5, 4), (10, 4), (11, 4), (100, 20), (131_072, 4_096)):
        found, right = number(call(answer, T, window)), -(-(T - 1) // (window - 1))
        case = f"T = {T:,}, window = {window:,}"
        must(found.is_integer(), f"{case}: layers are whole numbers, and {found:.2f} is none")
        by_window = math.ceil(T / window), math.ceil((T - 1) / window)
        must(
            window > 2 or found == right or found not in by_window,
            f"{case}: the window holds the position itself, so a layer leads back by window - 1",
        )
        must(
            found == right or found != (T - 1) // (window - 1),
            f"{case}: {found:.0f} does not quite reach the first position: round up",
        )
        must(found == right, f"{case}: it takes {right}, not {found:.0f}")
    praise()


def _close(a: float, b: float) -> bool:
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-9)


def _near(a: Tensor, b: Tensor) -> bool:
    return torch.allclose(a.to(b), b, atol=1e-5)

"""Checks for the exercises of chapter 13: the width of a vector, and the order of the words."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attention_lab.teaching.exercises._answers import call, must, number, praise

Array = NDArray[np.float64]


def check_steady_factor(answer: Callable[[int], float]) -> None:
    """Chapter 13: ``factor(d)`` for the matrices, so that scores spread as they do at d = 8."""
    at_8 = number(call(answer, 8))
    hint = ": use the 8 in your formula" if abs(at_8 * 8**0.5 - 0.6) < 1e-6 else ""
    must(abs(at_8 - 0.6) < 1e-6, f"at d = 8 the factor is 0.6, not {at_8:g}{hint}")
    for d in (64, 2, 512):
        found = number(call(answer, d))
        for power, why in (
            (0.0, "0.6 at any width: the spread grows as fast as d"),
            (0.25, "too weak: the spread grows with the factor squared, not to the fourth power"),
            (1.0, "too strong: the factor enters twice, by the queries and by the keys"),
            (-0.5, "upside down: a wider vector needs smaller numbers"),
        ):
            wrong = abs(found - 0.6 * (8 / d) ** power) < 1e-6
            must(not wrong, f"{why} (for d = {d})")
        right = 0.6 * (8 / d) ** 0.5
        spread = d * found**2
        must(
            abs(found - right) < 1e-6,
            f"with {found:g} for d = {d} the scores spread by {spread:.2f}, not by {8 * 0.36:.2f}",
        )
    praise()


def check_shuffle_gap(
    answer: Callable[[Callable[[Array], Array], Array, Array, list[int]], float],
) -> None:
    """Chapter 13: ``shuffle_gap(outputs, X, P, order)``: how far a shuffle moves the words' rows.

    outputs: (T, C) -> (T, hs). X: the words (T, C). P: the places (T, C). order: T numbers.
    """
    for T, order in ((4, [2, 0, 3, 1]), (5, [4, 0, 1, 3, 2])):
        X, P, W = _randn((T, 3), (T, 3), (3, 3))

        def outputs(x: Array, W: Array = W) -> Array:
            scores = x @ W @ x.T  # (T, T)
            weights = np.exp(scores - scores.max(axis=1, keepdims=True))  # (T, T)
            out: Array = weights / weights.sum(axis=1, keepdims=True) @ x  # (T, C)
            return out

        before = X.copy(), P.copy()
        found: Any = call(answer, outputs, X, P, order)
        same = np.array_equal(X, before[0]) and np.array_equal(P, before[1])
        must(same, "X or P itself was changed: += writes into the input")
        shape = np.shape(found)
        must(shape == (), f"expected one number, the largest difference, not the shape {shape}")
        gap = number(found)
        there, here = outputs(X + P), outputs(X[order] + P)  # (T, C) twice
        right = float(np.abs(here - there[order]).max())
        for wrong, why in (
            (0.0, "0: words and places were shuffled together, or P was left out: places stay put"),
            (
                _gap(here, there),
                "rows of different words were compared: take the old rows in order",
            ),
            (_gap(outputs((X + P)[order]), there), "the sums were shuffled: places stay put"),
            (_gap(outputs(X[order]), there[order]), "the new order got no places: add P there too"),
            (_gap(here, outputs(X)[order]), "the old order got no places: add P there too"),
            (float((here - there[order]).max()), "a difference below 0 counts too: np.abs first"),
            (float(np.abs(here - there[order]).mean()), "this is the mean: take the largest"),
        ):
            must(abs(gap - right) < 1e-9 or abs(gap - wrong) > 1e-9, why)
        must(abs(gap - right) < 1e-9, f"for {T} words it should be {right:.4f}, not {gap:.4f}")
    praise()


def _gap(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max())


def _randn(*shapes: tuple[int, ...]) -> list[Array]:
    """Random arrays of these shapes, the same each time."""
    generator = np.random.default_rng(0)
    return [generator.normal(size=shape) for shape in shapes]

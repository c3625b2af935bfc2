"""Checks for the exercises of chapter 15: what the square costs."""

from collections.abc import Callable

from attention_lab.cost import longest
from attention_lab.teaching.exercises._answers import call, must, number, praise

GB = 2**30


def check_in_view(answer: Callable[[int], int]) -> None:
    """Chapter 15: ``in_view(T)``: the entries of a (T, T) matrix that a causal mask leaves."""
    for T, right in ((6, 21), (12, 78), (1, 1), (500, 125_250)):
        found = number(call(answer, T))
        case = f"for T = {T}"
        for wrong, why in (
            (T * T, "these are all entries: the mask hides those above the diagonal"),
            (T * (T - 1) // 2, "each word may look at itself: the diagonal counts"),
            (T * T / 2, "half the square leaves out half of the diagonal"),
            (T, "this is one row, the last: count all of them"),
        ):
            must(found == right or found != wrong, f"{case} {why}")
        must(found == right, f"{case} it should be {right}, is {found:g}: row t sees t + 1 words")
    praise()


def check_longest_text(answer: Callable[[int, int, int], int]) -> None:
    """Chapter 15: ``longest_text(budget, n_head, n_layer)``: the largest T that fits, in fp16."""
    for GBs, n_head, n_layer in ((141, 8, 3), (24, 1, 1), (80, 96, 96)):
        budget = GBs * GB
        found = number(call(answer, budget, n_head, n_layer))
        right = longest(budget, n_head=n_head, n_layer=n_layer)
        case = f"{GBs} GB, {n_head} head(s), {n_layer} layer(s):"
        must(not right < found < right + 1, f"{case} a text has whole words: round down")
        must(found != right + 1, f"{case} {right + 1} is one too many: round down")
        for wrong, why in _mistakes(budget, n_head, n_layer):
            must(found == right or abs(found - wrong) > 1, f"{case} {why}")
        must(found == right, f"{case} the longest is {right}, not {found:.10g}")
    praise()


def _mistakes(budget: int, n_head: int, n_layer: int) -> list[tuple[float, str]]:
    """Wrong lengths, each with the mistake that makes it."""
    matrices = n_head * n_layer
    return [
        (budget / matrices / 2, "this is T times T: the root is missing"),
        ((budget / matrices) ** 0.5, "an entry of fp16 takes two bytes"),
        ((budget / matrices / 4) ** 0.5, "four bytes an entry are fp32: fp16 takes two"),
        ((budget / 2) ** 0.5, "this is for one matrix: heads and layers multiply"),
        ((budget / n_head / 2) ** 0.5, "this is for one layer: layers multiply too"),
        ((budget / n_layer / 2) ** 0.5, "this is for one head: heads multiply too"),
        ((budget / 2) ** 0.5 / matrices, "the matrices share the budget before the root is taken"),
        ((budget / (n_head + n_layer) / 2) ** 0.5, "each layer has all the heads: multiply them"),
    ]

"""Checks for the exercises of chapters 01 and 02."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attention_lab.teaching.exercises._answers import (
    call,
    check_call,
    must,
    number,
    praise,
    tensor,
)


def check_count_triples(answer: Callable[[Tensor, int], Tensor]) -> None:
    """Chapter 01: ``count_triples(ids (N,), vocab_size) -> (V, V, V)``, whole numbers."""
    ids = torch.tensor([0, 1, 2, 0, 1, 2, 2])
    right = torch.zeros(3, 3, 3, dtype=torch.long)  # (V, V, V)
    for a, b, c in zip(ids, ids[1:], ids[2:], strict=False):
        right[a, b, c] += 1
    found = tensor(call(answer, ids, 3), (3, 3, 3))
    must(
        not torch.equal(found, right.permute(2, 1, 0)),
        "the order is turned round: counts[a, b, c] asks what follows a, b",
    )
    must(
        not torch.equal(found, (right > 0).to(found.dtype)),
        "a triple that occurs twice counts once: with repeated indices, counts[a, b, c] += 1 adds "
        "only one; torch.bincount or index_put_(..., accumulate=True) adds each",
    )
    must(
        bool((found == found.long()).all()),
        "these are frequencies: give the counts themselves, before any division",
    )
    must(
        int(found.sum()) == len(ids) - 2,
        f"{int(found.sum())} triples counted, but {len(ids)} characters have {len(ids) - 2}: "
        "do the last characters run on into the first?",
    )
    must(bool((found == right).all()), f"for ids {ids.tolist()} expected {right.tolist()}")
    praise()


def check_mended_loss(answer: Callable[[Tensor, Tensor, float], float]) -> None:
    """Chapter 01: ``mended_loss(counts (V, V), ids (N,), extra) -> float``, mean of -ln p."""
    counts = torch.tensor([[6, 2, 0], [1, 0, 3], [0, 4, 9]])  # (V, V)
    ids, extra, before = torch.tensor([0, 0, 2, 1, 1, 2]), 0.5, counts.clone()
    found = number(call(answer, counts, ids, extra))
    must(torch.equal(counts, before), "the counts were changed in place: work on a copy")

    def loss(p: Tensor) -> float:
        return float(-p[ids[:-1], ids[1:]].log().mean())

    more = counts + extra  # (V, V)
    rows = more.sum(1, keepdim=True)  # (V, 1)
    right = loss(more / rows)
    for wrong, why in (
        (float("inf"), "a pair still has probability 0: add extra before you divide"),
        (-right, "the sign is missing: the loss is -ln p"),
        (right * (len(ids) - 1), "this is the sum over the pairs, not the mean"),
        (right / math.log(2), "this is in bits: use the natural logarithm"),
        (loss(more / more.sum(1)), "the sums went to the columns: sum(1, keepdim=True)"),
        (loss(more / more.sum()), "divide each row by its own sum, not by the sum of all"),
        (loss(more / counts.sum(1, keepdim=True)), "the row sums lack what you added"),
        (loss((more / more.sum(0)).T), "rows and columns are swapped: a row is what stands first"),
    ):
        must(not math.isclose(found, wrong, rel_tol=1e-5), why)
    must(math.isclose(found, right, rel_tol=1e-5), f"expected {right:.4f}, got {found:.4f}")
    more = counts + 2.0  # (V, V)
    again, right = number(call(answer, counts, ids, 2.0)), loss(more / more.sum(1, keepdim=True))
    must(math.isclose(again, right, rel_tol=1e-5), "another extra must give another loss: use it")
    praise()


def check_equal_width(answer: Callable[[int], int | None]) -> None:
    """Chapter 02: ``equal_width(vocab_size)``: the split model as large as the table, or None."""
    check_call(answer, 65)
    for V in (65, 101, 7, 50_257):
        found = answer(V)
        must(found is not None, f"for {V} characters there is a width (is anything returned?)")
        must(isinstance(found, int), f"a width is a whole number, not {found!r}: divide by //")
        must(found != V // 2 + 1, f"for {V} characters: one too many, the bias takes its share")
        must(found == (V - 1) // 2, f"for {V} characters {found} is not it: V (2 C + 1) = V V")
    for V in (64, 66, 1000):
        must(answer(V) is None, f"{V} characters: 2 C + 1 is odd, so no width fits: return None")
    praise()


def check_shrink(answer: Callable[[float], float]) -> None:
    """Chapter 02: ``shrink(extra)``, the factor on scores of spread 1, for a loss ln V + extra."""
    for extra in (0.02, 0.1, 0.3):
        found, case = number(call(answer, extra)), f"for {extra} nats"
        for wrong, why in (
            (2 * extra, "this is the variance that is left: a factor acts on the spread"),
            (extra**0.5, "half the variance is what costs: that 2 is missing"),
            (extra, "the loss grows with the square of the factor"),
            ((extra / 2) ** 0.5, "the 2 is on the wrong side"),
        ):
            must(not math.isclose(found, wrong, rel_tol=1e-4), f"{case}: {why}")
        right = (2 * extra) ** 0.5
        close = math.isclose(found, right, rel_tol=1e-4)
        must(close, f"{case}: expected {right:.3f}, got {found:.3f}")
    praise()

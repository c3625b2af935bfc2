"""Checks for the exercises of chapters 11 and 12: the scale, several heads, the mask's corner."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attention_lab.attention import causal_mask
from attention_lab.teaching.exercises._answers import call, must, number, praise, tensor


def check_scale_for(answer: Callable[[int, float, float], float]) -> None:
    """Chapter 11: ``scale_for(hs, var_q, var_k)``: the factor that gives scores variance 1."""
    for hs, var_q, var_k in ((16, 1.0, 1.0), (64, 4.0, 0.25), (4, 1 / 3, 1 / 3), (9, 2.0, 8.0)):
        found = number(call(answer, hs, var_q, var_k))
        variance = hs * var_q * var_k
        case = f"for hs = {hs}, var_q = {var_q:.2f} and var_k = {var_k:.2f}"
        for wrong, why in (
            (variance**0.5, "this makes the scores larger still: divide by it"),
            (1 / variance, "this is one over the variance: a factor c makes c² of a variance"),
            (hs**-0.5, "the variances of queries and keys are not used"),
            ((var_q * var_k) ** -0.5, "the head size is not used"),
            (hs**-0.5 / (var_q * var_k), "the root is over the head size alone"),
            ((hs * (var_q + var_k)) ** -0.5, "the variances of the factors of a product multiply"),
            ((hs * var_q) ** -0.5, "var_k is not used"),
            ((hs * var_k) ** -0.5, "var_q is not used"),
            (hs**-0.5 * (var_q * var_k) ** 0.5, "larger queries need a smaller factor"),
        ):
            must(not _same(found, wrong) or _same(wrong, variance**-0.5), f"{case}: {why}")
        got = f"{found:.4g} leaves a variance of {found**2 * variance:.4g}"
        must(found > 0 and _same(found, variance**-0.5), f"{case}, the factor {got}")
    praise()


def check_cosine_scale(answer: Callable[[int], float]) -> None:
    """Chapter 11: ``cosine_scale(hs)``: the factor for scores of vectors of length 1."""
    for hs in (4, 64, 256):
        found = number(call(answer, hs))
        must(not _same(found, hs**-0.5), "for vectors of length 1 the scores are small already")
        must(not _same(found, hs), "this is one over the variance: a factor c makes c² of it")
        must(not _same(found, 1), "the variance of a cosine is 1/hs, not 1")
        right = f"at hs = {hs} the factor {found:.4g} leaves a variance of {found**2 / hs:.4g}"
        must(found > 0 and _same(found, hs**0.5), right)
    praise()


def check_join(answer: Callable[[Tensor], Tensor]) -> None:
    """Chapter 12: ``merge(heads (B, nh, T, hs)) -> (B, T, C)``, head by head along C."""
    for B, nh, T, hs in ((2, 3, 4, 5), (1, 2, 2, 2), (3, 4, 2, 1)):
        heads = torch.arange(float(B * nh * T * hs)).reshape(B, nh, T, hs)
        found = tensor(call(answer, heads.clone()))
        right = heads.transpose(1, 2).flatten(-2)  # (B, T, C)
        if found.shape == right.shape:
            for wrong, why in (
                (heads.reshape(right.shape), "not transposed back: a row mixes several positions"),
                (
                    heads.permute(0, 2, 3, 1).flatten(-2),
                    "the heads are interleaved: put each head's numbers side by side",
                ),
            ):
                must(not _equal(found, wrong) or _equal(wrong, right), why)
        must(
            found.shape != (B, T, nh, hs),
            f"the last two axes are still apart: make {nh * hs} of {(nh, hs)}",
        )
        found = tensor(found, tuple(right.shape))
        must(_equal(found, right), f"position 0 should read {_show(right[0, 0])}")
    praise()


def check_late_mask(answer: Callable[[int, int], Tensor]) -> None:
    """Chapter 12: ``late_mask(T, S) -> (T, S)``: the T queries are the last of S positions."""
    for T, S in ((1, 5), (3, 5), (4, 4)):
        found = tensor(call(answer, T, S))
        must(found.dtype == torch.bool, f"give truth values, True = may look, not {found.dtype}")
        found = tensor(found, (T, S))
        right = causal_mask(T, S)  # (T, S)
        case = f"for T = {T} and S = {S}"
        for wrong, why in (
            (
                torch.ones(T, S, dtype=torch.bool).tril(),
                "anchored at the first key: query 0 is position S - T, not position 0",
            ),
            (~right, "the wrong way round: True = may look"),
            (torch.ones(T, S, dtype=torch.bool).tril(S - T - 1), "a position may see itself too"),
            (torch.ones(T, S, dtype=torch.bool).tril(S - T + 1), "one position too far ahead"),
            (torch.ones(T, S, dtype=torch.bool), "nothing is hidden"),
        ):
            must(not _equal(found, wrong) or _equal(wrong, right), f"{case}: {why}")
        sees = f"query 0 is position {S - T} and sees {S - T + 1} keys, the last query all {S}"
        must(_equal(found, right), f"{case} {sees}")
    praise()


def _same(found: float, wrong: float) -> bool:
    return math.isclose(found, wrong, rel_tol=1e-6)


def _equal(found: Tensor, wrong: Tensor) -> bool:
    return torch.equal(found.to(wrong), wrong)


def _show(row: Any) -> str:
    return "[" + ", ".join(f"{entry:g}" for entry in row.tolist()) + "]"

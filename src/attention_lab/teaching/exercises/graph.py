"""Checks for the exercises of chapter 09: which arrows a mask draws, and how far news travels."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_lab.attention import causal_mask
from attention_lab.teaching.exercises._answers import call, must, praise, tensor


def check_packed_mask(answer: Callable[[list[int]], Tensor]) -> None:
    """Chapter 09: ``packed_mask(lengths) -> (T, T)`` boolean, causal within each of the texts."""
    for lengths in ([3, 2], [2, 2], [1, 4, 2], [3]):
        T, case = sum(lengths), f"for lengths {lengths}"
        found = tensor(call(answer, list(lengths)))
        must(
            found.dim() == 2 and found.shape == (T, T),
            f"{case} the texts lie in one sequence, so the mask is {(T, T)}, "
            f"not {tuple(found.shape)}",
        )
        must(found.dtype == torch.bool, f"{case} a mask is boolean, not {found.dtype}")
        text = torch.repeat_interleave(torch.arange(len(lengths)), torch.tensor(lengths))  # (T,)
        same = text[:, None] == text  # (T, T)
        right = same & causal_mask(T)  # (T, T)
        for wrong, why in (
            (~right, "the wrong way round: True = may look"),
            (same, "the future is in view: nobody looks ahead within a text either"),
            (causal_mask(T), "a text looks into the one before it: cut between the texts too"),
            (right.T, "turned round: row t is what t sees, so the triangles lie below"),
            (right & ~torch.eye(T, dtype=torch.bool), "each position may look at itself too"),
        ):
            must(torch.equal(right, wrong) or not torch.equal(found, wrong), f"{case} {why}")
        must(torch.equal(found, right), f"{case} the mask should be {right.int().tolist()}")
    praise()


def check_reach(answer: Callable[[Tensor, int], Tensor]) -> None:
    """Chapter 09: ``reach(mask (T, T), rounds) -> (T, T)`` boolean: what has come how far."""
    last_two = causal_mask(6) & ~causal_mask(6).tril(-2)  # (T, T)
    ring = last_two.clone()
    ring[0, 5] = True
    for name, mask in (("everyone sees itself and the one before", last_two), ("a ring", ring)):
        for rounds in (1, 2, 3, 5):
            case, given = f"{name}, {rounds} rounds:", mask.clone()
            found = tensor(call(answer, given, rounds), (6, 6))
            must(torch.equal(given, mask), "the mask itself was changed: work on a copy")
            counts = torch.linalg.matrix_power(mask.double(), rounds)  # (T, T) number of ways
            must(
                found.dtype == torch.bool,
                f"{case} this has dtype {found.dtype}: not in how many ways, but whether: > 0",
            )
            right = counts > 0  # (T, T)
            must(
                rounds == 1 or not torch.equal(found, mask),
                f"{case} still one round: what s heard travels on with what s gives",
            )
            more = torch.linalg.matrix_power(mask.double(), rounds + 1) > 0  # (T, T)
            less = torch.linalg.matrix_power(mask.double(), rounds - 1) > 0  # (T, T)
            for wrong, why in (
                (right.T, "turned round: row t is what has reached t"),
                (more, "one round too many: one round is the mask itself"),
                (less, "one round too few: one round is the mask itself"),
                (torch.ones_like(right), "everything at once: news moves one arrow a round"),
            ):
                must(torch.equal(right, wrong) or not torch.equal(found, wrong), f"{case} {why}")
            must(torch.equal(found, right), f"{case} expected {right.int().tolist()}")
    praise()

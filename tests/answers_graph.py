"""Right and wrong answers to the exercises of chapter 09, and what each must be told."""

import torch

from attention_lab.attention import causal_mask


def packed_mask(lengths):
    return torch.block_diag(*[causal_mask(n) for n in lengths]).bool()


def reach(mask, rounds):
    return ways(mask, rounds) > 0


def ways(mask, rounds):
    return torch.linalg.matrix_power(mask.float(), rounds)


def by_the_longest(lengths):
    return causal_mask(max(lengths)).repeat(len(lengths), len(lengths))


def all_of_one_length(lengths):
    return torch.block_diag(*[causal_mask(lengths[0])] * len(lengths)).bool()


def looks_into_the_next(lengths):
    mask = packed_mask(lengths)
    mask[0, -1] = True
    return mask


def in_place(mask, rounds):
    mask |= reach(mask, rounds)
    return mask


RIGHT = {"check_packed_mask": packed_mask, "check_reach": reach}
WRONG = [
    ("check_packed_mask", lambda lengths: None, "returns nothing yet"),
    ("check_packed_mask", lambda lengths: packed_mask(lengths).tolist(), "a tensor, not list"),
    ("check_packed_mask", lambda lengths: packed_mask(lengths).float(), "boolean, not torch.float"),
    ("check_packed_mask", lambda lengths: ~packed_mask(lengths), "True = may look"),
    ("check_packed_mask", lambda lengths: causal_mask(sum(lengths)), "cut between the texts"),
    ("check_packed_mask", lambda lengths: packed_mask(lengths).T, "the triangles lie below"),
    ("check_packed_mask", lambda lengths: packed_mask(lengths).tril(-1), "look at itself too"),
    (
        "check_packed_mask",
        lambda lengths: packed_mask(lengths) | packed_mask(lengths).T,
        "nobody looks ahead within a text",
    ),
    ("check_packed_mask", by_the_longest, r"so the mask is \(5, 5\), not \(6, 6\)"),
    ("check_packed_mask", all_of_one_length, r"so the mask is \(5, 5\), not \(6, 6\)"),
    ("check_packed_mask", lambda lengths: causal_mask(lengths[0])[None], r"not \(1, 3, 3\)"),
    ("check_packed_mask", looks_into_the_next, "the mask should be"),
    ("check_reach", ways, "not in how many ways, but whether"),
    ("check_reach", lambda mask, rounds: mask, "still one round"),
    ("check_reach", lambda mask, rounds: mask.clone() ** rounds > 0, "still one round"),
    ("check_reach", lambda mask, rounds: reach(mask, rounds).T, "row t is what has reached t"),
    ("check_reach", lambda mask, rounds: reach(mask, rounds + 1), "one round too many"),
    ("check_reach", lambda mask, rounds: reach(mask, rounds - 1), "one round too few"),
    ("check_reach", lambda mask, rounds: torch.ones(6, 6).bool(), "one arrow a round"),
    ("check_reach", lambda mask, rounds: reach(mask, rounds)[0], r"expected the shape \(6, 6\)"),
    ("check_reach", lambda mask, rounds: reach(mask, 2 * rounds - 1), "3 rounds|2 rounds"),
    ("check_reach", lambda mask, rounds: ~reach(mask, rounds), "expected"),
    ("check_reach", in_place, "the mask itself was changed"),
]

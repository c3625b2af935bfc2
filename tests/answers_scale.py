"""Right and wrong answers to the exercises of chapters 11 and 12, and what each must be told."""

import torch


def scale_for(hs, var_q, var_k):
    return (hs * var_q * var_k) ** -0.5


def merge(heads):
    return heads.transpose(1, 2).flatten(-2)


def late_mask(T, S):
    return torch.arange(S) <= torch.arange(S - T, S)[:, None]


def ones(T, S):
    return torch.ones(T, S, dtype=torch.bool)


RIGHT = {
    "check_scale_for": scale_for,
    "check_cosine_scale": lambda hs: hs**0.5,
    "check_join": merge,
    "check_late_mask": late_mask,
}
WRONG = [
    ("check_scale_for", lambda hs, q, k: (hs * q * k) ** 0.5, "larger still: divide"),
    ("check_scale_for", lambda hs, q, k: 1 / (hs * q * k), "one over the variance"),
    ("check_scale_for", lambda hs, q, k: hs**-0.5, "queries and keys are not used"),
    ("check_scale_for", lambda hs, q, k: (q * k) ** -0.5, "the head size is not used"),
    ("check_scale_for", lambda hs, q, k: hs**-0.5 / (q * k), "root is over the head size alone"),
    ("check_scale_for", lambda hs, q, k: (hs * (q + k)) ** -0.5, "factors of a product multiply"),
    ("check_scale_for", lambda hs, q, k: (hs * q) ** -0.5, "var_k is not used"),
    ("check_scale_for", lambda hs, q, k: (hs * k) ** -0.5, "var_q is not used"),
    ("check_scale_for", lambda hs, q, k: (q * k / hs) ** 0.5, "need a smaller factor"),
    ("check_scale_for", lambda hs, q, k: 2 * scale_for(hs, q, k), "leaves a variance of 4"),
    ("check_scale_for", lambda hs, q, k: -scale_for(hs, q, k), "leaves a variance of 1"),
    ("check_scale_for", lambda hs, q, k: None, "returns nothing yet"),
    ("check_scale_for", lambda hs, q, k: "a", "expected a number, not str"),
    ("check_cosine_scale", lambda hs: hs**-0.5, "small already"),
    ("check_cosine_scale", lambda hs: hs, "one over the variance"),
    ("check_cosine_scale", lambda hs: 1.0, "1/hs, not 1"),
    ("check_cosine_scale", lambda hs: 3 * hs**0.5, "at hs = 4 the factor 6 leaves .* of 9"),
    ("check_cosine_scale", lambda hs: -(hs**0.5), "leaves a variance of 1"),
    ("check_join", lambda heads: heads.reshape(len(heads), heads.shape[2], -1), "not transposed"),
    ("check_join", lambda heads: heads.permute(0, 2, 3, 1).flatten(-2), "interleaved"),
    ("check_join", lambda heads: heads.transpose(1, 2), "last two axes are still apart"),
    ("check_join", lambda heads: heads.flatten(1, 2), r"expected the shape \(2, 4, 15\)"),
    ("check_join", lambda heads: merge(heads.flip(1)), "position 0 should read"),
    ("check_late_mask", lambda T, S: ones(T, S).tril(), "anchored at the first key"),
    ("check_late_mask", lambda T, S: ~late_mask(T, S), "the wrong way round"),
    ("check_late_mask", lambda T, S: late_mask(T, S).double(), "give truth values"),
    ("check_late_mask", lambda T, S: ones(T, S).tril(S - T - 1), "may see itself too"),
    ("check_late_mask", lambda T, S: ones(T, S).tril(S - T + 1), "one position too far"),
    ("check_late_mask", lambda T, S: ones(T, S), "nothing is hidden"),
    ("check_late_mask", lambda T, S: late_mask(T, S) & late_mask(T, S).flip(0), "last query"),
    ("check_late_mask", lambda T, S: late_mask(S, S), r"expected the shape \(1, 5\)"),
]

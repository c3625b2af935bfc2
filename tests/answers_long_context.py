"""Right and wrong answers to the exercises of chapter 18, and what each must be told."""

import math

import torch


def merge(left, right):
    top = max(left[0], right[0])
    a, b = math.exp(left[0] - top), math.exp(right[0] - top)
    return top, a * left[1] + b * right[1], a * left[2] + b * right[2]


def plain_sums(left, right):
    return max(left[0], right[0]), left[1] + right[1], left[2] + right[2]


def factors_swapped(left, right):
    top = max(left[0], right[0])
    a, b = math.exp(left[0] - top), math.exp(right[0] - top)
    return top, b * left[1] + a * right[1], b * left[2] + a * right[2]


def mixed_as_it_is(left, right):
    return *merge(left, right)[:2], left[2] + right[2]


def grows(left, right):
    a = math.exp(left[0] - right[0])
    return max(left[0], right[0]), a * left[1] + right[1], a * left[2] + right[2]


def step(state, q, k, v):
    sums, norm = state[0] + torch.outer(k, v), state[1] + k
    return (sums, norm), q @ sums / (q @ norm)


def asks_first(state, q, k, v):
    return step(state, q, k, v)[0], q @ state[0] / (q @ state[1])


def in_place(state, q, k, v):
    sums, norm = state
    sums += torch.outer(k, v)
    norm += k
    return (sums, norm), q @ sums / (q @ norm)


def undivided(state, q, k, v):
    new, _ = step(state, q, k, v)
    return new, q @ new[0]


def old_norm(state, q, k, v):
    new, _ = step(state, q, k, v)
    return new, q @ new[0] / (q @ state[1])


def sum_of_norm(state, q, k, v):
    new, _ = step(state, q, k, v)
    return new, q @ new[0] / new[1].sum()


def keeps_sums(state, q, k, v):
    new, out = step(state, q, k, v)
    return (state[0], new[1]), out


def keeps_norm(state, q, k, v):
    new, out = step(state, q, k, v)
    return (new[0], state[1]), out


def forgets(state, q, k, v):
    new, out = step(state, q, k, v)
    return (torch.outer(k, v), new[1]), out


def norm_of_values(state, q, k, v):
    new, out = step(state, q, k, v)
    return (new[0], state[1] + 1), out


def wrong_way(state, q, k, v):
    return step((state[0].T, state[1]), q, v, k)


def layers_needed(T, window):
    return math.ceil((T - 1) / (window - 1))


RIGHT = {
    "check_merge": merge,
    "check_linear_step": step,
    "check_layers_needed": layers_needed,
}
WRONG = [
    ("check_merge", plain_sums, "totals were added as they are"),
    ("check_merge", factors_swapped, "the factor went to the wrong half"),
    ("check_merge", mixed_as_it_is, "mixed needs the same factors"),
    ("check_merge", lambda a, b: (a[0] + b[0], 0.0, 0.0), "the largest score is 3.0, not 5.0"),
    ("check_merge", lambda a, b: (max(a[0], b[0]), 1.0, 0.0), "the total is"),
    ("check_merge", lambda a, b: (*merge(a, b)[:2], 0.0), "mixed is"),
    ("check_merge", lambda a, b: merge(a, b)[1:], "three numbers are expected"),
    ("check_merge", lambda a, b: merge(a, b)[2], "three numbers are expected"),
    ("check_merge", grows, "overflows|the total is"),
    (
        "check_merge",
        lambda a, b: (math.exp(a[0] - b[0]), 0.0, 0.0),
        "the largest score is|overflow",
    ),
    ("check_merge", lambda a, b: math.exp(a[0] + 900), "overflows: shrink the smaller"),
    ("check_linear_step", asks_first, "asked before adding"),
    ("check_linear_step", in_place, "the old state was changed"),
    ("check_linear_step", undivided, "not divided"),
    ("check_linear_step", old_norm, "lacks the new key"),
    ("check_linear_step", sum_of_norm, "the weights are q @ norm"),
    ("check_linear_step", keeps_sums, r"add outer\(k, v\)"),
    ("check_linear_step", keeps_norm, "the new norm is the old one"),
    ("check_linear_step", forgets, "not sums"),
    ("check_linear_step", norm_of_values, "not norm"),
    ("check_linear_step", wrong_way, "the shapes do not fit"),
    ("check_linear_step", lambda state, q, k, v: (step(state, q, k, v)[0], v), "the output is q"),
    ("check_linear_step", lambda state, q, k, v: step(state, q, k, v)[1], "return two things"),
    (
        "check_linear_step",
        lambda s, q, k, v: (step(s, q, k, v)[0], k),
        r"expected the shape \(2,\)",
    ),
    ("check_layers_needed", lambda T, window: (T - 1) / (window - 1), "whole numbers"),
    ("check_layers_needed", lambda T, window: math.ceil(T / window), "holds the position itself"),
    ("check_layers_needed", lambda T, window: math.ceil((T - 1) / window), "itself"),
    ("check_layers_needed", lambda T, window: (T - 1) // (window - 1), "round up"),
    ("check_layers_needed", lambda T, window: T, "it takes 8, not 9"),
    ("check_layers_needed", lambda T, window: None, "returns nothing yet"),
    ("check_layers_needed", lambda T, window: math.inf, "whole numbers, and inf is none"),
    ("check_layers_needed", lambda T, window: math.nan, "whole numbers, and nan is none"),
]

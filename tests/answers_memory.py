"""Right and wrong answers to the exercises of chapter 15, and what each must be told."""

import math

from attention_lab.cost import longest


def in_view(T):
    return T * (T + 1) // 2


def longest_text(budget, n_head, n_layer):
    return math.isqrt(budget // (2 * n_head * n_layer))


def root(value):
    return lambda budget, n_head, n_layer: math.isqrt(value(budget, n_head, n_layer))


RIGHT = {"check_in_view": in_view, "check_longest_text": longest_text}
WRONG = [
    ("check_in_view", lambda T: T * T, "for T = 6 these are all entries"),
    ("check_in_view", lambda T: T * (T - 1) // 2, "the diagonal counts"),
    ("check_in_view", lambda T: T * T / 2, "half of the diagonal"),
    ("check_in_view", lambda T: T, "this is one row"),
    ("check_in_view", lambda T: 5 * T - 9, "for T = 12 it should be 78, is 51"),
    ("check_in_view", lambda T: 3 * T + 3, "for T = 6 it should be 21|for T = 12 it should be 78"),
    ("check_in_view", lambda T: None, "returns nothing yet"),
    ("check_in_view", lambda T: 10**400, "expected a number that is not too large"),
    ("check_longest_text", lambda b, h, n: b // (2 * h * n), "the root is missing"),
    ("check_longest_text", root(lambda b, h, n: b // (h * n)), "takes two bytes"),
    ("check_longest_text", root(lambda b, h, n: b // (4 * h * n)), "four bytes"),
    ("check_longest_text", root(lambda b, h, n: b // 2), "heads and layers multiply"),
    ("check_longest_text", root(lambda b, h, n: b // (2 * h)), "layers multiply too"),
    ("check_longest_text", root(lambda b, h, n: b // (2 * n)), "heads multiply too"),
    ("check_longest_text", lambda b, h, n: math.isqrt(b // 2) // (h * n), "before the root"),
    ("check_longest_text", root(lambda b, h, n: b // (2 * (h + n))), "has all the heads"),
    ("check_longest_text", lambda b, h, n: (b / (2 * h * n)) ** 0.5, "whole words: round down"),
    ("check_longest_text", lambda b, h, n: longest(b, n_head=h, n_layer=n) + 1, "one too many"),
    ("check_longest_text", lambda b, h, n: 100, "the longest is 56161, not 100"),
    ("check_longest_text", lambda b, h, n: "long", "expected a number, not str"),
]

"""Right and wrong answers to the exercises of chapter 13, and what each must be told."""

import numpy as np


def factor(d):
    return 0.6 * (8 / d) ** 0.5


def shuffle_gap(outputs, X, P, order):
    return np.abs(outputs(X[order] + P) - outputs(X + P)[order]).max()


def in_place(outputs, X, P, order):
    X += P
    return np.abs(outputs(X[order]) - outputs(X)[order]).max()


def biggest(a, b):
    return np.abs(a - b).max()


RIGHT = {"check_steady_factor": factor, "check_shuffle_gap": shuffle_gap}
WRONG = [
    ("check_steady_factor", lambda d: 0.6 / d**0.5, "not 0.212132: use the 8"),
    ("check_steady_factor", lambda d: 0.5, r"at d = 8 the factor is 0.6, not 0.5$"),
    ("check_steady_factor", lambda d: 0.6, "grows as fast as d"),
    ("check_steady_factor", lambda d: 0.6 * (8 / d) ** 0.25, "too weak"),
    ("check_steady_factor", lambda d: 0.6 * 8 / d, "too strong"),
    ("check_steady_factor", lambda d: 0.6 * (d / 8) ** 0.5, "upside down"),
    ("check_steady_factor", lambda d: 0.6 * (8 / d) ** 2, "the scores spread by 0.01, not by 2.88"),
    ("check_steady_factor", lambda d: np.ones(2), "expected a number"),
    ("check_steady_factor", lambda d: None, "returns nothing yet"),
    (
        "check_shuffle_gap",
        lambda f, X, P, o: biggest(f((X + P)[o]), f(X + P)[o]),
        "places stay put",
    ),
    ("check_shuffle_gap", lambda f, X, P, o: biggest(f(X[o]), f(X)[o]), "P was left out"),
    ("check_shuffle_gap", lambda f, X, P, o: biggest(f(X[o] + P), f(X + P)), "different words"),
    (
        "check_shuffle_gap",
        lambda f, X, P, o: biggest(f((X + P)[o]), f(X + P)),
        "sums were shuffled",
    ),
    ("check_shuffle_gap", lambda f, X, P, o: biggest(f(X[o]), f(X + P)[o]), "the new order got no"),
    ("check_shuffle_gap", lambda f, X, P, o: biggest(f(X[o] + P), f(X)[o]), "the old order got no"),
    ("check_shuffle_gap", lambda f, X, P, o: (f(X[o] + P) - f(X + P)[o]).max(), "np.abs first"),
    ("check_shuffle_gap", lambda f, X, P, o: abs(f(X[o] + P) - f(X + P)[o]).mean(), "the mean"),
    ("check_shuffle_gap", lambda f, X, P, o: abs(f(X[o] + P) - f(X + P)[o]), r"shape \(4, 3\)"),
    ("check_shuffle_gap", lambda f, X, P, o: 2 * shuffle_gap(f, X, P, o), "it should be"),
    ("check_shuffle_gap", in_place, "itself was changed"),
]

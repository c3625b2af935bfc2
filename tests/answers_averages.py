"""Right and wrong answers to the exercises of chapters 03 to 05, and what each must be told."""

from collections import Counter

import torch
from torch.nn import functional as F

INF = float("inf")


def update(average, new, t):
    return average + (new - average) / (t + 1)


def same(a, b):
    return all(a.count(c) * len(b) == b.count(c) * len(a) for c in set(a + b))


def band(T, k):
    return torch.tril(torch.ones(T, T)) - torch.tril(torch.ones(T, T), -k)


def window(T, k):
    return band(T, k) / band(T, k).sum(1, keepdim=True)


def halves(T):
    back = torch.arange(T)[:, None] - torch.arange(T)
    return torch.tril(0.5**back)


def fading(T):
    return halves(T) / halves(T).sum(1, keepdim=True)


def fading_from_start(T):
    raw = torch.tril(0.5 ** torch.arange(T).expand(T, T))
    return raw / raw.sum(1, keepdim=True)


def stable(scores):
    e = (scores - scores.max(-1, keepdim=True).values).exp()
    return e / e.sum(-1, keepdim=True)


def naive(scores):
    return scores.exp() / scores.exp().sum(-1, keepdim=True)


def one_maximum(scores):
    return naive(scores - scores.max())


def in_place(scores):
    scores -= scores.max(-1, keepdim=True).values
    return naive(scores)


def second_axis(scores):
    e = (scores - scores.max(1, keepdim=True).values).exp()
    return e / e.sum(1, keepdim=True)


def patched(scores):
    return stable(scores.nan_to_num(neginf=-10.0))


def masked(scores, may_look):
    return F.softmax(scores.masked_fill(~may_look, -INF), dim=-1)


def renormalised(scores, may_look):
    weights = F.softmax(scores, dim=-1) * may_look
    return weights / weights.sum(-1, keepdim=True)


RIGHT = {
    "check_update_average": update,
    "check_same_average": same,
    "check_window_weights": window,
    "check_fading_weights": fading,
    "check_softmax_rows": stable,
    "check_masked_weights": masked,
}
WRONG = [
    (
        "check_same_average",
        lambda a, b: sum(map(ord, a)) * len(b) == sum(map(ord, b)) * len(a),
        "'ad' and 'bc'",
    ),
    ("check_update_average", lambda a, n, t: a * t + n, "this is the sum"),
    ("check_update_average", lambda a, n, t: (a + n) / 2, "as much as all rows before it"),
    ("check_update_average", lambda a, n, t: (a * t + n) / t, r"divide by t \+ 1"),
    ("check_update_average", lambda a, n, t: a + n / (t + 1), "give up a share"),
    ("check_update_average", lambda a, n, t: (a * (t + 1) + n) / (t + 2), "there were t rows"),
    ("check_update_average", lambda a, n, t: n, "when row 3 arrives: expected"),
    ("check_same_average", lambda a, b: sorted(a) == sorted(b), "forgets the length"),
    ("check_same_average", lambda a, b: set(a) == set(b), "how often a letter occurs"),
    ("check_same_average", lambda a, b: a == b, "the order does not count"),
    ("check_same_average", lambda a, b: True, "different rows"),
    ("check_same_average", lambda a, b: Counter(a), "give True or False"),
    (
        "check_same_average",
        lambda a, b: a.count(a[0]) * len(b) == b.count(a[0]) * len(a),
        "one letter alike is not enough",
    ),
    (
        "check_same_average",
        lambda a, b: {*Counter(a).values()} == {*Counter(b).values()} and set(a) == set(b),
        "forgets the length",
    ),
    ("check_window_weights", lambda T, k: window(T, k).T, "looks at the future"),
    ("check_window_weights", lambda T, k: band(T, k), "these are sums"),
    ("check_window_weights", lambda T, k: band(T, k) / k, "fewer than k yet"),
    ("check_window_weights", lambda T, k: band(T, k) / band(T, k).sum(1), "keepdim=True"),
    ("check_window_weights", lambda T, k: window(T, T), "the window is missing"),
    ("check_window_weights", lambda T, k: window(T, k + 1), "one too long"),
    ("check_window_weights", lambda T, k: window(T, k - 1), "one too short"),
    ("check_window_weights", lambda T, k: torch.eye(T), "for T = 6 and k = 3: expected"),
    ("check_window_weights", lambda T, k: window(T, k)[0], "expected the shape"),
    ("check_fading_weights", lambda T: fading(T).T, "looks at the future"),
    ("check_fading_weights", halves, "do not add up to 1"),
    ("check_fading_weights", lambda T: halves(T) / halves(T).sum(1), "keepdim=True"),
    ("check_fading_weights", fading_from_start, "the oldest must count least"),
    ("check_fading_weights", lambda T: window(T, T), "equal shares"),
    ("check_fading_weights", torch.eye, "for T = 5: expected"),
    ("check_softmax_rows", naive, "subtract the maximum"),
    ("check_softmax_rows", one_maximum, "one maximum for all rows"),
    ("check_softmax_rows", in_place, "changes its input"),
    ("check_softmax_rows", lambda s: F.softmax(s, dim=0), "the columns add up to 1"),
    ("check_softmax_rows", lambda s: s.exp() / s.exp().sum(), "the whole matrix"),
    ("check_softmax_rows", lambda s: s.exp() / s.exp().sum(-1), "where you divide"),
    (
        "check_softmax_rows",
        lambda s: naive(s - s.max(-1).values) if s.shape == (3, 3) else naive(s),
        "where you subtract the maximum",
    ),
    ("check_softmax_rows", patched, "for scores of -inf: expected"),
    ("check_softmax_rows", second_axis, "dim=-1"),
    ("check_softmax_rows", torch.zeros_like, "for three rows of three: expected"),
    ("check_masked_weights", lambda s, m: F.softmax(s, dim=-1), "nothing is hidden"),
    ("check_masked_weights", lambda s, m: F.softmax(s, dim=-1) * m, "masked after the softmax"),
    ("check_masked_weights", lambda s, m: F.softmax(s * m, dim=-1), "fill with -inf"),
    ("check_masked_weights", lambda s, m: masked(s, ~m), "wrong way round"),
    (
        "check_masked_weights",
        lambda s, m: F.softmax(s.masked_fill(~m, -INF), dim=0),
        "wrong axis",
    ),
    (
        "check_masked_weights",
        lambda s, m: F.softmax(s.masked_fill(~m, -1e4), dim=-1),
        "not with a large number",
    ),
    (
        "check_masked_weights",
        lambda s, m: F.softmax(s.masked_fill(~m, -1e9), dim=-1),
        "not with a large number",
    ),
    (
        "check_masked_weights",
        lambda s, m: F.softmax(s.masked_fill(~m, torch.finfo(s.dtype).min), dim=-1),
        "not with a large number",
    ),
    ("check_masked_weights", renormalised, "a hidden score of 1000 still matters"),
    ("check_masked_weights", lambda s, m: torch.zeros(3, 3), "under a triangle: expected"),
]

"""Right and wrong answers to the exercises of chapters 06 to 08, and what each must be told."""

import torch
from torch.nn import functional as F

from attention_lab.attention import attend, causal_mask


def with_positions(tokens, table):
    return tokens + table[: tokens.shape[1]]


def in_place(tokens, table):
    tokens += table[: tokens.shape[1]]
    return tokens


def step_matrix(k, C):
    angles = k * 10000.0 ** (-torch.arange(0, C, 2) / C)
    hands = [torch.tensor([[a.cos(), -a.sin()], [a.sin(), a.cos()]]) for a in angles]
    return torch.block_diag(*hands)


def one_speed(k, C):
    return torch.block_diag(*[step_matrix(k, 2)] * (C // 2))


def scores(x, w_query, w_key):
    return (x @ w_query) @ (x @ w_key).transpose(-2, -1)


def compatibility(query, key):
    return query.weight.T @ key.weight


def by_hand(x, w_query, w_key, w_value, mask=True, scale=1.0):
    hidden = causal_mask(len(x)) if mask else None
    return attend(x @ w_query, x @ w_key, x @ w_value, hidden, scale)[0]


def softmax_first(x, w_query, w_key, w_value):
    weights = F.softmax(scores(x, w_query, w_key), dim=-1)
    return (weights * causal_mask(len(x))) @ x @ w_value


def zeros_for_the_future(x, w_query, w_key, w_value):
    weights = F.softmax(scores(x, w_query, w_key) * causal_mask(len(x)), dim=-1)
    return weights @ x @ w_value


def hidden(x, w_query, w_key):
    return scores(x, w_query, w_key).masked_fill(~causal_mask(x.shape[-2]), float("-inf"))


RIGHT = {
    "check_with_positions": with_positions,
    "check_step_matrix": step_matrix,
    "check_scores": scores,
    "check_compatibility": compatibility,
    "check_attend_by_hand": by_hand,
    "check_look_at_o": [[2.0, 0.0], [4.0, 0.0], [1.0, 1.0]],
}
WRONG = [
    ("check_with_positions", lambda tokens, table: tokens + table, "take the first T places only"),
    ("check_with_positions", in_place, "tokens itself was changed"),
    ("check_with_positions", lambda x, p: x + p[-x.shape[1] :], "begins at place 0"),
    ("check_with_positions", lambda x, p: x + p[: len(x), None], "places go with T"),
    ("check_with_positions", lambda x, p: x.clone(), "nothing was added"),
    ("check_with_positions", lambda x, p: x - p[: x.shape[1]], r"expected tokens \+ table\[:3\]"),
    ("check_with_positions", lambda x, p: p, r"expected the shape \(3, 3, 2\)"),
    ("check_step_matrix", lambda k, C: torch.eye(C), "leads nowhere"),
    ("check_step_matrix", lambda k, C: step_matrix(k, C).T, "leads back"),
    ("check_step_matrix", lambda k, C: step_matrix(-k, C), "leads back"),
    ("check_step_matrix", one_speed, "each has its own speed"),
    ("check_step_matrix", lambda k, C: step_matrix(k + 1, C), "position 5 @ M should be"),
    ("check_step_matrix", lambda k, C: torch.zeros(C), r"expected the shape \(2, 2\)"),
    ("check_scores", lambda x, q, k: scores(x, k, q), "turned round"),
    ("check_scores", lambda x, q, k: scores(x, q, q), "w_key is not used"),
    ("check_scores", lambda x, q, k: scores(x, k, k), "w_query is not used"),
    ("check_scores", lambda x, q, k: x @ x.mT, "neither matrix is used"),
    ("check_scores", lambda x, q, k: scores(x, q, k) / 2**0.5, "chapter 11"),
    ("check_scores", hidden, "masked already"),
    ("check_scores", lambda x, q, k: F.softmax(scores(x, q, k), -1), "stop before the softmax"),
    ("check_scores", lambda x, q, k: F.softmax(hidden(x, q, k), -1), "before mask and softmax"),
    ("check_scores", lambda x, q, k: -scores(x, q, k), "should be the dot product"),
    ("check_scores", lambda x, q, k: (x @ q) @ (x @ k)[0].T @ x, r"not \(2, 3, 4\)"),
    ("check_compatibility", lambda q, k: q.weight @ k.weight.T, r"this is \(hs, hs\)"),
    ("check_compatibility", lambda q, k: k.weight.T @ q.weight, "asker and asked are swapped"),
    ("check_compatibility", lambda q, k: q.weight.T @ q.weight, "should equal query"),
    ("check_compatibility", lambda q, k: q.weight, r"this is \(hs, hs\)|should equal query"),
    ("check_attend_by_hand", lambda x, q, k, v: by_hand(x, q, k, v, mask=False), "mask is missing"),
    ("check_attend_by_hand", lambda x, q, k, v: by_hand(x, q, k, v, scale=None), "root of hs"),
    ("check_attend_by_hand", lambda x, q, k, v: by_hand(x, k, q, v), "q and k are swapped"),
    (
        "check_attend_by_hand",
        lambda x, q, k, v: by_hand(x, q, k, torch.eye(3)),
        "x itself is mixed",
    ),
    ("check_attend_by_hand", softmax_first, "masked after the softmax"),
    ("check_attend_by_hand", zeros_for_the_future, "hides nobody"),
    ("check_attend_by_hand", lambda x, q, k, v: F.softmax(hidden(x, q, k), 0) @ x @ v, r"dim=0"),
    ("check_attend_by_hand", lambda x, q, k, v: hidden(x, q, k).exp() @ x @ v, "not divided"),
    ("check_attend_by_hand", lambda x, q, k, v: -by_hand(x, q, k, v), "the last row should be"),
    ("check_look_at_o", by_hand, "not a function"),
    ("check_look_at_o", ..., "no matrix yet"),
    ("check_look_at_o", "abc", "three rows of two numbers"),
    ("check_attend_by_hand", lambda x, q, k, v: x.tolist(), "a tensor, not list"),
    ("check_compatibility", lambda query, key: 1, "a tensor, not int"),
    ("check_look_at_o", [[2.0, 4.0, 1.0], [0.0, 0.0, 1.0]], "a row a letter"),
    ("check_look_at_o", [[2.0], [4.0], [1.0]], r"expected the shape \(3, 2\)"),
    ("check_look_at_o", [[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "u looks most at h"),
    ("check_look_at_o", [[2.0, 0.0], [2.5, 0.0], [1.0, 1.0]], "not enough: a longer key"),
    ("check_look_at_o", [[-9.0, 0.0], [-1.0, 0.0], [-2.0, 0.0]], "not enough: point o's key"),
]

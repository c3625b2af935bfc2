"""Checks for the exercises of chapters 06 to 08: positions, queries and keys, values."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_lab.attention import attend, causal_mask
from attention_lab.teaching.exercises._answers import (
    AnswerError,
    call,
    close,
    must,
    praise,
    randn,
    show,
    tensor,
)


def check_with_positions(answer: Callable[[Tensor, Tensor], Tensor]) -> None:
    """Chapter 06: ``with_positions(tokens (B, T, C), table (block_size, C)) -> (B, T, C)``."""
    for B, T, block_size in ((3, 3, 5), (2, 4, 4)):
        tokens, table = randn((B, T, 2), (block_size, 2))
        before = tokens.clone()
        try:
            found = tensor(call(answer, tokens, table), (B, T, 2))
        except RuntimeError as error:
            must(False, f"{T} letters, {block_size} places: take the first T places only ({error})")
        must(torch.equal(tokens, before), "tokens itself was changed: += writes into the input")
        late, by_sequence = tokens + table[-T:], tokens + table[:B, None]
        right = tokens + table[:T]  # (B, T, C)
        must(close(found, right) or not close(found, late), "a text begins at place 0")
        must(
            close(found, right) or not close(found, by_sequence),
            "each sequence got one place: places go with T, and all sequences get the same ones",
        )
        must(not close(found, tokens), "nothing was added")
        must(close(found, right), f"expected tokens + table[:{T}]")
    praise()


def check_step_matrix(answer: Callable[[int, int], Tensor]) -> None:
    """Chapter 06: ``step_matrix(k, C) -> (C, C)``: sine position t @ M is position t + k."""
    for k, C in ((3, 2), (2, 6)):
        M = tensor(call(answer, k, C), (C, C)).double()
        case = f"for k = {k} and C = {C}"
        here, there, back = (_waves(torch.arange(5, 10) + n, C) for n in (0, k, -k))  # (5, C)
        must(not close(here @ M, here), f"{case} this matrix leads nowhere: position t stays t")
        must(not close(here @ M, back), f"{case} it leads back: rows multiply from the left")
        fast = torch.kron(torch.eye(C // 2).double(), _turn(k))  # (C, C)
        right = close(here @ M, there)
        must(right or not close(M, fast), f"{case} all hands turn alike: each has its own speed")
        must(right, f"{case} position 5 @ M should be {show(there[0])}, is {show(here[0] @ M)}")
    praise()


def check_scores(answer: Callable[[Tensor, Tensor, Tensor], Tensor]) -> None:
    """Chapter 07: ``scores(x (B, T, C), w_query, w_key (C, hs)) -> (B, T, T)``, raw."""
    x, w_query, w_key = randn((2, 3, 4), (4, 2), (4, 2))
    found = tensor(call(answer, x, w_query, w_key), (2, 3, 3))
    q, k = x @ w_query, x @ w_key  # (B, T, hs) twice
    right = q @ k.transpose(-2, -1)  # (B, T, T)
    masked = right.masked_fill(~causal_mask(3), float("-inf"))  # (B, T, T)
    for wrong, why in (
        (right.transpose(-2, -1), "turned round: row t is what t asks, so q stands on the left"),
        (q @ q.transpose(-2, -1), "queries meet queries: w_key is not used"),
        (k @ k.transpose(-2, -1), "keys meet keys: w_query is not used"),
        (x @ x.transpose(-2, -1), "x meets itself: neither matrix is used"),
        (right / 2**0.5, "divided by the root of hs: that is chapter 11, here the scores are raw"),
        (masked, "the future is masked already: give the full table"),
        (F.softmax(right, dim=-1), "these are weights: stop before the softmax"),
        (F.softmax(masked, dim=-1), "these are weights: stop before mask and softmax"),
    ):
        must(not close(found, wrong), why)
    must(close(found, right), "score [t][s] should be the dot product of q[t] and k[s]")
    praise()


def check_compatibility(answer: Callable[[nn.Linear, nn.Linear], Tensor]) -> None:
    """Chapter 07: ``compatibility(query, key) -> (C, C)`` from two layers C -> hs, no bias."""
    for C, hs in ((4, 4), (5, 3)):
        query, key = (nn.Linear(C, hs, bias=False) for _ in range(2))
        with torch.no_grad():
            for layer, weight in zip((query, key), randn((hs, C), (hs, C)), strict=True):
                layer.weight.copy_(weight)
        found = tensor(call(answer, query, key))
        crossed = query.weight @ key.weight.T  # (hs, hs)
        must(
            found.shape != crossed.shape or not close(found, crossed),
            "this is (hs, hs): nn.Linear keeps its matrix as (hs, C), the other way round",
        )
        found = tensor(found, (C, C))
        right = query.weight.T @ key.weight  # (C, C)
        must(not close(found, right.T), "asker and asked are swapped: the row is the asker's")
        must(close(found, right), "x @ M @ x.T should equal query(x) @ key(x).T")
    praise()


def check_attend_by_hand(answer: Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]) -> None:
    """Chapter 08: ``f(x (T, C), w_query, w_key, w_value (C, hs)) -> (T, hs)``, causal, unscaled."""
    for T, C, hs in ((4, 3, 3), (5, 4, 2)):
        x, w_query, w_key, w_value = randn((T, C), (C, hs), (C, hs), (C, hs))
        found = tensor(call(answer, x, w_query, w_key, w_value))
        q, k, v = x @ w_query, x @ w_key, x @ w_value  # (T, hs) each
        right, weights = attend(q, k, v, causal_mask(T), scale=1.0)  # (T, hs), (T, T)
        unmixed = weights @ x  # (T, C)
        must(
            found.shape != unmixed.shape or not close(found, unmixed),
            "x itself is mixed: what is carried home is v",
        )
        found = tensor(found, (T, hs))
        for wrong, why in _mistakes(q, k, v):
            must(not close(found, wrong), why)
        must(close(found, right), f"for T = {T} the last row should be {show(right[-1])}")
    praise()


def _mistakes(q: Tensor, k: Tensor, v: Tensor) -> Iterator[tuple[Tensor, str]]:
    """Wrong outputs (T, hs) from q, k, v (T, hs), each with the mistake that makes it."""
    mask = causal_mask(len(q))  # (T, T)
    scores = q @ k.T  # (T, T)
    hidden = scores.masked_fill(~mask, float("-inf"))  # (T, T)
    yield attend(q, k, v, scale=1.0)[0], "the future is in view: the mask is missing"
    yield attend(q, k, v, mask)[0], "divided by the root of hs: here the scores are raw"
    yield attend(k, q, v, mask, scale=1.0)[0], "q and k are swapped: row t is what t asks"
    yield (
        F.softmax(scores, dim=-1) * mask @ v,
        "masked after the softmax: rows fall short of 1",
    )
    yield F.softmax(scores * mask, dim=-1) @ v, "a score of 0 hides nobody: the future needs -inf"
    yield F.softmax(hidden, dim=0) @ v, "softmax over the askers (dim=0): each row shares out its 1"
    yield hidden.exp() @ v, "the exponentials are not divided by their row's sum"


def check_look_at_o(answer: Any) -> None:
    """Chapter 08: a key matrix (3, 2), not a function, that makes u look at o with 0.9 or more."""
    w_query = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.5]])  # (C, hs)
    must(not callable(answer), "give the matrix itself, not a function")
    must(answer is not None and answer is not ..., "there is no matrix yet")
    try:
        w_key = torch.as_tensor(answer, dtype=w_query.dtype).detach()  # (C, hs)
    except (TypeError, ValueError):
        raise AnswerError("give three rows of two numbers") from None
    must(w_key.shape != (2, 3), "this is (2, 3), as nn.Linear keeps it: a row a letter is (3, 2)")
    w_key = tensor(w_key, (3, 2))
    weights = F.softmax(w_query[2] @ w_key.T, dim=-1)  # (S,) the last row hides nobody
    most, share = "hou"[int(weights.argmax())], float(weights[1])
    must(most == "o", f"u looks most at {most}: {show(weights)} for h, o, u")
    along = float(w_query[2] @ w_key[1]) > 0
    hint = "a longer key for o scores higher" if along else "point o's key along [2, 0.5]"
    must(share >= 0.9, f"u gives o {share:.2f}: right, but not enough: {hint}")
    praise()


def _waves(positions: Tensor, C: int) -> Tensor:
    """Sine positions in float64, for negative ones too: (T,) -> (T, C)."""
    angles = positions[:, None] * 10000.0 ** (-torch.arange(0, C, 2).double() / C)  # (T, C/2)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)  # (T, C)


def _turn(angle: float) -> Tensor:
    """The matrix of one hand, (2, 2): [sin, cos] @ M is the hand turned on by ``angle``."""
    sin, cos = math.sin(angle), math.cos(angle)
    return torch.tensor([[cos, -sin], [sin, cos]], dtype=torch.float64)

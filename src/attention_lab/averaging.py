"""Averaging what came before, three ways: the loop, the matrix product, the softmax.

Position t gets the mean of positions 0 to t. All three give the same numbers; only the last
leaves room for scores that the content decides (document A, schemes one to three).
"""

import torch
import torch.nn.functional as F
from torch import Tensor


def average_loop(x: Tensor) -> Tensor:
    """Average the past by a loop over sequences and positions.

    x: (B, T, C) float, finite. Returns (B, T, C), where row t is the mean of rows 0 to t.
    Raises ValueError for another rank, TypeError for a dtype that is not floating point.
    Source: document A, scheme one.
    """
    _check(x)
    out = torch.zeros_like(x)  # (B, T, C)
    for b in range(x.shape[0]):
        for t in range(x.shape[1]):
            out[b, t] = x[b, : t + 1].mean(dim=0)  # (C,)
    return out


def average_matmul(x: Tensor) -> Tensor:
    """Average the past by one product with a triangle whose rows sum to 1.

    x: (B, T, C) float, finite. Returns (B, T, C), as `average_loop` does, with the same errors.
    Source: document A, scheme two.
    """
    _check(x)
    T = x.shape[1]
    weights = torch.tril(x.new_ones(T, T))  # (T, T)
    weights = weights / weights.sum(dim=1, keepdim=True)  # (T, T)
    return weights @ x  # (B, T, C)


def average_softmax(x: Tensor) -> Tensor:
    """Average the past by a softmax over scores that are all zero.

    x: (B, T, C) float, finite. Returns (B, T, C), as `average_loop` does, with the same errors.
    Source: document A, scheme three.
    """
    _check(x)
    T = x.shape[1]
    tril = torch.tril(x.new_ones(T, T))  # (T, T)
    scores = x.new_zeros(T, T)  # (T, T)
    scores = scores.masked_fill(tril == 0, float("-inf"))  # (T, T)
    weights = F.softmax(scores, dim=-1)  # (T, T)
    return weights @ x  # (B, T, C)


def _check(x: Tensor) -> None:
    if not isinstance(x, Tensor):
        raise TypeError(f"x must be a tensor, not {type(x).__name__}")
    if x.dim() != 3:
        raise ValueError(f"x must have the shape (B, T, C), got {tuple(x.shape)}")
    if not x.is_floating_point():
        raise TypeError(f"x must be floating point, for its means are fractions, got {x.dtype}")

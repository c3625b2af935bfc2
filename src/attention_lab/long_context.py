"""Attention without its table of T × S weights: exact in tiles, or over fewer pairs, or linear.

Each function takes q (..., T, hs), k (..., S, hs), v (..., S, hv) and returns (..., T, hv). Where
the past counts, query t sits at key t + S - T, as in `causal_mask`: the last query sees the last
key. Memory grows like T + S, in the backward pass too (first derivatives only). All raise what
`attend` raises, and ValueError for a block or window below 1.
"""

import math
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from attention_lab.attention import causal_mask, check_qkv
from attention_lab.streaming import Tile, stream, working


def streaming_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = True, block: int = 512
) -> Tensor:
    """What `attend` returns as out, read in tiles of block × block scores, each used and dropped.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). The gradient computes the tiles
    again instead of keeping them.
    Source: Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022.
    """
    T, S = _sizes(q, k, v, block=block)
    return stream(q, k, v, lambda: _tiles(T, S, block, S + T if causal else None, q.device))


def sliding_window_attention(
    q: Tensor, k: Tensor, v: Tensor, window: int, block: int = 512
) -> Tensor:
    """Attention of each query to the last ``window`` keys up to its own, itself included.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv), in time that grows like T · window.
    Source: Beltagy et al. 2020; Jiang et al. 2023.
    """
    T, S = _sizes(q, k, v, window=window, block=block)
    return stream(q, k, v, lambda: _tiles(T, S, block, window, q.device))


def block_sparse_attention(q: Tensor, k: Tensor, v: Tensor, block: int | None = None) -> Tensor:
    """Attention to the past in one's own block of keys, and to the last key of each block before.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). block: the root of S, rounded up,
    unless given: then a query looks at 2 √S keys at most, and time grows like T √S.
    Source: Child et al. 2019, the "fixed" pattern.
    """
    T, S = _sizes(q, k, v, block=1 if block is None else block)
    size = math.isqrt(max(S - 1, 0)) + 1 if block is None else block
    return stream(q, k, v, lambda: _sparse_tiles(T, S, size, q.device))


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = True, block: int = 128
) -> Tensor:
    """Attention with the weights φ(q) · φ(k), divided by their sum; φ(x) = elu(x) + 1 > 0.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). Not softmax, and not near it: with
    such weights the sum over the keys, (hs, hv), can be taken before any query is known.
    Source: Katharopoulos et al. 2020.
    """
    T, S = _sizes(q, k, v, block=block)
    dtype, work = q.dtype, working(q)
    q, k = F.elu(q.to(work)) + 1, F.elu(k.to(work)) + 1  # (..., T, hs), (..., S, hs)
    v = F.pad(v.to(work), (0, 1), value=1.0)  # (..., S, hv + 1): the ones add up the weights
    if not causal:
        return _divided(q @ (k.mT @ v)).to(dtype)
    state = k[..., :0, :].mT @ v[..., :0, :]  # (..., hs, hv + 1) no key read yet: zeros
    known, parts = 0, []
    for rows in _spans(0, T, block):
        start, stop = max(0, rows.start + S - T), max(0, rows.stop + S - T)
        state = state + k[..., known:start, :].mT @ v[..., known:start, :]
        own = q[..., rows, :] @ k[..., start:stop, :].mT  # (..., rows, own keys)
        mask = causal_mask(own.shape[-2], stop - start, device=q.device)  # (rows, own keys)
        own = own.masked_fill(~mask, 0.0)
        parts.append(_divided(q[..., rows, :] @ state + own @ v[..., start:stop, :]))
        known = start
    return torch.cat(parts, dim=-2).to(dtype) if parts else _divided(q @ state).to(dtype)


def _divided(sums: Tensor) -> Tensor:
    """(..., T, hv + 1) -> (..., T, hv): by the sum of the weights; 0 where there are none."""
    total = sums[..., -1:]  # (..., T, 1)
    return sums[..., :-1] / total.masked_fill(total == 0, 1.0)


def _sizes(q: Tensor, k: Tensor, v: Tensor, **counts: int) -> tuple[int, int]:
    check_qkv(q, k, v)
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
    return q.shape[-2], k.shape[-2]


# --- which tiles of the table there are to compute ------------------------------------------------


def _spans(start: int, stop: int, block: int) -> Iterator[slice]:
    return (slice(i, min(i + block, stop)) for i in range(start, stop, block))


def _tiles(
    T: int, S: int, block: int, window: int | None, device: torch.device
) -> Iterator[tuple[slice, Iterator[Tile]]]:
    """Tiles of block × block: all of them, or those in view of the last ``window`` keys."""

    def in_view(rows: slice) -> Iterator[Tile]:
        if window is None:
            yield from ((keys, None) for keys in _spans(0, S, block))
            return
        first, last = rows.start + S - T, rows.stop - 1 + S - T  # the queries' own keys
        for keys in _spans(max(0, first - window + 1), last + 1, block):
            yield keys, _mask(first, last, keys, window, device)

    return ((rows, in_view(rows)) for rows in _spans(0, T, block))


def _sparse_tiles(
    T: int, S: int, block: int, device: torch.device
) -> Iterator[tuple[slice, Iterator[Tile]]]:
    """For the queries of one block: the blocks before, by their last keys; then their own block."""

    def in_view(first: int, last: int) -> Iterator[Tile]:
        start = first // block * block
        ends = range(block - 1, start, block)
        if ends:
            yield torch.tensor(ends, device=device), None
        if last >= 0:
            keys = slice(max(0, start), last + 1)
            yield keys, _mask(first, last, keys, block, device)

    for span in _spans((S - T) // block * block, S, block):  # blocks of keys, before 0 too
        first, last = max(span.start, S - T), span.stop - 1
        if first <= last:
            yield slice(first - S + T, last + 1 - S + T), in_view(first, last)


def _mask(first: int, last: int, keys: slice, window: int, device: torch.device) -> Tensor | None:
    """Which keys the queries whose own keys are first to last may look at: (rows, keys)."""
    if keys.stop - 1 <= first and keys.start > last - window:
        return None
    own = torch.arange(first, last + 1, device=device)[:, None]  # (rows, 1)
    key = torch.arange(keys.start, keys.stop, device=device)  # (keys,)
    return (key <= own) & (key > own - window)

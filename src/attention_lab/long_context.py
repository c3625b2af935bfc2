"""Attention without its table of T × S weights: exact in tiles, or over fewer pairs, or linear.

Each function takes q (..., T, hs), k (..., S, hs), v (..., S, hv) and returns (..., T, hv). Where
the past counts, query t sits at key t + S - T, as in `causal_mask`: the last query sees the last
key. Memory grows like T + S, in the backward pass too (first derivatives only). All raise what
`attend` raises, and ValueError for a block or window below 1.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from attention_lab.attention import _check, causal_mask

Tile = tuple[slice | Tensor, Tensor | None]  # keys, and who may look (rows, keys); None: all may
Plan = Callable[[], Iterator[tuple[slice, Iterator[Tile]]]]  # blocks of queries, their tiles


def streaming_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = True, block: int = 512
) -> Tensor:
    """What `attend` returns as out, read in tiles of block × block scores, each used and dropped.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). The gradient computes the tiles
    again instead of keeping them.
    Source: Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022.
    """
    T, S = _sizes(q, k, v, block=block)
    return _stream(q, k, v, lambda: _tiles(T, S, block, S + T if causal else None, q.device))


def sliding_window_attention(
    q: Tensor, k: Tensor, v: Tensor, window: int, block: int = 512
) -> Tensor:
    """Attention of each query to the last ``window`` keys up to its own, itself included.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv), in time that grows like T · window.
    Source: Beltagy et al. 2020; Jiang et al. 2023.
    """
    T, S = _sizes(q, k, v, window=window, block=block)
    return _stream(q, k, v, lambda: _tiles(T, S, block, window, q.device))


def block_sparse_attention(q: Tensor, k: Tensor, v: Tensor, block: int | None = None) -> Tensor:
    """Attention to the past in one's own block of keys, and to the last key of each block before.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). block: the root of S, rounded up,
    unless given: then a query looks at 2 √S keys at most, and time grows like T √S.
    Source: Child et al. 2019, the "fixed" pattern.
    """
    size = math.isqrt(max(k.shape[-2] - 1, 0)) + 1 if block is None else block
    T, S = _sizes(q, k, v, block=size)
    return _stream(q, k, v, lambda: _sparse_tiles(T, S, size, q.device))


def linear_attention(
    q: Tensor, k: Tensor, v: Tensor, causal: bool = True, block: int = 128
) -> Tensor:
    """Attention with the weights φ(q) · φ(k), divided by their sum; φ(x) = elu(x) + 1 > 0.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). Not softmax, and not near it: with
    such weights the sum over the keys, (hs, hv), can be taken before any query is known.
    Source: Katharopoulos et al. 2020.
    """
    T, S = _sizes(q, k, v, block=block)
    dtype, work = q.dtype, _working(q)
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
            if keys.stop - 1 <= first and keys.start > last - window:
                yield keys, None
            else:
                own = torch.arange(first, last + 1, device=device)[:, None]  # (rows, 1)
                key = torch.arange(keys.start, keys.stop, device=device)  # (keys,)
                yield keys, (key <= own) & (key > own - window)

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
            start = max(0, start)
            own = torch.arange(first, last + 1, device=device)[:, None]  # (rows, 1)
            yield slice(start, last + 1), torch.arange(start, last + 1, device=device) <= own

    for span in _spans((S - T) // block * block, S, block):  # blocks of keys, before 0 too
        first, last = max(span.start, S - T), span.stop - 1
        if first <= last:
            yield slice(first - S + T, last + 1 - S + T), in_view(first, last)


# --- the tiles, one after the other ---------------------------------------------------------------


def _stream(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    expanded = (x.expand(*lead, -1, -1) for x in (q, k, v))
    out: Tensor = _Streaming.apply(*expanded, plan)  # type: ignore[no-untyped-call]
    return out


class _Streaming(torch.autograd.Function):
    """Online softmax over the tiles of a plan; the backward pass computes each tile again."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
        out = v.new_empty(*q.shape[:-1], v.shape[-1])  # (..., T, hv)
        logs = q.new_empty(*q.shape[:-1], 1, dtype=_working(q))  # (..., T, 1) ln of the totals
        for rows, tiles in plan():
            top = logs[..., rows, :].fill_(float("-inf"))  # (..., rows, 1) largest score so far
            total = torch.zeros_like(top)  # (..., rows, 1)
            mixed = total.expand(*total.shape[:-1], v.shape[-1])  # (..., rows, hv)
            for keys, mask in tiles:
                scores = _scores(q[..., rows, :], k[..., keys, :], mask)  # (..., rows, keys)
                higher = torch.maximum(top, scores.amax(dim=-1, keepdim=True))
                shift = higher.masked_fill(higher == float("-inf"), 0.0)  # nothing in view yet
                powers = scores.sub_(shift).exp_()  # (..., rows, keys)
                lower = (top - shift).exp()  # (..., rows, 1) what earlier sums shrink by
                total = total * lower + powers.sum(dim=-1, keepdim=True)
                mixed = mixed * lower + powers @ v[..., keys, :].to(powers)
                top = higher
            nothing = total == 0
            out[..., rows, :] = mixed / total.masked_fill(nothing, 1.0)
            logs[..., rows, :] = (top + total.log()).masked_fill(nothing, 0.0)
        ctx.save_for_backward(q, k, v, out, logs)
        ctx.plan = plan
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, k, v, out, logs = ctx.saved_tensors
        dq, dk, dv = (torch.zeros_like(x, dtype=_working(x)) for x in (q, k, v))
        scale = q.shape[-1] ** -0.5
        for rows, tiles in ctx.plan():
            query, pull = q[..., rows, :].to(dq), grad[..., rows, :].to(dq)
            mean = (pull * out[..., rows, :]).sum(dim=-1, keepdim=True)  # (..., rows, 1)
            for keys, mask in tiles:
                key, value = k[..., keys, :].to(dq), v[..., keys, :].to(dq)
                weights = _scores(query, key, mask).sub_(logs[..., rows, :]).exp_()
                dv[..., keys, :] += weights.mT @ pull
                pulls = (pull @ value.mT).sub_(mean).mul_(weights).mul_(scale)  # (..., rows, keys)
                dq[..., rows, :] += pulls @ key
                dk[..., keys, :] += pulls.mT @ query
        return dq.to(q.dtype), dk.to(k.dtype), dv.to(v.dtype), None


def _scores(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """(..., rows, hs), (..., keys, hs) -> (..., rows, keys), in float32 at least."""
    scores: Tensor = (q.to(_working(q)) * q.shape[-1] ** -0.5) @ k.to(_working(k)).mT
    return scores if mask is None else scores.masked_fill_(~mask, float("-inf"))


def _working(x: Tensor) -> torch.dtype:
    """Sums over many keys are taken in float32 at least."""
    return torch.promote_types(x.dtype, torch.float32)


def _sizes(q: Tensor, k: Tensor, v: Tensor, **counts: int) -> tuple[int, int]:
    _check(q, k, v)
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"{name} must be at least 1, got {count}")
    return q.shape[-2], k.shape[-2]

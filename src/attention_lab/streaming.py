"""Softmax while reading: attention over tiles of scores, each computed, used and dropped.

A plan says which tiles there are. What is kept of a row is its largest score so far and two sums,
and for the way back the output and the logarithm of the total; then each tile is computed again.

Source: Milakov and Gimelshein 2018; Rabe and Staats 2021; Dao et al. 2022.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

Tile = tuple[slice | Tensor, Tensor | None]  # keys, and who may look (rows, keys); None: all may
Plan = Callable[[], Iterator[tuple[slice, Iterator[Tile]]]]  # blocks of queries, their tiles


def stream(q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
    """What `attend` returns as out, under the mask that the plan's tiles make up.

    (..., T, hs), (..., S, hs), (..., S, hv) -> (..., T, hv). Each query is in one block of rows,
    and each key at most once in the tiles of a block. First derivatives only.
    """
    lead = np.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    expanded = (x.expand(*lead, -1, -1) for x in (q, k, v))
    out: Tensor = _Streaming.apply(*expanded, plan)  # type: ignore[no-untyped-call]
    return out


class _Streaming(torch.autograd.Function):
    """Online softmax over the tiles of a plan; the backward pass computes each tile again."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, plan: Plan) -> Tensor:
        out = v.new_empty(*q.shape[:-1], v.shape[-1])  # (..., T, hv)
        logs = q.new_empty(*q.shape[:-1], 1, dtype=working(q))  # (..., T, 1) ln of the totals
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
        dq, dk, dv = (torch.zeros_like(x, dtype=working(x)) for x in (q, k, v))
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
    scores: Tensor = (q.to(working(q)) * q.shape[-1] ** -0.5) @ k.to(working(k)).mT
    return scores if mask is None else scores.masked_fill_(~mask, float("-inf"))


def working(x: Tensor) -> torch.dtype:
    """Sums over many keys are taken in float32 at least."""
    return torch.promote_types(x.dtype, torch.float32)

"""Attention with weights to learn: one head, then several side by side.

No mask is kept: it is made for each call, on the input's device, so that a change of length or
device has nothing to go stale. True = may look, as everywhere here.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attention_lab.attention import attend, causal_mask
from attention_lab.positions import rotary


class Head(nn.Module):
    """One head: three projections, then `attend`, scaled by hs ** -0.5.

    n_embd: channels C of the input. head_size: hs. causal: position t sees only positions 0 to t
    (a decoder); else each sees all (an encoder). bias: whether the projections have one.
    Source: document A, sections "only one line" to "six notes".
    """

    def __init__(
        self, n_embd: int, head_size: int, causal: bool = True, bias: bool = False
    ) -> None:
        super().__init__()
        self.causal = causal
        self.query = nn.Linear(n_embd, head_size, bias=bias)
        self.key = nn.Linear(n_embd, head_size, bias=bias)
        self.value = nn.Linear(n_embd, head_size, bias=bias)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """x (B, T, C), context (B, S, C) -> out (B, T, hs), weights (B, T, S).

        With a context, k and v come from it and nothing is masked (cross-attention). Without one
        S = T. Raises ValueError when x or context has other than n_embd channels.
        """
        source = _source(x, context, self.query.in_features)  # (B, S, C)
        q = self.query(x)  # (B, T, hs)
        k = self.key(source)  # (B, S, hs)
        v = self.value(source)  # (B, S, hs)
        masked = self.causal and context is None
        mask = causal_mask(x.shape[-2], device=x.device) if masked else None  # (T, T)
        return attend(q, k, v, mask)


class MultiHead(nn.Module):
    """n_head heads of n_embd / n_head channels each, joined and projected.

    Dropout acts on the weights used for mixing and on the projected output, as in GPT-2.
    n_kv_head: that many heads of keys and values, each shared by a group of n_head / n_kv_head
    queries. rotary: queries and keys are turned by their positions.
    Raises ValueError when n_head does not divide n_embd, or n_kv_head n_head.
    Source: Vaswani et al. 2017, section 3.2.2; Ainslie et al. 2023 for the groups.
    """

    def __init__(
        self,
        n_embd: int,
        n_head: int,
        causal: bool = True,
        dropout: float = 0.0,
        n_kv_head: int | None = None,
        rotary: bool = False,
    ) -> None:
        super().__init__()
        n_kv_head = n_head if n_kv_head is None else n_kv_head
        _check_division(n_embd, n_head, n_kv_head)
        self.causal = causal
        self.n_head = n_head
        self.head_size = n_embd // n_head  # hs
        self.rotary = rotary
        self.query = nn.Linear(n_embd, n_embd, bias=False)
        self.key = nn.Linear(n_embd, n_kv_head * self.head_size, bias=False)
        self.value = nn.Linear(n_embd, n_kv_head * self.head_size, bias=False)
        self.project = nn.Linear(n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """x (B, T, C), context (B, S, C) -> out (B, T, C), weights (B, nh, T, S).

        The call of `Head`, with its errors. The weights returned are those before dropout, so
        that each row sums to 1 in training too.
        """
        source = _source(x, context, self.query.in_features)  # (B, S, C)
        q, k, v = self._split(x, source)  # (B, nh, T, hs), (B, nh, S, hs) twice
        masked = self.causal and context is None
        mask = causal_mask(x.shape[-2], device=x.device) if masked else None  # (T, T)
        out, weights = attend(q, k, v, mask)  # (B, nh, T, hs), (B, nh, T, S)
        if self.training and self.dropout.p > 0:
            out = self.dropout(weights) @ v  # (B, nh, T, hs)
        return self._merge(out), weights

    def fused(self, x: Tensor, cache: "KeyValueCache | None" = None) -> Tensor:
        """x (B, T, C) -> out (B, T, C): the out of `forward` when nobody asks for the weights.

        torch's fused kernel never stores the (T, S) weights. With a cache, x is what follows on
        the positions read before: their keys and values come from the cache, which then grows.
        """
        _source(x, None, self.query.in_features)
        q, k, v = self._split(x, x, cache)  # (B, nh, T, hs), (B, nh, S, hs) twice
        T, S = q.shape[-2], k.shape[-2]
        mask = causal_mask(T, S, device=x.device) if self.causal and 1 < T < S else None  # (T, S)
        p = self.dropout.p if self.training else 0.0
        triangle = self.causal and T == S
        out = F.scaled_dot_product_attention(q, k, v, mask, p, triangle)  # (B, nh, T, hs)
        return self._merge(out)

    def _split(
        self, x: Tensor, source: Tensor, cache: "KeyValueCache | None" = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """x (B, T, C), source (B, S, C) -> q (B, nh, T, hs), k and v (B, nh, S, hs)."""
        q = self._heads(self.query(x))  # (B, nh, T, hs)
        k = self._heads(self.key(source))  # (B, n_kv_head, S, hs)
        v = self._heads(self.value(source))  # (B, n_kv_head, S, hs)
        if self.rotary:
            start = cache.length if cache is not None else 0
            q, k = (rotary(z, start + torch.arange(z.shape[-2], device=z.device)) for z in (q, k))
        if cache is not None:
            k, v = cache.extend(k, v)  # from here on S counts all that was read so far
        group = self.n_head // k.shape[-3]
        if group > 1:  # each head of keys and values serves a group of queries
            k, v = (z.repeat_interleave(group, dim=-3) for z in (k, v))  # (B, nh, S, hs)
        return q, k, v

    def _heads(self, x: Tensor) -> Tensor:
        """(B, T, n * hs) -> (B, n, T, hs): each head gets its own slice of the channels."""
        n = x.shape[-1] // self.head_size
        return x.reshape(*x.shape[:-1], n, self.head_size).transpose(-3, -2)

    def _merge(self, out: Tensor) -> Tensor:
        """(B, nh, T, hs) -> (B, T, C): the heads joined again, and projected."""
        out = out.transpose(-3, -2).flatten(-2)  # (B, T, C)
        joined: Tensor = self.dropout(self.project(out))  # (B, T, C)
        return joined


class KeyValueCache:
    """The keys and values of one layer for all positions read so far (chapter 19)."""

    def __init__(self) -> None:
        self._pair: tuple[Tensor, Tensor] | None = None  # two of (B, n_kv_head, S, hs)

    @property
    def length(self) -> int:
        """S, how many positions are kept."""
        return 0 if self._pair is None else self._pair[0].shape[-2]

    @property
    def n_bytes(self) -> int:
        """The memory that the kept keys and values take."""
        return 0 if self._pair is None else sum(z.numel() * z.element_size() for z in self._pair)

    def extend(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add k and v (B, n_kv_head, T, hs) of new positions, and return all: (.., S, hs) twice.

        Raises ValueError when what was kept is of other sequences or heads: it takes a new cache.
        """
        if self._pair is not None:
            kept, new = tuple(self._pair[0].shape), tuple(k.shape)
            if kept[:-2] + kept[-1:] != new[:-2] + new[-1:]:
                raise ValueError(f"the cache keeps (B, n_kv_head, S, hs) = {kept}, and got {new}")
            k, v = (torch.cat(pair, dim=-2) for pair in zip(self._pair, (k, v), strict=True))
        self._pair = k, v
        return k, v


def _check_division(n_embd: int, n_head: int, n_kv_head: int) -> None:
    if n_head < 1 or n_embd % n_head != 0:
        raise ValueError(f"n_head must divide n_embd, got n_embd={n_embd}, n_head={n_head}")
    if n_kv_head < 1 or n_head % n_kv_head != 0:
        raise ValueError(f"n_kv_head must divide n_head, got {n_head=}, {n_kv_head=}")


def _source(x: Tensor, context: Tensor | None, n_embd: int) -> Tensor:
    """What the keys and values come from: the context where there is one, else x itself."""
    for name, given in (("x", x), ("context", context)):
        if given is not None and (given.dim() < 2 or given.shape[-1] != n_embd):
            shape = tuple(given.shape)
            raise ValueError(f"{name} must end in (T, C) with C = n_embd = {n_embd}, got {shape}")
    return x if context is None else context

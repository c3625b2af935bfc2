"""Attention with weights to learn: one head, then several side by side.

No mask is kept: it is made for each call, on the input's device, so that a change of length or
device has nothing to go stale. True = may look, as everywhere here.
"""

from torch import Tensor, nn

from attention_lab.attention import attend, causal_mask


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
    Raises ValueError when n_head does not divide n_embd.
    Source: Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(self, n_embd: int, n_head: int, causal: bool = True, dropout: float = 0.0) -> None:
        super().__init__()
        if n_head < 1 or n_embd % n_head != 0:
            raise ValueError(f"n_head must divide n_embd, got n_embd={n_embd}, n_head={n_head}")
        self.causal = causal
        self.n_head = n_head
        self.query = nn.Linear(n_embd, n_embd, bias=False)
        self.key = nn.Linear(n_embd, n_embd, bias=False)
        self.value = nn.Linear(n_embd, n_embd, bias=False)
        self.project = nn.Linear(n_embd, n_embd)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, context: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """x (B, T, C), context (B, S, C) -> out (B, T, C), weights (B, nh, T, S).

        The call of `Head`, with its errors. The weights returned are those before dropout, so
        that each row sums to 1 in training too.
        """
        source = _source(x, context, self.query.in_features)  # (B, S, C)
        q = self._split(self.query(x))  # (B, nh, T, hs)
        k = self._split(self.key(source))  # (B, nh, S, hs)
        v = self._split(self.value(source))  # (B, nh, S, hs)
        masked = self.causal and context is None
        mask = causal_mask(x.shape[-2], device=x.device) if masked else None  # (T, T)
        out, weights = attend(q, k, v, mask)  # (B, nh, T, hs), (B, nh, T, S)
        if self.training and self.dropout.p > 0:
            out = self.dropout(weights) @ v  # (B, nh, T, hs)
        out = out.transpose(-3, -2).flatten(-2)  # (B, T, C)
        return self.dropout(self.project(out)), weights

    def _split(self, x: Tensor) -> Tensor:
        """(B, T, C) -> (B, nh, T, hs): each head gets its own slice of the channels."""
        hs = x.shape[-1] // self.n_head
        return x.reshape(*x.shape[:-1], self.n_head, hs).transpose(-3, -2)


def _source(x: Tensor, context: Tensor | None, n_embd: int) -> Tensor:
    """What the keys and values come from: the context where there is one, else x itself."""
    for name, given in (("x", x), ("context", context)):
        if given is not None and (given.dim() < 2 or given.shape[-1] != n_embd):
            shape = tuple(given.shape)
            raise ValueError(f"{name} must end in (T, C) with C = n_embd = {n_embd}, got {shape}")
    return x if context is None else context

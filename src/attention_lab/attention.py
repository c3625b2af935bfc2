"""Attention as a pure function: softmax(Q Kᵀ / √d_k) V, with a mask that says who may look.

Source: document A, "every symbol in the formula"; Vaswani et al. 2017, equation 1.
"""

from itertools import zip_longest

import torch
import torch.nn.functional as F
from torch import Tensor


def causal_mask(
    T: int, S: int | None = None, *, device: torch.device | str | None = None
) -> Tensor:
    """Who may look at whom when nobody may look ahead: (T, S) boolean, True = may look.

    S is T unless given. The triangle is anchored at the last key: the last query sees every key,
    the one before it all but the last, and so on. With S < T the first T - S queries may
    therefore look at nothing, and `attend` gives them 0.
    Raises ValueError for a negative T or S.
    Source: document A, "position t sees only positions 0 to t".
    """
    S = T if S is None else S
    if T < 0 or S < 0:
        raise ValueError(f"T and S must not be negative, got T={T} and S={S}")
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)  # (T, S)


def attend(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, scale: float | None = None
) -> tuple[Tensor, Tensor]:
    """Mix the values v, by how well each query in q agrees with each key in k.

    q: (..., T, hs), k: (..., S, hs), v: (..., S, hv), one floating dtype, float16 to float64.
    mask: boolean, True = may look, as in torch's `scaled_dot_product_attention`. It must
    broadcast to the scores' shape (..., T, S): (T, S), (B, T, S), (B, 1, S), (B, 1, T, S) and
    (S,) do where those axes exist. A padding mask (B, S) goes in with an axis for each that the
    scores have between B and S: mask[:, None, :], and mask[:, None, None, :] with heads.
    scale: what the scores are multiplied by; hs ** -0.5 unless given.

    Returns (out, weights): (..., T, hv) and (..., T, S). Each row of weights sums to 1 and is
    exactly 0 where the mask is False. A query that may look at nothing gets weights and output 0,
    and passes back finite gradients. Hidden keys and values must be finite too: 0 times inf is NaN.

    Raises TypeError for a dtype and ValueError for a shape that does not fit.
    Source: document A, sections "only one line" to "why divide"; Vaswani et al. 2017, equation 1.
    """
    check_qkv(q, k, v)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q * scale) @ k.transpose(-2, -1)  # (..., T, S), scaled first: float16 ends at 65504
    if mask is not None:
        _check_mask(mask, scores.shape)
        scores = scores.masked_fill(~mask, float("-inf"))  # (..., T, S)
    weights = _softmax(scores, mask)  # (..., T, S)
    out = weights @ v  # (..., T, hv)
    return out, weights


def _softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys, (..., T, S) -> (..., T, S): 0 in a row that the mask hides whole."""
    if mask is None:
        return F.softmax(scores, dim=-1)
    nothing = ~mask.any(dim=-1, keepdim=True)  # (..., T, 1)
    weights = F.softmax(scores.masked_fill(nothing, 0.0), dim=-1)  # no row of -inf: no NaN
    return weights.masked_fill(nothing, 0.0)


def check_qkv(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise unless q, k and v fit together: TypeError for a dtype, ValueError for a shape."""
    for name, given in (("q", q), ("k", k), ("v", v)):
        if not isinstance(given, Tensor):
            raise TypeError(f"{name} must be a tensor, not {type(given).__name__}")
    shapes = f"q {tuple(q.shape)}, k {tuple(k.shape)}, v {tuple(v.shape)}"
    if min(q.dim(), k.dim(), v.dim()) < 2:
        raise ValueError(f"q, k and v need at least two axes, (..., T, hs), got {shapes}")
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        dtypes = f"q {q.dtype}, k {k.dtype}, v {v.dtype}"
        raise TypeError(f"q, k and v must share one floating point dtype, got {dtypes}")
    if q.shape[-1] != k.shape[-1] or q.shape[-1] == 0:
        raise ValueError(f"q and k must share their last axis hs, at least 1, got {shapes}")
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(f"k and v must have one row a key, the same number S, got {shapes}")
    leading = (reversed(x.shape[:-2]) for x in (q, k, v))
    if any(len({*sizes} - {1}) > 1 for sizes in zip_longest(*leading, fillvalue=1)):
        raise ValueError(f"the leading axes of q, k and v do not broadcast: {shapes}")


def _check_mask(mask: Tensor, shape: torch.Size) -> None:
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        got = mask.dtype if isinstance(mask, Tensor) else type(mask).__name__
        raise TypeError(f"mask must be a torch.bool tensor, True = may look, got {got}")
    pairs = zip(reversed(mask.shape), reversed(shape), strict=False)
    if mask.dim() > len(shape) or any(m not in (1, n) for m, n in pairs):
        between = "None, " * max(1, len(shape) - 2)
        raise ValueError(
            f"mask must broadcast to the scores' shape (..., T, S) = {tuple(shape)}, got "
            f"{tuple(mask.shape)}; a padding mask (B, S) goes in as mask[:, {between}:]"
        )

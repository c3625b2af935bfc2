"""The hard constraint: position t may see positions 0..t, and no other. B batch, T time."""

from collections.abc import Callable

import torch
from torch import Tensor


def past_only(scheme: Callable[[Tensor], Tensor], x: Tensor, other: Tensor) -> bool:
    """Whether ``scheme`` obeys the constraint on x: a new future moves no bit of the past.

    x, other: (B, T, ...), of one shape; ``scheme`` maps (B, T, ...) to (B, T, ...).
    For each t, the positions after t are taken from ``other``, and the outputs up to t compared.
    Raises ``ValueError`` when the shapes differ, when there is no future (T below 2), when
    ``other`` equals x at a position after 0 in all sequences, so that a leak there would not show,
    or when ``scheme`` returns something else than a tensor (B, T, ...).
    Source: document A, section 2.
    """
    if x.shape != other.shape or x.ndim < 2 or x.shape[1] < 2:
        raise ValueError(
            "give x and other of one shape (B, T, ...) with T at least 2, "
            f"not {tuple(x.shape)} and {tuple(other.shape)}"
        )
    changes = (x != other).transpose(0, 1).flatten(1).any(1)  # (T,)
    if not changes[1:].all():
        t = int((~changes[1:]).nonzero()[0]) + 1
        raise ValueError(f"other equals x at position {t}: changing nothing proves nothing")
    before = scheme(x.clone())  # (B, T, ...)
    if not isinstance(before, Tensor) or before.shape[:2] != x.shape[:2]:
        found = tuple(before.shape) if isinstance(before, Tensor) else type(before).__name__
        wanted = f"a tensor (B, T, ...) with (B, T) = {tuple(x.shape[:2])}"
        raise ValueError(f"scheme must return {wanted}, not {found}")
    before = before.clone()  # safe from a scheme that reuses its output
    for t in range(x.shape[1] - 1):
        changed = torch.cat([x[:, : t + 1], other[:, t + 1 :]], dim=1)  # (B, T, ...)
        if not torch.equal(scheme(changed)[:, : t + 1], before[:, : t + 1]):
            return False
    return True

"""Positions by formula: waves added to the input, and rotations of queries and keys.

Attention sees a set; these tell it the order. The learned table is an `nn.Embedding`.
"""

import torch
from torch import Tensor


def sinusoidal(T: int, C: int) -> Tensor:
    """Sine and cosine waves to be added to a (B, T, C) input: (T, C), default dtype.

    Channel 2i is sin(t / 10000^(2i/C)) and channel 2i+1 the cosine of the same angle, interleaved
    as the formula has it. Raises ValueError for an odd C, whose last sine would lack its cosine.
    Source: Vaswani et al. 2017, section 3.5.
    """
    if C < 2 or C % 2 != 0:
        raise ValueError(f"C must be even, a sine and a cosine a frequency, got C={C}")
    angles = _angles(torch.arange(T), C)  # (T, C/2)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1)  # (T, C/2, 2)
    return waves.flatten(-2).to(torch.get_default_dtype())  # (T, C)


def rotary(q_or_k: Tensor, positions: Tensor) -> Tensor:
    """Turn each pair of channels of a query or key by an angle that grows with its position.

    q_or_k: (..., T, hs) floating, hs even. positions: (T,) integers. Returns (..., T, hs).
    Pairs (2i, 2i+1) turn by t / 10000^(2i/hs), interleaved as the paper has it; so q · k depends
    on the two positions only through their difference.
    Raises ValueError for an odd hs or a wrong number of positions, TypeError for a wrong dtype.
    Source: Su et al. 2021 (RoFormer), equation 34.
    """
    _check(q_or_k, positions)
    angles = _angles(positions, q_or_k.shape[-1])  # (T, hs/2)
    cos, sin = angles.cos().to(q_or_k), angles.sin().to(q_or_k)  # (T, hs/2) each
    even, odd = q_or_k[..., 0::2], q_or_k[..., 1::2]  # (..., T, hs/2) each
    turned = torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1)
    return turned.flatten(-2)  # (..., T, hs)


def _angles(positions: Tensor, C: int) -> Tensor:
    """t / 10000^(2i/C): (T, C/2), in float64, since an angle in radians may be large."""
    powers = torch.arange(0, C, 2, dtype=torch.float64, device=positions.device) / C  # (C/2,)
    return positions[:, None] / 10000**powers  # (T, C/2)


def _check(x: Tensor, positions: Tensor) -> None:
    if x.dim() < 2 or x.shape[-1] % 2 != 0:
        raise ValueError(f"q_or_k must be (..., T, hs) with hs even, got {tuple(x.shape)}")
    if not x.is_floating_point():
        raise TypeError(f"q_or_k must be floating point, got {x.dtype}")
    if positions.is_floating_point() or positions.is_complex() or positions.dtype == torch.bool:
        raise TypeError(f"positions must be integers, got {positions.dtype}")
    if positions.shape != x.shape[-2:-1]:
        wanted, got = tuple(x.shape[-2:-1]), tuple(positions.shape)
        raise ValueError(f"positions must be (T,) = {wanted}, one a row of q_or_k, got {got}")

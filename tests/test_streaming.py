"""Attention over the tiles of a plan: equal to `attend` under the mask that the tiles make up."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention_lab.attention import attend
from attention_lab.streaming import Plan, stream

QUICK = settings(max_examples=60, deadline=None, derandomize=True)


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def plan_of(mask: Tensor, rows: int, keys: int) -> Plan:
    """The mask (T, S) cut into tiles of rows x keys; no mask where all may look."""
    T, S = mask.shape

    def tiles(top: int):
        for left in range(0, S, keys):
            tile = mask[top : top + rows, left : left + keys]
            yield slice(left, min(left + keys, S)), None if tile.all() else tile

    return lambda: ((slice(t, min(t + rows, T)), tiles(t)) for t in range(0, T, rows))


@QUICK
@given(
    T=st.integers(1, 9),
    S=st.integers(1, 9),
    rows=st.integers(1, 10),
    keys=st.integers(1, 10),
    share=st.sampled_from([0.0, 0.3, 0.7, 1.0]),
    seed=st.integers(0, 2**16),
)
def test_any_plan_equals_attention_under_its_mask(T, S, rows, keys, share, seed):
    mask = torch.rand(T, S, generator=torch.Generator().manual_seed(seed)) < share
    q, k, v = (
        randn(2, T, 3, seed=seed),
        randn(2, S, 3, seed=seed + 1),
        randn(2, S, 2, seed=seed + 2),
    )
    leaves = [x.requires_grad_() for x in (q, k, v)]
    out, (expected, _) = stream(q, k, v, plan_of(mask, rows, keys)), attend(q, k, v, mask)
    assert_close(out, expected)
    pull = randn(2, T, 2, seed=seed + 3)
    ours, theirs = (torch.autograd.grad(x, leaves, pull) for x in (out, expected))
    for mine, reference in zip(ours, theirs, strict=True):
        assert_close(mine, reference, rtol=1e-9, atol=1e-9)


def test_keys_may_be_picked_one_by_one_and_in_any_order():
    q, k, v = randn(4, 3), randn(6, 3, seed=1), randn(6, 2, seed=2)
    picked = torch.tensor([5, 0, 3])
    out = stream(q, k, v, lambda: iter([(slice(0, 4), iter([(picked, None)]))]))
    assert_close(out, attend(q, k[picked], v[picked])[0])


def test_leading_axes_broadcast_whichever_input_has_them():
    q, k, v = randn(2, 1, 1, 4, 3), randn(3, 1, 5, 3, seed=1), randn(6, 5, 2, seed=2)
    everything = torch.ones(4, 5, dtype=torch.bool)
    assert_close(stream(q, k, v, plan_of(everything, 2, 2)), attend(q, k, v)[0])


@pytest.mark.parametrize("size", [1e3, 1e30, -1e3])
def test_huge_scores_do_not_overflow(size):
    k = size * torch.tensor([1.0, 3.0, -2.0, 2.0])[:, None]  # (S, hs)
    q, v = torch.ones(2, 1), randn(4, 2).float()
    everything = torch.ones(2, 4, dtype=torch.bool)
    assert_close(stream(q, k, v, plan_of(everything, 1, 1)), attend(q, k, v)[0])


def test_halves_are_added_up_in_float32():
    # One by one, ones add up to no more than 256 in bfloat16: 256 + 1 is 256 there.
    q, v = torch.zeros(600, 1, dtype=torch.bfloat16), randn(600, 1).to(torch.bfloat16)
    everything = torch.ones(1, 600, dtype=torch.bool)
    out = stream(q[:1], q, v, plan_of(everything, 1, 1))
    assert out.dtype == torch.bfloat16
    assert_close(out[0, 0], v.double().mean().to(torch.bfloat16))

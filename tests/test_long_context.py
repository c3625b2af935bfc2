"""Attention without its table: equal to `attend` with the same mask, and small in memory."""

from itertools import product

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from attention_lab.attention import attend, causal_mask
from attention_lab.long_context import (
    block_sparse_attention,
    linear_attention,
    sliding_window_attention,
    streaming_attention,
)

QUICK = settings(max_examples=40, deadline=None, derandomize=True)
TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 4e-2, torch.float32: 2e-5, torch.float64: 1e-10}


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


def values_and_gradients(attention, inputs, seed: int = 9) -> list[Tensor]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = attention(*leaves)
    if out.grad_fn is None:  # nobody looked at anything
        return [out, *(torch.zeros_like(x) for x in leaves)]
    cotangent = randn(*out.shape, seed=seed, dtype=out.dtype)
    grads = torch.autograd.grad(out, leaves, cotangent, allow_unused=True)
    return [
        out,
        *(torch.zeros_like(x) if g is None else g for g, x in zip(grads, leaves, strict=True)),
    ]


def window_mask(T: int, S: int, window: int) -> Tensor:
    """(T, S): the last ``window`` keys up to one's own, one pair at a time."""
    own = [t + S - T for t in range(T)]
    return torch.tensor(
        [[p - window < s <= p for s in range(S)] for p in own], dtype=torch.bool
    ).reshape(T, S)


def sparse_mask(T: int, S: int, block: int) -> Tensor:
    """(T, S): own block and the ends of earlier ones, up to one's own, one pair at a time."""

    def look(p: int, s: int) -> bool:
        return s <= p and (s // block == p // block or s % block == block - 1)

    own = [t + S - T for t in range(T)]
    return torch.tensor([[look(p, s) for s in range(S)] for p in own], dtype=torch.bool).reshape(
        T, S
    )


def linear_by_table(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    weights = (F.elu(q) + 1) @ (F.elu(k) + 1).mT  # (..., T, S)
    weights = weights if mask is None else weights * mask
    total = weights.sum(dim=-1, keepdim=True)  # (..., T, 1)
    return weights / total.masked_fill(total == 0, 1.0) @ v


# name: (the function, given a block and a number; the same by its table)
WAYS = {
    "streaming": (
        lambda n, block: lambda q, k, v: streaming_attention(q, k, v, block=block),
        lambda T, S, n, block: lambda q, k, v: attend(q, k, v, causal_mask(T, S))[0],
    ),
    "both ways": (
        lambda n, block: lambda q, k, v: streaming_attention(q, k, v, causal=False, block=block),
        lambda T, S, n, block: lambda q, k, v: attend(q, k, v)[0],
    ),
    "window": (
        lambda n, block: lambda q, k, v: sliding_window_attention(q, k, v, n, block),
        lambda T, S, n, block: lambda q, k, v: attend(q, k, v, window_mask(T, S, n))[0],
    ),
    "sparse": (
        lambda n, block: lambda q, k, v: block_sparse_attention(q, k, v, block),
        lambda T, S, n, block: lambda q, k, v: attend(q, k, v, sparse_mask(T, S, block))[0],
    ),
    "linear": (
        lambda n, block: lambda q, k, v: linear_attention(q, k, v, block=block),
        lambda T, S, n, block: lambda q, k, v: linear_by_table(q, k, v, causal_mask(T, S)),
    ),
    "linear both ways": (
        lambda n, block: lambda q, k, v: linear_attention(q, k, v, causal=False, block=block),
        lambda T, S, n, block: lambda q, k, v: linear_by_table(q, k, v, None),
    ),
}
each_way = pytest.mark.parametrize("way", WAYS)
FUNCTIONS = {name: ways[0](3, 4) for name, ways in WAYS.items()}  # window 3, block 4
each_function = pytest.mark.parametrize("attention", FUNCTIONS.values(), ids=FUNCTIONS)
CAUSAL = {name: f for name, f in FUNCTIONS.items() if "both" not in name}
each_causal = pytest.mark.parametrize("attention", CAUSAL.values(), ids=CAUSAL)


# --- agreement -----------------------------------------------------------------------------------


@each_way
@QUICK
@given(
    T=st.integers(0, 13),
    S=st.integers(0, 13),
    n=st.integers(1, 15),
    block=st.integers(1, 15),
    lead=st.sampled_from([(), (2,), (2, 3)]),
    seed=st.integers(0, 2**16),
)
def test_value_and_gradient_equal_the_way_by_the_table(way, T, S, n, block, lead, seed):
    make, by_table = WAYS[way]
    inputs = randn(*lead, T, 3, seed=seed), randn(*lead, S, 3, seed=seed + 1), randn(*lead, S, 2)
    ours = values_and_gradients(make(n, block), inputs)
    theirs = values_and_gradients(by_table(T, S, n, block), inputs)
    for mine, reference in zip(ours, theirs, strict=True):
        assert_close(mine, reference, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("S", [1, 6, 9])
def test_each_window_in_each_block_equals_the_way_by_the_table(S):
    q, k, v = randn(7, 3), randn(S, 3, seed=1), randn(S, 2)
    window_of, by_table = WAYS["window"]
    for window, block in product(range(1, 11), range(1, 8)):
        found = window_of(window, block)(q, k, v)
        assert_close(found, by_table(7, S, window, block)(q, k, v), msg=f"{window=} {block=}")


@each_way
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_each_dtype_is_kept_and_close_to_float64(way, dtype):
    make, by_table = WAYS[way]
    inputs = [randn(2, 11, 4, seed=i, dtype=dtype) for i in range(3)]
    ours = values_and_gradients(make(5, 4), inputs)
    theirs = values_and_gradients(by_table(11, 11, 5, 4), [x.double() for x in inputs])
    for mine, reference in zip(ours, theirs, strict=True):
        assert mine.dtype == dtype
        # the cotangent is rounded to dtype too, so gradients get twice the room
        assert_close(mine.double(), reference, rtol=2 * TOLERANCE[dtype], atol=2 * TOLERANCE[dtype])


def test_long_sums_in_half_precision_are_taken_in_float32():
    # One by one, ones add up to no more than 256 in bfloat16: 256 + 1 is 256 there.
    q, v = torch.zeros(600, 1, dtype=torch.bfloat16), randn(600, 1).to(torch.bfloat16)
    right = v.double().mean().to(torch.bfloat16)
    assert_close(streaming_attention(q[-1:], q, v, block=1)[0, 0], right)
    assert_close(linear_attention(q, q, v, block=1)[-1, 0], right)


@each_function
def test_gradients_equal_finite_differences(attention):
    inputs = [x.requires_grad_() for x in (randn(2, 5, 3), randn(2, 7, 3), randn(2, 7, 2))]
    assert torch.autograd.gradcheck(attention, inputs)


def test_the_default_blocks_give_the_same():
    q, k, v = randn(3, 1100, 4).unbind()
    mask = causal_mask(1100)
    assert_close(streaming_attention(q, k, v), attend(q, k, v, mask)[0])
    windowed = attend(q, k, v, mask & ~mask.tril(-600))[0]
    assert_close(sliding_window_attention(q, k, v, 600), windowed)
    assert_close(linear_attention(q, k, v), linear_by_table(q, k, v, mask))


@pytest.mark.parametrize(("S", "block"), [(0, 1), (1, 1), (2, 2), (16, 4), (17, 5), (24, 5)])
def test_a_sparse_block_is_the_root_of_s_rounded_up(S, block):
    q, k, v = randn(S, 3), randn(S, 3, seed=1), torch.eye(S, dtype=torch.float64)
    assert torch.equal(block_sparse_attention(q, k, v), block_sparse_attention(q, k, v, block))
    if S > 2:
        others = [block_sparse_attention(q, k, v, block + i) for i in (-1, 1)]
        assert not any(torch.equal(block_sparse_attention(q, k, v), other) for other in others)


@each_function
def test_leading_axes_broadcast(attention):
    inputs = randn(2, 1, 6, 3), randn(5, 6, 3, seed=1), randn(6, 2, seed=2)
    out = attention(*inputs)
    assert out.shape == (2, 5, 6, 2)
    assert_close(out[1, 4], attention(inputs[0][1, 0], inputs[1][4], inputs[2]))
    grads = values_and_gradients(attention, inputs)[1:]
    assert [g.shape for g in grads] == [x.shape for x in inputs]


# --- what softmax must survive -------------------------------------------------------------------

SOFTMAX = {name: f for name, f in FUNCTIONS.items() if "linear" not in name}


@pytest.mark.parametrize("attention", SOFTMAX.values(), ids=SOFTMAX)
@pytest.mark.parametrize("size", [1e3, 1e30, -1e3])
def test_huge_scores_do_not_overflow(attention, size):
    k = size * torch.tensor([1.0, 3.0, -2.0, 0.0, 2.0, 1.0, -1.0, 3.0])[:, None]  # (S, hs)
    out, grad, *_ = values_and_gradients(attention, (torch.ones(8, 1), k, randn(8, 2).float()))
    assert out.isfinite().all()
    assert grad.isfinite().all()


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [1, 3, 0, 2]])
def test_the_order_of_reading_does_not_matter(order):
    scores, v = torch.tensor([1000.0, 999.0, -1000.0, 500.0]), randn(4, 2).float()
    right = F.softmax(scores, dim=-1) @ v
    k = scores[order, None]  # (S, 1)
    out = streaming_attention(torch.ones(1, 1), k, v[order], causal=False, block=1)
    assert_close(out[0], right)


@each_causal
def test_a_query_before_the_first_key_gets_0_and_finite_gradients(attention):
    inputs = randn(6, 3), randn(4, 3, seed=1), randn(4, 2, seed=2)
    out, *grads = values_and_gradients(attention, inputs)
    assert (out[:2] == 0).all()
    assert (out[2:] != 0).any(-1).all()
    assert all(g.isfinite().all() for g in grads)
    assert (grads[0][:2] == 0).all()


# --- who sees whom -------------------------------------------------------------------------------


@each_causal
def test_changing_the_future_leaves_the_past_bit_for_bit(attention):
    q, k, v = randn(3, 11, 3).unbind()
    for t in range(10):
        k2, v2 = k.clone(), v.clone()
        k2[t + 1 :], v2[t + 1 :] = 3.0, 1e6
        assert torch.equal(attention(q, k, v)[: t + 1], attention(q, k2, v2)[: t + 1])


def test_a_window_of_1_returns_the_values_and_one_of_t_hides_nothing():
    q, k, v = randn(3, 9, 3).unbind()
    assert_close(sliding_window_attention(q, k, v, 1, block=4), v)
    whole = streaming_attention(q, k, v)
    assert_close(sliding_window_attention(q, k, v, 9, block=4), whole)
    assert not torch.allclose(sliding_window_attention(q, k, v, 8, block=4), whole)


def test_linear_attention_is_a_recurrence():
    q, k, v = randn(3, 9, 3).unbind()
    sums, norm, out = torch.zeros(3, 3).double(), torch.zeros(3).double(), []
    for a, b, c in zip(F.elu(q) + 1, F.elu(k) + 1, v, strict=True):
        sums, norm = sums + torch.outer(b, c), norm + b
        out.append(a @ sums / (a @ norm))
    assert_close(linear_attention(q, k, v, block=4), torch.stack(out))


# --- memory and work -----------------------------------------------------------------------------


class Largest(TorchDispatchMode):
    """The number of entries of the largest tensor made while it is on."""

    entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for x in made if isinstance(made, tuple | list) else (made,):
            if isinstance(x, Tensor):
                self.entries = max(self.entries, x.numel())
        return made


def leaves(T: int) -> list[Tensor]:
    return [randn(T, 4, seed=i).requires_grad_() for i in range(3)]


def plain(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return attend(q, k, v, causal_mask(q.shape[-2]))[0]


@each_way
def test_no_tensor_is_near_the_size_of_the_table_not_even_on_the_way_back(way):
    T, attention = 300, WAYS[way][0](16, 16)
    with Largest() as seen:
        attention(*leaves(T)).sum().backward()
    assert seen.entries <= T * 16
    with Largest() as seen:
        plain(*leaves(T)).sum().backward()
    assert seen.entries == T * T


@each_way
def test_what_is_kept_for_the_way_back_grows_like_the_text(way):
    def kept(attention, T: int) -> int:
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda x: sizes.append(x.numel()), id):
            attention(*leaves(T))
        return sum(sizes)

    attention = WAYS[way][0](16, 16)
    assert kept(attention, 512) <= 2.1 * kept(attention, 256)
    assert kept(plain, 512) > 3 * kept(plain, 256)


@pytest.mark.parametrize(
    ("way", "most"), [("streaming", 4), ("window", 2), ("sparse", 2**1.5), ("linear", 2)]
)
def test_the_work_grows_as_promised(way, most):
    def work(T: int) -> int:
        with FlopCounterMode(display=False) as counter:
            if way == "sparse":
                block_sparse_attention(*leaves(T))
            else:
                WAYS[way][0](16, 16)(*leaves(T))
        return counter.get_total_flops()

    assert 0.9 * most < work(2048) / work(1024) < 1.05 * most


def test_tiles_in_the_future_are_not_computed():
    def work(causal: bool) -> int:
        with FlopCounterMode(display=False) as counter:
            streaming_attention(*leaves(512), causal=causal, block=16)
        return counter.get_total_flops()

    assert work(True) < 0.55 * work(False)


# --- inputs --------------------------------------------------------------------------------------


@each_function
def test_inputs_are_never_mutated(attention):
    inputs = [randn(2, 9, 3, seed=i) for i in range(3)]
    before = [x.clone() for x in inputs]
    values_and_gradients(attention, inputs)
    attention(*inputs)
    assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))


@each_function
def test_what_attend_refuses_is_refused(attention):
    with pytest.raises(TypeError, match="must share one floating point dtype"):
        attention(randn(3, 2), randn(3, 2).float(), randn(3, 2))
    with pytest.raises(ValueError, match="must share their last axis hs"):
        attention(randn(3, 2), randn(3, 4), randn(3, 2))
    with pytest.raises(ValueError, match="one row a key"):
        attention(randn(3, 2), randn(4, 2), randn(3, 2))
    with pytest.raises(ValueError, match="at least two axes"):
        attention(randn(3, 2), randn(2), randn(3, 2))


@each_way
@pytest.mark.parametrize("block", [0, -1])
def test_a_block_below_1_is_refused(way, block):
    with pytest.raises(ValueError, match=f"block must be at least 1, got {block}"):
        WAYS[way][0](3, block)(*leaves(4))


def test_a_window_below_1_is_refused():
    with pytest.raises(ValueError, match="window must be at least 1, got 0"):
        sliding_window_attention(*leaves(4), window=0)


def test_second_derivatives_are_refused_not_wrong():
    inputs = leaves(4)
    loss = streaming_attention(*inputs).square().sum()
    (grad,) = torch.autograd.grad(loss, inputs[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        grad.sum().backward()

"""Sine waves and rotations: the formulas of their papers, and what they promise."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention_lab.positions import rotary, sinusoidal

QUICK = settings(max_examples=30, deadline=None, derandomize=True)


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


# --- sinusoidal ----------------------------------------------------------------------------------


@QUICK
@given(T=st.integers(1, 12), half=st.integers(1, 6))
def test_waves_equal_the_papers_formula_index_by_index(T, half):
    C = 2 * half
    waves = sinusoidal(T, C)
    assert waves.shape == (T, C)
    assert waves.dtype == torch.get_default_dtype()
    for t in range(T):
        for i in range(half):
            angle = t / 10000 ** (2 * i / C)
            assert waves[t, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert waves[t, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_each_sine_has_the_cosine_of_its_own_frequency():
    waves = sinusoidal(50, 8)
    assert_close(waves[:, 0::2] ** 2 + waves[:, 1::2] ** 2, torch.ones(50, 4))
    assert waves[3, 4].item() == pytest.approx(math.sin(3 / 10000 ** (4 / 8)), abs=1e-6)


def test_waves_stay_exact_far_out():
    last = sinusoidal(100_001, 6)[100_000]
    angles = [100_000 / 10000 ** (2 * i / 6) for i in range(3)]
    expected = [f(a) for a in angles for f in (math.sin, math.cos)]
    assert last.tolist() == pytest.approx(expected, abs=1e-6)


def test_the_dot_product_of_two_waves_depends_on_their_distance_alone():
    waves = sinusoidal(20, 16)
    products = waves @ waves.T
    for distance in range(20):
        diagonal = products.diagonal(distance)
        assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-5)


@pytest.mark.parametrize("C", [7, 1, 0, -2])
def test_a_width_without_pairs_is_refused(C):
    with pytest.raises(ValueError, match=f"C must be even, a sine and a cosine.*C={C}"):
        sinusoidal(4, C)


# --- rotary --------------------------------------------------------------------------------------


@QUICK
@given(half=st.integers(1, 4), start=st.integers(-50, 50), seed=st.integers(0, 2**16))
def test_each_pair_turns_by_its_angle(half, start, seed):
    hs, positions = 2 * half, torch.arange(start, start + 3)
    x = randn(2, 3, hs, seed=seed)
    pairs = torch.view_as_complex(x.unflatten(-1, (half, 2)).contiguous())
    frequencies = torch.tensor([10000 ** (-2 * i / hs) for i in range(half)], dtype=torch.float64)
    turn = torch.polar(torch.ones(3, half, dtype=torch.float64), positions[:, None] * frequencies)
    expected = torch.view_as_real(pairs * turn).flatten(-2)
    assert_close(rotary(x, positions), expected)


@QUICK
@given(shift=st.integers(-1000, 1000), seed=st.integers(0, 2**16))
def test_scores_depend_on_the_difference_of_positions_alone(shift, seed):
    q, k = randn(2, 4, 6, seed=seed), randn(2, 5, 6, seed=seed + 1)
    of_q, of_k = torch.arange(4), torch.arange(5)
    here = rotary(q, of_q) @ rotary(k, of_k).transpose(-2, -1)
    there = rotary(q, of_q + shift) @ rotary(k, of_k + shift).transpose(-2, -1)
    assert_close(here, there, rtol=0, atol=1e-9)


def test_scores_do_depend_on_that_difference():
    q = torch.ones(1, 4, dtype=torch.float64)
    near, far = (rotary(q, torch.tensor([t])) @ q.T for t in (1, 2))
    assert not torch.allclose(near, far, atol=1e-2)


def test_position_0_is_left_alone_and_lengths_are_kept():
    x = randn(2, 3, 7, 8)
    turned = rotary(x, torch.arange(7))
    assert torch.equal(turned[..., 0, :], x[..., 0, :])
    assert_close(turned.norm(dim=-1), x.norm(dim=-1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_dtype_and_input_are_kept(dtype):
    x, positions = randn(3, 4).to(dtype), torch.tensor([5, 0, 900], dtype=torch.int32)
    before = x.clone()
    turned = rotary(x, positions)
    assert turned.dtype == dtype
    assert torch.equal(x, before)
    tolerance = 8 * torch.finfo(dtype).eps
    exact = rotary(x.double(), positions)
    assert_close(turned.double(), exact, rtol=tolerance, atol=tolerance)


def test_the_gradients_of_a_rotation_equal_finite_differences():
    x, positions = randn(2, 3, 4).requires_grad_(), torch.tensor([4, 9, 1])
    assert torch.autograd.gradcheck(lambda x: rotary(x, positions), (x,))


@pytest.mark.parametrize("shape", [(3, 5), (4,)])
def test_channels_without_pairs_or_rows_are_refused(shape):
    with pytest.raises(ValueError, match=r"\(\.\.\., T, hs\) with hs even, got \("):
        rotary(torch.zeros(shape), torch.arange(3))


@pytest.mark.parametrize("positions", [torch.arange(4), torch.arange(3)[None], torch.tensor(0)])
def test_a_wrong_number_of_positions_is_refused_with_both_shapes(positions):
    with pytest.raises(ValueError, match=r"\(T,\) = \(3,\), one a row") as refusal:
        rotary(torch.zeros(2, 3, 4), positions)
    assert f"got {tuple(positions.shape)}" in str(refusal.value)


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64, torch.bool])
def test_positions_that_are_not_integers_are_refused_by_name(dtype):
    with pytest.raises(TypeError, match=f"positions must be integers, got {dtype}"):
        rotary(torch.zeros(3, 4), torch.ones(3, dtype=dtype))


def test_integer_channels_are_refused_by_name():
    with pytest.raises(TypeError, match=r"q_or_k must be floating point, got torch\.int64"):
        rotary(torch.ones(3, 4, dtype=torch.int64), torch.arange(3))

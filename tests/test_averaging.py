"""The three averages of document A: equal to each other, and blind to the future."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention_lab.averaging import average_loop, average_matmul, average_softmax

SCHEMES = [average_loop, average_matmul, average_softmax]
EVERY_SCHEME = pytest.mark.parametrize("average", SCHEMES, ids=lambda f: f.__name__)
QUICK = settings(max_examples=30, deadline=None, derandomize=True)


@st.composite
def sequences(draw: st.DrawFn) -> Tensor:
    """x (B, T, C) in float64."""
    shape = [draw(st.integers(1, 5)) for _ in range(3)]
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**16)))
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@EVERY_SCHEME
def test_the_documents_three_vectors_give_the_documents_averages(average):
    x = torch.tensor([[[2.0, 7.0], [6.0, 4.0], [6.0, 5.0]]])
    assert_close(average(x), torch.tensor([[[2.0, 7.0], [4.0, 5.5], [14 / 3, 16 / 3]]]))


@EVERY_SCHEME
@QUICK
@given(x=sequences())
def test_row_t_is_the_mean_of_rows_0_to_t(average, x):
    counts = torch.arange(1, x.shape[1] + 1)[:, None]
    assert_close(average(x), x.cumsum(dim=1) / counts)


@QUICK
@given(x=sequences())
def test_the_three_schemes_agree_in_value_and_gradient(x):
    cotangent = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=x.dtype)
    leaves = [x.clone().requires_grad_() for _ in SCHEMES]
    outs = [average(leaf) for average, leaf in zip(SCHEMES, leaves, strict=True)]
    grads = [
        torch.autograd.grad(out, leaf, cotangent)[0] for out, leaf in zip(outs, leaves, strict=True)
    ]
    for out, grad in zip(outs[1:], grads[1:], strict=True):
        assert_close(out, outs[0])
        assert_close(grad, grads[0])


@EVERY_SCHEME
@QUICK
@given(x=sequences(), data=st.data())
def test_changing_the_future_leaves_the_past_bit_for_bit(average, x, data):
    t = data.draw(st.integers(0, x.shape[1] - 1))
    changed = x.clone()
    changed[:, t + 1 :] = 1e6
    assert torch.equal(average(changed)[:, : t + 1], average(x)[:, : t + 1])


@EVERY_SCHEME
def test_the_input_is_left_as_it_was(average):
    x = torch.arange(24.0).reshape(2, 4, 3)
    before = x.clone()
    average(x)
    assert torch.equal(x, before)


@EVERY_SCHEME
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_the_dtype_is_kept(average, dtype):
    x = torch.arange(12.0).reshape(1, 4, 3).to(dtype)
    out = average(x)
    assert out.dtype == dtype
    exact = x.double().cumsum(dim=1) / torch.arange(1, 5)[:, None]
    tolerance = torch.finfo(dtype).eps
    assert_close(out.double(), exact, rtol=2 * tolerance, atol=2 * tolerance)


@EVERY_SCHEME
def test_an_empty_sequence_has_an_empty_average(average):
    assert average(torch.zeros(2, 0, 3)).shape == (2, 0, 3)


@EVERY_SCHEME
@pytest.mark.parametrize("shape", [(3,), (4, 3), (1, 2, 4, 3)])
def test_another_rank_is_refused_with_the_expected_shape(average, shape):
    with pytest.raises(ValueError, match=r"\(B, T, C\), got \(") as refusal:
        average(torch.zeros(shape))
    assert str(tuple(shape)) in str(refusal.value)


@EVERY_SCHEME
@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
def test_a_dtype_without_fractions_is_refused_by_name(average, dtype):
    with pytest.raises(TypeError, match=rf"floating point.*{dtype}"):
        average(torch.zeros(1, 2, 3, dtype=dtype))


@EVERY_SCHEME
def test_a_list_is_refused_by_its_type(average):
    with pytest.raises(TypeError, match="x must be a tensor, not list"):
        average([[[1.0]]])

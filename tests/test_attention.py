"""`attend` and `causal_mask`: against torch's own attention, and where they must hold their own."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.testing import assert_close

from attention_lab.attention import attend, causal_mask

QUICK = settings(max_examples=30, deadline=None, derandomize=True)
# Half precision is compared with float64 on the same inputs; a few roundings add up on the way.
TOLERANCE = {
    torch.float16: 5e-3,
    torch.bfloat16: 4e-2,
    torch.float32: 1e-5,
    torch.float64: 1e-10,
}


def randn(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64).to(dtype)


@dataclass
class Problem:
    """q (..., T, hs), k (..., S, hs), v (..., S, hv); the mask lets every query see a key."""

    q: Tensor
    k: Tensor
    v: Tensor
    mask: Tensor | None

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.q, self.k, self.v


@st.composite
def problems(draw: st.DrawFn, dtypes=tuple(TOLERANCE), masks=(True, False)) -> Problem:
    lead = draw(st.sampled_from([(), (2,), (2, 3)]))
    T, S, hs, hv = (draw(st.integers(1, 6)) for _ in range(4))
    dtype, seed = draw(st.sampled_from(dtypes)), draw(st.integers(0, 2**16))
    q = randn(*lead, T, hs, seed=seed, dtype=dtype)
    k = randn(*lead, S, hs, seed=seed + 1, dtype=dtype)
    v = randn(*lead, S, hv, seed=seed + 2, dtype=dtype)
    mask = None
    if draw(st.sampled_from(masks)):
        shapes = [(S,), (T, S), (1, S), (*lead, T, S), (*lead, 1, S), (*[1] * len(lead), T, S)]
        mask = randn(*draw(st.sampled_from(shapes)), seed=seed + 3) > 0
        mask[..., draw(st.integers(0, S - 1))] = True
    return Problem(q, k, v, mask)


def values_and_gradients(attention, inputs: tuple[Tensor, ...], cotangent: Tensor) -> list[Tensor]:
    leaves = [x.detach().clone().requires_grad_() for x in inputs]
    out = attention(*leaves)
    return [out, *torch.autograd.grad(out, leaves, cotangent.to(out.dtype))]


# --- agreement -----------------------------------------------------------------------------------


@QUICK
@given(problem=problems(), scale=st.sampled_from([None, 0.5, 2.0]))
def test_value_and_gradient_equal_torchs_own_attention(problem, scale):
    q, _, v = problem.inputs
    mask, cotangent = problem.mask, randn(*q.shape[:-1], v.shape[-1], seed=9, dtype=q.dtype)
    ours = values_and_gradients(
        lambda q, k, v: attend(q, k, v, mask, scale)[0], problem.inputs, cotangent
    )
    torchs = values_and_gradients(
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, mask, scale=scale),
        tuple(x.double() for x in problem.inputs),
        cotangent,
    )
    tolerance = TOLERANCE[q.dtype]
    for mine, reference in zip(ours, torchs, strict=True):
        assert mine.dtype == q.dtype
        assert_close(mine.double(), reference, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("draw", ["normal", "uniform"])
def test_causal_attention_equals_torchs_is_causal(seed, dtype, draw):
    q, k, v = (randn(2, 4, 6, 8, seed=10 * seed + i) for i in range(3))
    if draw == "uniform":
        q, k, v = (x.erf() / 2 + 0.5 for x in (q, k, v))
    q, k, v = (x.to(dtype) for x in (q, k, v))
    out, _ = attend(q, k, v, causal_mask(6))
    torchs = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    tolerance = TOLERANCE[dtype]
    assert_close(out, torchs, rtol=tolerance, atol=tolerance)


def test_gradients_equal_finite_differences():
    q, k, v = (x.requires_grad_() for x in (randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 2)))
    mask = causal_mask(3, 5)
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, mask), (q, k, v))


def test_the_documents_hand_calculation_comes_out():
    q = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 0.5]])
    k = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    v = torch.tensor([[10.0, 0.0], [0.0, 10.0], [5.0, 5.0]])
    out, weights = attend(q, k, v, causal_mask(3), scale=1.0)
    assert_close(weights[2], torch.tensor([0.80, 0.02, 0.18]), rtol=0, atol=0.005)
    assert_close(out[2], torch.tensor([8.87, 1.13]), rtol=0, atol=0.005)


@pytest.mark.parametrize("hs", [8, 64, 256])
def test_scores_are_divided_by_the_root_of_the_head_size(hs):
    q, k = randn(3, hs), randn(4, hs, seed=1)
    _, weights = attend(q, k, randn(4, 2))
    scores = q @ k.T / hs**0.5
    logs = weights.log()
    assert_close(logs - logs[:, :1], scores - scores[:, :1])


# --- weights -------------------------------------------------------------------------------------


@QUICK
@given(problem=problems())
def test_rows_sum_to_1_and_are_exactly_0_where_hidden(problem):
    q, k, v = problem.inputs
    _, weights = attend(q, k, v, problem.mask)
    assert weights.shape == (*q.shape[:-1], k.shape[-2])
    tolerance = TOLERANCE[q.dtype]
    assert_close(
        weights.double().sum(dim=-1),
        torch.ones(q.shape[:-1], dtype=torch.float64),
        rtol=tolerance,
        atol=tolerance,
    )
    assert (weights >= 0).all()
    if problem.mask is not None:
        assert (weights[~problem.mask.expand_as(weights)] == 0).all()


@QUICK
@given(problem=problems(dtypes=(torch.float64,)))
def test_the_output_is_the_weights_times_the_values(problem):
    out, weights = attend(*problem.inputs, problem.mask)
    assert_close(out, weights @ problem.v)


def test_a_hidden_key_is_not_outbid_by_hopeless_scores():
    q, k, v = torch.tensor([[100.0]]), torch.tensor([[-1000.0], [1.0]]), torch.eye(2)
    _, weights = attend(q, k, v, torch.tensor([True, False]))
    assert weights.tolist() == [[1.0, 0.0]]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([1000.0, 0.0], [1.0, 0.0]), ([-1000.0, -1000.0], [0.5, 0.5]), ([1e30, -1e30], [1.0, 0.0])],
)
def test_huge_scores_do_not_overflow(scores, expected):
    k = torch.tensor(scores)[:, None]
    _, weights = attend(torch.ones(1, 1), k, torch.eye(2), scale=1.0)
    assert weights.tolist() == [expected]


def test_float16_scales_before_the_product_and_so_stays_finite():
    q = torch.full((1, 64), 40.0, dtype=torch.float16)  # q · q = 102400 > 65504
    out, weights = attend(q, q, torch.ones(1, 3, dtype=torch.float16))
    assert weights.item() == 1
    assert out.isfinite().all()


def test_zero_scores_give_the_average():
    x = randn(5, 3)
    out, _ = attend(torch.zeros(5, 2, dtype=x.dtype), torch.zeros(5, 2, dtype=x.dtype), x)
    assert_close(out, x.mean(dim=0).expand(5, 3))


# --- causality and order -------------------------------------------------------------------------


@QUICK
@given(T=st.integers(1, 6), extra=st.integers(0, 4), data=st.data(), seed=st.integers(0, 2**16))
def test_changing_the_future_leaves_the_past_bit_for_bit(T, extra, data, seed):
    S = T + extra
    t = data.draw(st.integers(0, T - 1))
    last = extra + t  # the last key that query t may see
    q, k, v = randn(2, T, 3, seed=seed), randn(2, S, 3, seed=seed + 1), randn(2, S, 2, seed=seed)
    q2, k2, v2 = q.clone(), k.clone(), v.clone()
    q2[:, t + 1 :], k2[:, last + 1 :], v2[:, last + 1 :] = 50.0, -1e3, 1e6
    out, weights = attend(q, k, v, causal_mask(T, S))
    out2, weights2 = attend(q2, k2, v2, causal_mask(T, S))
    assert torch.equal(out[:, : t + 1], out2[:, : t + 1])
    assert torch.equal(weights[:, : t + 1], weights2[:, : t + 1])


def test_no_gradient_flows_in_from_the_future_and_some_from_all_the_past():
    x = randn(1, 5, 8).requires_grad_()
    out, _ = attend(x, x, x, causal_mask(5))
    (grad,) = torch.autograd.grad(out[0, 1].sum(), x)
    reach = grad[0].abs().sum(dim=-1)
    assert (reach[2:] == 0).all()
    assert (reach[:2] > 0).all()


@QUICK
@given(problem=problems(dtypes=(torch.float64,), masks=(False,)), seed=st.integers(0, 99))
def test_without_a_mask_queries_permute_and_keys_are_a_set(problem, seed):
    q, k, v = problem.inputs
    generator = torch.Generator().manual_seed(seed)
    of_q = torch.randperm(q.shape[-2], generator=generator)
    of_k = torch.randperm(k.shape[-2], generator=generator)
    out, weights = attend(q, k, v)
    out2, weights2 = attend(q[..., of_q, :], k[..., of_k, :], v[..., of_k, :])
    assert_close(out2, out[..., of_q, :])
    assert_close(weights2, weights[..., of_q, :][..., of_k])


def test_a_causal_mask_breaks_the_symmetry_unless_it_is_permuted_too():
    x, order, mask = randn(4, 3), torch.tensor([2, 0, 3, 1]), causal_mask(4)
    out, _ = attend(x, x, x, mask)
    moved = x[order]
    kept, _ = attend(moved, moved, moved, mask)
    assert not torch.allclose(kept, out[order], atol=1e-2)
    assert torch.equal(kept[0], moved[0])  # whoever comes first sees only itself
    along, _ = attend(moved, moved, moved, mask[order][:, order])
    assert_close(along, out[order])


@pytest.mark.parametrize(
    ("T", "S", "rows"),
    [
        (3, None, ["100", "110", "111"]),
        (2, 4, ["1110", "1111"]),
        (4, 2, ["00", "00", "10", "11"]),
        (1, 3, ["111"]),
        (0, 2, []),
        (2, 0, ["", ""]),
    ],
)
def test_the_triangle_is_anchored_at_the_last_key(T, S, rows):
    mask = causal_mask(T, S)
    assert mask.dtype == torch.bool
    assert ["".join("01"[look] for look in row) for row in mask.tolist()] == rows
    assert mask.shape == (T, T if S is None else S)


def test_a_causal_mask_is_made_on_the_device_asked_for():
    assert causal_mask(2, device="meta").device.type == "meta"
    assert causal_mask(2).device.type == "cpu"


@pytest.mark.parametrize("sizes", [(-1,), (2, -3)])
def test_negative_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="must not be negative, got T="):
        causal_mask(*sizes)


# --- queries that may look at nothing ------------------------------------------------------------


def hidden_rows(*, some: bool) -> Tensor:
    """(4, 3): rows 1 and 3 see nothing, the others key 0; or no row sees anything."""
    mask = torch.zeros(4, 3, dtype=torch.bool)
    mask[0::2, 0] = some
    return mask


@pytest.mark.filterwarnings("ignore:Anomaly Detection")
@pytest.mark.parametrize("some", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
def test_a_query_that_sees_nothing_gets_0_and_finite_gradients(some, dtype):
    q, k, v = randn(2, 4, 5, dtype=dtype), randn(2, 3, 5, dtype=dtype), randn(2, 3, 2, dtype=dtype)
    leaves = [x.requires_grad_() for x in (q, k, v)]
    mask = hidden_rows(some=some)
    with torch.autograd.detect_anomaly(check_nan=True):
        out, weights = attend(*leaves, mask)
        grads = torch.autograd.grad(out.square().sum() + weights.square().sum(), leaves)
    nothing = ~mask.any(dim=-1)
    assert (out[:, nothing] == 0).all()
    assert (weights[:, nothing] == 0).all()
    assert (weights[:, ~nothing].sum(dim=-1) == 1).all()
    assert all(g.isfinite().all() for g in grads)
    assert (grads[0][:, nothing] == 0).all()


def test_a_query_that_sees_nothing_stays_finite_even_when_its_scores_overflow():
    q = torch.full((1, 1), 6e4, dtype=torch.float16, requires_grad=True)
    k = torch.full((2, 1), 6e4, dtype=torch.float16)
    out, _ = attend(q, k, torch.ones(2, 1, dtype=torch.float16), torch.tensor([[False, False]]))
    (grad,) = torch.autograd.grad(out.sum(), q)
    assert out.item() == 0
    assert grad.item() == 0


def test_gradients_around_empty_rows_equal_finite_differences():
    q, k, v = (x.requires_grad_() for x in (randn(4, 2), randn(3, 2, seed=1), randn(3, 2, seed=2)))
    mask = hidden_rows(some=True)
    assert torch.autograd.gradcheck(lambda q, k, v: attend(q, k, v, mask), (q, k, v))


@pytest.mark.filterwarnings("error")
def test_no_key_at_all_is_nothing_to_look_at():
    out, weights = attend(randn(2, 3), randn(0, 3), randn(0, 4))
    assert weights.shape == (2, 0)
    assert torch.equal(out, torch.zeros(2, 4, dtype=out.dtype))


# --- masks and their shapes ----------------------------------------------------------------------


def test_a_padding_mask_equals_each_sample_on_its_own():
    # B = T = S, so that a mask on the wrong axis would go unnoticed by its shape.
    q, k, v = randn(4, 4, 3), randn(4, 4, 3, seed=1), randn(4, 4, 3, seed=2)
    lengths = [1, 4, 2, 3]
    padding = torch.arange(4) < torch.tensor(lengths)[:, None]  # (B, S)
    out, _ = attend(q, k, v, padding[:, None, :])
    for b, n in enumerate(lengths):
        assert_close(out[b], attend(q[b], k[b, :n], v[b, :n])[0])


@pytest.mark.parametrize("heads", [(), (3,)])
def test_the_advice_for_a_padding_mask_is_right_with_and_without_heads(heads):
    q, k, v = (randn(2, *heads, 4, 3, seed=seed) for seed in range(3))
    padding = torch.tensor([[True, False, False, False], [True, True, True, False]])  # (B, S)
    with pytest.raises(ValueError, match=r"goes in as mask\[") as refusal:
        attend(q, k, v, padding)
    advised = str(refusal.value).partition("goes in as ")[2]
    out, _ = attend(q, k, v, eval(advised, {"mask": padding}))
    for b, n in enumerate((1, 3)):
        assert_close(out[b], attend(q[b], k[b, ..., :n, :], v[b, ..., :n, :])[0])


@pytest.mark.parametrize("shape", [(5,), (3, 5), (3, 1), (1, 3, 5), (2, 1, 5), (2, 3, 5), ()])
def test_every_mask_that_broadcasts_equals_its_expanded_form(shape):
    q, k, v = randn(2, 3, 4), randn(2, 5, 4, seed=1), randn(2, 5, 2, seed=2)
    mask = randn(*shape, seed=6) > 0
    full = mask.expand(2, 3, 5)
    out, weights = attend(q, k, v, mask)
    out2, weights2 = attend(q, k, v, full)
    assert torch.equal(out, out2)
    assert torch.equal(weights, weights2)
    assert ((weights > 0) == full).all()


@pytest.mark.parametrize("shape", [(2, 5), (4,), (5, 3), (7, 3, 5), (1, 2, 3, 5), (2, 1, 1, 3, 5)])
def test_a_mask_that_does_not_fit_is_refused_with_the_scores_shape(shape):
    q, k, v = randn(2, 3, 4), randn(2, 5, 4), randn(2, 5, 2)
    with pytest.raises(ValueError, match=r"\(\.\.\., T, S\) = \(2, 3, 5\), got") as refusal:
        attend(q, k, v, torch.ones(shape, dtype=torch.bool))
    assert f"got {shape}" in str(refusal.value)


@pytest.mark.parametrize("enlarged", [(2, 3, 5), (4, 3, 5)])
def test_a_mask_may_not_enlarge_the_scores(enlarged):
    with pytest.raises(ValueError, match=r"= \(1, 3, 5\), got"):
        attend(
            randn(1, 3, 4), randn(1, 5, 4), randn(1, 5, 2), torch.ones(enlarged, dtype=torch.bool)
        )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.uint8])
def test_a_mask_of_another_dtype_is_refused_by_name(dtype):
    mask = torch.tril(torch.ones(3, 3, dtype=dtype))
    with pytest.raises(TypeError, match=rf"torch\.bool tensor, True = may look, got {dtype}"):
        attend(randn(3, 4), randn(3, 4), randn(3, 4), mask)


# --- inputs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("some", [True, False])
def test_inputs_are_never_mutated(some):
    inputs = [randn(4, 5), randn(3, 5), randn(3, 2), hidden_rows(some=some)]
    before = [x.clone() for x in inputs]
    attend(*inputs)
    assert all(torch.equal(x, y) for x, y in zip(inputs, before, strict=True))


def test_leading_axes_broadcast():
    q, k, v = randn(2, 3, 4, 5), randn(1, 3, 6, 5, seed=1), randn(6, 2, seed=2)
    out, weights = attend(q, k, v)
    assert out.shape == (2, 3, 4, 2)
    assert weights.shape == (2, 3, 4, 6)
    assert_close(out[1, 2], attend(q[1, 2], k[0, 2], v)[0])


@pytest.mark.parametrize(
    ("q", "k", "v", "message"),
    [
        ((3, 4), (5, 6), (5, 2), r"share their last axis hs.*\(3, 4\), k \(5, 6\)"),
        ((3, 0), (5, 0), (5, 2), r"hs, at least 1.*q \(3, 0\)"),
        ((3, 4), (5, 4), (6, 2), r"the same number S.*k \(5, 4\), v \(6, 2\)"),
        ((4,), (5, 4), (5, 2), r"at least two axes.*q \(4,\)"),
        ((3, 4), (4,), (5, 2), r"at least two axes.*k \(4,\)"),
        ((3, 4), (5, 4), (5,), r"at least two axes.*v \(5,\)"),
        ((2, 3, 4), (7, 5, 4), (7, 5, 2), r"leading axes.*q \(2, 3, 4\), k \(7, 5, 4\)"),
        ((2, 3, 4), (2, 5, 4), (3, 5, 2), r"leading axes.*v \(3, 5, 2\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused_by_name(q, k, v, message):
    with pytest.raises(ValueError, match=message):
        attend(torch.zeros(q), torch.zeros(k), torch.zeros(v))


@pytest.mark.parametrize(
    "dtypes",
    [
        (torch.int64, torch.int64, torch.int64),
        (torch.float32, torch.float64, torch.float32),
        (torch.float32, torch.float32, torch.float16),
    ],
)
def test_dtypes_that_differ_or_hold_no_fractions_are_refused_by_name(dtypes):
    with pytest.raises(TypeError, match="one floating point dtype, got q torch") as refusal:
        attend(*(torch.ones(2, 2, dtype=dtype) for dtype in dtypes))
    assert all(str(dtype) in str(refusal.value) for dtype in dtypes)


def test_a_masked_call_reads_no_values_back():
    """So it runs on the meta device, and stalls no GPU."""
    q, k, v = torch.empty(3, 2, 4, 8, device="meta")  # (B, T, hs) each
    out, weights = attend(q, k, v, causal_mask(4, device="meta"))
    assert out.shape == (2, 4, 8)
    assert weights.shape == (2, 4, 4)


@pytest.mark.parametrize("other", [[[1.0]], np.ones((1, 1)), None], ids=["list", "array", "None"])
def test_what_is_no_tensor_is_refused_by_name(other):
    x = torch.ones(1, 1)
    kind = type(other).__name__
    for place, name in enumerate("qkv"):
        inputs = [x, x, x]
        inputs[place] = other
        with pytest.raises(TypeError, match=f"{name} must be a tensor, not {kind}"):
            attend(*inputs)
    if other is not None:
        with pytest.raises(TypeError, match=f"mask must be a torch.bool tensor.* got {kind}"):
            attend(x, x, x, other)

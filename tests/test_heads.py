"""`Head` and `MultiHead`: against torch's own attention with the same weights."""

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from attention_lab.heads import Head, KeyValueCache, MultiHead
from attention_lab.positions import rotary

QUICK = settings(max_examples=30, deadline=None, derandomize=True)
MODULES = {
    "Head": lambda causal=True: Head(6, 3, causal=causal),
    "MultiHead": lambda causal=True: MultiHead(6, 2, causal=causal),
}
EITHER = pytest.mark.parametrize("name", MODULES)


def build(make, *args, seed: int = 0, **kwargs):
    """A module in float64 with weights of its own seed, the global generator left alone."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return make(*args, **kwargs).double()


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def torchs(ours: MultiHead) -> nn.MultiheadAttention:
    """torch's module with the weights of ours."""
    n_embd = ours.query.in_features
    theirs = nn.MultiheadAttention(n_embd, ours.n_head, batch_first=True).double()
    with torch.no_grad():
        stacked = torch.cat([ours.query.weight, ours.key.weight, ours.value.weight])
        theirs.in_proj_weight.copy_(stacked)
        theirs.in_proj_bias.zero_()
    theirs.out_proj.load_state_dict(ours.project.state_dict())
    return theirs


# --- one head ------------------------------------------------------------------------------------


@QUICK
@given(
    sizes=st.tuples(*[st.integers(1, 5)] * 4),
    causal=st.booleans(),
    bias=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_head_equals_torchs_attention_of_its_projections(sizes, causal, bias, seed):
    B, T, C, hs = sizes
    head = build(Head, C, hs, causal=causal, bias=bias, seed=seed)
    x = randn(B, T, C, seed=seed).requires_grad_()
    inputs = [x, *head.parameters()]
    out, weights = head(x)
    reference = F.scaled_dot_product_attention(
        head.query(x), head.key(x), head.value(x), is_causal=causal
    )
    assert weights.shape == (B, T, T)
    assert_close(weights.sum(dim=-1), torch.ones(B, T, dtype=torch.float64))
    assert_close(out, reference)
    cotangent = randn(B, T, hs, seed=seed + 1)
    ours = torch.autograd.grad(out, inputs, cotangent)
    theirs = torch.autograd.grad(reference, inputs, cotangent)
    for mine, wanted in zip(ours, theirs, strict=True):
        assert_close(mine, wanted)


def test_head_learns_three_projections_without_bias_unless_asked():
    head = Head(6, 3)
    assert head.causal
    shapes = {name: tuple(p.shape) for name, p in head.named_parameters()}
    assert shapes == {"query.weight": (3, 6), "key.weight": (3, 6), "value.weight": (3, 6)}
    biased = dict(Head(6, 3, bias=True).named_parameters())
    assert {"query.bias", "key.bias", "value.bias"} < set(biased)


def test_the_values_matrix_leaves_the_weights_alone():
    head, x = build(Head, 6, 3), randn(2, 4, 6)
    out, weights = head(x)
    with torch.no_grad():
        head.value.weight.mul_(3)
    out3, weights3 = head(x)
    assert torch.equal(weights, weights3)
    assert_close(out3, 3 * out)


def test_the_gradients_of_a_head_equal_finite_differences():
    head, x = build(Head, 4, 2), randn(1, 3, 4).requires_grad_()
    assert torch.autograd.gradcheck(head, (x,))


# --- several heads -------------------------------------------------------------------------------


@QUICK
@given(
    sizes=st.tuples(*[st.integers(1, 4)] * 4),
    causal=st.booleans(),
    seed=st.integers(0, 2**16),
)
def test_multihead_equals_torchs_module_with_the_same_weights(sizes, causal, seed):
    B, T, n_head, hs = sizes
    C = n_head * hs
    ours = build(MultiHead, C, n_head, causal=causal, seed=seed)
    theirs = torchs(ours)
    x = randn(B, T, C, seed=seed).requires_grad_()
    hidden = ~torch.ones(T, T, dtype=torch.bool).tril() if causal else None  # True = hidden there
    out, weights = ours(x)
    out2, weights2 = theirs(x, x, x, attn_mask=hidden, average_attn_weights=False)
    assert weights.shape == (B, n_head, T, T)
    assert_close(out, out2)
    assert_close(weights, weights2)

    cotangent = randn(B, T, C, seed=seed + 1)
    in_weights = [ours.query.weight, ours.key.weight, ours.value.weight]
    leaves = [x, *in_weights, *ours.project.parameters()]
    grads = torch.autograd.grad(out, leaves, cotangent)
    grads2 = torch.autograd.grad(
        out2, [x, theirs.in_proj_weight, *theirs.out_proj.parameters()], cotangent
    )
    assert_close(grads[0], grads2[0])
    assert_close(torch.cat(grads[1:4]), grads2[1])
    assert_close(grads[4:], grads2[2:])


def test_multihead_is_single_heads_on_slices_joined_and_projected():
    multi, x = build(MultiHead, 12, 3), randn(2, 5, 12)
    outs = []
    for h in range(3):
        head = build(Head, 12, 4)
        rows = slice(4 * h, 4 * h + 4)
        with torch.no_grad():
            for part in ("query", "key", "value"):
                getattr(head, part).weight.copy_(getattr(multi, part).weight[rows])
        out, weights = head(x)
        outs.append(out)
        assert_close(multi(x)[1][:, h], weights)
    assert_close(multi(x)[0], multi.project(torch.cat(outs, dim=-1)))


def test_the_scale_is_of_the_head_and_not_of_the_model():
    multi, x = build(MultiHead, 64, 4, causal=False), 3 * randn(1, 5, 64)
    q, k = (p(x).unflatten(-1, (4, 16)).transpose(1, 2) for p in (multi.query, multi.key))
    _, weights = multi(x)
    assert_close(weights, F.softmax(q @ k.transpose(-2, -1) / 16**0.5, dim=-1))


def test_multihead_learns_four_matrices_and_one_bias():
    shapes = {name: tuple(p.shape) for name, p in MultiHead(6, 2).named_parameters()}
    square = {f"{part}.weight": (6, 6) for part in ("query", "key", "value", "project")}
    assert shapes == {**square, "project.bias": (6,)}
    assert MultiHead(6, 2).causal
    assert MultiHead(6, 2).dropout.p == 0


@pytest.mark.parametrize(("n_embd", "n_head"), [(6, 4), (6, 0), (6, -2), (3, 6)])
def test_heads_that_do_not_divide_the_width_are_refused_by_name(n_embd, n_head):
    with pytest.raises(ValueError, match=f"n_head must divide n_embd.*{n_embd}, n_head={n_head}"):
        MultiHead(n_embd, n_head)


# --- dropout -------------------------------------------------------------------------------------


def test_weights_are_returned_before_dropout():
    multi, x = build(MultiHead, 8, 2, dropout=0.5), randn(2, 6, 8)
    _, weights = multi.train()(x)
    _, plain = multi.eval()(x)
    assert torch.equal(weights, plain)
    assert_close(weights.sum(dim=-1), torch.ones(2, 2, 6, dtype=torch.float64))


def test_dropout_acts_on_the_weights_and_on_the_projected_output():
    multi, x = build(MultiHead, 8, 2, dropout=0.5).train(), randn(2, 6, 8)
    with torch.random.fork_rng():
        torch.manual_seed(3)
        out, weights = multi(x)
        torch.manual_seed(3)
        v = multi.value(x).unflatten(-1, (2, 4)).transpose(1, 2)
        mixed = F.dropout(weights, 0.5) @ v
        expected = F.dropout(multi.project(mixed.transpose(1, 2).flatten(2)), 0.5)
    assert_close(out, expected)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_no_path_drops_the_mask(causal, dropout):
    multi, x = build(MultiHead, 8, 2, causal=causal, dropout=dropout), randn(2, 5, 8)
    plain = build(MultiHead, 8, 2, causal=causal)
    assert torch.equal(multi.eval()(x)[0], plain(x)[0])
    future = torch.ones(5, 5, dtype=torch.bool).triu(1)
    for mode in (True, False):
        _, weights = multi.train(mode)(x)
        assert (weights[..., future] == 0).all() == causal
        assert_close(weights.sum(dim=-1), torch.ones(2, 2, 5, dtype=torch.float64))
    if causal and dropout:
        x.requires_grad_()
        out, _ = multi.train()(x)
        (grad,) = torch.autograd.grad(out[:, 1].sum(), x)
        assert (grad[:, 2:] == 0).all()


# --- both: who may look at whom ------------------------------------------------------------------


@EITHER
@QUICK
@given(T=st.integers(1, 6), data=st.data(), seed=st.integers(0, 2**16))
def test_changing_the_future_leaves_the_past_bit_for_bit(name, T, data, seed):
    module = build(MODULES[name], seed=seed)
    t = data.draw(st.integers(0, T - 1))
    x = randn(2, T, 6, seed=seed)
    changed = x.clone()
    changed[:, t + 1 :] = 100.0
    out, weights = module(x)
    out2, weights2 = module(changed)
    assert torch.equal(out[:, : t + 1], out2[:, : t + 1])
    assert torch.equal(weights[..., : t + 1, :], weights2[..., : t + 1, :])


@EITHER
@QUICK
@given(T=st.integers(1, 6), seed=st.integers(0, 2**16))
def test_without_a_mask_positions_permute(name, T, seed):
    module, x = build(MODULES[name], causal=False, seed=seed), randn(2, T, 6, seed=seed)
    order = torch.randperm(T, generator=torch.Generator().manual_seed(seed))
    out, weights = module(x)
    out2, weights2 = module(x[:, order])
    assert_close(out2, out[:, order])
    assert_close(weights2, weights[..., order, :][..., order])


@EITHER
def test_the_causal_mask_breaks_that_symmetry(name):
    module, x = build(MODULES[name]), 3 * randn(1, 4, 6)
    order = torch.tensor([2, 0, 3, 1])
    out, moved = module(x)[0], module(x[:, order])[0]
    assert not torch.allclose(moved, out[:, order], atol=1e-2)
    # All are there for whoever comes last, in whatever order the others came.
    swapped, _ = module(x[:, [1, 0, 2, 3]])
    assert_close(swapped[:, 3], out[:, 3])


@EITHER
def test_sequences_of_a_batch_do_not_meet(name):
    module, x = build(MODULES[name]), randn(3, 4, 6)
    changed = x.clone()
    changed[1] = 7.0
    out, out2 = module(x)[0], module(changed)[0]
    assert torch.equal(out[0], out2[0])
    assert torch.equal(out[2], out2[2])
    assert not torch.equal(out[1], out2[1])


@EITHER
def test_the_input_is_left_as_it_was(name):
    module, x, context = build(MODULES[name]), randn(2, 4, 6), randn(2, 3, 6)
    before, before2 = x.clone(), context.clone()
    module(x)
    module(x, context)
    assert torch.equal(x, before)
    assert torch.equal(context, before2)


# --- cross-attention -----------------------------------------------------------------------------


def test_head_with_a_context_takes_keys_and_values_from_it_and_masks_nothing():
    head, x, context = build(Head, 6, 3), randn(2, 4, 6), randn(2, 5, 6, seed=1)
    out, weights = head(x, context)
    assert weights.shape == (2, 4, 5)
    assert (weights > 0).all()
    assert_close(
        out,
        F.scaled_dot_product_attention(head.query(x), head.key(context), head.value(context)),
    )


def test_multihead_with_a_context_equals_torchs_module():
    ours, x, context = build(MultiHead, 6, 2), randn(2, 4, 6), randn(2, 5, 6, seed=1)
    out, weights = ours(x, context)
    out2, weights2 = torchs(ours)(x, context, context, average_attn_weights=False)
    assert weights.shape == (2, 2, 4, 5)
    assert_close(out, out2)
    assert_close(weights, weights2)


@EITHER
def test_a_context_of_the_same_length_is_not_masked_either(name):
    x, context = randn(2, 4, 6), randn(2, 4, 6, seed=1)
    causal, free = (build(MODULES[name], causal=c) for c in (True, False))
    assert torch.equal(causal(x, context)[0], free(x, context)[0])


@EITHER
def test_a_wrong_width_is_refused_by_name(name):
    module = build(MODULES[name])
    with pytest.raises(ValueError, match=r"x must end in .* n_embd = 6, got \(2, 4, 5\)"):
        module(randn(2, 4, 5))
    with pytest.raises(ValueError, match=r"context must end in .* n_embd = 6, got \(2, 3, 7\)"):
        module(randn(2, 4, 6), randn(2, 3, 7))
    with pytest.raises(ValueError, match=r"x must end in .* got \(6,\)"):
        module(randn(6))


# --- nothing stored ------------------------------------------------------------------------------


@EITHER
def test_no_mask_is_stored_so_length_and_device_may_change(name):
    module = build(MODULES[name])
    for T in (8, 3, 16):
        module(randn(1, T, 6))
    assert list(module.buffers()) == []
    for part in module.modules():
        assert not [key for key, value in vars(part).items() if isinstance(value, Tensor)]
    assert all(p.device.type == "meta" for p in module.to("meta").parameters())


@EITHER
def test_a_single_sequence_without_a_batch_axis_works_too(name):
    module, x = build(MODULES[name]), randn(1, 4, 6)
    out, weights = module(x)
    out1, weights1 = module(x[0])
    assert_close(out1, out[0])
    assert_close(weights1, weights[0])


# --- the fused kernel, the cache, rotary positions, shared keys and values -----------------------

KINDS = {
    "plain": {},
    "both ways": {"causal": False},
    "rotary": {"rotary": True},
    "grouped": {"n_kv_head": 2},
    "one for all": {"n_kv_head": 1, "rotary": True},
}
KIND = pytest.mark.parametrize("kind", KINDS)


@KIND
@pytest.mark.parametrize("T", [1, 5])
def test_fused_equals_forward_in_value_and_gradient(kind, T):
    multi, x = build(MultiHead, 16, 4, **KINDS[kind]), randn(2, T, 16).requires_grad_()
    inputs = [x, *multi.parameters()]
    out, fused = multi(x)[0], multi.fused(x)
    assert_close(fused, out)
    cotangent = randn(2, T, 16, seed=1)
    for mine, wanted in zip(
        torch.autograd.grad(fused, inputs, cotangent),
        torch.autograd.grad(out, inputs, cotangent),
        strict=True,
    ):
        assert_close(mine, wanted)


def test_fused_drops_out_in_training_alone():
    multi, x = build(MultiHead, 8, 2, dropout=0.5), randn(2, 6, 8)
    assert_close(multi.eval().fused(x), multi(x)[0])
    with torch.random.fork_rng():
        torch.manual_seed(0)
        out = multi.train().fused(x)
        torch.manual_seed(1)
        assert not torch.allclose(out, multi.fused(x))
    zeros = (out == 0).double().mean().item()  # the projected output, dropped by half
    assert 0.3 < zeros < 0.7


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "both ways"])
@pytest.mark.parametrize("pieces", [(1, 1, 1, 1, 1, 1), (4, 2), (2, 3, 1), (6,)])
def test_piece_by_piece_with_a_cache_equals_all_at_once(kind, pieces):
    multi, x, cache = build(MultiHead, 16, 4, **KINDS[kind]), randn(2, 6, 16), KeyValueCache()
    outs = [multi.fused(part, cache) for part in x.split(pieces, dim=1)]
    assert_close(torch.cat(outs, dim=1), multi.fused(x))
    n_kv_head = KINDS[kind].get("n_kv_head", 4)
    assert cache.length == 6
    assert cache.n_bytes == 2 * 2 * n_kv_head * 6 * 4 * 8  # k and v, B, heads, S, hs, float64


def test_an_empty_cache_is_empty():
    assert KeyValueCache().length == KeyValueCache().n_bytes == 0


def test_a_group_of_queries_shares_its_key_and_value_head():
    grouped, x = build(MultiHead, 16, 4, n_kv_head=2), randn(2, 5, 16)
    full = build(MultiHead, 16, 4)
    with torch.no_grad():
        full.query.weight.copy_(grouped.query.weight)
        full.project.load_state_dict(grouped.project.state_dict())
        for part in ("key", "value"):
            shared = getattr(grouped, part).weight.view(2, 4, 16)  # (n_kv_head, hs, C)
            getattr(full, part).weight.copy_(shared[[0, 0, 1, 1]].flatten(0, 1))
    assert grouped.key.weight.shape == (8, 16)
    assert_close(grouped(x), full(x))


def test_rotary_heads_turn_queries_and_keys_and_leave_the_values():
    multi, x = build(MultiHead, 8, 2, rotary=True), randn(1, 5, 8)
    q, k, v = (
        p(x).unflatten(-1, (2, 4)).transpose(1, 2) for p in (multi.query, multi.key, multi.value)
    )
    where = torch.arange(5)
    out = F.scaled_dot_product_attention(rotary(q, where), rotary(k, where), v, is_causal=True)
    assert_close(multi(x)[0], multi.project(out.transpose(1, 2).flatten(2)))


@pytest.mark.parametrize("n_kv_head", [0, 3, -1, 8])
def test_shared_heads_that_do_not_divide_are_refused_by_name(n_kv_head):
    with pytest.raises(
        ValueError, match=f"must divide n_head, got n_head=4, n_kv_head={n_kv_head}"
    ):
        MultiHead(16, 4, n_kv_head=n_kv_head)


def test_fused_refuses_a_wrong_width_too():
    with pytest.raises(ValueError, match=r"x must end in .* n_embd = 6, got \(2, 4, 5\)"):
        MultiHead(6, 2).fused(randn(2, 4, 5))


@pytest.mark.parametrize("shape", [(1, 3, 16), (3, 16)])
def test_a_cache_of_other_sequences_is_refused_and_left_alone(shape):
    multi, cache = build(MultiHead, 16, 4, n_kv_head=2), KeyValueCache()
    multi.fused(randn(2, 5, 16), cache)
    with pytest.raises(ValueError, match=r"the cache keeps .* = \(2, 2, 5, 4\), and got \(.*3, 4"):
        multi.fused(randn(*shape), cache)
    assert cache.length == 5

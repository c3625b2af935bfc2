"""A block does as its config says, and equals torch's own encoder layer with the same weights."""

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from attention_lab.blocks import Block, FeedForward, make_norm
from attention_lab.config import ModelConfig
from attention_lab.model import seeded


def config(**changes) -> ModelConfig:
    full = {"feed_forward": True, "residual": True, "norm": "layer", "n_head": 2}
    return ModelConfig(5, n_embd=8, **(full | changes))


def block(**changes) -> Block:
    with seeded(3):
        return Block(config(**changes))


def randn(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("causal", [True, False])
def test_a_block_equals_torchs_encoder_layer_with_the_same_weights(causal):
    ours, x = block(causal=causal), randn(2, 5, 8)
    theirs = nn.TransformerEncoderLayer(
        8, 2, 32, dropout=0.0, norm_first=True, batch_first=True, dtype=torch.float64
    )
    heads = ours.attention
    with torch.no_grad():
        stacked = torch.cat([heads.query.weight, heads.key.weight, heads.value.weight])
        theirs.self_attn.in_proj_weight.copy_(stacked)
        theirs.self_attn.in_proj_bias.zero_()
    for mine, its in (
        (heads.project, theirs.self_attn.out_proj),
        (ours.feed_forward.widen, theirs.linear1),
        (ours.feed_forward.narrow, theirs.linear2),
        (ours.attention_norm, theirs.norm1),
        (ours.feed_forward_norm, theirs.norm2),
    ):
        its.load_state_dict(mine.state_dict())
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=torch.float64)
    expected = theirs(x, src_mask=mask if causal else None, is_causal=causal)
    assert_close(ours(x), expected)


def test_without_residual_a_part_replaces_its_input():
    lone, added = block(residual=False, feed_forward=False), block(feed_forward=False)
    x = randn(1, 4, 8)
    assert_close(added(x), x + lone(x))


def test_without_feed_forward_or_norm_a_block_is_its_heads():
    lone, x = block(residual=False, feed_forward=False, norm="none"), randn(1, 4, 8)
    assert_close(lone(x), lone.attention(x)[0])


def test_weights_are_those_of_the_normed_input():
    ours, x = block(), randn(1, 4, 8)
    assert torch.equal(ours.weights(x), ours.attention(ours.attention_norm(x))[1])
    assert not torch.allclose(ours.weights(x), ours.attention(x)[1])


def test_feed_forward_keeps_positions_apart_and_cuts_what_is_negative():
    with seeded(0):
        network = FeedForward(8)
    x = randn(1, 4, 8)
    changed = x.clone()
    changed[:, 2] = 9.0
    assert torch.equal(network(x)[:, [0, 1, 3]], network(changed)[:, [0, 1, 3]])
    hidden = network.widen(x).clamp(min=0)
    assert hidden.shape == (1, 4, 32)
    assert_close(network(x), network.narrow(hidden))


def test_dropout_reaches_heads_and_feed_forward():
    ours = block(dropout=0.5)
    assert ours.attention.dropout.p == ours.feed_forward.dropout.p == 0.5
    x = randn(1, 4, 8)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        assert (ours.feed_forward.train()(x) == 0).any()
    assert not (ours.feed_forward.eval()(x) == 0).any()


@pytest.mark.parametrize("kind", ["none", "layer", "rms"])
def test_norms_scale_each_position_by_itself(kind):
    x = 5 * randn(2, 3, 8) + 1
    normed = make_norm(kind, 8).double()(x)
    if kind == "none":
        assert torch.equal(normed, x)
    elif kind == "layer":
        assert_close(
            normed,
            (x - x.mean(-1, True)) / x.var(-1, False, keepdim=True).sqrt(),
            atol=1e-5,
            rtol=0,
        )
    else:
        assert_close(normed, x / x.square().mean(-1, True).sqrt())

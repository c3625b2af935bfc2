"""The models grow step by step, and are reproducible."""

from itertools import pairwise

import pytest
import torch
from torch.nn import functional as F

from attention_lab.model import BigramModel, CharModel, ModelConfig, generate

MODELS = {
    "bigram": lambda: BigramModel(11),
    "split": lambda: CharModel(ModelConfig(11, n_embd=4)),
    "positions": lambda: CharModel(ModelConfig(11, n_embd=4, positions="learned")),
    "one head": lambda: CharModel(ModelConfig(11, n_embd=4, positions="learned", n_head=1)),
    "blocks": lambda: CharModel(full()),
    "rotary": lambda: CharModel(full(positions="rotary", norm="rms", n_kv_head=1)),
    "both ways": lambda: CharModel(full(causal=False)),
}


def full(**changes) -> ModelConfig:
    """Two blocks with all their parts."""
    parts = {"positions": "learned", "n_head": 2, "n_layer": 2, "norm": "layer"}
    return ModelConfig(11, n_embd=4, feed_forward=True, residual=True, **(parts | changes))


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]()


def test_logits_and_loss_have_their_shapes_and_the_loss_is_torchs(model):
    idx, targets = torch.randint(11, (2, 2, 5))
    logits, loss = model(idx, targets)
    assert logits.shape == (2, 5, 11)
    assert logits.dtype == torch.float32
    torch.testing.assert_close(loss, F.cross_entropy(logits.view(10, 11), targets.view(10)))
    assert model(idx)[1] is None


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_a_default_dtype_of_the_readers_own_changes_no_number(model, request, dtype):
    idx = torch.randint(11, (2, 8))
    torch.set_default_dtype(dtype)
    try:
        again = MODELS[request.node.callspec.params["model"]]()
        assert torch.equal(again(idx, idx)[1], model(idx, idx)[1])
    finally:
        torch.set_default_dtype(torch.float32)


def test_a_default_device_of_the_readers_own_is_where_the_model_is(request, model):
    with torch.device("meta"):
        moved = MODELS[request.node.callspec.params["model"]]()
        assert moved(torch.zeros(2, 8, dtype=torch.long))[0].device.type == "meta"


def test_mixed_precision_is_near_the_full_one_and_learns(model):
    idx = torch.randint(11, (2, 8))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(idx, idx)[1]
        loss.backward()
    torch.testing.assert_close(loss.float(), model(idx, idx)[1], rtol=0.02, atol=0.02)
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_bigram_looks_up_the_row_of_each_character():
    model, idx = BigramModel(11), torch.tensor([[3, 10, 3]])
    assert torch.equal(model(idx)[0][0], model.token_embedding_table.weight[idx[0]])


def test_split_model_is_a_lookup_and_one_product():
    model, idx = CharModel(ModelConfig(11, n_embd=4)), torch.randint(11, (2, 8))
    x = model.token_embedding_table.weight[idx]
    expected = x @ model.lm_head.weight.T + model.lm_head.bias
    torch.testing.assert_close(model(idx)[0], expected)


def test_positions_tell_the_same_character_at_two_places_apart():
    idx = torch.tensor([[4, 4]])
    apart = CharModel(ModelConfig(11, positions="learned"))(idx)[0][0]
    alike = CharModel(ModelConfig(11))(idx)[0][0]
    assert torch.equal(alike[0], alike[1])
    assert not torch.allclose(apart[0], apart[1])


def test_the_parameter_counts_of_document_a():
    def count(model):
        return sum(p.numel() for p in model.parameters())

    assert count(BigramModel(65)) == count(CharModel(ModelConfig(65))) == 4225
    assert count(CharModel(ModelConfig(65, positions="learned"))) == 4225 + 8 * 32


def test_the_bigram_reads_chunks_of_eight_and_starts_from_the_courses_seed():
    assert BigramModel(3).block_size == 8
    first, second = BigramModel(3), BigramModel(3, seed=1337)
    assert torch.equal(*(m.token_embedding_table.weight for m in (first, second)))


@pytest.mark.parametrize(
    "build", [lambda s: BigramModel(9, s), lambda s: CharModel(ModelConfig(9, seed=s))]
)
def test_the_seed_alone_decides_the_starting_weights(build):
    torch.manual_seed(1)
    state = torch.get_rng_state()
    first = build(5).state_dict()
    assert torch.equal(torch.get_rng_state(), state), "the caller's random numbers moved"
    torch.manual_seed(2)
    for name, weight in build(5).state_dict().items():
        assert torch.equal(weight, first[name])
        assert weight.dtype == torch.float32
    assert not torch.equal(
        build(6).token_embedding_table.weight, first["token_embedding_table.weight"]
    )
    assert torch.get_default_dtype() == torch.float32


def test_starting_weights_are_spread_as_torch_spreads_them():
    table = CharModel(ModelConfig(500, n_embd=64)).state_dict()
    assert table["token_embedding_table.weight"].std().item() == pytest.approx(1, abs=0.02)
    assert table["lm_head.weight"].abs().max().item() == pytest.approx(64**-0.5, rel=0.01)


def test_too_long_an_input_is_refused_with_both_lengths():
    with pytest.raises(ValueError, match=r"9 positions.*block_size is 8"):
        CharModel(ModelConfig(11))(torch.zeros(1, 9, dtype=torch.long))


def test_targets_of_another_shape_are_refused(model):
    with pytest.raises(ValueError, match=r"not \(5, 2\) and \(2, 5\)"):
        model(torch.zeros(2, 5, dtype=torch.long), torch.zeros(5, 2, dtype=torch.long))


@pytest.mark.parametrize("name", MODELS)
def test_no_sequence_at_all_has_no_scores(name):
    nothing = torch.zeros(0, 3, dtype=torch.long)
    assert MODELS[name]()(nothing)[0].shape == (0, 3, 11)
    assert generate(MODELS[name](), nothing, 9).shape == (0, 12)


@pytest.mark.parametrize("wrong", [-1, 11])
def test_an_id_outside_the_vocabulary_is_named(model, wrong):
    with pytest.raises(ValueError, match=f"id {wrong} is not one of the 11 characters, 0 to 10"):
        model(torch.tensor([[0, wrong]]))
    with pytest.raises(ValueError, match=f"id {wrong} is not"):
        CharModel(full()).weights(torch.tensor([[0, wrong]]))


@pytest.mark.parametrize("wrong", [-100, -1, 11])  # torch leaves -100 out of the mean
def test_a_target_outside_the_vocabulary_is_named(model, wrong):
    with pytest.raises(ValueError, match=f"id {wrong} is not one of the 11 characters, 0 to 10"):
        model(torch.tensor([[0, 1]]), torch.tensor([[1, wrong]]))


def test_a_model_is_its_parts_in_order():
    model, idx = CharModel(full()), torch.randint(11, (2, 8))
    x = model.token_embedding_table.weight[idx] + model.position_embedding_table.weight
    torch.testing.assert_close(model.embed(idx), x)
    for block in model.blocks:
        x = block(x)
    expected = F.layer_norm(x, (4,)) @ model.lm_head.weight.T + model.lm_head.bias
    torch.testing.assert_close(model(idx)[0], expected)


def test_a_config_with_one_more_part_starts_with_the_same_numbers_in_the_others():
    steps = [
        ModelConfig(11, positions="learned"),
        ModelConfig(11, positions="learned", n_head=4),
        ModelConfig(11, positions="learned", n_head=4, feed_forward=True),
        ModelConfig(11, positions="learned", n_head=4, feed_forward=True, n_layer=2),
    ]
    states = [CharModel(step).state_dict() for step in steps]
    for fewer, more in pairwise(states):
        assert set(fewer) < set(more)
        assert all(torch.equal(fewer[name], more[name]) for name in fewer)


@pytest.mark.parametrize("causal", [True, False])
def test_only_a_model_without_its_mask_sees_what_follows(causal):
    model = CharModel(full(causal=causal)).double()
    idx = torch.randint(11, (3, 8))
    changed = idx.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 11
    first, second = model(idx)[0][:, :5], model(changed)[0][:, :5]
    assert torch.equal(first, second) == causal


def test_weights_are_given_block_by_block():
    model, idx = CharModel(full()), torch.randint(11, (3, 6))
    weights = model.weights(idx)
    assert [w.shape for w in weights] == [(3, 2, 6, 6)] * 2
    x = model.embed(idx)
    assert torch.equal(weights[0], model.blocks[0].weights(x))
    assert torch.equal(weights[1], model.blocks[1].weights(model.blocks[0](x)))
    assert CharModel(ModelConfig(11)).weights(idx) == []


@pytest.mark.parametrize("name", ["one head", "blocks", "rotary"])
@pytest.mark.parametrize("pieces", [(1,) * 8, (5, 3), (2, 1, 4, 1)])
def test_reading_on_with_a_cache_gives_the_scores_of_reading_it_all(name, pieces):
    model, idx = MODELS[name]().double(), torch.randint(11, (2, 8))
    cache = model.new_cache()
    logits = [model(part, cache=cache)[0] for part in idx.split(pieces, dim=1)]
    torch.testing.assert_close(torch.cat(logits, dim=1), model(idx)[0])
    assert [layer.length for layer in cache] == [8] * len(model.blocks)
    with pytest.raises(ValueError, match=r"9 positions.*block_size is 8"):
        model(idx[:, :1], cache=cache)


def test_a_model_that_looks_ahead_or_has_no_blocks_has_no_cache():
    assert MODELS["both ways"]().new_cache() == MODELS["positions"]().new_cache() == []


def test_the_spread_of_the_embeddings_alone_is_scaled():
    plain, small = (CharModel(full(embedding_std=std)).state_dict() for std in (1.0, 0.02))
    for name, weight in plain.items():
        factor = 0.02 if "embedding" in name else 1.0
        torch.testing.assert_close(small[name], factor * weight, rtol=1e-6, atol=0)


@pytest.mark.parametrize("other", ["hou", [[1, 2]], None])
def test_what_is_no_tensor_is_refused_by_its_type(model, other):
    with pytest.raises(TypeError, match=f"idx must be a tensor .* not {type(other).__name__}"):
        model(other)

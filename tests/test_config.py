"""A config is checked when it is made, and by the field's name."""

import dataclasses

import pytest

from attention_lab.config import ModelConfig


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vocab_size": 0}, "vocab_size must be at least 1, not 0"),
        ({"n_embd": -1}, "n_embd must be at least 1, not -1"),
        ({"n_embd": 2.5}, r"n_embd must be a whole number, not 2\.5"),
        ({"n_embd": True}, "n_embd must be a whole number, not True"),
        ({"block_size": 0}, "block_size must be at least 1, not 0"),
        ({"n_layer": 0}, "n_layer must be at least 1, not 0"),
        ({"n_head": -1}, "n_head must be at least 0, not -1"),
        ({"positions": "cosine"}, "'none' or 'learned' or 'rotary', not 'cosine'"),
        ({"norm": "batch"}, "norm must be 'none' or 'layer' or 'rms', not 'batch'"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, not 1\.0"),
        ({"dropout": -0.1}, r"not -0\.1"),
        ({"embedding_std": 0.0}, r"embedding_std must be above 0 and finite, not 0\.0"),
        ({"embedding_std": float("inf")}, "and finite, not inf"),
        ({"n_head": 5}, "n_head must divide n_embd, got n_embd=32, n_head=5"),
        ({"n_head": 4, "n_kv_head": 3}, "must divide n_head, got n_head=4, n_kv_head=3"),
        ({"n_head": 4, "n_kv_head": 0}, "n_kv_head must be at least 1, not 0"),
        ({"n_head": 32, "positions": "rotary"}, "head size must be even, not 1"),
        ({"positions": "rotary"}, "turns queries and keys: set n_head"),
        ({"n_layer": 2}, "n_layer needs blocks: set n_head"),
        ({"feed_forward": True}, "feed_forward needs blocks"),
        ({"residual": True}, "residual needs blocks"),
        ({"norm": "rms"}, "norm needs blocks"),
        ({"n_kv_head": 1}, "n_kv_head needs blocks"),
    ],
)
def test_a_config_that_makes_no_model_is_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**({"vocab_size": 11} | wrong))


@pytest.mark.parametrize(
    "right",
    [
        {"n_embd": 1, "block_size": 1},
        {"n_head": 1},
        {"n_head": 32},
        {"n_head": 4, "n_kv_head": 4},
        {"n_head": 4, "n_kv_head": 1},
        {"n_head": 16, "positions": "rotary"},
        {"dropout": 0.99},
    ],
)
def test_a_config_at_its_bounds_is_taken(right):
    ModelConfig(1, **right)


def test_a_config_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig(11).n_embd = 3


def test_the_defaults_are_document_as_model_and_leave_out_the_rest():
    config = ModelConfig(65)
    assert (config.n_embd, config.block_size, config.seed) == (32, 8, 1337)
    assert (config.embedding_std, config.dropout, config.causal) == (1.0, 0.0, True)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"causal": "false"}, "causal must be True or False, not 'false'"),
        ({"n_head": 1, "residual": "no"}, "residual must be True or False, not 'no'"),
        ({"n_head": 1, "feed_forward": 1}, "feed_forward must be True or False, not 1"),
        ({"dropout": "0.1"}, "dropout must be a number, not '0.1'"),
        ({"dropout": None}, "dropout must be a number, not None"),
        ({"embedding_std": "1"}, "embedding_std must be a number, not '1'"),
        ({"embedding_std": True}, "embedding_std must be a number, not True"),
        ({"seed": 1.5}, r"seed must be a whole number, not 1\.5"),
    ],
)
def test_a_field_of_another_type_is_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        ModelConfig(**({"vocab_size": 11} | wrong))

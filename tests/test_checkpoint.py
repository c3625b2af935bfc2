"""A run on disk goes on as if it had not stopped, and a file that does not fit is refused."""

import json
import pickle
from dataclasses import FrozenInstanceError, replace

import pytest
import torch
from safetensors.torch import load as parse
from safetensors.torch import save

from attention_lab import checkpoint
from attention_lab.checkpoint import CheckpointError
from attention_lab.model import BigramModel, CharModel, ModelConfig
from attention_lab.recipe import Recipe
from attention_lab.training import Run

IDS = torch.tensor([0, 1, 2, 3, 1] * 60)
CHARS = "abcd"
CONFIG = ModelConfig(4, n_embd=8, positions="learned", n_head=2, feed_forward=True, dropout=0.2)
RECIPE = Recipe(steps=6, batch_size=3, lr=0.05, warmup=2, final_lr=0.1)


def new(config=CONFIG, recipe=RECIPE) -> Run:
    return Run(CharModel(config), recipe)


def stored(path, steps=3) -> Run:
    run = new()
    for _ in range(steps):
        run.step(IDS)
    checkpoint.store(path, run, CHARS)
    return run


@pytest.fixture
def path(tmp_path):
    return tmp_path / "checkpoint.safetensors"


def test_a_run_restored_goes_on_bit_for_bit(path):
    whole = stored(path)
    part = new()
    checkpoint.load(path).restore(part, CHARS)
    torch.manual_seed(0)  # whatever else was drawn in between
    for _ in range(3):
        assert torch.equal(part.step(IDS), whole.step(IDS))
    for name, weight in whole.model.state_dict().items():
        assert torch.equal(part.model.state_dict()[name], weight)
    assert torch.equal(part.losses, whole.losses)


def test_the_model_alone_comes_back(path):
    run = stored(path)
    found = checkpoint.load(path)
    assert (found.steps_done, found.chars, found.recipe) == (3, CHARS, RECIPE)
    with pytest.raises(FrozenInstanceError):
        found.chars = ""
    assert torch.equal(found.model()(IDS[None, :8])[0], run.model.eval()(IDS[None, :8])[0]) is False
    assert torch.equal(found.model().eval()(IDS[None, :8])[0], run.model(IDS[None, :8])[0])


def test_nothing_is_left_beside_the_file_and_an_old_one_is_replaced(path):
    stored(path, 1)
    stored(path, 2)
    assert checkpoint.load(path).steps_done == 2
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_write_that_fails_keeps_the_old_file(path, monkeypatch):
    stored(path, 1)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(checkpoint.os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        stored(path, 2)
    assert checkpoint.load(path).steps_done == 1
    assert [p.name for p in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("where", [0, 9, 200, -1, -500])
def test_a_flipped_byte_is_found(path, where):
    stored(path)
    data = bytearray(path.read_bytes())
    data[where] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match=r"checkpoint\.safetensors: "):
        checkpoint.load(path)


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_half_a_file_is_refused(path, keep):
    stored(path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CheckpointError, match="damaged, or no safetensors file"):
        checkpoint.load(path)


def test_a_pickle_is_never_loaded(path, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(CheckpointError, match="no safetensors file"):
        checkpoint.load(path)
    torch.save({"model": Trap()}, path)
    with pytest.raises(CheckpointError, match="no safetensors file"):
        checkpoint.load(path)
    assert not (tmp_path / "sprung").exists()


def test_another_programs_file_is_refused(path):
    path.write_bytes(save({"x": torch.zeros(2)}, {"format": "pt"}))
    with pytest.raises(CheckpointError, match="format 'pt', this reads 'attention_lab 1' alone"):
        checkpoint.load(path)


@pytest.mark.parametrize(
    ("config", "recipe", "message"),
    [
        (replace(CONFIG, n_embd=16), RECIPE, "model.n_embd is 8 there, 16 asked"),
        (replace(CONFIG, norm="rms"), RECIPE, "model.norm is 'none' there, 'rms' asked"),
        (CONFIG, replace(RECIPE, lr=0.1), r"training.lr is 0\.05 there, 0\.1 asked"),
        (CONFIG, replace(RECIPE, steps=9), "training.steps is 6 there, 9 asked"),
    ],
)
def test_a_run_of_another_kind_is_refused_by_field(path, config, recipe, message):
    stored(path)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.load(path).restore(new(config, recipe), CHARS)


def test_another_vocabulary_is_refused_by_character(path):
    stored(path)
    with pytest.raises(
        CheckpointError, match=r"4 characters there.*only in the text 'x', only there 'b'"
    ):
        checkpoint.load(path).restore(new(), "acdx")


def test_weights_that_the_config_does_not_ask_for_are_refused_by_name(path):
    run = stored(path)
    run.model.lm_head = torch.nn.Linear(8, 5)
    checkpoint.store(path, run, CHARS)
    with pytest.raises(CheckpointError, match=r"lm_head\.bias is \(5,\), the config asks \(4,\)"):
        checkpoint.load(path).model()
    run.model.extra = torch.nn.Linear(1, 1)
    run.model.lm_head = torch.nn.Linear(8, 4)
    checkpoint.store(path, run, CHARS)
    with pytest.raises(CheckpointError, match=r"extra\.bias is \(1,\), the config asks nothing"):
        checkpoint.load(path).model()


def test_the_text_in_the_file_is_plain(path):
    stored(path)
    tensors = parse(path.read_bytes())
    assert {name.split(".")[0] for name in tensors} == {"model", "optimizer", "losses", "random"}
    header = path.read_bytes()[8 : 8 + int.from_bytes(path.read_bytes()[:8], "little")]
    assert json.loads(json.loads(header)["__metadata__"]["config"])["n_embd"] == 8


def test_the_bigram_has_no_checkpoint(path):
    run = Run(BigramModel(4), RECIPE)
    run.step(IDS)
    with pytest.raises(TypeError, match="only a CharModel has a checkpoint, not a BigramModel"):
        checkpoint.store(path, run, CHARS)


def test_a_folder_in_its_place_is_named(path):
    path.mkdir()
    with pytest.raises(CheckpointError, match=rf"{path.name}: a folder, not a checkpoint"):
        checkpoint.load(path)

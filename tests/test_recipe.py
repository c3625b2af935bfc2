"""A recipe's numbers make a run, or are refused by name; so are the words of a config file."""

from dataclasses import FrozenInstanceError

import pytest

from attention_lab.recipe import Recipe, read_config

TRAINING = """
[training]
steps = 3
batch_size = 4
lr = 0.01
"""


def test_a_recipe_is_frozen_and_has_the_courses_seed():
    recipe = Recipe(1, 1, 0.1)
    assert recipe.seed == 1337
    with pytest.raises(FrozenInstanceError):
        recipe.lr = 0.2


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"steps": 0}, "steps must be at least 1, not 0"),
        ({"steps": 2.5}, r"steps must be a whole number, not 2\.5"),
        ({"steps": "ten"}, "steps must be a number, not 'ten'"),
        ({"steps": float("inf")}, "steps must be a whole number, not inf"),
        ({"seed": 7.0}, r"seed must be a whole number, not 7\.0"),
        ({"batch_size": 0}, "batch_size must be at least 1, not 0"),
        ({"warmup": 10}, "warmup must be 0 to 9 steps, not 10"),
        ({"warmup": -1}, "not -1"),
        ({"lr": 0.0}, r"lr must be above 0 and finite, not 0\.0"),
        ({"lr": float("nan")}, "lr must be above 0"),
        ({"lr": float("inf")}, "lr must be above 0 and finite, not inf"),
        ({"lr": True}, "lr must be a number, not True"),
        ({"beta2": 1}, "beta2 must be between 0 and 1, not 1"),
        ({"clip": 0}, "clip must be above 0"),
        ({"beta2": 0}, "beta2 must be between 0 and 1, not 0"),
        ({"final_lr": 1.1}, r"final_lr must be from 0 to 1, not 1\.1"),
        ({"weight_decay": 1.1}, r"weight_decay must be from 0 to 1, not 1\.1"),
        ({"weight_decay": -0.1}, r"weight_decay must be from 0 to 1, not -0\.1"),
    ],
)
def test_a_recipe_that_makes_no_run_is_refused_by_name(wrong, message):
    with pytest.raises(ValueError, match=message):
        Recipe(**({"steps": 10, "batch_size": 4, "lr": 0.1} | wrong))


@pytest.mark.parametrize(
    "edge",
    [{"final_lr": 0}, {"final_lr": 1}, {"weight_decay": 0}, {"weight_decay": 1}, {"clip": 1e-9}],
)
def test_the_edges_make_a_run(edge):
    assert Recipe(steps=1, batch_size=1, lr=1e-9, **edge).lr_at(0) == 1e-9


def test_the_learning_rate_climbs_then_falls_in_straight_lines():
    recipe = Recipe(steps=9, batch_size=1, lr=0.8, warmup=4, final_lr=0.25)
    rates = [recipe.lr_at(step) for step in range(9)]
    assert rates == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.65, 0.5, 0.35, 0.2])
    assert {Recipe(5, 1, 0.3).lr_at(step) for step in range(5)} == {0.3}
    assert Recipe(1, 1, 0.3, final_lr=0.5).lr_at(0) == 0.3
    assert [Recipe(2, 1, 0.3, final_lr=0.5).lr_at(step) for step in (0, 1)] == [0.3, 0.15]


# --- from a file ---------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "cats.txt").write_text("a cat sat on a mat", encoding="utf-8")
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9")
    return tmp_path


def read(folder, config, mark=""):
    path = folder / "config.toml"
    path.write_text(mark + config, encoding="utf-8")
    return read_config(path)


def test_a_file_gives_the_model_the_recipe_the_text_and_every(folder):
    config = 'text = "cats.txt"\nevery = 1\n[model]\nn_head = 2\n' + TRAINING
    assert read(folder, config) == ({"n_head": 2}, Recipe(3, 4, 0.01), "a cat sat on a mat", 1)
    fields, _, _, every = read(folder, 'text = "cats.txt"\n' + TRAINING)
    assert (fields, every) == ({}, 250)


def test_without_a_text_it_is_tiny_shakespeare(folder):
    assert read(folder, TRAINING)[2].startswith("First Citizen:")


def test_a_byte_order_mark_is_no_character(folder):
    (folder / "cats.txt").write_text("\ufeffcats", encoding="utf-8")
    assert read(folder, 'text = "cats.txt"\n' + TRAINING, mark="\ufeff")[2] == "cats"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("[model", "not a TOML file"),
        ("[model]\nheads = 2\n" + TRAINING, "unknown: model.heads"),
        ("[model]\nvocab_size = 65\n" + TRAINING, r"model.vocab_size \(the text decides it\)"),
        ("evry = 3\n" + TRAINING, "unknown: evry"),
        ("model = 3\n" + TRAINING, r"\[model\] must be a table, not 3"),
        ("[training]\nlr = 0.1", r"\[training\] needs batch_size, steps"),
        ("", r"\[training\] needs batch_size, lr, steps"),
        (TRAINING.replace("0.01", '"fast"'), "lr must be a number, not 'fast'"),
        (TRAINING.replace("3", "3e0"), r"steps must be a whole number, not 3\.0"),
        ("every = 0\n" + TRAINING, "every must be at least 1, not 0"),
        ('every = "often"\n' + TRAINING, "every must be a whole number, not 'often'"),
        ("every = true\n" + TRAINING, "every must be a whole number, not True"),
        ("text = 5\n" + TRAINING, "text must be a path in quotes, not 5"),
        ('text = "latin.txt"\n' + TRAINING, "latin.txt: not a text in UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_by_name(folder, config, message):
    with pytest.raises(ValueError, match=message):
        read(folder, config)

"""A recipe's numbers make a run, or are refused by name."""

from dataclasses import FrozenInstanceError

import pytest

from attention_lab.recipe import Recipe


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

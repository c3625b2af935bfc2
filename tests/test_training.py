"""Training is reproducible, leaves the world as it was, and measures over the whole text."""

import math
import subprocess
import sys
from dataclasses import FrozenInstanceError

import pytest
import torch
from torch.nn import functional as F

from attention_lab.cost import peak_memory
from attention_lab.model import BigramModel, CharModel, ModelConfig
from attention_lab.recipe import Recipe
from attention_lab.training import History, Run, evaluate, train

IDS = torch.tensor([0, 1, 2, 3] * 60)


def test_training_learns_a_text_that_can_be_foretold():
    model = BigramModel(4)
    history = train(model, IDS, steps=200, batch_size=16, lr=0.1)
    assert len(history.losses) == 200
    assert history.losses[-1] < 0.05 < history.losses[0]
    assert evaluate(model, IDS) < 0.05


@pytest.mark.parametrize("causal", [True, False])
def test_random_text_cannot_be_learnt_unless_the_future_is_seen(causal):
    draw = torch.Generator().manual_seed(0)
    ids, fresh = torch.randint(20, (2, 5000), generator=draw)
    parts = {"n_head": 2, "feed_forward": True, "residual": True, "norm": "layer"}
    model = CharModel(ModelConfig(20, positions="learned", causal=causal, **parts))
    history = train(model, ids, steps=200, batch_size=32, lr=1e-2)
    assert abs(history.losses[0] - math.log(20)) < 0.5
    assert (evaluate(model, fresh) >= math.log(20) - 0.05) == causal


def test_the_seed_decides_and_no_global_random_number_is_used():
    torch.manual_seed(0)
    state = torch.get_rng_state()
    losses = [
        train(BigramModel(4), IDS, steps=5, batch_size=4, lr=0.1, seed=seed).losses
        for seed in (1, 1, 2)
    ]
    assert torch.equal(torch.get_rng_state(), state)
    assert losses[0] == losses[1] != losses[2]
    default = train(BigramModel(4), IDS, steps=5, batch_size=4, lr=0.1)
    assert default == train(BigramModel(4), IDS, steps=5, batch_size=4, lr=0.1, seed=1337)


def test_a_history_is_frozen():
    with pytest.raises(FrozenInstanceError):
        History((1.0,)).losses = ()


def test_training_ends_in_training_mode_and_takes_a_doubled_model():
    model = BigramModel(4).double().eval()
    train(model, IDS, steps=2, batch_size=4, lr=0.1)
    assert model.training
    assert model.token_embedding_table.weight.dtype == torch.float64


def test_training_stopped_by_hand_leaves_threads_and_random_numbers_alone():
    model, state, before = BigramModel(4), torch.get_rng_state(), torch.get_num_threads()

    def stop(*_):
        raise KeyboardInterrupt

    torch.set_num_threads(2)
    try:
        hook = model.register_forward_pre_hook(stop)
        with pytest.raises(KeyboardInterrupt):
            train(model, IDS, steps=5, batch_size=4, lr=0.1)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert torch.equal(torch.get_rng_state(), state)
    hook.remove()
    again = train(model, IDS, steps=5, batch_size=4, lr=0.1)
    assert again == train(BigramModel(4), IDS, steps=5, batch_size=4, lr=0.1)


def test_fewer_than_one_step_is_refused():
    with pytest.raises(ValueError, match="steps must be at least 1, not 0"):
        train(BigramModel(4), IDS, steps=0, batch_size=4, lr=0.1)


@pytest.mark.parametrize("length", [2, 8, 9, 10, 17, 50])
def test_evaluate_is_the_mean_over_every_character_but_the_first(length):
    model, ids = BigramModel(4), IDS[:length]
    expected = F.cross_entropy(model.token_embedding_table.weight[ids[:-1]], ids[1:]).item()
    for batch_size in (1, 3, 1024):
        assert evaluate(model, ids, batch_size) == pytest.approx(expected, abs=1e-6)


def test_evaluate_counts_positions_within_chunks():
    model, ids = CharModel(ModelConfig(4, block_size=3, positions="learned")), IDS[:8]
    chunks = [ids[0:4], ids[3:7], ids[6:8]]
    total = sum(
        F.cross_entropy(model(c[None, :-1])[0][0], c[1:], reduction="sum").item() for c in chunks
    )
    assert evaluate(model, ids) == pytest.approx(total / 7, abs=1e-6)


def test_evaluate_restores_the_mode_and_records_nothing():
    model = BigramModel(4)
    for mode in (True, False):
        evaluate(model.train(mode), IDS)
        assert model.training is mode
    assert model.token_embedding_table.weight.grad is None


def test_evaluate_refuses_a_text_with_nothing_to_predict():
    with pytest.raises(ValueError, match="1 characters has nothing to predict"):
        evaluate(BigramModel(4), IDS[:1])


def test_averages_cover_every_step():
    assert History((1.0, 3.0, 5.0, 7.0, 10.0)).averaged(2) == [2.0, 6.0, 10.0]


@pytest.mark.parametrize(("watcher", "shown"), [("", False), ("JPY_SESSION_NAME", True)])
def test_the_progress_bar_shows_only_where_someone_watches(watcher, shown):
    code = (
        "import os, torch; os.environ.update({k: '1' for k in ['%s'] if k})\n"
        "from attention_lab.model import BigramModel; from attention_lab.training import train\n"
        "train(BigramModel(4), torch.arange(40) %% 4, steps=3, batch_size=2, lr=0.1)"
    )
    run = subprocess.run([sys.executable, "-c", code % watcher], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert bool(run.stderr) is shown


@pytest.mark.parametrize(
    ("ids", "batch_size", "message"),
    [(IDS[None], 4, "ids must be 1-D"), (IDS.float(), 4, "1-D integers"), (IDS, 0, "at least 1")],
)
def test_evaluate_refuses_what_is_no_text(ids, batch_size, message):
    with pytest.raises(ValueError, match=message):
        evaluate(BigramModel(4), ids, batch_size)


def test_a_small_model_trains_on_one_thread_and_leaves_the_setting_alone():
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        model = BigramModel(4)
        model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
        train(model, IDS, steps=2, batch_size=2, lr=0.1)
        evaluate(model, IDS)
        assert set(seen) == {1}
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_large_model_keeps_its_threads():
    before, seen = torch.get_num_threads(), []
    torch.set_num_threads(2)
    try:
        model = BigramModel(317)  # 317² parameters are more than 100 000
        model.register_forward_pre_hook(lambda *_: seen.append(torch.get_num_threads()))
        evaluate(model, IDS[:20])
        assert seen == [2, 2]
    finally:
        torch.set_num_threads(before)


# --- runs ----------------------------------------------------------------------------


def test_each_step_uses_its_own_learning_rate_and_the_recipes_optimizer():
    recipe = Recipe(steps=3, batch_size=2, lr=0.1, final_lr=0.0, beta2=0.9, weight_decay=0.5)
    run, rates = Run(BigramModel(4), recipe), []
    for _ in range(3):
        run.step(IDS)
        (group,) = run.optimizer.param_groups
        rates.append(group["lr"])
        assert (group["betas"], group["weight_decay"]) == ((0.9, 0.9), 0.5)
    assert rates == pytest.approx([0.1, 0.05, 0.0])


def test_a_long_gradient_is_cut():
    run = Run(BigramModel(4), Recipe(steps=1, batch_size=8, lr=0.1, clip=1e-3))
    run.step(IDS)
    length = run.model.token_embedding_table.weight.grad.norm().item()
    assert length == pytest.approx(1e-3, rel=1e-2)


def test_train_is_a_run_of_its_steps():
    model, same = BigramModel(4), BigramModel(4)
    history = train(model, IDS, steps=4, batch_size=3, lr=0.1, seed=7)
    run = Run(same, Recipe(steps=4, batch_size=3, lr=0.1, seed=7))
    assert [run.step(IDS).item() for _ in range(4)] == list(history.losses)
    assert torch.equal(same.token_embedding_table.weight, model.token_embedding_table.weight)


def test_more_steps_take_no_more_memory():
    """A loss kept as a tensor of its own pins the memory beside it: 250 KB a step, once."""
    model, ids = CharModel(ModelConfig(65)), torch.arange(65).repeat(60)
    train(model, ids, steps=1, batch_size=128, lr=0.1)  # what is loaded but once
    peaks = [peak_memory(lambda n=n: train(model, ids, n, 128, 0.1)) for n in (50, 550)]
    assert peaks[1] - peaks[0] < 30e6


def test_a_run_refuses_a_step_after_its_last():
    run = Run(BigramModel(4), Recipe(steps=2, batch_size=2, lr=0.1))
    given = [run.step(IDS).item() for _ in range(2)]
    assert run.losses.tolist() == given
    with pytest.raises(ValueError, match="all 2 steps of the recipe are done"):
        run.step(IDS)


def test_shares_of_a_batch_are_the_batch():
    seen = []

    def forward(x, y):
        seen.append(torch.cat([x, y], dim=1))
        return model(x, y)

    model, recipe = BigramModel(4), Recipe(steps=1, batch_size=6, lr=0.1)
    Run(model, recipe, forward).step(IDS)
    for share in ((0, 2), (1, 2)):
        Run(model, recipe, forward, share).step(IDS)
    whole, first, second = seen
    assert (len(whole), len(first), len(second)) == (6, 3, 3)
    assert torch.equal(torch.stack([first, second], dim=1).flatten(0, 1), whole)


def test_dropout_repeats_with_the_seed_and_changes_from_step_to_step():
    def losses(seed):
        config = ModelConfig(4, n_embd=8, n_head=2, dropout=0.5, positions="learned")
        return train(CharModel(config), IDS, steps=4, batch_size=2, lr=1e-9, seed=seed).losses

    assert losses(3) == losses(3)
    assert losses(3) != losses(4)
    config = ModelConfig(4, n_embd=8, n_head=2, dropout=0.5)
    run = Run(CharModel(config), Recipe(steps=4, batch_size=2, lr=1e-9))
    state = run.chunks.get_state()
    first = run.step(IDS).item()
    run.chunks.set_state(state)  # the same chunks again
    assert run.step(IDS).item() != first


def test_a_step_follows_the_gradient_of_its_own_chunks():
    seen = []

    def forward(x, y):
        seen.append((x, y))
        return model(x, y)

    model = BigramModel(4).double()
    run = Run(model, Recipe(steps=2, batch_size=4, lr=0.1), forward)
    for _ in range(2):
        before = model.token_embedding_table.weight.detach().clone().requires_grad_()
        run.step(IDS)
        x, y = seen[-1]
        F.cross_entropy(before[x].flatten(0, 1), y.flatten()).backward()
        torch.testing.assert_close(model.token_embedding_table.weight.grad, before.grad)


def test_evaluate_is_without_dropout_and_the_same_in_float64():
    model = CharModel(ModelConfig(4, n_embd=8, n_head=2, dropout=0.5))
    assert evaluate(model.train(), IDS) == evaluate(model.eval(), IDS)
    assert evaluate(model.double(), IDS) == pytest.approx(evaluate(model.float(), IDS), abs=1e-6)


@pytest.mark.parametrize("name", ["steps", "batch_size", "warmup", "seed"])
@pytest.mark.parametrize("value", [1e1, float("inf"), float("nan")])
def test_a_count_that_is_no_whole_number_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a whole number, not {value}"):
        Recipe(**({"steps": 20, "batch_size": 4, "lr": 0.1} | {name: value}))


def test_dropout_has_a_seed_of_its_own_in_each_step_of_each_process(monkeypatch):
    seeds = []
    monkeypatch.setattr(torch, "manual_seed", seeds.append)
    run = Run(BigramModel(4), Recipe(steps=2, batch_size=4, lr=0.1, seed=7), share=(1, 2))
    run.step(IDS)
    run.step(IDS)
    assert seeds == [8, 1008]
